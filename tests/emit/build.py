"""Programs of Loop IR written by hand: a builder with one open block, for tests of the emitter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tapeless.core.names import Atom, Const, Var
from tapeless.core.prims import OPS
from tapeless.core.types import INDEX, DType, Scalar, bool_, f64, i64
from tapeless.loop import syntax as loop
from tapeless.loop.syntax import GLOBAL, LOCAL, SEQ, Block, Buf, Name, Proc, Reduce, Site, Value

__all__ = ["GLOBAL", "LOCAL", "SEQ", "Builder", "Reduce", "Site", "bool_", "f64", "i64"]


def const(value: bool | int | float, dtype: DType | None = None) -> Const:
    if dtype is None:
        dtype = f64 if isinstance(value, float) else bool_ if isinstance(value, bool) else i64
    return Const(value, dtype)


def atom(x: Atom | float) -> Atom:
    return x if isinstance(x, Var | Const) else const(x)


class Builder:
    """Statements go to the innermost open block."""

    def __init__(self) -> None:
        self.params: list[Name] = []
        self.blocks: list[list[loop.Stm]] = [[]]
        self.sites: list[Site] = []
        self.foreign: list[str] = []

    # parameters
    def number(self, dtype: DType = f64, hint: str = "x") -> Var:
        v = Var(Scalar(dtype), hint)
        self.params.append(v)
        return v

    def size(self, hint: str = "n") -> Var:
        return self.number(i64, hint)

    def array(self, *shape: Atom | int, dtype: DType = f64, strided: bool = False) -> Buf:
        sizes = tuple(map(atom, shape))
        if strided:
            strides: tuple[Atom, ...] = tuple(Var(INDEX, "stride") for _ in sizes)
        else:
            strides = self.row_major(sizes)
        buf = Buf(dtype, sizes, strides)
        self.params.append(buf)
        if strided:
            self.params.extend(s for s in strides if isinstance(s, Var))
        return buf

    def row_major(self, sizes: Sequence[Atom]) -> tuple[Atom, ...]:
        step: Atom = const(1)
        strides = [step]
        for size in reversed(sizes[1:]):
            step = size if step == const(1) else self.op("mul", step, size)
            strides.append(step)
        return tuple(reversed(strides[: len(sizes)]))

    # statements
    def emit(self, stm: loop.Stm) -> None:
        self.blocks[-1].append(stm)

    def op(self, name: str, *args: Atom | float, loose: bool = False) -> Var:
        atoms = tuple(map(atom, args))
        out = Var(Scalar(OPS[name].result_type([a.dtype for a in atoms])), name)
        self.emit(loop.Op(out, name, atoms, loose))
        return out

    def load(self, buf: Buf, *at: Atom | int) -> Var:
        out = Var(Scalar(buf.dtype), "v")
        self.emit(loop.Load(out, buf, tuple(map(atom, at))))
        return out

    def store(self, buf: Buf, at: Sequence[Atom | int], value: Atom | float) -> None:
        self.emit(loop.Store(buf, tuple(map(atom, at)), atom(value)))

    def combine(self, op: str, buf: Buf, at: Sequence[Atom | int], value: Atom | float) -> None:
        self.emit(loop.Combine(op, buf, tuple(map(atom, at)), atom(value)))

    def alloc(
        self,
        *shape: Atom | int,
        dtype: DType = f64,
        zero: bool = False,
        result: int | None = None,
        space: str = GLOBAL,
    ) -> Buf:
        sizes = tuple(map(atom, shape))
        buf = Buf(dtype, sizes, self.row_major(sizes), "mem", space)
        self.emit(loop.Alloc(buf, zero, result))
        return buf

    def row(self, buf: Buf, *at: Atom | int) -> Buf:
        k = len(at)
        out = Buf(buf.dtype, buf.shape[k:], buf.strides[k:], "row", buf.space)
        self.emit(loop.Row(out, buf, tuple(map(atom, at))))
        return out

    def copy(self, dst: Buf, src: Buf) -> None:
        self.emit(loop.Copy(dst, src))

    def check(self, cond: Atom, *args: Atom, error: str = "ValueError") -> None:
        self.sites.append(Site(error, "message", tuple(a.dtype for a in args), None))
        self.emit(loop.Check(cond, len(self.sites) - 1, args))

    def any_lane(self, cond: Atom) -> Var:
        out = Var(Scalar(bool_), "any")
        self.emit(loop.AnyLane(out, cond))
        return out

    def call(self, callee: str, *args: Value) -> Var:
        if callee not in self.foreign:
            self.foreign.append(callee)
        out = Var(INDEX, "status")
        self.emit(loop.Call(callee, args, out))
        return out

    @contextmanager
    def inside(self) -> Iterator[list[loop.Stm]]:
        self.blocks.append([])
        try:
            yield self.blocks[-1]
        finally:
            self.blocks.pop()

    def block(self, f: Callable[..., Sequence[Value] | Value | None], *args: Value) -> Block:
        with self.inside() as stms:
            results = f(*args)
        if results is None:
            results = ()
        if isinstance(results, Var | Const | Buf):
            results = (results,)
        return Block(tuple(stms), tuple(results))

    def scope(self, body: Callable[[], Sequence[Atom] | Atom | None]) -> tuple[Var, ...]:
        inner = self.block(body)
        outs = tuple(Var(r.type, "s") for r in inner.results if not isinstance(r, Buf))
        self.emit(loop.Scope(outs, inner))
        return outs

    def loop(
        self,
        stop: Atom | int,
        body: Callable[..., Sequence[Value] | Value | None],
        *inits: Value,
        start: Atom | int = 0,
        kind: str = SEQ,
        reduces: Sequence[Reduce] = (),
        work: Atom | None = None,
    ) -> tuple[Name, ...]:
        var = Var(INDEX, "i")
        params = tuple(map(_like, inits))
        inner = self.block(body, var, *params)
        outs = tuple(map(_like, inits))
        self.emit(
            loop.For(outs, var, atom(start), atom(stop), kind, params, inits, inner,
                     tuple(reduces), work)
        )  # fmt: skip
        return outs

    def while_(
        self,
        cond: Callable[..., Atom],
        body: Callable[..., Sequence[Value] | Value],
        *inits: Value,
    ) -> tuple[Name, ...]:
        params = tuple(map(_like, inits))
        test, inner = self.block(cond, *params), self.block(body, *params)
        outs = tuple(map(_like, inits))
        self.emit(loop.While(outs, params, inits, test, inner))
        return outs

    def if_(
        self,
        cond: Atom,
        then: Callable[[], Sequence[Value] | Value | None],
        orelse: Callable[[], Sequence[Value] | Value | None] = lambda: None,
    ) -> tuple[Name, ...]:
        yes, no = self.block(then), self.block(orelse)
        outs = tuple(map(_like, yes.results))
        self.emit(loop.If(outs, cond, yes, no))
        return outs

    def proc(self, *results: Value, name: str = "kernel") -> Proc:
        body = Block(tuple(self.blocks[0]))
        return Proc(name, tuple(self.params), body, results, tuple(self.sites), tuple(self.foreign))


def _like(value: Value) -> Name:
    if isinstance(value, Buf):
        return Buf(value.dtype, value.shape, value.strides, value.hint, value.space)
    return Var(value.type, "p")
