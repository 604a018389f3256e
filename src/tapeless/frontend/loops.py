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
    Number,
    as_maybe,
    form_of,
    join_numbers,
    maybe_form,
    maybe_pair,
    number_form,
)
from tapeless.frontend.loop_state import Again, LoopState, Plan
from tapeless.frontend.packing import new_vars, pack, unpack
from tapeless.frontend.state import BREAK, CONTINUE, FLOW, NORMAL, RETURN, RETURNED
from tapeless.frontend.tracer import Hints
from tapeless.frontend.values import (
    Arr,
    ArrayObj,
    Known,
    Maybe,
    Num,
    Unbound,
    Value,
    is_number,
)  # fmt: skip
from tapeless.frontend.widen import GROWS
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


def trace_loop(t: Tracer, spec: LoopSpec) -> None:
    key = (spec.key, len(t.frames))
    plan = _first_plan(t, spec, t.loop_hints.get(key))
    for _ in range(ATTEMPTS):
        before, place = t.snapshot(), t.b.here()
        stale = set(t.stale)
        try:
            with t.construct():
                _Attempt(t, spec, plan).run()
        except Again:
            before.restore(t.frames, t.state)
            t.b.rewind(place)
            t.stale = stale
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


class _Attempt:
    """One trace of a loop under an assumed state."""

    def __init__(self, t: Tracer, spec: LoopSpec, plan: Plan) -> None:
        self.t, self.spec, self.plan = t, spec, plan
        self.go = self.first_test()
        self.entry = dict(t.frame.locals)
        self.state = LoopState(t, spec, plan)
        self.maybes: set[str] = set()  # late names that not every pass gives a value
        self.is_while = spec.size is None or spec.exits

    def run(self) -> None:
        t, spec = self.t, self.spec
        self.state.enter()
        counter = t.index_var(spec.hint)
        flow, ran, go = (
            t.fresh(Scalar(d), h) for d, h in ((i64, "flow"), (bool_, "ran"), (bool_, "go"))
        )
        head = dict(t.frame.locals), dict(t.state.heap)
        cond = self.condition(counter, flow, go) if self.is_while else None
        t.frame.locals, t.state.heap = dict(head[0]), dict(head[1])
        with t.b.scope():
            flow_now, go_now = self.one_pass(counter)
            results = self.state.leave(head)
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
        self.finish(late, form, body, tail, (flow, ran))

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
            raise Again
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
            self.plan.objects[need.obj] = GROWS
            raise Again from None
        flow = self.flow_atom(t.frame.locals.get(FLOW, Known(NORMAL)))
        if not self.is_test_rotated:
            return flow, TRUE
        again = t.b.prim("eq", flow, ZERO)
        if isinstance(again, Const):
            return flow, self.tested() if again.value else FALSE
        go = branch(t, Num(again), lambda: Num(self.tested(), True), lambda: Num(FALSE, True))
        assert isinstance(go, Num)
        return flow, go.atom

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
        self, late: list[tuple[str, Form]], form: For | While, body: Body,
        tail: list[tuple[Var, Atom, Atom]], control: tuple[Var, Var],
    ) -> None:  # fmt: skip
        t, spec = self.t, self.spec
        late_params, late_inits = self.late_state(late)
        t.frame.locals, t.state.heap = dict(self.entry), dict(self.state.heap)
        params = (*self.state.params, *late_params, *(p for p, _, _ in tail))
        inits = (*self.state.inits, *late_inits, *(start for _, start, _ in tail))
        loop = Loop(form, params, inits, body, spec.reverse)
        outs = list(t.b.let(loop, *(p.hint for p in params)))
        ends = dict(zip((p for p, _, _ in tail), outs[len(outs) - len(tail) :], strict=True))
        self.state.store(outs)
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


def resume(t: Tracer, flow: Atom) -> Atom:
    """The flow at the end of a pass: `continue` has been honoured."""
    return t.b.prim("select", t.b.prim("eq", flow, Const(CONTINUE, i64)), ZERO, flow)
