"""The rules of Loop IR, checked: names bound once and seen, element types, ranks, kinds, arity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from tapeless.core.names import Atom, Const, Var
from tapeless.core.prims import OPS
from tapeless.core.types import DType, bool_, i64
from tapeless.loop.print import show
from tapeless.loop.syntax import (
    GLOBAL,
    LOCAL,
    SEQ,
    SIMD,
    THREADS,
    Alloc,
    AnyLane,
    Block,
    Buf,
    Call,
    Check,
    Combine,
    Copy,
    For,
    If,
    Load,
    Name,
    Op,
    Proc,
    Reduce,
    Row,
    Scope,
    Stm,
    Store,
    Team,
    Value,
    While,
)  # fmt: skip

KINDS = (SEQ, SIMD, THREADS)
COMBINERS = ("+", "*", "min", "max")


class InvalidLoop(Exception):
    """A kernel that breaks a rule of Loop IR."""


def verify(proc: Proc) -> None:
    """Raise InvalidLoop unless `proc` keeps the rules."""
    try:
        _Verifier(proc).run()
    except InvalidLoop as problem:
        raise InvalidLoop(f"{problem}\n{show(proc)}") from None


class _Verifier:
    def __init__(self, proc: Proc) -> None:
        self.proc = proc
        self.visible: set[Name] = set()
        self.bound: set[Name] = set()
        self.scopes: list[list[Name]] = [[]]
        self.kinds: list[str] = []
        self.results: dict[int, Buf] = {}

    def run(self) -> None:
        proc = self.proc
        self.bind(*proc.params)
        self.stms(proc.body.stms)
        self.need(not proc.body.results, "the body of a kernel has results of its own")
        for k, result in enumerate(proc.results):
            self.use(result)
            if isinstance(result, Buf):
                self.need(self.results.get(k) is result, f"result {k} is not allocated as such")

    # names
    def need(self, holds: bool, problem: str) -> None:
        if not holds:
            raise InvalidLoop(problem)

    def bind(self, *names: Name) -> None:
        for name in names:
            self.need(name not in self.bound, f"{name} is bound twice")
            self.bound.add(name)
            self.visible.add(name)
            self.scopes[-1].append(name)
            if isinstance(name, Buf):
                self.need(len(name.shape) == len(name.strides), f"{name}: sizes and strides differ")
                self.need(name.space in (GLOBAL, LOCAL), f"{name}: unknown space")

    @contextmanager
    def scope(self) -> Iterator[None]:
        self.scopes.append([])
        yield
        self.visible.difference_update(self.scopes.pop())

    def use(self, *values: Value) -> None:
        for v in values:
            self.need(isinstance(v, Const) or v in self.visible, f"{v} is not in scope")

    def typed(self, value: Value, dtype: DType, what: str) -> None:
        self.use(value)
        self.need(value.dtype is dtype, f"{what} {value} is {value.dtype}, not {dtype}")
        self.need(not isinstance(value, Buf), f"{what} {value} is a buffer")

    def integers(self, atoms: Iterable[Atom], what: str) -> None:
        for a in atoms:
            self.typed(a, i64, what)

    def same(self, found: Sequence[Value], wanted: Sequence[Value], what: str) -> None:
        """As many values, and of the same types, as `wanted`."""
        self.need(len(found) == len(wanted), f"{len(found)} {what}s for {len(wanted)}")
        for f, w in zip(found, wanted, strict=True):
            self.use(f)
            alike = isinstance(f, Buf) == isinstance(w, Buf) and f.dtype is w.dtype
            self.need(alike, f"{what} {f} does not fit {w}")
            if isinstance(f, Buf) and isinstance(w, Buf):
                fits = len(f.shape) == len(w.shape) and f.space == w.space
                self.need(fits, f"{what} {f} has another rank or space than {w}")

    def buffer(self, buf: Buf) -> None:
        """`buf` may be read: its sizes and strides are known here."""
        self.use(buf)
        self.integers(buf.shape, f"size of {buf}")
        self.integers(buf.strides, f"stride of {buf}")

    def cell(self, buf: Buf, at: Sequence[Atom]) -> None:
        self.buffer(buf)
        self.need(len(at) == len(buf.shape), f"{len(at)} indices of {buf}")
        self.integers(at, "index")

    # statements
    def stms(self, stms: Sequence[Stm]) -> None:
        for stm in stms:
            self.stm(stm)

    def stm(self, stm: Stm) -> None:
        match stm:
            case Op(out, op, args):
                self.op(op, args, out)
                self.bind(out)
            case AnyLane(out, cond):
                self.typed(cond, bool_, "condition")
                self.bind(out)
            case Team(out):
                self.need(out.dtype is i64, f"the number {out} of threads")
                self.bind(out)
            case Load(out, buf, at):
                self.cell(buf, at)
                self.need(out.dtype is buf.dtype, f"{out} loaded from {buf}")
                self.bind(out)
            case Store(buf, at, value):
                self.cell(buf, at)
                self.typed(value, buf.dtype, "value")
            case Combine(op, buf, at, value):
                self.need(op in COMBINERS, f"unknown combination {op!r}")
                self.cell(buf, at)
                self.typed(value, buf.dtype, "value")
            case _:
                self.memory(stm)

    def memory(self, stm: Stm) -> None:
        match stm:
            case Alloc(buf, _, result):
                self.bind(buf)
                self.buffer(buf)
                if result is not None:
                    self.need(len(self.scopes) == 1, f"result {result} is allocated in a block")
                    self.need(result not in self.results, f"result {result} is allocated twice")
                    self.results[result] = buf
            case Row(out, buf, at):
                (self.buffer if at else self.use)(buf)
                self.need(len(at) <= len(buf.shape), f"{len(at)} indices of {buf}")
                self.integers(at, "index")
                self.need(out.dtype is buf.dtype and out.space == buf.space, f"{out} is no {buf}")
                self.bind(out)
                self.buffer(out)
            case Copy(dst, src):
                self.buffer(dst)
                self.buffer(src)
                fits = dst.dtype is src.dtype and len(dst.shape) == len(src.shape)
                self.need(fits, f"copy of {src} to {dst}")
            case Check(cond, site, args):
                self.typed(cond, bool_, "condition")
                self.need(0 <= site < len(self.proc.sites), f"no site {site}")
                dtypes = self.proc.sites[site].dtypes
                self.need(len(args) == len(dtypes), f"arguments of site {site}")
                for a, d in zip(args, dtypes, strict=True):
                    self.typed(a, d, "argument")
            case Call(callee, args, out):
                self.need(
                    callee in self.proc.foreign, f"{callee} is not among the foreign functions"
                )
                self.use(*args)
                self.bind(out)
            case _:
                self.nested(stm)

    def op(self, op: str, args: Sequence[Atom], out: Var) -> None:
        self.need(op in OPS and OPS[op].arity == len(args), f"{op} of {len(args)} operands")
        self.use(*args)
        self.need(not any(isinstance(a, Buf) for a in args), f"{op} of a buffer")
        values = args[1:] if op == "select" else args
        for a in values:
            fits = a.dtype.kind in OPS[op].kinds and (a.dtype is values[0].dtype)
            self.need(fits, f"operand {a} of {op} is {a.dtype}")
        wanted = OPS[op].result_type([a.dtype for a in args])
        self.need(wanted is out.dtype, f"{out} is {out.dtype}, but {op} gives {wanted}")

    # statements with blocks
    def nested(self, stm: Stm) -> None:
        match stm:
            case Scope(outs, body):
                self.block(body, outs, "result")
                self.need(not any(isinstance(o, Buf) for o in outs), "a buffer leaves its scope")
                self.bound.difference_update(o for o in outs if o in body.results)
            case For():
                self.loop(stm)
            case While(outs, params, inits, cond, body):
                self.same(inits, params, "initial value")
                with self.scope():
                    self.bind(*params)
                    with self.scope():
                        self.stms(cond.stms)
                        self.need(len(cond.results) == 1, "a condition has one result")
                        self.typed(cond.results[0], bool_, "condition")
                    self.block(body, params, "next value")
            case If(outs, cond, then, orelse):
                self.typed(cond, bool_, "condition")
                self.block(then, outs, "result")
                self.block(orelse, outs, "result")
            case _:
                raise InvalidLoop(f"unknown statement {stm}")
        self.alike(stm.outs, getattr(stm, "params", stm.outs))
        self.bind(*stm.outs)

    def alike(self, outs: Sequence[Name], params: Sequence[Name]) -> None:
        dtypes = [(isinstance(n, Buf), n.dtype) for n in outs]
        self.need(dtypes == [(isinstance(n, Buf), n.dtype) for n in params], "outs of a loop")

    def block(self, block: Block, wanted: Sequence[Name], what: str) -> None:
        with self.scope():
            self.stms(block.stms)
            self.same(block.results, wanted, what)

    def loop(self, loop: For) -> None:
        self.need(loop.kind in KINDS, f"unknown kind {loop.kind!r}")
        self.integers((loop.start, loop.stop), "bound")
        if loop.work is not None:
            self.integers((loop.work,), "work")
        self.same(loop.inits, loop.params, "initial value")
        self.need(loop.var.dtype is i64, f"counter {loop.var}")
        if loop.kind != SEQ:
            self.need(SIMD not in self.kinds, "a parallel loop in a simd loop")
            self.need(loop.kind not in self.kinds, f"a {loop.kind} loop in another")
            covered = sorted(k for r in loop.reduces for k in r.params)
            self.need(covered == list(range(len(loop.params))), "parameters without reduction")
        else:
            self.need(not loop.reduces, "a sequential loop with reductions")
        for r in loop.reduces:
            self.reduce(r, [loop.params[k] for k in r.params])
        self.kinds.append(loop.kind)
        with self.scope():
            self.bind(loop.var, *loop.params)
            self.block(loop.body, loop.params, "next value")
        self.kinds.pop()

    def reduce(self, r: Reduce, params: Sequence[Name]) -> None:
        if r.op:
            self.need(r.op in COMBINERS and len(params) == 1, f"reduction by {r.op!r}")
            return
        with self.scope():
            self.bind(*r.left, *r.right)
            self.block(r.body, params, "result")
        self.same(r.neutral, params, "neutral element")
        self.alike(r.left, params)
        self.alike(r.right, params)
