"""What only one side of a choice uses is computed on that side, before a program is differentiated.

    t = f(x); y = select(c, t, z)   ⇒   y = {t = f(x); t} if c else {z}
    t = f(x); y = max(z, t)         ⇒   y = {t = f(x); t} if z < t else {z}
    t = f(x); {… t …} if c else e   ⇒   {t = f(x); … t …} if c else e

Else the cotangent of t would be 0 where the other side is chosen, and f'(x)·0 is no number where
f' has no value: √x at 0, what is masked because it is nan. So the statements move whose derivative
multiplies by something that may not be finite, and those that lead from them to the choice. What
several choices use, each on one side, or a condition, is computed again in each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tapeless.ad.partials import wins
from tapeless.core.names import Atom, Var
from tapeless.core.prims import CASTS
from tapeless.ir.build import Builder
from tapeless.ir.effects import is_pure_exp
from tapeless.ir.syntax import Body, Each, Exp, Fold, If, Let, Loop, Prim
from tapeless.ir.walk import bodies_of, map_bodies, refresh, statements, uses

CHOICES = frozenset({"select", "min", "max"})
# The derivative multiplies by nothing, or by what is finite for all operands.
TAME = CHOICES | frozenset(CASTS) | {"add", "sub", "neg", "abs", "copysign", "nextafter"}
PRODUCTS = frozenset({"mul", "fma"})  # not finite only where an operand is not
AGAIN = 16  # statements computed again for one side, at most

Sides = tuple[Counter[Var], Counter[Var]]


def sunk(body: Body, active: set[Var]) -> Body:
    """`body` with what is `active` moved as deep into choices as only they use it."""
    return _Sinking(body, active).result()


def sides_of(stm: Let) -> Sides | None:
    """How often each side of a choice uses what."""
    match stm.exp:
        case Prim("select", (_, a, z)) | Prim("min" | "max", (z, a)):
            return _counted((a,)), _counted((z,))
        case If(_, then, orelse):
            return _counted(uses(then)), _counted(uses(orelse))
        case _:
            return None


def _counted(atoms: Iterable[Atom]) -> Counter[Var]:
    return Counter(a for a in atoms if isinstance(a, Var))


def _uses(stm: Let) -> Counter[Var]:
    return _counted(uses(Body((stm,), ())))


def is_wild(stm: Let, *, products: bool = True) -> bool:
    """Whether the derivative multiplies by what may not be finite."""
    within = [stm, *(s for body in bodies_of(stm.exp) for s in statements(body))]
    ops = {s.exp.op for s in within if isinstance(s.exp, Prim)}
    return not ops <= (TAME if products else TAME | PRODUCTS)


class _Sinking:
    """The statements of one body, from the last to the first. `left`: where each variable gets its
    value; `count`: its uses in what is left or done; `loose`: what has a cotangent from elsewhere
    than sides of choices; `copied`: what is computed on a side now."""

    def __init__(self, body: Body, active: set[Var]) -> None:
        self.body = body
        self.active = active
        self.defs = {o: k for k, stm in enumerate(body.stms) for o in stm.outs}
        self.count = _counted(uses(body))
        self.loose = self._loose()
        self.copied: set[Var] = set()

    def result(self) -> Body:
        done: list[Let] = []
        for stm in reversed(self.body.stms):
            if self._is_gone(stm):
                self.count.subtract(_uses(stm))
            else:
                done += reversed(self._sunk(stm))
        return Body(tuple(reversed(done)), self.body.results)

    def _is_gone(self, stm: Let) -> bool:
        """Whether a statement is computed on sides only."""
        outs = stm.outs
        return bool(outs) and self.copied.issuperset(outs) and not any(self.count[o] for o in outs)

    def _sunk(self, stm: Let) -> list[Let]:
        sides = sides_of(stm)
        moved = None if sides is None else self._moved(stm, sides)
        if moved is None:
            return [replace(stm, exp=map_bodies(stm.exp, lambda b: sunk(b, self.active)))]
        return self._with_moved(stm, *moved)

    def _loose(self) -> set[Var]:
        loose = {r for r in self.body.results if isinstance(r, Var)}
        for stm in reversed(self.body.stms):
            sides = sides_of(stm)
            if sides is not None:
                loose.update(sides[0].keys() & sides[1].keys())
            elif not isinstance(stm.exp, Prim) or stm.outs[0] in loose & self.active:
                loose.update(_uses(stm))
        return loose

    def _moved(self, stm: Let, sides: Sides) -> list[list[Let]] | None:
        """What only one side of a choice needs, for each side."""
        reached = [self._reached(side) for side in sides]
        products = not (isinstance(stm.exp, Prim) and stm.exp.op != "select")
        moved = [
            self._movable(side, mine - other, products)
            for side, mine, other in zip(sides, reached, reversed(reached), strict=True)
        ]
        for side, stms in zip(sides, moved, strict=True):
            outs = {o for s in stms for o in s.outs}
            self.copied |= outs
            self.count.subtract({o: side[o] for o in outs})
            for s in stms:
                self.count.update({v: n for v, n in _uses(s).items() if v not in outs})
        return moved if any(moved) else None

    def _with_moved(self, stm: Let, first: list[Let], second: list[Let]) -> list[Let]:
        """A choice as a conditional, with statements in front of its sides; what computes its
        condition goes before."""
        b = Builder()
        b.loc = stm.loc
        with b.scope() as before:
            cond, then, orelse = conditional(b, stm.exp)
        for let in before:
            self.count.update(_uses(let))
        bodies = (
            Body((*moved, *body.stms), body.results)
            for moved, body in ((first, then), (second, orelse))
        )
        new = If(cond, *(refresh(sunk(body, self.active)) for body in bodies))
        return [*before, replace(stm, exp=new)]

    def _reached(self, side: Iterable[Var]) -> set[int]:
        """The statements that give what a side depends on."""
        found: set[int] = set()
        front = [v for v in side if v in self.active]
        while front:
            k = self.defs.get(front.pop())
            if k is not None and k not in found:
                found.add(k)
                front += (v for v in _uses(self.body.stms[k]) if v in self.active)
        return found

    def _movable(self, side: Counter[Var], mine: set[int], products: bool) -> list[Let]:
        """The statements among `mine` that only this side needs, or may have once more, from the
        first whose derivative may not be finite."""
        here = Counter(side)
        only: list[Let] = []
        again = 0
        for k in sorted(mine, reverse=True):
            stm = self.body.stms[k]
            alone = all(self.count[o] == here[o] for o in stm.outs)
            again += not alone
            if self._may_move(stm) if alone else self._may_repeat(stm) and again <= AGAIN:
                only.append(stm)
                here += _uses(stm)
        outs: set[Var] = set()
        moved: list[Let] = []
        for stm in reversed(only):
            if is_wild(stm, products=products) or not outs.isdisjoint(_uses(stm)):
                moved.append(stm)
                outs.update(stm.outs)
        return moved

    def _may_move(self, stm: Let) -> bool:
        scalars = not any(o.is_array for o in stm.outs)
        return (
            scalars and isinstance(stm.exp, Prim | If | Each | Fold | Loop) and is_pure_exp(stm.exp)
        )

    def _may_repeat(self, stm: Let) -> bool:
        exp = stm.exp
        return isinstance(exp, Prim) and exp.op not in CHOICES and stm.outs[0] not in self.loose


def conditional(b: Builder, exp: Exp) -> tuple[Atom, Body, Body]:
    """A choice as a condition and two sides."""
    match exp:
        case If(cond, then, orelse):
            return cond, then, orelse
        case Prim("select", (cond, a, z)):
            return cond, Body((), (a,)), Body((), (z,))
        case Prim(op, (z, a)):
            less = b.prim(wins(z), *((z, a) if op == "max" else (a, z)))
            return b.prim("or", less, b.prim("isnan", a)), Body((), (a,)), Body((), (z,))
    raise AssertionError(exp)
