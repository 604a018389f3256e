"""Makes every consumption safe: copies exactly those arrays that are consumed while still needed.

Core values never change, yet Update, Append, array accumulators and loop state reuse storage.
After this pass each array variable owns its storage alone from its binding to its last use or
consumption, so that lowering may write in place without looking further. The pass also finds
maps that can write over an operand which dies in them (`Owned.reuse`).

    b = update a[i] v; … a …      ⇒      c = copy a; b = update c[i] v; … a …
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tapeless.analysis.inplace import in_place
from tapeless.analysis.lastuse import Uses
from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX, Scalar
from tapeless.ir.syntax import (
    PROVED,
    Acc,
    Append,
    Body,
    Each,
    Exp,
    Fun,
    If,
    Index,
    Iverson,
    Let,
    Loop,
    Put,
    Update,
    While,
)
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import atoms_of, bodies_of, free_vars, map_bodies


@dataclass(frozen=True, slots=True, eq=False)
class Owned:
    """A program whose consumptions are safe; `reuse` maps a map's result to the operand whose
    storage it takes over."""

    fun: Fun
    reuse: dict[Var, Var] = field(default_factory=dict)


def own(fun: Fun) -> Owned:
    """Insert the copies that make every consumption in `fun` safe."""
    count = len(fun.body.results) - len(fun.writes)
    escaping = {r for r in fun.body.results[:count] if isinstance(r, Var)}
    owner = _Owner(escaping, in_place(fun))
    body = owner.body(fun.body, set(fun.writes), keeps=False)
    return Owned(replace(fun, body=body), owner.reuse)


def copy_of(array: Var) -> Each:
    """An Each that reads every element: a new array equal to `array`."""
    index = tuple(Var(INDEX, "i") for _ in array.shape)
    value = Var(Scalar(array.dtype), array.hint)
    read = Let((value,), Index(array, index, PROVED * len(index)), array.loc)
    return Each(index, tuple(map(atom_of, array.shape)), (), Body((read,), (value,)))


class _Owner:
    """`escaping`: results of the program, which get storage of their own. `in_place`: accumulators
    that may overwrite what their nest reads."""

    def __init__(self, escaping: set[Var], in_place: set[Var]) -> None:
        self.escaping = escaping
        self.in_place = in_place
        self.uses = Uses()
        self.reuse: dict[Var, Var] = {}

    def body(self, body: Body, owned: set[Var], *, keeps: bool) -> Body:
        """`owned`: arrays from outside that this body may consume. `keeps`: results leave the
        body as owned arrays."""
        owned = set(owned)
        out: list[Let] = []
        live = self.uses.live_after(body)
        for stm, after in zip(body.stms, live, strict=True):
            free = {v for v in owned if v not in after}
            exp = self.nested(stm.exp, free)
            exp = self.consume(exp, free, out)
            self.find_reuse(stm, exp, free)
            out.append(Let(stm.outs, exp, stm.loc))
            owned.update(o for o in stm.outs if o.is_array)
        results = self.results(body.results, owned, out) if keeps else body.results
        return Body(tuple(out), results)

    def nested(self, exp: Exp, free: set[Var]) -> Exp:
        """`exp` with its bodies made safe. Only what runs at most once may consume from outside."""
        match exp:
            case If() | Iverson():
                return map_bodies(exp, lambda b: self.body(b, free, keeps=True))
            case Loop(form, params, _, body):
                if isinstance(form, While):
                    form = While(self.body(form.cond, set(), keeps=False))
                state = {p for p in params if p.is_array}
                return replace(exp, form=form, body=self.body(body, state, keeps=True))
            case _:
                return map_bodies(exp, lambda b: self.body(b, set(), keeps=False))

    def consume(self, exp: Exp, free: set[Var], out: list[Let]) -> Exp:
        """`exp` consuming copies of what it may not consume itself."""
        taken: set[Var] = set()

        def safe(array: Atom, clashes: bool) -> Atom:
            if not isinstance(array, Var) or not array.is_array:
                return array
            if array in free and array not in taken and not clashes:
                taken.add(array)
                return array
            return self.copy(array, out)

        match exp:
            case Update(array) | Append(array):
                clashes = isinstance(exp, Append) and exp.value is array
                new = safe(array, clashes)
                return exp if new is array else replace(exp, array=_var(new))
            case Loop(_, _, inits):
                read = self.inside(exp)
                return replace(exp, inits=tuple(safe(a, a in read) for a in inits))
            case Each(vars, sizes, accs, body):
                read = self.inside(exp)
                accs = tuple(
                    replace(a, inits=tuple(safe(i, self.clash(i, a, exp, read)) for i in a.inits))
                    for a in accs
                )
                return Each(vars, sizes, accs, body)
            case _:
                return exp

    def clash(self, init: Atom, acc: Acc, exp: Each, read: set[Var]) -> bool:
        safe = acc.vars[0] in self.in_place or reads_own_cell(init, acc, exp.body)
        return init in read and not safe

    def inside(self, exp: Exp) -> set[Var]:
        return {v for body in bodies_of(exp) for v in self.uses.of_body(body)}

    def copy(self, array: Var, out: list[Let]) -> Var:
        new = array.fresh()
        out.append(Let((new,), copy_of(array), array.loc))
        return new

    def results(
        self, results: tuple[Atom, ...], owned: set[Var], out: list[Let]
    ) -> tuple[Atom, ...]:
        """Results as distinct owned arrays."""
        new: list[Atom] = []
        for r in results:
            if isinstance(r, Var) and r.is_array and (r not in owned or r in new):
                r = self.copy(r, out)
            new.append(r)
        return tuple(new)

    def find_reuse(self, stm: Let, exp: Exp, free: set[Var]) -> None:
        """A map may write over an array that it reads only at its own index, for the last time."""
        if not isinstance(exp, Each):
            return
        consumed = {i for a in exp.accs for i in a.inits}
        spare = [v for v in free_vars(exp.body) if v in free and v not in consumed]
        for out, result in zip(stm.outs, exp.body.results, strict=False):
            if isinstance(result.type, Scalar) and out not in self.escaping:
                for array in spare:
                    if array.type == out.type and reads_only_at(array, exp.vars, exp.body):
                        self.reuse[out] = array
                        spare.remove(array)
                        break


def _var(atom: Atom) -> Var:
    assert isinstance(atom, Var)
    return atom


def exps_in_order(body: Body) -> Iterator[Exp]:
    """All expressions of a body in program order, an inner one after what precedes it."""
    for stm in body.stms:
        yield stm.exp
        for inner in bodies_of(stm.exp):
            yield from exps_in_order(inner)


def mentions(exp: Exp, array: Var) -> bool:
    """Whether `exp` itself has `array` as operand, or returns it from a nested body."""
    return any(a is array for a in atoms_of(exp)) or any(
        r is array for b in bodies_of(exp) for r in b.results
    )


def reads_only_at(array: Var, at: tuple[Atom, ...], body: Body) -> bool:
    """Whether `body` mentions `array` only in reads of the one cell `at`."""
    return all(
        isinstance(e, Index) and e.at == at for e in exps_in_order(body) if mentions(e, array)
    ) and not any(r is array for r in body.results)


def reads_own_cell(array: Atom, acc: Acc, body: Body) -> bool:
    """Whether "=" puts may overwrite `array` while `body` reads it: each pass reads only the cell
    that it then puts to, and not after the put."""
    if acc.op != "=" or not isinstance(array, Var):
        return False
    puts = [e for e in exps_in_order(body) if isinstance(e, Put) and acc.vars[0] in e.targets]
    if len(puts) != 1 or not reads_only_at(array, puts[0].at, body):
        return False
    seen = False
    for exp in exps_in_order(body):
        seen = seen or exp is puts[0]
        if seen and mentions(exp, array):
            return False
    return True
