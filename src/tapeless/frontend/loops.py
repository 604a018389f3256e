"""Loops: the body is traced until the loop's state, and the types it starts with, are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Array, Scalar, bool_, i64
from tapeless.errors import CompileError
from tapeless.frontend.branches import NeedsSeq, branch
from tapeless.frontend.join import (
    ArrayForm,
    Form,
    ListForm,
    Number,
    Same,
    SeqForm,
    Tree,
    as_maybe,
    form_of,
    join,
    join_numbers,
    maybe_form,
    maybe_pair,
    new_vars,
    number_form,
    pack,
    seq_form,
    spelled,
    unpack,
)  # fmt: skip
from tapeless.frontend.places import read_object
from tapeless.frontend.state import BREAK, CONTINUE, FLOW, NORMAL, RETURN, RETURNED
from tapeless.frontend.tracer import Hints
from tapeless.frontend.values import (
    Arr,
    ArrayObj,
    Known,
    ListObj,
    Maybe,
    Num,
    Ref,
    Seq,
    Tup,
    Unbound,
    Value,
    is_number,
)  # fmt: skip
from tapeless.ir.build import FALSE, ONE, TRUE, ZERO
from tapeless.ir.effects import is_pure
from tapeless.ir.syntax import Alloc, Body, For, If, Loop, Reverse, While

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

ATTEMPTS = 16


@dataclass(slots=True, eq=False)
class LoopSpec:
    """What is to be repeated. `size` passes, or while `test` holds; `exits`: the body may break or
    return. `assigned`: names that it binds; `written`: arrays that it writes, as far as its text
    tells; `head`, `after`: names live at the start of a pass and behind the loop."""

    key: Any
    body: Callable[[], None]
    assigned: tuple[str, ...]
    head: frozenset[str]
    after: frozenset[str]
    size: Atom | None = None
    test: Callable[[], Known | Num] | None = None
    bind: Callable[[Var], None] | None = None
    exits: bool = False
    hint: str = "i"
    written: tuple[ArrayObj, ...] = ()
    reverse: Reverse = field(default_factory=Reverse)


class _Again(Exception):
    """The loop's state was not yet right: trace the body again."""


_GROWS = Same(Known("a list that grows"))


@dataclass(slots=True, eq=False)
class Plan:
    """The state of a loop, as far as it is known."""

    names: dict[str, Form]
    objects: dict[Any, Any]
    late: dict[str, Form] = field(default_factory=dict)
    aliases: dict[str, frozenset[ArrayObj]] = field(default_factory=dict)
    rotated: bool = False


def trace_loop(t: Tracer, spec: LoopSpec) -> None:
    key = (spec.key, len(t.frames))
    plan = _first_plan(t, spec, t.loop_hints.get(key))
    for _ in range(ATTEMPTS):
        before, count, memo = t.snapshot(), len(t.b.scopes[-1]), dict(t.b.memo[-1])
        stale = set(t.stale)
        try:
            with t.construct():
                _Attempt(t, spec, plan).run()
        except _Again:
            before.restore(t.frames, t.state)
            del t.b.scopes[-1][count:]
            t.stale, t.b.memo[-1] = stale, memo
            continue
        t.loop_hints[key] = Hints(dict(plan.names), set(plan.late), plan.rotated)
        return
    raise CompileError("the types of this loop's variables do not settle", t.loc,
                       "give every variable its final type before the loop")  # fmt: skip


def _first_plan(t: Tracer, spec: LoopSpec, hints: Hints | None) -> Plan:
    """Numbers that are assigned are state; so is what an earlier trace found."""
    plan = Plan({}, dict.fromkeys(spec.written))
    for name in spec.assigned:
        value = t.frame.locals.get(name)
        if name not in spec.head or value is None or isinstance(value, Unbound | Maybe):
            continue
        known = hints.names.get(name) if hints is not None else None
        if is_number(value):
            form = number_form(t, value)
            wide = join_numbers(form, known) if isinstance(known, Number) else None
            plan.names[name] = wide or form
        elif (
            isinstance(known, ArrayForm)
            and isinstance(value, Arr)
            and value.rank == len(known.shape)
        ):
            shape = tuple(
                None if k is None else s for k, s in zip(known.shape, value.shape, strict=True)
            )
            plan.names[name] = replace(known, shape=shape)
    plan.rotated = hints is not None and hints.rotated
    return plan


@dataclass(slots=True, eq=False)
class Slot:
    """Part of the state: a name, or the contents of an object."""

    kind: str
    key: Any
    form: Any


class _Attempt:
    """One trace of a loop under an assumed state."""

    def __init__(self, t: Tracer, spec: LoopSpec, plan: Plan) -> None:
        self.t, self.spec, self.plan = t, spec, plan
        self.params: list[Var] = []
        self.inits: list[Atom] = []
        self.go = self.first_test()
        self.entry, self.entry_heap = dict(t.frame.locals), dict(t.state.heap)
        self.old: frozenset[ArrayObj] = frozenset()
        self.maybes: set[str] = set()  # late names that not every pass gives a value
        self.is_while = spec.size is None or spec.exits

    def run(self) -> None:
        t, spec = self.t, self.spec
        slots = self.enter()
        counter = t.index_var(spec.hint)
        flow, ran, go = (
            t.fresh(Scalar(d), h) for d, h in ((i64, "flow"), (bool_, "ran"), (bool_, "go"))
        )
        head = dict(t.frame.locals), dict(t.state.heap)
        cond = self.condition(counter, flow, go) if self.is_while else None
        t.frame.locals, t.state.heap = dict(head[0]), dict(head[1])
        with t.b.scope():
            flow_now, go_now = self.one_pass(counter)
            results = self.leave_all(slots, head)
            late, late_atoms = self.late()
            tail: list[tuple[Var, Atom, Atom]] = []  # parameter, start, next value
            if self.is_test_rotated:
                tail.append((go, self.go, go_now))
            if self.is_while and spec.size is not None:
                tail.append((counter, ZERO, t.b.prim("add", counter, ONE)))
            if spec.exits:
                tail.append((flow, ZERO, flow_now))
            if self.is_while and late:
                tail.append((ran, FALSE, TRUE))
            body = t.b.body((*results, *late_atoms, *(step for _, _, step in tail)))
        form: For | While
        if cond is not None:
            form = While(cond)
        else:
            assert spec.size is not None
            form = For(counter, spec.size)
        self.finish(slots, late, form, body, tail, (flow, ran))

    @property
    def is_test_rotated(self) -> bool:
        return self.plan.rotated and self.spec.test is not None

    # before the loop
    def first_test(self) -> Atom:
        """The condition before the first pass, where it cannot be part of the While itself."""
        return self.tested() if self.is_test_rotated else TRUE

    def tested(self) -> Atom:
        assert self.spec.test is not None
        known = self.spec.test()
        return Const(bool(known.value), bool_) if isinstance(known, Known) else known.atom

    def enter(self) -> list[Slot]:
        """Give the state its parameters."""
        t, plan = self.t, self.plan
        slots: list[Slot] = []
        values = {name: t.frame.locals[name] for name in plan.names}
        for name, form in plan.names.items():
            t.frame.locals[name] = self.parameter(form, values[name], name)
            slots.append(Slot("name", name, form))
        self.set_rivals(values)
        for obj, form in plan.objects.items():
            if isinstance(obj, ArrayObj):
                content = t.state.array(obj)
                param = t.fresh(content.type, content.hint)
                self.params.append(param)
                self.inits.append(content)
                t.state.heap[obj] = param
            elif isinstance(obj, ListObj):
                form = plan.objects[obj] = self.grown(obj) if form is _GROWS else form
                self.enter_list(obj, form)
            else:
                fields = dict(t.state.heap[obj])
                for key, sub in form.items():
                    fields[key] = self.parameter(sub, fields[key], str(key))
                t.state.heap[obj] = fields
            slots.append(Slot("object", obj, form))
        return slots

    def enter_list(self, obj: ListObj, form: Form) -> None:
        heap = self.t.state.heap
        holder = ListObj()
        heap[holder] = heap[obj]
        value = self.parameter(form, Ref(holder), "items")
        assert isinstance(value, Ref)
        heap[obj] = heap.pop(value.obj)

    def grown(self, obj: ListObj) -> Form:
        """The form of a list that is appended to."""
        content = self.t.state.heap[obj]
        if isinstance(content, Seq):
            return seq_form(self.t, content)
        known = self.t.list_elements.get(obj)
        if content == () and known is not None:
            return SeqForm(known[0], known[1])
        raise CompileError("this list grows in the loop but does not start empty", self.t.loc,
                           "start it empty, or use an array")  # fmt: skip

    def parameter(self, form: Form, value: Value, name: str) -> Value:
        """The value at the start of a pass, in parameters of the loop's body."""
        params: list[Var] = []
        pack(self.t, form, value, self.inits)
        new_vars(form, name, params, self.t.fresh)
        self.params += params
        return unpack(self.t, form, params)

    def set_rivals(self, values: dict[str, Value]) -> None:
        """Arrays that are rebound in the loop are new objects in it: once one of these is written,
        what the old objects hold is not known, and the other way round."""
        self.old = frozenset(
            v.obj for n, v in values.items()
            if isinstance(v, Arr) and isinstance(self.plan.names[n], ArrayForm)
        )  # fmt: skip
        for name in self.plan.names:
            self.set_rival(name)

    def set_rival(self, name: str) -> None:
        t = self.t
        value = t.frame.locals[name]
        if not (isinstance(self.plan.names[name], ArrayForm) and isinstance(value, Arr)):
            return
        obj = value.obj
        obj.rivals = self.old
        obj.cousins = self.plan.aliases.get(name, frozenset())
        for other in self.old | obj.cousins:
            t.dependents.setdefault(other, set()).add(obj)

    # one pass
    def condition(self, counter: Var, flow: Var, go: Var) -> Body:
        t, spec = self.t, self.spec
        with t.b.scope():
            cond: Atom = TRUE
            if spec.size is not None:
                cond = t.b.prim("lt", counter, spec.size)
            if spec.exits and not self.is_test_rotated:
                cond = t.b.prim("and", cond, t.b.prim("eq", flow, ZERO))
            names = dict(t.frame.locals)
            if spec.test is not None:
                cond = go if self.plan.rotated else self.tested_if(cond)
            binds = any(names.get(n) is not v for n, v in t.frame.locals.items())
            body = t.b.body((cond,))
        if binds or not is_pure(body):
            self.plan.rotated = True
            raise _Again
        return body

    def tested_if(self, cond: Atom) -> Atom:
        """The user's condition, looked at only if the loop has not been left."""
        t = self.t
        if isinstance(cond, Const):
            return self.tested()
        with t.b.scope():
            then = t.b.body((self.tested(),))
        if not then.stms:
            return t.b.prim("and", cond, then.results[0])
        return t.b.one(If(cond, then, Body((), (FALSE,))), "go")

    def one_pass(self, counter: Var) -> tuple[Atom, Atom]:
        """Trace the body; how it ended, and whether to go on."""
        t, spec = self.t, self.spec
        t.frame.locals[FLOW] = Known(NORMAL)
        try:
            if spec.bind is not None:
                spec.bind(counter)
            spec.body()
        except NeedsSeq as need:
            self.plan.objects[need.obj] = _GROWS
            raise _Again from None
        flow = self.flow_atom(t.frame.locals.get(FLOW, Known(NORMAL)))
        if not self.is_test_rotated:
            return flow, TRUE
        again = t.b.prim("eq", flow, ZERO)
        if isinstance(again, Const):
            return flow, self.tested() if again.value else FALSE
        go = branch(t, Num(again), lambda: Num(self.tested(), True), lambda: Num(FALSE, True))
        assert isinstance(go, Num)
        return flow, go.atom

    def leave_all(self, slots: list[Slot], head: Any) -> list[Atom]:
        self.discover(head)
        atoms: list[Atom] = []
        settled = True
        for slot in slots:
            settled = self.leave(slot, atoms) and settled
        if not settled:
            raise _Again
        self.find_aliases(slots)
        return atoms

    def leave(self, slot: Slot, atoms: list[Atom]) -> bool:
        """Atoms of a slot at the end of a pass; False if its form had to be widened."""
        t, plan, key = self.t, self.plan, slot.key
        if slot.kind == "name":
            wider = self.widen(slot.form, t.frame.locals.get(key, Unbound()), key)
            if wider is slot.form:
                pack(t, slot.form, t.frame.locals[key], atoms)
            plan.names[key] = wider
            return wider is slot.form
        if isinstance(key, ArrayObj):
            atoms.append(read_object(t, key))
            return True
        if isinstance(key, ListObj):
            holder = ListObj()
            t.state.heap[holder] = t.state.heap[key]
            wider = self.widen(slot.form, Ref(holder), "the list")
            if wider is slot.form:
                pack(t, slot.form, Ref(holder), atoms)
            plan.objects[key] = wider
            return wider is slot.form
        settled = True
        for name, sub in list(slot.form.items()):
            value = t.state.heap[key][name]
            wider = self.widen(sub, value, str(name))
            if wider is sub:
                pack(t, sub, value, atoms)
            slot.form[name] = wider
            settled &= wider is sub
        return settled

    def find_aliases(self, slots: list[Slot]) -> None:
        """Names of the state that come to stand for an array that lives outside, or for one that
        another name of the state stands for."""
        t, plan = self.t, self.plan
        seen: dict[ArrayObj, str] = {}
        for slot in slots:
            value = t.frame.locals[slot.key] if slot.kind == "name" else None
            if not (isinstance(value, Arr) and isinstance(slot.form, ArrayForm)):
                continue
            other = seen.setdefault(value.obj, slot.key)
            if other != slot.key and value.view is None:
                raise CompileError(
                    f"'{other}' and '{slot.key}' become two names for one array in this loop",
                    t.loc,
                    f"take a copy: {slot.key} = {other}.copy()",
                )
            known = plan.aliases.get(slot.key, frozenset())
            if t.is_outer_object(value.obj) and value.obj not in known:
                plan.aliases[slot.key] = known | {value.obj}
                raise _Again

    # discoveries
    def discover(self, head: tuple[dict[str, Value], dict[Any, Any]]) -> None:
        """Names and objects that the body changed although they were not taken as state."""
        t, plan, spec = self.t, self.plan, self.spec
        found = False
        for name in spec.assigned:
            old, now = head[0].get(name), t.frame.locals.get(name)
            if name in plan.names or name not in spec.head or old is None or now is old:
                continue
            if isinstance(old, Unbound | Maybe) or now is None:
                continue
            form = join(t, old, now, name)
            if isinstance(form, ArrayForm):
                form = replace(form, cousins=frozenset())
                assert isinstance(old, Arr)
                plan.objects.pop(old.obj, None)
            if not isinstance(form, Same):
                plan.names[name] = form
                found = True
        if found:
            raise _Again
        for obj, content in head[1].items():
            if obj not in self.entry_heap:
                continue  # what a name of the state stands for
            if obj not in plan.objects and t.state.heap.get(obj) is not content:
                plan.objects[obj] = self.discovered(obj, content, t.state.heap[obj])
                found = True
        if found:
            raise _Again

    def discovered(self, obj: Any, old: Any, now: Any) -> Any:
        t = self.t
        if isinstance(obj, ArrayObj):
            return None
        if isinstance(obj, ListObj):
            if isinstance(now, Seq) or isinstance(old, Seq) or len(now) != len(old):
                return _GROWS
            a, b = ListObj(), ListObj()
            t.state.heap[a], t.state.heap[b] = old, now
            return join(t, Ref(a), Ref(b), "the list")
        if set(now) != set(old):
            raise CompileError("a dict gains keys in a loop", t.loc, "create the keys before it")
        return {k: join(t, v, now[k], str(k)) for k, v in old.items() if now[k] is not v}

    def widen(self, form: Form, value: Value, name: str) -> Form:
        """The form, or a wider one if the value at the end of the pass does not fit it."""
        t = self.t
        value = spelled(value)
        if isinstance(value, Unbound):
            raise CompileError(f"'{name}' does not have a value at the end of every pass", t.loc,
                               f"give '{name}' a value on every path")  # fmt: skip
        match form, value:
            case Number(), _:
                return self.widen_number(form, value, name)
            case ArrayForm(), Arr():
                return self.widen_array(form, value, name)
            case Tree(items, cls), Tup(values, cls2) if len(items) == len(values) and cls is cls2:
                parts = tuple(self.widen(f, v, name) for f, v in zip(items, values, strict=True))
                return form if all(map(_is, parts, items)) else Tree(parts, cls)
            case ListForm(items), Ref(ListObj() as obj):
                content = t.state.heap[obj]
                if isinstance(content, Seq) or len(content) != len(items):
                    return _GROWS
                parts = tuple(self.widen(f, v, name) for f, v in zip(items, content, strict=True))
                return form if all(map(_is, parts, items)) else ListForm(parts)
            case SeqForm(), Ref(ListObj()):
                return form
            case Same(old), _:
                return form if value is old else join(t, old, value, name)
        raise CompileError(
            f"'{name}' is {t.describe(value)} after a pass of the loop, but not before",
            t.loc,
            "give it one type",
        )

    def widen_number(self, form: Number, value: Value, name: str) -> Form:
        t = self.t
        if not is_number(value):
            raise CompileError(
                f"'{name}' is a number before the loop and {t.describe(value)} after a pass",
                t.loc,
                "give it one type",
            )
        wide = join_numbers(form, number_form(t, value))
        if wide is None:
            raise CompileError(
                f"'{name}' changes its type in the loop from {form.dtype.name} to"
                f" {t.describe(value)}", t.loc, "convert it to one element type",
            )  # fmt: skip
        return form if wide == form else wide

    def widen_array(self, form: ArrayForm, value: Arr, name: str) -> Form:
        t = self.t
        if (value.dtype, value.is_complex, value.rank) != (
            form.dtype,
            form.is_complex,
            len(form.shape),
        ):
            raise CompileError(
                f"'{name}' changes in the loop from rank {len(form.shape)} of {form.dtype.name} to"
                f" {t.describe(value)}", t.loc, "use another name, or .astype",
            )  # fmt: skip
        shape = tuple(
            old if old is None or old == new or t.is_same_size(old, new) else None
            for old, new in zip(form.shape, value.shape, strict=True)
        )
        return form if shape == form.shape else replace(form, shape=shape)

    # the end
    def late(self) -> tuple[list[tuple[str, Form]], list[Atom]]:
        """Names that are first set in the body and read behind the loop."""
        t, plan, spec = self.t, self.plan, self.spec
        found: list[tuple[str, Form]] = []
        atoms: list[Atom] = []
        wanted = [n for n in spec.assigned if n not in plan.names and n in spec.after]
        if spec.exits and RETURNED in t.frame.locals:
            wanted.append(RETURNED)
        for name in wanted:
            old, value = self.entry.get(name), t.frame.locals.get(name)
            if value is None or isinstance(value, Unbound):
                continue
            if old is not None and not isinstance(old, Unbound | Maybe):
                continue
            is_maybe = isinstance(value, Maybe)
            form = maybe_form(t, value, name) if is_maybe else form_of(t, value, name)
            form = plan.late.setdefault(name, form)
            pack(t, form, maybe_pair(value) if is_maybe else value, atoms)
            self.maybes |= {name} if is_maybe else set()
            found.append((name, form))
        return found, atoms

    def flow_atom(self, flow: Value) -> Atom:
        if isinstance(flow, Known):
            return Const(flow.value if flow.value in (BREAK, RETURN) else NORMAL, i64)
        assert isinstance(flow, Num)
        return resume(self.t, flow.atom)

    def finish(
        self, slots: list[Slot], late: list[tuple[str, Form]], form: For | While, body: Body,
        tail: list[tuple[Var, Atom, Atom]], control: tuple[Var, Var],
    ) -> None:  # fmt: skip
        t, spec = self.t, self.spec
        late_params, late_inits = self.late_state(late)
        t.frame.locals, t.state.heap = dict(self.entry), dict(self.entry_heap)
        params = (*self.params, *late_params, *(p for p, _, _ in tail))
        inits = (*self.inits, *late_inits, *(start for _, start, _ in tail))
        loop = Loop(form, params, inits, body, spec.reverse)
        outs = list(t.b.let(loop, *(p.hint for p in params)))
        ends = dict(zip((p for p, _, _ in tail), outs[len(outs) - len(tail) :], strict=True))
        for slot in slots:
            self.store(slot, outs)
        done = ends.get(control[1]) or t.b.prim("lt", ZERO, spec.size or ONE)
        set_late = dict(late)
        for name, sub in late:
            value = unpack(t, sub, outs)
            always = isinstance(done, Const) and done.value
            if name in self.maybes:
                t.frame.locals[name] = as_maybe(value, name)
                continue
            t.frame.locals[name] = value if always or name == RETURNED else Maybe(value, done, name)
        for name in spec.assigned:
            if name not in self.plan.names and name not in set_late and name not in spec.head:
                t.frame.locals[name] = Unbound(f"'{name}' has no value behind the loop")
        if spec.exits:
            t.frame.locals[FLOW] = Num(ends[control[0]], weak=True)

    def late_state(self, late: list[tuple[str, Form]]) -> tuple[list[Var], list[Atom]]:
        """Places for names first set in the body: zeros before the first pass."""
        t = self.t
        params: list[Var] = []
        for name, form in late:
            new_vars(form, name, params, t.fresh)
        inits: list[Atom] = []
        known: dict[Any, Atom] = {}
        for param in params:
            if isinstance(param.type, Array):
                shape = tuple(
                    Const(s, i64) if isinstance(s, int) else known.get(s, s)
                    for s in param.type.shape
                )
                inits.append(t.b.one(Alloc("zeros", param.dtype, shape), "none"))
            else:
                inits.append(Const(0, param.dtype))
                if param.type == INDEX:
                    known[param] = inits[-1]
        return params, inits

    def store(self, slot: Slot, outs: list[Var]) -> None:
        t, key = self.t, slot.key
        if slot.kind == "name":
            t.frame.locals[key] = unpack(t, slot.form, outs)
            self.set_rival(key)
        elif isinstance(key, ArrayObj):
            t.state.heap[key] = outs.pop(0)
        elif isinstance(key, ListObj):
            value = unpack(t, slot.form, outs)
            assert isinstance(value, Ref)
            t.state.heap[key] = t.state.heap.pop(value.obj)
        else:
            fields = dict(t.state.heap[key])
            for name, sub in slot.form.items():
                fields[name] = unpack(t, sub, outs)
            t.state.heap[key] = fields


def _is(a: Any, b: Any) -> bool:
    return a is b


def resume(t: Tracer, flow: Atom) -> Atom:
    """The flow at the end of a pass: `continue` has been honoured."""
    return t.b.prim("select", t.b.prim("eq", flow, Const(CONTINUE, i64)), ZERO, flow)
