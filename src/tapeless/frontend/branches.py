"""Branches: both arms are traced apart, then what they changed is joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Atom, Var
from tapeless.core.types import Type
from tapeless.errors import CompileError
from tapeless.frontend.join import (
    ArrayForm,
    Form,
    SeqForm,
    as_maybe,
    form_of,
    join,
    maybe_form,
    maybe_pair,
    seq_form,
)
from tapeless.frontend.packing import new_vars, pack, unpack
from tapeless.frontend.state import BREAK, DEAD, FLOW, RETURNED
from tapeless.frontend.values import (
    Arr,
    ArrayObj,
    DictObj,
    InstanceObj,
    Known,
    ListObj,
    Maybe,
    Num,
    Ref,
    Seq,
    Unbound,
    Value,
)  # fmt: skip
from tapeless.ir.syntax import Body, If

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

Act = Callable[[], Value | None]
Names = frozenset[str] | None


class NeedsSeq(Exception):
    """A list must have run-time length: it is appended to on one path only."""

    def __init__(self, obj: ListObj) -> None:
        self.obj = obj


class Arm:
    """One traced path: its statements and what it left behind."""

    def __init__(self, t: Tracer, act: Act) -> None:
        before = t.snapshot()
        stale = set(t.stale)
        with t.b.scope() as self.stms:
            self.value = act()
        self.locals = t.frame.locals
        self.heap = t.state.heap
        self.stale = t.stale
        t.stale = stale
        before.restore(t.frames, t.state)

    @property
    def is_dead(self) -> bool:
        flow = self.locals.get(FLOW)
        return isinstance(flow, Known) and flow.value == DEAD


def branch(t: Tracer, cond: Num, then: Act, orelse: Act, live: Names = None) -> Value | None:
    """Trace both arms under a run-time condition and join what they changed, of names those
    that are live (None: all). Returns the joined value of the acts."""
    with t.construct():
        arms = (Arm(t, then), Arm(t, orelse))
        plan = _Join(t, arms, live)
        for arm in arms:
            if not arm.is_dead:
                t.stale |= arm.stale
        plan.heap()
        plan.names()
        plan.results()
    plan.emit(cond.atom)
    return plan.value


@dataclass(slots=True, eq=False)
class Slot:
    """One thing that differs between the arms: its form, its value on each, where it goes."""

    form: Form
    values: tuple[Any, Any]
    store: Callable[[Value], None]
    hint: str


@dataclass(frozen=True, slots=True)
class Content:
    """Contents of an array that both arms have, as they are at the end of one."""

    var: Var


class _Join:
    def __init__(self, t: Tracer, arms: tuple[Arm, Arm], live: Names) -> None:
        self.t, self.arms, self.live = t, arms, live
        self.running = [a for a in arms if not a.is_dead]
        self.value: Value | None = None
        self.slots: list[Slot] = []
        self.before = dict(t.frame.locals), dict(t.state.heap)
        t.state.heap = {**arms[0].heap, **arms[1].heap, **self.before[1]}
        if not self.running:
            t.frame.locals[FLOW] = Known(DEAD)

    def slot(self, name: str, values: Sequence[Any], store: Callable[[Value], None]) -> None:
        if len(self.running) == 2:
            form = join(self.t, values[0], values[1], name)
        else:
            value = values[self.arms.index(self.running[0])]
            if isinstance(value, Maybe):
                self.maybe_slot(name, value, values, store)
                return
            form = form_of(self.t, value, name)
        self.slots.append(Slot(form, (values[0], values[1]), store, name))

    def maybe_slot(
        self, name: str, value: Value, values: Sequence[Value], store: Callable[[Value], None]
    ) -> None:
        """A slot for a value together with whether there is one."""
        form = maybe_form(self.t, value, name)
        pairs = (maybe_pair(values[0]), maybe_pair(values[1]))
        self.slots.append(Slot(form, pairs, lambda v: store(as_maybe(v, name)), name))

    def unchanged(self, values: Sequence[Any], old: Any) -> bool:
        return all(v is old for a, v in zip(self.arms, values, strict=True) if a in self.running)

    def names(self) -> None:
        target, old = self.t.frame.locals, self.before[0]
        for name in dict.fromkeys(n for a in self.running for n in a.locals):
            values = [
                a.locals.get(name, Unbound(f"'{name}' has no value on every path that leads here"))
                for a in self.arms
            ]
            if self.unchanged(values, old.get(name)):
                continue
            if self.live is not None and name not in self.live and name[0] != "$":
                target[name] = Unbound(f"'{name}' has no value on every path that leads here")
                continue
            store = _setter(target, name)
            if name == RETURNED and any(isinstance(v, Unbound) for v in values):
                known = next((v for v in values if not isinstance(v, Unbound)), None)
                if known is not None:  # one arm returns, the other goes on and never reads it
                    form = form_of(self.t, known, "the return value")
                    self.slots.append(Slot(form, (values[0], values[1]), store, "result"))
                continue
            if name[0] != "$" and self.leaves_with(name, values, store):
                continue
            self.slot(name, values, store)

    def leaves_with(self, name: str, values: list[Value], store: Callable[[Value], None]) -> bool:
        """A name that only the arm which leaves the loop gives a value: it may be there later."""
        for arm, value, other in zip(self.arms, values, values[::-1], strict=True):
            flow = arm.locals.get(FLOW)
            is_left = isinstance(flow, Known) and flow.value == BREAK
            if is_left and isinstance(other, Unbound) and not isinstance(value, Unbound):
                self.maybe_slot(name, value, values, store)
                return True
        return False

    def results(self) -> None:
        if self.running and self.running[0].value is not None:

            def store(value: Value) -> None:
                self.value = value

            self.slot("the value", [a.value for a in self.arms], store)

    def heap(self) -> None:
        for obj, old in self.before[1].items():
            contents = [a.heap.get(obj, old) for a in self.arms]
            if self.unchanged(contents, old):
                continue
            if isinstance(obj, ArrayObj):
                self.array(obj, contents)
            elif isinstance(obj, ListObj):
                self.list_(obj, contents)
            else:
                self.fields(obj, contents)

    def array(self, obj: ArrayObj, contents: list[Var]) -> None:
        heap = self.t.state.heap

        def store(value: Value) -> None:
            assert isinstance(value, Arr)
            heap[obj] = heap.pop(value.obj)

        form = ArrayForm(obj.dtype, obj.is_complex, obj.shape, name=contents[0].hint)
        self.slots.append(Slot(form, (Content(contents[0]), Content(contents[1])), store, obj.name))

    def list_(self, obj: ListObj, contents: list[Any]) -> None:
        heap = self.t.state.heap
        holders = []
        for content in contents:
            holder = ListObj()
            heap[holder] = content
            holders.append(Ref(holder))

        def store(value: Value) -> None:
            assert isinstance(value, Ref)
            heap[obj] = heap.pop(value.obj)

        if len(self.running) < 2:
            self.slot("the list", holders, store)
        elif any(isinstance(c, Seq) for c in contents):
            form = _common_seq(self.t, contents)
            self.slots.append(Slot(form, (holders[0], holders[1]), store, "list"))
        elif len(contents[0]) != len(contents[1]):
            raise NeedsSeq(obj)
        else:
            self.slot("the list", holders, store)

    def fields(self, obj: DictObj | InstanceObj, contents: list[dict[Any, Value]]) -> None:
        fields: dict[Any, Value] = dict(contents[0])
        self.t.state.heap[obj] = fields
        for key in {**contents[0], **contents[1]}:
            values = [c.get(key, Unbound(f"{key!r} is not set on every path")) for c in contents]
            if values[0] is not values[1]:
                self.slot(str(key), values, _setter(fields, key))

    def emit(self, cond: Atom) -> None:
        """Emit the If and rebuild what it returns."""
        t = self.t
        bodies = [self.arm_body(k, arm) for k, arm in enumerate(self.arms)]
        outs: list[Var] = []

        def make(type: Type, hint: str) -> Var:
            return Var(type, hint, t.loc)

        for slot in self.slots:
            new_vars(slot.form, slot.hint, outs, make)
        t.b.bind(tuple(outs), If(cond, bodies[0], bodies[1]))
        for slot in self.slots:
            slot.store(unpack(t, slot.form, outs))

    def arm_body(self, k: int, arm: Arm) -> Body:
        t = self.t
        after, stale = t.state.heap, t.stale
        t.state.heap = {**after, **arm.heap}
        t.stale = arm.stale
        atoms: list[Atom] = []
        with t.b.reopen(arm.stms):
            for slot in self.slots:
                value = slot.values[k]
                if isinstance(value, Content):
                    atoms.append(value.var)
                else:
                    pack(t, slot.form, Unbound() if arm.is_dead else value, atoms)
            body = t.b.body(tuple(atoms))
        t.state.heap, t.stale = after, stale
        return body


def _setter(target: dict[Any, Any], key: Any) -> Callable[[Value], None]:
    return lambda value: target.__setitem__(key, value)


def _common_seq(t: Tracer, contents: list[Any]) -> SeqForm:
    """Lists of run-time length: an empty one joins any."""
    for content in contents:
        if not isinstance(content, Seq) and content != ():
            raise CompileError(
                "a list with elements of compile time is appended to under a condition", t.loc,
                "start it empty, or use an array",
            )  # fmt: skip
    return seq_form(t, next(c for c in contents if isinstance(c, Seq)))
