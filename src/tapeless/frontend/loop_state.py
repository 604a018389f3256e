"""The state of a loop: the names and objects that a pass hands to the next one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Atom, Var
from tapeless.errors import CompileError
from tapeless.frontend.join import ArrayForm, Form, Same, SeqForm, join, seq_form
from tapeless.frontend.packing import new_vars, pack, unpack
from tapeless.frontend.places import read_object
from tapeless.frontend.sequences import as_seq, common_element, flatten, leaf_forms
from tapeless.frontend.values import (
    Arr,
    ArrayObj,
    ListObj,
    Maybe,
    Ref,
    Seq,
    Unbound,
    Value,
)  # fmt: skip
from tapeless.frontend.widen import GROWS, widen

if TYPE_CHECKING:
    from tapeless.frontend.loops import LoopSpec
    from tapeless.frontend.tracer import Tracer


class Again(Exception):
    """The loop's state was not yet right: trace the body again."""


@dataclass(slots=True, eq=False)
class Plan:
    """The state of a loop, as far as it is known."""

    names: dict[str, Form]
    objects: dict[Any, Any]
    late: dict[str, Form] = field(default_factory=dict)
    aliases: dict[str, frozenset[ArrayObj]] = field(default_factory=dict)
    rotated: bool = False


@dataclass(slots=True, eq=False)
class Slot:
    """Part of the state: a name, or the contents of an object."""

    kind: str
    key: Any
    form: Any


class LoopState:
    """The names and objects of one trace: parameters at its start, atoms at the end of a pass."""

    def __init__(self, t: Tracer, spec: LoopSpec, plan: Plan) -> None:
        self.t, self.spec, self.plan = t, spec, plan
        self.slots: list[Slot] = []
        self.params: list[Var] = []
        self.inits: list[Atom] = []
        self.heap = dict(t.state.heap)  # before the loop
        self.old: frozenset[ArrayObj] = frozenset()

    # the start of a pass
    def enter(self) -> None:
        """Give the state its parameters."""
        t, plan = self.t, self.plan
        values = {name: t.frame.locals[name] for name in plan.names}
        for name, form in plan.names.items():
            t.frame.locals[name] = self.parameter(form, values[name], name)
            self.slots.append(Slot("name", name, form))
        self.set_rivals(values)
        for obj, form in plan.objects.items():
            if isinstance(obj, ArrayObj):
                content = t.state.array(obj)
                param = t.fresh(content.type, content.hint)
                self.params.append(param)
                self.inits.append(content)
                t.state.heap[obj] = param
            elif isinstance(obj, ListObj):
                form = plan.objects[obj] = self.grown(obj) if form is GROWS else form
                self.enter_list(obj, form)
            else:
                fields = dict(t.state.heap[obj])
                for key, sub in form.items():
                    fields[key] = self.parameter(sub, fields[key], str(key))
                t.state.heap[obj] = fields
            self.slots.append(Slot("object", obj, form))

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
        for item in content:
            own = flatten(self.t, item, [])
            known = own if known is None else common_element(self.t, known, own)
        if known is None:
            raise CompileError("what this list holds is not known", self.t.loc, "use an array")
        self.t.state.heap[obj] = as_seq(self.t, content, known)
        return SeqForm(known, leaf_forms(known))

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

    # the end of a pass
    def leave(self, head: Any) -> list[Atom]:
        self.discover(head)
        atoms: list[Atom] = []
        settled = True
        for slot in self.slots:
            settled = self.leave_slot(slot, atoms) and settled
        if not settled:
            raise Again
        self.find_aliases()
        return atoms

    def leave_slot(self, slot: Slot, atoms: list[Atom]) -> bool:
        """Atoms of a slot at the end of a pass; False if its form had to be widened."""
        t, plan, key = self.t, self.plan, slot.key
        if slot.kind == "name":
            wider = widen(t, slot.form, t.frame.locals.get(key, Unbound()), key)
            if wider is slot.form:
                pack(t, slot.form, t.frame.locals[key], atoms)
            plan.names[key] = wider
            return wider is slot.form
        if isinstance(key, ArrayObj):
            if key in t.appended:
                raise CompileError(
                    f"'{key.name}' is written in this loop, but a list holds it: all items would"
                    " change", t.loc, "append a copy, with .copy()",
                )  # fmt: skip
            atoms.append(read_object(t, key))
            return True
        if isinstance(key, ListObj):
            holder = ListObj()
            t.state.heap[holder] = t.state.heap[key]
            wider = widen(t, slot.form, Ref(holder), "the list")
            if wider is slot.form:
                pack(t, slot.form, Ref(holder), atoms)
            plan.objects[key] = wider
            return wider is slot.form
        settled = True
        for name, sub in list(slot.form.items()):
            value = t.state.heap[key][name]
            wider = widen(t, sub, value, str(name))
            if wider is sub:
                pack(t, sub, value, atoms)
            slot.form[name] = wider
            settled &= wider is sub
        return settled

    def find_aliases(self) -> None:
        """Names of the state that come to stand for an array that lives outside, or for one that
        another name of the state stands for."""
        t, plan = self.t, self.plan
        seen: dict[ArrayObj, str] = {}
        for slot in self.slots:
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
                raise Again

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
            raise Again
        for obj, content in head[1].items():
            if obj not in self.heap:
                continue  # what a name of the state stands for
            if obj not in plan.objects and t.state.heap.get(obj) is not content:
                plan.objects[obj] = self.discovered(obj, content, t.state.heap[obj])
                found = True
        if found:
            raise Again

    def discovered(self, obj: Any, old: Any, now: Any) -> Any:
        t = self.t
        if isinstance(obj, ArrayObj):
            return None
        if isinstance(obj, ListObj):
            if isinstance(now, Seq) or isinstance(old, Seq) or len(now) != len(old):
                return GROWS
            a, b = ListObj(), ListObj()
            t.state.heap[a], t.state.heap[b] = old, now
            return join(t, Ref(a), Ref(b), "the list")
        if set(now) != set(old):
            raise CompileError("a dict gains keys in a loop", t.loc, "create the keys before it")
        return {k: join(t, v, now[k], str(k)) for k, v in old.items() if now[k] is not v}

    # behind the loop
    def store(self, outs: list[Var]) -> None:
        for slot in self.slots:
            self.store_slot(slot, outs)

    def store_slot(self, slot: Slot, outs: list[Var]) -> None:
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
