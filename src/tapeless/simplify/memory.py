"""What an array is known to hold at an index, from how it was made.

(a with [i] = v)[i] ⇒ v        (a with [j] = v)[i] ⇒ a[i] if i ≠ j is known and a[i] is known
zeros[i] ⇒ 0                   each (i < n) { return c } [k] ⇒ c for c from outside the nest
each (i < n) { return a[i] } ⇒ a where n is the size of a
"""

from __future__ import annotations

from tapeless.analysis.facts import Facts
from tapeless.core.names import Atom, Const, Var
from tapeless.ir.syntax import IGNORE, PROVED, WRAP, Alloc, Each, Index, Update, all_proved

DEPTH = 64  # writes looked through


def stored(facts: Facts, array: Var, at: tuple[Atom, ...], modes: str) -> Atom | None:
    """The value of `array` at indices in range, if it is known without reading."""
    if any(m != PROVED for m in modes):
        return None
    for _ in range(DEPTH):
        match facts.defs.get(array):
            case Alloc(_, dtype):  # what nobody has written may be anything
                return Const(0, dtype)
            case Each() as nest:
                return _uniform(nest, at)
            case Update(before, where, value, written):
                if same_place(facts, at, where) and IGNORE not in written:
                    return value
                if not apart(facts, at, where, written):
                    return None
                array = before
            case _:
                return None
    return None


def _uniform(nest: Each, at: tuple[Atom, ...]) -> Atom | None:
    """The element of a nest without statements: a value from outside, or one of its indices."""
    if nest.accs or nest.body.stms or len(nest.body.results) != 1 or len(nest.vars) != len(at):
        return None
    value = nest.body.results[0]
    if isinstance(value, Var) and value in nest.vars:
        return at[nest.vars.index(value)]
    return value


def same_place(facts: Facts, at: tuple[Atom, ...], where: tuple[Atom, ...]) -> bool:
    return all(facts.same(i, j) for i, j in zip(at, where, strict=True))


def apart(facts: Facts, at: tuple[Atom, ...], where: tuple[Atom, ...], modes: str) -> bool:
    """Whether the cells differ: some index differs that is not wrapped."""
    return any(
        mode != WRAP and facts.decide_prim("eq", (i, j)) is False
        for i, j, mode in zip(at, where, modes, strict=True)
    )


def same_body(facts: Facts, nest: Each) -> Var | None:
    """The array that a nest copies element by element, whole and in order."""
    if nest.accs or len(nest.body.stms) != 1 or len(nest.body.results) != 1:
        return None
    stm = nest.body.stms[0]
    match stm.exp:
        case Index(array, at, modes) if stm.outs == nest.body.results and at == nest.vars:
            whole = all(facts.same(n, s) for n, s in zip(nest.sizes, array.shape, strict=True))
            if whole and all_proved(modes):
                return array
    return None
