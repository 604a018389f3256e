"""How values and memory accesses move with one counter of a nest."""

from __future__ import annotations

from tapeless.core.names import Atom, Const, Var
from tapeless.ir.syntax import Body, Exp, For, Loop, Prim
from tapeless.ir.walk import binders_of, statements

FAR = 1 << 20  # a step to another row


class Definitions:
    """What every variable of a program is bound to; parameters of bodies have no definition."""

    def __init__(self, body: Body) -> None:
        self.defs: dict[Var, Exp] = {}
        self.binders: dict[Var, Exp] = {}
        self.outs: dict[Body, tuple[Var, ...]] = {}  # of loops, by their bodies
        for stm in statements(body):
            for out in stm.outs:
                self.defs[out] = stm.exp
            if isinstance(stm.exp, Loop):
                self.outs[stm.exp.body] = stm.outs
            for var in binders_of(stm.exp):
                self.binders[var] = stm.exp


class Motion:
    """How things change when the counter `lane` goes up by one. `inside`: variables bound in its
    loop; all others stay."""

    def __init__(self, known: Definitions, lane: Var, inside: set[Var]) -> None:
        self.known = known
        self.lane = lane
        self.inside = inside
        self.memo: dict[Var, int | None] = {lane: 1}
        self.fixed: set[Var] = set()  # counters that all lanes share
        self.rows: set[Var] = set()  # reads of rows that lie side by side

    def of(self, atom: Atom) -> int | None:
        """By how much an integer changes; None: by no fixed number. 0 for all that stays."""
        if isinstance(atom, Const):
            return 0
        if atom not in self.memo:
            self.memo[atom] = self._of(atom)
        return self.memo[atom]

    def _of(self, var: Var) -> int | None:
        if var not in self.inside:
            return 0
        exp = self.known.defs.get(var)
        if exp is None:
            if var in self.fixed:
                return 0
            exp = self.known.binders.get(var)
        if isinstance(exp, Loop):
            return self._state(exp).get(var)
        if not isinstance(exp, Prim):
            return None
        steps = [self.of(a) for a in exp.args]
        if all(s == 0 for s in steps):
            return 0
        if any(s is None for s in steps):
            return None
        return self._linear(exp, [s for s in steps if s is not None])

    def _state(self, loop: Loop) -> dict[Var, int]:
        """The state of a loop, and what it ends with, that stays because all lanes start with it,
        count alike, and make the next one alike."""
        if not isinstance(loop.form, For) or not self.stays(loop.form.size):
            return {}
        staying = [k for k, p in enumerate(loop.params) if not p.is_array]
        outs = self.known.outs[loop.body]
        before = dict(self.memo)
        while True:
            self.memo = {**before, loop.form.var: 0, **{loop.params[k]: 0 for k in staying}}
            kept = [
                k for k in staying
                if self.stays(loop.inits[k]) and self.stays(loop.body.results[k])
            ]  # fmt: skip
            if kept == staying:
                break
            staying = kept
        found = {v: 0 for k in staying for v in (loop.params[k], outs[k])}
        self.memo = {**before, **found}
        return found

    def _linear(self, exp: Prim, steps: list[int]) -> int | None:
        match exp.op, exp.args, steps:
            case "add", _, [a, b]:
                return a + b
            case "sub", _, [a, b]:
                return a - b
            case "mul", (Const(value=k), _), [_, b]:
                return int(k) * b
            case "mul", (_, Const(value=k)), [a, _]:
                return int(k) * a
            case "mul", _, [a, b] if 0 in (a, b):
                return FAR
            case (("floordiv" | "mod"), (_, Const(value=k)), [a, 0]) if k > 8:
                return 0 if exp.op == "floordiv" else a
            case (("floordiv" | "mod"), (_, Var()), [a, 0]):
                return 0 if exp.op == "floordiv" else a
            case (("min" | "max"), _, [a, b]):
                return a if b in (a, 0) else b
            case _:
                return None

    def stays(self, atom: Atom) -> bool:
        return self.of(atom) == 0

    def access(
        self, at: tuple[Atom, ...], shape: tuple[object, ...], *, reversed: bool
    ) -> int | None:
        """By how many elements an access moves; `reversed`: the first axis is the dense one."""
        steps = [self.of(a) for a in at]
        order = list(range(len(at)))
        if not reversed:
            order.reverse()
        total, stride = 0, 1
        for axis in order:
            step = steps[axis]
            if step is None:
                return None
            total += step * stride
            size = shape[axis]
            stride *= size if isinstance(size, int) else FAR
        return total
