"""What is known while one function is turned into Core; all rules receive it as `t`."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.core.types import INDEX, Type
from tapeless.frontend.builder import TracingBuilder
from tapeless.frontend.state import Frame, Snapshot, State
from tapeless.frontend.values import (
    Arr,
    ArrayMethod,
    ArrayObj,
    Cx,
    Fn,
    Gen,
    InstanceObj,
    Known,
    ListObj,
    Many,
    Maybe,
    Method,
    Num,
    Partial,
    Ref,
    Rng,
    Slice,
    Super,
    Tup,
    Unbound,
    Value,
)  # fmt: skip
from tapeless.ir.syntax import Body, If

if TYPE_CHECKING:
    from tapeless.frontend.outside import Outside
    from tapeless.frontend.signature import Options


@dataclass(frozen=True, slots=True)
class Rules:
    """The evaluator's parts that refer to each other in a circle; `trace.py` ties the knot."""

    evaluate: Callable[[Tracer, ast.expr], Value]
    block: Callable[[Tracer, Sequence[ast.stmt]], None]
    bind: Callable[[Tracer, ast.expr, Value], None]
    call: Callable[[Tracer, Value, Sequence[Value], dict[str, Value]], Value]
    as_list: Callable[[Tracer, Gen], Value]
    compare: Callable[[Tracer, str, Value, Value], Value]
    negation: Callable[[Tracer, Value], Value]
    library: Callable[[Tracer, Any, Sequence[Value], dict[str, Value]], Value]
    keys: Container[Any]  # of the library


@dataclass(slots=True)
class Hints:
    """What an earlier trace of a loop found out about its state."""

    names: dict[str, Any]
    late: set[str]
    rotated: bool = False


class Tracer:
    """State of one compilation."""

    MAX_DEPTH = 100

    def __init__(self, rules: Rules, outside: Outside, options: Options) -> None:
        self.rules = rules
        self.outside = outside
        self.overflow = options.overflow
        self.checks = options.check  # of indices and asserts
        self.b = TracingBuilder()
        self.state = State()
        self.frames: list[Frame] = []
        self.nonnegative: set[Atom] = set()
        self.stale: set[ArrayObj] = set()
        self.ambiguous: set[Any] = set()  # lists, dicts, instances that may be one of several
        self.appended: set[ArrayObj] = set()  # arrays that lists hold
        self.dependents: dict[ArrayObj, set[ArrayObj]] = {}
        self.marks: list[tuple[int, frozenset[Any]]] = []  # levels, and objects, outside
        self.assumed_not_one: set[Atom] = set()
        self.list_elements: dict[ListObj, Any] = {}  # forms of what is appended
        self.loop_hints: dict[Any, Hints] = {}
        self.countable = 0  # loops around that may yet be unrolled
        self.depth = 0
        self.derivatives = 0  # that are being taken of what is traced now
        self.codes: dict[types.CodeType, None] = {}

    # where we are
    @property
    def loc(self) -> Loc | None:
        return self.b.loc

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """What is emitted inside carries the location of `node` (library code: its caller's)."""
        before = self.b.loc
        frame = self.frames[-1]
        if not frame.is_hidden:
            self.b.loc = frame.source.loc(node)
        try:
            yield
        finally:
            self.b.loc = before

    # the evaluator
    def evaluate(self, node: ast.expr) -> Value:
        return self.rules.evaluate(self, node)

    def call(self, function: Value, *args: Value, **kwargs: Value) -> Value:
        return self.rules.call(self, function, args, kwargs)

    def library(self, key: Any, *args: Value, **kwargs: Value) -> Value:
        """A function of the library by its key."""
        return self.rules.library(self, key, args, kwargs)

    # variables
    def index_var(self, hint: str) -> Var:
        var = self.fresh(INDEX, hint)
        self.nonnegative.add(var)
        return var

    def fresh(self, type: Type, hint: str) -> Var:
        var = Var(type, hint, self.b.loc)
        self.b.level[var] = len(self.b.scopes)  # it lives in the scope that is opened next
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
        self.marks.append((len(self.b.scopes), frozenset(self.state.heap)))
        try:
            yield
        finally:
            self.marks.pop()

    def is_outer(self, atom: Atom) -> bool:
        if isinstance(atom, Const) or not self.marks:
            return True
        return self.b.level.get(atom, 0) < self.marks[-1][0]

    def is_outer_object(self, obj: Any) -> bool:
        return not self.marks or obj in self.marks[-1][1]

    # sizes
    def root(self, size: Atom) -> Atom:
        """The one of the sizes known to be equal here that speaks for all: a constant, or the one
        that lives outermost."""
        while True:
            known = next((m["same", size] for m in self.b.memo if ("same", size) in m), None)
            if known is None:
                return size
            size = known

    def same_sizes(self, a: Atom, b: Atom) -> Atom:
        """Take it that two sizes are equal; the one that stands for both."""
        a, b = self.root(a), self.root(b)
        if a == b:
            return a
        level = self.b.level
        if isinstance(b, Const) or (not isinstance(a, Const) and level.get(b, 0) < level.get(a, 0)):
            a, b = b, a
        self.b.memo[-1]["same", b] = a
        return a

    def is_same_size(self, a: Atom, b: Atom) -> bool:
        return a == b or self.root(a) == self.root(b)

    def not_one(self, size: Atom) -> None:
        """The program is right only if this size is not 1 (a guard, when it is an argument's)."""
        self.assumed_not_one.add(size)

    # emission
    def emit_if(self, cond: Atom, then: Body, orelse: Body | None = None) -> tuple[Var, ...]:
        return self.b.let(If(cond, then, Body((), ()) if orelse is None else orelse))

    def snapshot(self) -> Snapshot:
        return Snapshot(self.frames, self.state)

    # words for errors
    def describe(self, value: Value) -> str:
        match value:
            case Known(value=types.ModuleType() as module):
                return f"the module {module.__name__}"
            case Known(value=v):
                if v is None:
                    return "None"
                if callable(v):
                    return str(getattr(v, "__name__", v))
                return f"the {type(v).__name__} {v!r}"[:60]
            case Num(atom, weak):
                return ("a Python " if weak else "a number of type ") + _python_name(atom, weak)
            case Arr():
                kind = "complex" if value.is_complex else value.dtype.name
                return f"an array of {kind} and rank {value.rank}"
            case Tup():
                return f"a tuple of {len(value.items)}"
            case Ref(InstanceObj(cls=cls)):
                return f"an object of {cls.__name__}"
            case Ref(obj):
                return "a list" if isinstance(obj, ListObj) else "a dict"
            case Maybe(value=inner):
                return self.describe(inner)
            case _:
                return _WORDS[type(value)]


_WORDS: dict[type, str] = {
    Fn: "a function", Method: "a function", Partial: "a function", ArrayMethod: "a method",
    Rng: "a range", Many: "an iterator", Gen: "a generator", Slice: "a slice",
    Super: "super()", Unbound: "nothing", Cx: "a complex number", InstanceObj: "an object",
}  # fmt: skip


def _python_name(atom: Atom, weak: bool) -> str:
    if not weak:
        return atom.dtype.name
    return {"f": "float", "b": "bool"}.get(atom.dtype.kind, "int")
