"""Where values live: which arrays a body's results share storage with, and how loop state moves.

Valid after `lower.own`: every array owns its storage, so storage flows along consumptions only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX
from tapeless.ir.syntax import Append, Body, Each, If, Iverson, Let, Loop, Update

FRESH = Var(INDEX, "fresh")  # stands for storage made inside the body
MIXED = Var(INDEX, "mixed")  # storage that is not known before the program runs

Origins: TypeAlias = frozenset[Var]

# How an array in a loop's state moves from one pass to the next.
SCALAR = "scalar"
FIXED = "fixed"  # updated in place
ROTATE = "rotate"  # takes a free buffer, or another state array's
PINNED = "pinned"  # computed elsewhere and copied back
GROW = "grow"  # in place with room to append
ESCAPE = "escape"  # made anew in every pass, with a size of its own


class Storage:
    """Answers for one program; loops are classified once."""

    def __init__(self, reuse: Mapping[Var, Var]) -> None:
        self.reuse = reuse
        self._modes: dict[int, tuple[Loop, tuple[str, ...]]] = {}
        self._origins: dict[int, tuple[Body, tuple[Origins, ...]]] = {}

    def result_origins(self, body: Body) -> tuple[Origins, ...]:
        """For each result, the outer arrays (or FRESH, MIXED) whose storage it may be in."""
        known = self._origins.get(id(body))
        if known is None:
            table: dict[Var, Origins] = {}
            for stm in body.stms:
                self._statement(stm, table)
            origins = tuple(_look(table, r) for r in body.results)
            self._origins[id(body)] = known = (body, origins)
        return known[1]

    def _statement(self, stm: Let, table: dict[Var, Origins]) -> None:
        for k, out in enumerate(stm.outs):
            if out.is_array:
                sources = self.sources(stm, k)
                table[out] = frozenset(o for s in sources for o in _look(table, s))

    def sources(self, stm: Let, k: int) -> Origins:
        """Arrays in scope before `stm` (or FRESH, MIXED) whose storage its k-th result may have."""
        match stm.exp:
            case Update(array) | Append(array):
                return frozenset((array,))
            case Each(_, _, accs, body):
                elements = len(body.results)
                if k < elements:
                    return frozenset((self.reuse.get(stm.outs[k], FRESH),))
                inits = [i for a in accs for i in a.inits]
                return _one(inits[k - elements])
            case If(_, then, orelse):
                return self.result_origins(then)[k] | self.result_origins(orelse)[k]
            case Iverson(_, body):
                return self.result_origins(body)[k] | {FRESH}
            case Loop(_, _, inits):
                if self.modes(stm.exp)[k] in (FIXED, PINNED, GROW):
                    return _one(inits[k])
                return frozenset((MIXED,))
            case _:
                return frozenset((FRESH,))

    def modes(self, loop: Loop) -> tuple[str, ...]:
        """How each state variable of `loop` moves."""
        known = self._modes.get(id(loop))
        if known is None:
            self._modes[id(loop)] = known = (loop, self._classify(loop))
        return known[1]

    def _classify(self, loop: Loop) -> tuple[str, ...]:
        origins = self.result_origins(loop.body)
        modes: list[str] = []
        for param, origin in zip(loop.params, origins, strict=True):
            own = origin == {param}
            if not param.is_array:
                modes.append(SCALAR)
            elif any(s in loop.params for s in param.shape):
                modes.append(GROW if own else ESCAPE)
            else:
                modes.append(FIXED if own else PINNED)
        moving = {p for p, m in zip(loop.params, modes, strict=True) if m == PINNED}
        if all(
            origin == {FRESH} or (origin <= moving and {o.type for o in origin} == {param.type})
            for param, mode, origin in zip(loop.params, modes, origins, strict=True)
            if mode == PINNED
        ):
            modes = [ROTATE if m == PINNED else m for m in modes]
        return tuple(modes)


def _one(atom: Atom) -> Origins:
    assert isinstance(atom, Var)
    return frozenset((atom,))


def _look(table: Mapping[Var, Origins], atom: Atom) -> Origins:
    return table.get(atom, frozenset((atom,))) if isinstance(atom, Var) else frozenset()
