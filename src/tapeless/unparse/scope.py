"""Names and pending expressions while Core is printed as Python."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import i64
from tapeless.ir.syntax import Body, Exp, Index, Let, Prim
from tapeless.ir.walk import atoms_of, uses
from tapeless.unparse.expressions import constant, items, name, prim, subscript

RESERVED = frozenset(keyword.kwlist) | frozenset(dir(builtins)) | {"np", "tp", "math", "special"}


class Scope:
    """Python names of variables. Arrays that share storage share a name, so that what consumes an
    array in Core writes it in place in Python.

    A pure expression that is used once, in the body that binds it, waits to be written where it is
    used; what reads memory is written before memory may change.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.names: dict[Var, str] = {}
        self.taken = {*RESERVED, *taken}
        self.counts: Counter[Atom] = Counter()
        self.waiting: dict[Var, tuple[ast.expr, bool]] = {}
        self.counters: set[Var] = set()  # never negative
        self.lines: list[list[ast.stmt]] = [[]]

    # names
    def fresh(self, hint: str) -> str:
        made = re.sub(r"\W", "_", hint).strip("_") or "t"
        made = made if made.isidentifier() else f"v{made}"
        base, k = re.sub(r"(_[0-9]+)+$", "", made) or "t", 0
        while made in self.taken:
            k += 1
            made = f"{base}_{k}"
        self.taken.add(made)
        return made

    def name(self, var: Var) -> str:
        if var not in self.names:
            self.names[var] = self.fresh(var.hint)
        return self.names[var]

    def share(self, new: Var, old: Var) -> None:
        """`new` lives where `old` did."""
        self.names[new] = self.name(old)

    # expressions
    def atom(self, atom: Atom) -> ast.expr:
        if isinstance(atom, Const):
            return constant(atom)
        if atom in self.waiting:
            return self.waiting.pop(atom)[0]
        return name(self.name(atom))

    def atoms(self, atoms: Iterable[Atom]) -> list[ast.expr]:
        return [self.atom(a) for a in atoms]

    def at(self, array: Var, at: Sequence[Atom], modes: str) -> list[ast.expr]:
        """Indices; where a negative one must be refused, it is sent past the end."""
        out: list[ast.expr] = []
        for k, (i, mode) in enumerate(zip(at, modes, strict=True)):
            if mode == "c" and isinstance(i, Var) and i not in self.counters:
                shown = self.settled(i)
                inside = ast.Compare(shown, [ast.GtE()], [ast.Constant(0)])
                out.append(ast.IfExp(inside, shown, self.atom(self.size(array, k))))
            else:
                out.append(self.atom(i))
        return out

    @staticmethod
    def size(array: Var, axis: int) -> Atom:
        size = array.shape[axis]
        return size if isinstance(size, Var) else Const(size, i64)

    def settled(self, var: Var) -> ast.expr:
        """A variable that is mentioned more than once: written before, if it waits."""
        if var in self.waiting:
            value, _ = self.waiting.pop(var)
            self.assign(self.name(var), value)
        return name(self.name(var))

    def element(self, array: Var, at: tuple[Atom, ...], modes: str) -> ast.expr:
        return subscript(name(self.name(array)), self.at(array, at, modes))

    # lines
    def emit(self, stmt: ast.stmt) -> None:
        self.lines[-1].append(stmt)

    def assign(self, target: str, value: ast.expr) -> None:
        """target = value, or target += … where value is target + …"""
        if isinstance(value, ast.Name) and value.id == target:
            return
        goal = ast.Name(target)
        match value:
            case ast.BinOp(ast.Name(left), op, right) if left == target:
                self.emit(ast.AugAssign(goal, op, right))
            case _:
                self.emit(ast.Assign([goal], value))

    def assign_all(self, targets: Sequence[str], values: Sequence[ast.expr]) -> None:
        """All targets at once, so that the values are those of before."""
        pairs = [
            (t, v)
            for t, v in zip(targets, values, strict=True)
            if not (isinstance(v, ast.Name) and v.id == t)
        ]
        if len(pairs) == 1:
            self.assign(*pairs[0])
        elif pairs:
            self.emit(
                ast.Assign([items([name(t) for t, _ in pairs])], items([v for _, v in pairs]))
            )

    # what waits
    def count(self, body: Body) -> None:
        self.counts.update(uses(body))

    def may_wait(self, stm: Let, body: Body) -> bool:
        """Whether the statement's value can be written where it is used."""
        if not isinstance(stm.exp, Prim | Index) or self.counts[stm.outs[0]] != 1:
            return False
        own = Counter(a for s in body.stms for a in atoms_of(s.exp))
        own.update(body.results)
        return own[stm.outs[0]] == 1

    def settle(self, *, reads_only: bool, kept: Iterable[Atom] = ()) -> None:
        """Write what waits (only what reads memory, if so asked), but for what is `kept`."""
        keep = set(kept)
        for var, (value, reads) in list(self.waiting.items()):
            if var not in keep and (reads or not reads_only):
                del self.waiting[var]
                self.assign(self.name(var), value)

    def value(self, exp: Exp) -> tuple[ast.expr, bool]:
        """A Prim or an Index as an expression, and whether it reads memory."""
        match exp:
            case Prim(op, args):
                reads = any(
                    self.waiting[a][1] for a in args if isinstance(a, Var) and a in self.waiting
                )
                return prim(op, self.atoms(args), [a.dtype for a in args]), reads
            case Index(array, at, modes):
                return self.element(array, at, modes), True
        raise AssertionError("not a flat expression")
