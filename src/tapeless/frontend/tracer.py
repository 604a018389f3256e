"""The staged evaluator: holds what is known while one function is turned into Core."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.core.types import INDEX, Scalar, i64
from tapeless.errors import CompileError
from tapeless.frontend.state import Frame, Snapshot, State
from tapeless.frontend.values import (
    Arr, ArrayObj, Cx, DictObj, Fn, Gen, InstanceObj, Known, ListObj, Many, Maybe, Method, Num,
    Partial, Ref, Rng, Slice, Tup, Unbound, Value,
)  # fmt: skip
from tapeless.ir.build import Builder
from tapeless.ir.syntax import Body, Exp, If, Let, Prim


class TracingBuilder(Builder):
    """Shares index arithmetic as it is emitted, and keeps `x + c` chains short, so that sizes
    that are equal are the same variable."""

    def __init__(self) -> None:
        super().__init__()
        self.memo: list[dict[Any, Atom]] = [{}]
        self.offsets: dict[Var, tuple[Var, int]] = {}
        self.born: dict[Var, int] = {}

    @contextmanager
    def scope(self) -> Iterator[list[Let]]:
        with super().scope() as stms:
            self.memo.append({})
            try:
                yield stms
            finally:
                self.memo.pop()

    @contextmanager
    def reopen(self, stms: list[Let]) -> Iterator[None]:
        """Go on emitting into a scope that was left."""
        self.scopes.append(stms)
        self.memo.append({})
        try:
            yield
        finally:
            self.memo.pop()
            self.scopes.pop()

    def let(self, exp: Exp, *hints: str) -> tuple[Var, ...]:
        outs = super().let(exp, *hints)
        for out in outs:
            self.born[out] = len(self.born)
        return outs

    def prim(self, op: str, *args: Atom, hint: str = "t") -> Atom:
        if args[0].dtype is not i64 or op in ("div",):
            return super().prim(op, *args, hint=hint)
        if op in ("add", "sub"):
            short = self._offset(op, args[0], args[1])
            if short is not None:
                return short
        key = (op, args)
        for known in reversed(self.memo):
            if key in known:
                return known[key]
        out = super().prim(op, *args, hint=hint)
        self.memo[-1][key] = out
        return out

    def _offset(self, op: str, a: Atom, b: Atom) -> Atom | None:
        """a ± c, with the constants of earlier steps gathered; a − b where both have one base."""
        if isinstance(a, Const) and isinstance(b, Var) and op == "add":
            a, b = b, a
        if isinstance(a, Var) and isinstance(b, Const):
            base, k = self.offsets.get(a, (a, 0))
            shift = k + (int(b.value) if op == "add" else -int(b.value))
            if shift == 0:
                return base
            key = ("shift", base, shift)
            for known in reversed(self.memo):
                if key in known:
                    return known[key]
            out = self.one(Prim("add", (base, Const(shift, i64)))) if shift > 0 else self.one(
                Prim("sub", (base, Const(-shift, i64)))
            )
            self.offsets[out] = (base, shift)
            self.memo[-1][key] = out
            return out
        if op == "sub" and isinstance(a, Var) and isinstance(b, Var):
            (p, k), (q, m) = self.offsets.get(a, (a, 0)), self.offsets.get(b, (b, 0))
            if p is q:
                return Const(k - m, i64)
        return None


class Tracer:
    """State of one compilation. Statements and expressions are evaluated by the modules beside
    this one; they all receive the tracer as `t`."""

    MAX_DEPTH = 120

    def __init__(self, *, overflow: bool = False, outside: Callable[..., Value] | None = None) -> None:
        self.b = TracingBuilder()
        self.state = State()
        self.frames: list[Frame] = []
        self.nonnegative: set[Atom] = set()
        self.sizes: dict[Atom, Atom] = {}
        self.stale: set[ArrayObj] = set()
        self.written: set[ArrayObj] = set()
        self.marks: list[tuple[int, frozenset[Any]]] = []
        self.size_params: dict[Var, int] = {}
        self.assumed_not_one: set[Var] = set()
        self.overflow = overflow
        self.outside = outside
        self.loc_stack: list[Loc] = []
        self.callees: dict[Any, None] = {}
        self.list_elements: dict[ListObj, tuple[Any, tuple[Any, ...]]] = {}

    # where we are
    @property
    def loc(self) -> Loc | None:
        return self.b.loc

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Statements emitted inside carry the location of `node` (library code keeps its caller's)."""
        before = self.b.loc
        if not self.in_library:
            self.b.loc = self.frame.source.loc(node)
        try:
            yield
        finally:
            self.b.loc = before

    @property
    def in_library(self) -> bool:
        return bool(self.frames) and ".frontend.library" in str(self.frame.globals.get("__name__", ""))

    # variables
    def index_var(self, hint: str) -> Var:
        var = self.fresh(INDEX, hint)
        self.nonnegative.add(var)
        return var

    def fresh(self, type: Any, hint: str) -> Var:
        var = Var(type, hint, self.loc)
        self.b.born[var] = len(self.b.born)
        return var

    def is_nonnegative(self, atom: Atom) -> bool:
        if isinstance(atom, Const):
            return atom.value >= 0
        if atom in self.nonnegative:
            return True
        base, shift = self.b.offsets.get(atom, (atom, 0))
        return shift > 0 and base in self.nonnegative

    # what is outside the construct being traced
    @contextmanager
    def construct(self) -> Iterator[None]:
        """Names and objects that exist now are outside what is traced within."""
        self.marks.append((len(self.b.born), frozenset(self.state.heap)))
        try:
            yield
        finally:
            self.marks.pop()

    def is_outer(self, atom: Atom) -> bool:
        return (
            isinstance(atom, Const) or not self.marks
            or self.b.born.get(atom, -1) < self.marks[-1][0]
        )  # fmt: skip

    def is_outer_object(self, obj: Any) -> bool:
        return not self.marks or obj in self.marks[-1][1]

    # sizes
    def same_sizes(self, a: Atom, b: Atom) -> None:
        self.b.memo[-1]["same", a, b] = a

    def is_same_size(self, a: Atom, b: Atom) -> bool:
        if a == b:
            return True
        return any(("same", a, b) in m or ("same", b, a) in m for m in self.b.memo)

    def not_one(self, size: Atom) -> None:
        """The program is right only if this size is not 1 (a guard, when it is an argument's)."""
        if isinstance(size, Var) and size in self.size_params:
            self.assumed_not_one.add(size)

    # emission
    def checked(self, op: str) -> str:
        return op

    def emit_if(self, cond: Atom, then: Body, orelse: Body | None = None) -> tuple[Var, ...]:
        return self.b.let(If(cond, then, Body((), ()) if orelse is None else orelse))

    def snapshot(self) -> Snapshot:
        return Snapshot(self.frames, self.state)

    def complex_function(self, name: str, args: Sequence[Value]) -> Value:
        from tapeless.frontend.library import complex_functions  # noqa: PLC0415
        from tapeless.frontend.calls import call_library  # noqa: PLC0415

        function = getattr(complex_functions, name, None)
        if function is None:
            raise CompileError(f"np.{name} is not defined for complex numbers", self.loc)
        return call_library(self, function, args)

    # words for errors
    def describe(self, value: Value) -> str:
        match value:
            case Known(value=v):
                if v is None:
                    return "None"
                return f"the {type(v).__name__} {v!r}"[:60] if not callable(v) else f"{getattr(v, '__name__', v)}"
            case Num(atom, weak):
                return ("a Python " if weak else "a number of type ") + _python_name(atom, weak)
            case Cx():
                return "a complex number"
            case Arr():
                kind = "complex" if value.is_complex else value.dtype.name
                return f"an array of {kind} and rank {value.rank}"
            case Tup():
                return f"a tuple of {len(value.items)}"
            case Ref(ListObj()):
                return "a list"
            case Ref(DictObj()):
                return "a dict"
            case Ref(InstanceObj(cls=cls)):
                return f"a {cls.__name__}"
            case Fn() | Method() | Partial():
                return "a function"
            case Rng() | Many():
                return "a range"
            case Gen():
                return "a generator"
            case Slice():
                return "a slice"
            case Maybe(value=inner):
                return self.describe(inner)
            case Unbound():
                return "nothing"


def _python_name(atom: Atom, weak: bool) -> str:
    if not weak:
        return atom.dtype.name
    return {"f": "float", "b": "bool"}.get(atom.dtype.kind, "int")


__all__ = ["Scalar", "Tracer", "TracingBuilder"]
