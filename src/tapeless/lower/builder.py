"""Builder of Loop IR blocks: statements go to the innermost open block, constants are folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.core.prims import OPS
from tapeless.core.types import INDEX, DType, Scalar, bool_, i64
from tapeless.ir.build import fold
from tapeless.loop.syntax import (
    GLOBAL,
    Alloc,
    Block,
    Buf,
    Check,
    For,
    If,
    Op,
    Row,
    Scope,
    Site,
    Stm,
    Value,
    While,
)  # fmt: skip

ZERO = Const(0, i64)
ONE = Const(1, i64)
SHARED_OPS = frozenset({"add", "sub", "mul", "floordiv", "mod", "min", "max"})

Key = tuple[str, tuple[Atom, ...]]
Shape = tuple[DType, tuple[Atom, ...]]


def index(value: int) -> Const:
    return Const(value, i64)


def block(stms: list[Stm], results: tuple[Value, ...] = ()) -> Block:
    return Block(tuple(stms), results)


def takes_memory(stms: Iterable[Stm]) -> bool:
    """Whether the arena has less room after these statements."""
    for stm in stms:
        match stm:
            case Alloc(_, _, None):
                return True
            case If(_, _, then, orelse):
                if takes_memory(then.stms) or takes_memory(orelse.stms):
                    return True
            case For() | While():
                if takes_memory(stm.body.stms):
                    return True
    return False


class Builder:
    """Emits into a stack of blocks. Integer arithmetic is emitted once per scope that sees it."""

    def __init__(self) -> None:
        self.blocks: list[list[Stm]] = [[]]
        self.known: list[dict[Key, Var]] = [{}]
        self.free: list[dict[Shape, list[Buf]]] = [{}]  # memory of dead arrays, by block
        self.sites: list[Site] = []
        self.depth: dict[Var, int] = {}  # the block in which a variable is bound
        self.ranges: dict[Var, Atom] = {}  # loop counters: 0 <= counter < bound
        self.loc: Loc | None = None

    def emit(self, stm: Stm) -> None:
        self.blocks[-1].append(stm)

    @contextmanager
    def block(self) -> Iterator[list[Stm]]:
        """Statements emitted inside go to a block of their own."""
        stms: list[Stm] = []
        self.blocks.append(stms)
        self.known.append({})
        self.free.append({})
        try:
            yield stms
        finally:
            self.blocks.pop()
            self.known.pop()
            self.free.pop()

    def op(self, op: str, *args: Atom, hint: str = "t", loose: bool = False) -> Atom:
        """`op` on `args`, folded or shared where possible."""
        simple = fold(op, args)
        if simple is not None:
            return simple
        dtype = OPS[op].result_type([a.dtype for a in args])
        out = Var(Scalar(dtype), hint)
        if op in SHARED_OPS and dtype is i64:
            return self._shared(Op(out, op, args))
        self.define(Op(out, op, args, loose))
        return out

    def define(self, op: Op) -> None:
        """Emit an operation whose result has a name already."""
        self.emit(op)
        self.bind(op.out)

    def bind(self, *vars: Var) -> None:
        """Note that variables belong to the current block."""
        for v in vars:
            self.depth[v] = len(self.blocks) - 1

    def _shared(self, op: Op) -> Var:
        """Index arithmetic goes to the outermost block that knows its operands, once."""
        here = len(self.blocks) - 1
        depth = max((self.depth.get(a, here) for a in op.args if isinstance(a, Var)), default=0)
        known = self.known[depth].get((op.op, op.args))
        if known is None:
            self.blocks[depth].append(op)
            self.known[depth][op.op, op.args] = known = op.out
            self.depth[known] = depth
        return known

    def all_of(self, conditions: Iterable[Atom]) -> Atom:
        """Their conjunction."""
        result: Atom = Const(True, bool_)
        for c in conditions:
            result = self.op("and", result, c)
        return result

    def product(self, sizes: tuple[Atom, ...]) -> Atom:
        total: Atom = ONE
        for s in sizes:
            total = self.op("mul", total, s, hint="size")
        return total

    def contiguous(self, shape: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """Row-major strides of `shape`."""
        strides: list[Atom] = []
        step: Atom = ONE
        for k in range(len(shape) - 1, -1, -1):
            strides.append(step)
            if k > 0:
                step = self.op("mul", step, shape[k], hint="stride")
        return tuple(reversed(strides))

    def buf(self, dtype: DType, shape: tuple[Atom, ...], hint: str, space: str = GLOBAL) -> Buf:
        """A name for a contiguous array (no memory yet)."""
        return Buf(dtype, shape, self.contiguous(shape), hint, space)

    def row(self, buf: Buf, at: tuple[Atom, ...], shape: tuple[Atom, ...]) -> Buf:
        """A pointer to buf[at], seen with `shape` and the strides of the remaining axes."""
        out = Buf(buf.dtype, shape, buf.strides[len(at) :], buf.hint, buf.space)
        self.emit(Row(out, buf, at))
        return out

    def reshaped(self, buf: Buf, shape: tuple[Atom, ...], strides: tuple[Atom, ...]) -> Buf:
        """The same memory under other sizes and strides."""
        out = Buf(buf.dtype, shape, strides, buf.hint, buf.space)
        self.emit(Row(out, buf, ()))
        return out

    def check(self, cond: Atom, error: str, message: str, args: tuple[Atom, ...]) -> None:
        if isinstance(cond, Const) and cond.value:
            return
        site = Site(error, message, tuple(a.dtype for a in args), self.loc)
        self.emit(Check(cond, self._site(site), args))

    def _site(self, site: Site) -> int:
        """The number of a failing place, shared by equal ones."""
        for k, known in enumerate(self.sites):
            if (known.error, known.message, known.loc) == (site.error, site.message, site.loc):
                return k
        self.sites.append(site)
        return len(self.sites) - 1

    @staticmethod
    def scoped(stms: list[Stm], results: tuple[Value, ...] = ()) -> Block:
        """A block that gives back what it allocates from the arena. Buffers among `results` must
        come from outside."""
        if not takes_memory(stms):
            return block(stms, results)
        kept = [r for r in results if isinstance(r, Var)]
        names = {r: Var(r.type, r.hint) for r in kept}
        outs = tuple(names.values())
        inner = block(stms, tuple(names))
        renamed = tuple(names.get(r, r) if isinstance(r, Var) else r for r in results)
        return Block((Scope(outs, inner),), renamed)

    def counter(self, hint: str = "i") -> Var:
        return Var(INDEX, hint)
