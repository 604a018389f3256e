"""Branches and loops: paths are traced apart, then joined."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Array, Scalar, Type, bool_, f64, i64
from tapeless.errors import CompileError
from tapeless.frontend.arrays import materialise, read_object
from tapeless.frontend.join import (
    Absent, ArrayForm, Form, ListForm, Number, Same, SeqForm, Tree, form_of, join, join_numbers,
    number_form, pack, seq_form, unpack,
)  # fmt: skip
from tapeless.frontend.state import BREAK, CONTINUE, DEAD, FLOW, NORMAL, RETURN, RETURNED
from tapeless.frontend.values import (
    Arr, ArrayObj, DictObj, InstanceObj, Known, ListObj, Maybe, Num, Ref, Seq, Tup, Unbound, Value,
    is_number,
)  # fmt: skip
from tapeless.ir.build import FALSE, ONE, ZERO
from tapeless.ir.syntax import For, If, Let, Loop, Reverse, While

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

Act = Callable[[], Value | None]


# Branches -----------------------------------------------------------------------------------


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


def branch(t: Tracer, cond: Num, then: Act, orelse: Act) -> Value | None:
    """Trace both arms under a run-time condition and join what they changed.

    Returns the joined value of the acts (for conditional expressions)."""
    with t.construct():
        arms = [Arm(t, then), Arm(t, orelse)]
        before = dict(t.frame.locals), dict(t.state.heap)
        t.stale |= arms[0].stale | arms[1].stale
        plan = _Plan(t, before, arms)
    plan.emit(cond.atom)
    return plan.value


class _Plan:
    """What travels out of two arms: names, heap contents, and the value of the expression."""

    def __init__(self, t: Tracer, before: tuple[dict[str, Value], dict[Any, Any]], arms: list[Arm]) -> None:
        self.t = t
        self.arms = arms
        self.value: Value | None = None
        live = [a for a in arms if not a.is_dead]
        self.slots: list[tuple[Form, tuple[Any, Any], Callable[[Value], None]]] = []
        if not live:
            t.frame.locals[FLOW] = Known(DEAD)
            return
        t.state.heap = {**arms[0].heap, **arms[1].heap, **before[1]}
        self._heap(before[1], live)
        self._locals(before[0], live)
        if arms[0].value is not None:
            self._slot("the value", [a.value for a in arms], live, self._set_value)

    def _set_value(self, value: Value) -> None:
        self.value = value

    def _slot(self, name: str, values: list[Any], live: list[Arm], store: Callable[[Value], None]) -> None:
        if len(live) == 1:
            value = values[self.arms.index(live[0])]
            form: Form = form_of(self.t, value, name)
        else:
            form = join(self.t, values[0], values[1], name)
        self.slots.append((form, (values[0], values[1]), store))

    def _locals(self, before: dict[str, Value], live: list[Arm]) -> None:
        names: dict[str, None] = {}
        for arm in live:
            names.update(dict.fromkeys(arm.locals))
        target = self.t.frame.locals
        for name in names:
            values = [a.locals.get(name, Unbound(f"'{name}' is not defined here")) for a in self.arms]
            if name == RETURNED and any(isinstance(v, Unbound) for v in values):
                self._returned(values)
                continue
            if all(v is before.get(name) for a, v in zip(self.arms, values, strict=True) if a in live):
                continue
            self._slot(name, values, live, lambda v, name=name: target.__setitem__(name, v))

    def _returned(self, values: list[Any]) -> None:
        """One arm returns and the other goes on: what travels there is never read."""
        value = next(v for v in values if not isinstance(v, Unbound))
        form = form_of(self.t, value, "the return value")
        target = self.t.frame.locals
        self.slots.append(
            (form, (values[0], values[1]), lambda v: target.__setitem__(RETURNED, v))
        )

    def _heap(self, before: dict[Any, Any], live: list[Arm]) -> None:
        heap = self.t.state.heap
        for obj, old in before.items():
            contents = [a.heap.get(obj, old) for a in self.arms]
            if all(c is old for a, c in zip(self.arms, contents, strict=True) if a in live):
                continue
            if isinstance(obj, ArrayObj):
                self._array(obj, contents)
            elif isinstance(obj, ListObj):
                self._list(obj, contents, live)
            else:
                self._fields(obj, contents, live)
        _ = heap

    def _array(self, obj: ArrayObj, contents: list[Var]) -> None:
        form = ArrayForm(obj.dtype, obj.is_complex, obj.shape)
        heap = self.t.state.heap

        def store(value: Value) -> None:
            assert isinstance(value, Arr)
            heap[obj] = heap.pop(value.obj)

        self.slots.append((form, (_Content(contents[0]), _Content(contents[1])), store))

    def _list(self, obj: ListObj, contents: list[Any], live: list[Arm]) -> None:
        heap = self.t.state.heap
        holders = []
        for content in contents:
            holder = ListObj()
            heap[holder] = content
            holders.append(Ref(holder))
        if len(live) == 2 and any(isinstance(c, Seq) for c in contents):
            form = _join_seqs(self.t, contents)
            holders = [_as_seq(self.t, h, form) for h in holders]
        elif len(live) == 2 and len(contents[0]) != len(contents[1]):
            raise _NeedsSeq(obj)
        else:
            form = (
                join(self.t, holders[0], holders[1], "the list") if len(live) == 2
                else form_of(self.t, holders[self.arms.index(live[0])])
            )  # fmt: skip

        def store(value: Value) -> None:
            assert isinstance(value, Ref)
            heap[obj] = heap.pop(value.obj)

        self.slots.append((form, (holders[0], holders[1]), store))

    def _fields(self, obj: DictObj | InstanceObj, contents: list[dict[Any, Value]], live: list[Arm]) -> None:
        heap = self.t.state.heap
        fields: dict[Any, Value] = dict(contents[0])
        heap[obj] = fields
        for key in {**contents[0], **contents[1]}:
            values = [c.get(key, Unbound(f"{key!r} is not set on every path")) for c in contents]
            if values[0] is values[1]:
                continue
            self._slot(str(key), values, live, lambda v, key=key: fields.__setitem__(key, v))

    def emit(self, cond: Atom) -> None:
        """Emit the If and rebuild what it returns."""
        t = self.t
        bodies = []
        for k, arm in enumerate(self.arms):
            after = t.state.heap
            t.state.heap = {**after, **arm.heap, **{o: c for o, c in after.items() if o not in arm.heap}}
            stale, t.stale = t.stale, arm.stale
            with t.b.reopen(arm.stms):
                atoms: list[Atom] = []
                for form, values, _ in self.slots:
                    value = Unbound() if arm.is_dead else values[k]
                    if isinstance(value, _Content):
                        atoms.append(value.var)
                    else:
                        pack(t, form, value, atoms)
                bodies.append(t.b.body(tuple(atoms)))
            t.state.heap, t.stale = after, stale
        outs = list(t.b.let(If(cond, bodies[0], bodies[1]), *_hints(bodies)))
        for form, _, store in self.slots:
            store(unpack(t, form, outs))


class _Content:
    """Contents of an array that both arms have, as they are at the end of one."""

    def __init__(self, var: Var) -> None:
        self.var = var


class _NeedsSeq(Exception):
    """A list must have run-time length: it is appended to on one path only."""

    def __init__(self, obj: ListObj) -> None:
        self.obj = obj


def _join_seqs(t: Tracer, contents: list[Any]) -> SeqForm:
    seq = next(c for c in contents if isinstance(c, Seq))
    return seq_form(t, seq)


def _as_seq(t: Tracer, holder: Ref, form: SeqForm) -> Ref:
    content = t.state.heap[holder.obj]
    if isinstance(content, Seq) or content == ():
        return holder
    raise CompileError(
        "a list with elements of compile time is appended to under a condition", t.loc,
        "start it empty, or use an array",
    )  # fmt: skip


def _hints(bodies: Sequence[Any]) -> list[str]:
    return [
        a.hint if isinstance(a, Var) else b.hint if isinstance(b, Var) else "t"
        for a, b in zip(bodies[0].results, bodies[1].results, strict=True)
    ]


# Loops --------------------------------------------------------------------------------------


class LoopTrace:
    """Traces a loop's body until its state is known: names that change, objects that are written,
    and the types they have from the start."""

    ATTEMPTS = 12

    def __init__(self, t: Tracer, assigned: Sequence[str], exits: bool) -> None:
        self.t = t
        self.exits = exits
        self.names: dict[str, Form | None] = {}
        self.late: dict[str, Form] = {}
        self.objects: dict[Any, Form] = {}
        self.assigned = assigned
        for name in assigned:
            value = t.frame.locals.get(name)
            if value is not None and not isinstance(value, Unbound | Maybe) and is_number(value):
                self.names[name] = number_form(t, value)

    def run(self, emit: Callable[[LoopTrace], None]) -> None:
        """Call `emit` until nothing is discovered any more."""
        t = self.t
        for _ in range(self.ATTEMPTS):
            before, count, memo = t.snapshot(), len(t.b.scopes[-1]), dict(t.b.memo[-1])
            stale, written = set(t.stale), set(t.written)
            try:
                emit(self)
                return
            except _Again:
                before.restore(t.frames, t.state)
                del t.b.scopes[-1][count:]
                t.stale, t.written, t.b.memo[-1] = stale, written, memo
        raise CompileError("the types of this loop's variables do not settle", t.loc,
                           "give every variable its final type before the loop")  # fmt: skip

    def widen_list(self, obj: ListObj) -> None:
        self.objects[obj] = _PENDING


class _Again(Exception):
    """The loop's state was not yet right: trace the body again."""


_PENDING = Same(Known("list of run-time length"))


def trace_loop(
    t: Tracer, size: Atom | None, test: Callable[[], Known | Num] | None, bind: Callable[[Var], None] | None,
    body: Callable[[], None], assigned: Sequence[str], exits: bool, hint: str = "i",
    reverse: Reverse | None = None,
) -> None:  # fmt: skip
    """A loop over `size` passes (`bind` gives the item its name) or while `test` holds.

    `exits`: the body may break or return, so that the loop is a While with its state."""
    trace = LoopTrace(t, assigned, exits)

    def emit(plan: LoopTrace) -> None:
        _LoopEmission(t, plan, size, test, bind, body, hint, reverse or Reverse()).run()

    with t.construct():
        trace.run(emit)


class _LoopEmission:
    """One attempt to trace a loop under an assumed state."""

    def __init__(
        self, t: Tracer, plan: LoopTrace, size: Atom | None, test: Any, bind: Any,
        body: Callable[[], None], hint: str, reverse: Reverse,
    ) -> None:  # fmt: skip
        self.t, self.plan, self.size, self.test, self.bind = t, plan, size, test, bind
        self.act, self.hint, self.reverse = body, hint, reverse
        self.is_while = size is None or plan.exits
        self.params: list[Var] = []
        self.inits: list[Atom] = []
        self.before = t.snapshot()

    # state: (kind, key, form)
    def run(self) -> None:
        t, plan = self.t, self.plan
        entry_locals, entry_heap = dict(t.frame.locals), dict(t.state.heap)
        slots = self._enter(entry_locals, entry_heap)
        counter = t.index_var(self.hint)
        flow = t.fresh(Scalar(i64), "flow")
        ran = t.fresh(Scalar(bool_), "ran")
        cond_body = None
        if self.is_while:
            cond_body = self._condition(counter, flow)
        head = dict(t.frame.locals), dict(t.state.heap)
        with t.b.scope() as stms:
            t.frame.locals[FLOW] = Known(NORMAL)
            if self.bind is not None:
                self.bind(counter)
            try:
                self.act()
            except _NeedsSeq as need:
                plan.widen_list(need.obj)
                raise _Again from None
            results = self._leave(slots, head)
            late = self._late(entry_locals)
            flow_now = t.frame.locals.get(FLOW, Known(NORMAL))
            tail: list[Atom] = []
            if self.is_while:
                tail = [t.b.prim("add", counter, ONE), self._flow_atom(flow_now), Const(True, bool_)]
            body = t.b.body((*results, *late[1], *tail))
        _ = stms
        after_stale = t.stale
        self._finish(slots, late, body, cond_body, (counter, flow, ran), entry_locals, entry_heap)
        t.stale = after_stale

    def _enter(self, names: dict[str, Value], heap: dict[Any, Any]) -> list[Any]:
        """Give the loop's state new variables; returns (store, form, value at entry) per slot."""
        t, plan = self.t, self.plan
        slots: list[Any] = []
        for name, form in plan.names.items():
            if form is None:
                form = form_of(t, names[name], name)
                plan.names[name] = form
            value = self._bind_state(form, names[name])
            t.frame.locals[name] = value
            slots.append(("name", name, form))
        for obj, form in plan.objects.items():
            if form is _PENDING:
                form = self._pending_list(obj, heap)
            if isinstance(obj, ArrayObj):
                param = t.fresh(heap[obj].type, heap[obj].hint)
                self.params.append(param)
                self.inits.append(heap[obj])
                t.state.heap[obj] = param
            elif isinstance(obj, ListObj):
                holder = ListObj()
                t.state.heap[holder] = heap[obj]
                value = self._bind_state(form, Ref(holder))
                assert isinstance(value, Ref)
                t.state.heap[obj] = t.state.heap.pop(value.obj)
            else:
                self._enter_fields(obj, form, heap)
            slots.append(("object", obj, form))
        return slots

    def _pending_list(self, obj: ListObj, heap: dict[Any, Any]) -> Form:
        content = heap[obj]
        if isinstance(content, Seq):
            return seq_form(self.t, content)
        if content == ():
            known = self.t.list_elements.get(obj)
            if known is None:
                raise CompileError("the elements of this list are not known here", self.t.loc,
                                   "fill an array instead")  # fmt: skip
            return SeqForm(known[0], known[1])
        raise CompileError("this list grows in the loop but does not start empty", self.t.loc,
                           "start it empty, or use an array")  # fmt: skip

    def _enter_fields(self, obj: Any, form: Any, heap: dict[Any, Any]) -> None:
        fields = dict(heap[obj])
        for key, sub in form.items():
            fields[key] = self._bind_state(sub, fields[key])
        self.t.state.heap[obj] = fields

    def _bind_state(self, form: Form, value: Value) -> Value:
        """The value at the start of a pass: parameters of the loop's body."""
        t = self.t
        atoms: list[Atom] = []
        pack(t, form, value, atoms)
        params: list[Var] = []
        sizes: dict[Atom, Var] = {}
        for atom in atoms:
            type: Type = atom.type
            if isinstance(type, Array):
                type = Array(type.dtype, tuple(
                    sizes.get(Const(s, i64) if isinstance(s, int) else s, s) for s in type.shape))  # fmt: skip
            hint = atom.hint if isinstance(atom, Var) else getattr(value, "hint", "t")
            param = t.fresh(type, hint)
            if type == INDEX and (isinstance(atom, Var) or isinstance(form, ArrayForm | SeqForm)):
                sizes[atom] = param
            params.append(param)
        self._name_params(form, params)
        self.params += params
        self.inits += atoms
        return unpack(t, form, list(params))

    def _name_params(self, form: Form, params: list[Var]) -> None:
        if isinstance(form, Number):
            for name, known in self.plan.names.items():
                if known is form:
                    for p in params:
                        p.hint = name

    def _condition(self, counter: Var, flow: Var) -> Any:
        t = self.t
        with t.b.scope():
            cond: Atom = Const(True, bool_)
            if self.size is not None:
                cond = t.b.prim("lt", counter, self.size)
            if self.plan.exits:
                cond = t.b.prim("and", cond, t.b.prim("eq", flow, ZERO))
            if self.test is not None:
                cond = self._tested(cond)
            return t.b.body((cond,))

    def _tested(self, cond: Atom) -> Atom:
        """The user's condition, looked at only if the loop has not been left."""
        t = self.t
        if isinstance(cond, Const):
            known = self.test()
            return Const(bool(known.value), bool_) if isinstance(known, Known) else known.atom
        with t.b.scope():
            known = self.test()
            atom = Const(bool(known.value), bool_) if isinstance(known, Known) else known.atom
            then = t.b.body((atom,))
        if not then.stms:
            return t.b.prim("and", cond, atom)
        (out,) = t.b.let(If(cond, then, _body(FALSE)), "go")
        return out

    def _flow_atom(self, flow: Value) -> Atom:
        if isinstance(flow, Known):
            code = flow.value if flow.value in (BREAK, RETURN) else NORMAL
            return Const(code, i64)
        assert isinstance(flow, Num)
        return resume(self.t, flow.atom)

    def _leave(self, slots: list[Any], head: tuple[dict[str, Value], dict[Any, Any]]) -> list[Atom]:
        """Atoms of the state at the end of a pass; a wrong assumption asks for another trace."""
        t = self.t
        self._discover(slots, head)
        atoms: list[Atom] = []
        changed = False
        for kind, key, form in slots:
            if kind == "name":
                value = t.frame.locals[key]
                wider = self._widen(form, value, key)
                if wider is not form:
                    self.plan.names[key] = wider
                    changed = True
                    continue
                pack(t, form, value, atoms)
            elif isinstance(key, ArrayObj):
                atoms.append(read_object(t, key))
            elif isinstance(key, ListObj):
                holder = ListObj()
                t.state.heap[holder] = t.state.heap[key]
                wider = self._widen(form, Ref(holder), "the list")
                if wider is not form:
                    self.plan.objects[key] = wider
                    changed = True
                    continue
                pack(t, form, Ref(holder), atoms)
            else:
                changed |= self._leave_fields(key, form, atoms)
        if changed:
            raise _Again
        return atoms

    def _leave_fields(self, obj: Any, form: Any, atoms: list[Atom]) -> bool:
        changed = False
        for key, sub in list(form.items()):
            value = self.t.state.heap[obj][key]
            wider = self._widen(sub, value, str(key))
            if wider is not sub:
                form[key] = wider
                changed = True
            else:
                pack(self.t, sub, value, atoms)
        return changed

    def _discover(self, slots: list[Any], head: tuple[dict[str, Value], dict[Any, Any]]) -> None:
        """Names and objects that the body changed although they were not taken as state."""
        t, plan = self.t, self.plan
        found = False
        for name, old in head[0].items():
            if name in plan.names or name in (FLOW, RETURNED) or name not in plan.assigned:
                continue
            now = t.frame.locals.get(name)
            if now is old or isinstance(old, Unbound | Maybe):
                continue
            form = join(t, old, now, name) if now is not None else Same(old)
            if isinstance(form, Same):
                continue
            plan.names[name] = form if not isinstance(form, ArrayForm) else replace(form, cousins=frozenset())
            found = True
        for obj, content in head[1].items():
            if obj in plan.objects or t.state.heap.get(obj) is content:
                continue
            found |= self._discover_object(obj, content)
        _ = slots
        if found:
            raise _Again

    def _discover_object(self, obj: Any, content: Any) -> bool:
        t, plan = self.t, self.plan
        now = t.state.heap[obj]
        if isinstance(obj, ArrayObj):
            plan.objects[obj] = Same(Known(None))
        elif isinstance(obj, ListObj):
            if isinstance(now, Seq) or isinstance(content, Seq) or len(now) != len(content):
                plan.objects[obj] = _PENDING
            else:
                a, b = ListObj(), ListObj()
                t.state.heap[a], t.state.heap[b] = content, now
                plan.objects[obj] = join(t, Ref(a), Ref(b), "the list")
        else:
            forms = {}
            for key, old in content.items():
                if now[key] is not old:
                    forms[key] = join(t, old, now[key], str(key))
            if set(now) != set(content):
                raise CompileError("a dict gains keys in a loop", t.loc, "create the keys before it")
            plan.objects[obj] = forms  # type: ignore[assignment]  # fields have a form each
        return True

    def _widen(self, form: Form, value: Value, name: str) -> Form:
        """The form, or a wider one if the value at the end of the pass does not fit it."""
        t = self.t
        if isinstance(form, Number):
            if not is_number(value):
                raise CompileError(f"'{name}' is a number before the loop and {t.describe(value)}"
                                   " after a pass", t.loc, "give it one type")  # fmt: skip
            wide = join_numbers(form, number_form(t, value))
            if wide is None:
                raise CompileError(
                    f"'{name}' changes its type in the loop from {form.dtype.name} to"
                    f" {t.describe(value)}", t.loc, "convert it to one element type",
                )  # fmt: skip
            return form if wide == form else wide
        if isinstance(form, ArrayForm) and isinstance(value, Arr):
            return self._widen_array(form, value, name)
        if isinstance(form, Tree) and isinstance(value, Tup) and len(value.items) == len(form.items):
            parts = tuple(self._widen(f, v, name) for f, v in zip(form.items, value.items, strict=True))
            same = all(p is f for p, f in zip(parts, form.items, strict=True))
            return form if same else Tree(parts, form.cls)
        if isinstance(form, ListForm) and isinstance(value, Ref):
            content = t.state.heap[value.obj]
            if isinstance(content, Seq) or len(content) != len(form.items):
                return _PENDING
            parts = tuple(self._widen(f, v, name) for f, v in zip(form.items, content, strict=True))
            same = all(p is f for p, f in zip(parts, form.items, strict=True))
            return form if same else ListForm(parts)
        if isinstance(form, Same) and value is not form.value:
            return form_of(t, value, name) if is_number(value) else form
        return form

    def _widen_array(self, form: ArrayForm, value: Arr, name: str) -> Form:
        t = self.t
        if (value.dtype, value.is_complex, value.rank) != (form.dtype, form.is_complex, len(form.shape)):
            raise CompileError(
                f"'{name}' changes in the loop from rank {len(form.shape)} of {form.dtype.name} to"
                f" {t.describe(value)}", t.loc, "use another name, or .astype",
            )  # fmt: skip
        shape = tuple(
            old if old is None or old == new or t.is_same_size(old, new) else None
            for old, new in zip(form.shape, value.shape, strict=True)
        )
        return form if shape == form.shape else replace(form, shape=shape)

    # names that are first set in the body
    def _late(self, entry: dict[str, Value]) -> tuple[list[tuple[str, Form]], list[Atom]]:
        t = self.t
        found: list[tuple[str, Form]] = []
        atoms: list[Atom] = []
        wanted = [n for n in self.plan.assigned if n not in self.plan.names]
        if self.plan.exits and RETURNED in t.frame.locals:
            wanted.append(RETURNED)
        for name in wanted:
            old = entry.get(name)
            value = t.frame.locals.get(name)
            fresh_name = old is None or isinstance(old, Unbound | Maybe)
            if value is None or isinstance(value, Unbound | Maybe) or not fresh_name:
                continue
            form = form_of(t, value, name)
            known = self.plan.late.get(name)
            if known is None:
                self.plan.late[name] = form
            form = self.plan.late[name]
            pack(t, form, value, atoms)
            found.append((name, form))
        return found, atoms

    def _finish(
        self, slots: list[Any], late: tuple[list[tuple[str, Form]], list[Atom]], body: Any, cond: Any,
        control: tuple[Var, Var, Var], entry_locals: dict[str, Value], entry_heap: dict[Any, Any],
    ) -> None:  # fmt: skip
        t = self.t
        counter, flow, ran = control
        late_params, late_inits = self._late_params(late[1])
        params, inits = [*self.params, *late_params], [*self.inits, *late_inits]
        t.frame.locals, t.state.heap = dict(entry_locals), self._kept_heap(entry_heap)
        form: For | While
        if self.is_while:
            params += [counter, flow, ran]
            inits += [ZERO, ZERO, FALSE]
            form = While(cond)
        else:
            assert self.size is not None
            form = For(counter, self.size)
        loop = Loop(form, tuple(params), tuple(inits), body, self.reverse)
        outs = list(t.b.let(loop, *(p.hint for p in params)))
        ended = outs[-3:] if self.is_while else []
        self._store(slots, outs)
        done = ended[2] if ended else t.b.prim("lt", ZERO, self.size)  # type: ignore[arg-type]
        for name, sub in late[0]:
            value = unpack(t, sub, outs)
            always = isinstance(done, Const) and done.value
            t.frame.locals[name] = value if always or name == RETURNED else Maybe(value, done, name)
        if self.plan.exits:
            t.frame.locals[FLOW] = Num(ended[1], weak=True)

    def _kept_heap(self, entry: dict[Any, Any]) -> dict[Any, Any]:
        return dict(entry)

    def _late_params(self, atoms: list[Atom]) -> tuple[list[Var], list[Atom]]:
        """Places for names first set in the body: zeros before the first pass."""
        t = self.t
        params: list[Var] = []
        inits: list[Atom] = []
        sizes: dict[Atom, tuple[Var, Atom]] = {}
        for atom in atoms:
            if isinstance(atom.type, Array):
                shape = [sizes.get(_atom(s), (None, _atom(s))) for s in atom.type.shape]
                type = Array(atom.dtype, tuple(
                    s if v is None else v for s, (v, _) in zip(atom.type.shape, shape, strict=True)))  # fmt: skip
                init: Atom = t.b.one(_alloc(atom.dtype, tuple(i for _, i in shape)), "none")
            else:
                type, init = Scalar(atom.dtype), Const(0, atom.dtype)  # type: ignore[assignment]
            param = t.fresh(type, atom.hint if isinstance(atom, Var) else "t")
            if atom.type == INDEX:
                sizes[atom] = (param, init)
            params.append(param)
            inits.append(init)
        return params, inits

    def _store(self, slots: list[Any], outs: list[Var]) -> None:
        t = self.t
        for kind, key, form in slots:
            if kind == "name":
                t.frame.locals[key] = unpack(t, form, outs)
            elif isinstance(key, ArrayObj):
                t.state.heap[key] = outs.pop(0)
            elif isinstance(key, ListObj):
                value = unpack(t, form, outs)
                assert isinstance(value, Ref)
                t.state.heap[key] = t.state.heap.pop(value.obj)
            else:
                fields = dict(t.state.heap[key])
                for field, sub in form.items():
                    fields[field] = unpack(t, sub, outs)
                t.state.heap[key] = fields


def resume(t: Tracer, flow: Atom) -> Atom:
    """The flow at the end of a pass: `continue` has been honoured."""
    return t.b.prim("select", t.b.prim("eq", flow, Const(CONTINUE, i64)), ZERO, flow)


def _atom(size: int | Var) -> Atom:
    return Const(size, i64) if isinstance(size, int) else size


def _alloc(dtype: Any, shape: tuple[Atom, ...]) -> Any:
    from tapeless.ir.syntax import Alloc  # noqa: PLC0415

    return Alloc("zeros", dtype, shape)


def _body(*results: Atom) -> Any:
    from tapeless.ir.syntax import Body  # noqa: PLC0415

    return Body((), results)


__all__ = [
    "Absent", "BREAK", "CONTINUE", "LoopTrace", "Tup", "ast", "branch", "f64", "materialise",
    "trace_loop", "Let",
]  # fmt: skip
