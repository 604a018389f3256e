"""The return sweep, as it is written: what stands for values of the forward sweep in it.

A variable of the region's own body is there. One of a loop's pass or of an arm is computed again
where a few operations on what is at hand give it, else it is recorded in the forward sweep.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tapeless.ad.inductions import induction
from tapeless.ad.tree import Node, Plain, Record, Repeated, record
from tapeless.analysis.activity import Active
from tapeless.core.names import Atom, Var
from tapeless.core.types import INDEX, Array, Scalar, Type
from tapeless.ir.build import ZERO, Builder
from tapeless.ir.syntax import CHECK, PROVED, WRAP, Alloc, Body, Each, Index, Let, Prim
from tapeless.ir.types_of import atom_of, size_of
from tapeless.ir.walk import Rewriter, free_vars

CHEAP = frozenset({
    "add", "sub", "mul", "neg", "eq", "ne", "lt", "le", "and", "or", "xor", "not", "min", "max",
    "select", "abs", "i64", "f64", "f32", "i32", "floordiv", "mod", "shl", "shr",
})  # fmt: skip


class Sweep(ABC):
    """`active`: variables that have a cotangent; `node`: the body whose return code is written."""

    def __init__(self, active: Active) -> None:
        self.b = Builder()
        self.active = active
        self.node = Node()
        self.passes: dict[Node, Atom] = {}  # the counter of a loop in its return sweep

    @abstractmethod
    def region(self, body: Body, seeds: Sequence[Atom | None]) -> None:
        """Emit the forward sweep of `body`, then its return sweep."""

    @abstractmethod
    def sweep(self, node: Node) -> None:
        """Return code of the statements of `node`, the last one first."""

    def is_active(self, atom: Atom) -> bool:
        return isinstance(atom, Var) and atom in self.active

    def value(self, atom: Atom) -> Atom:
        """What stands for a variable of the forward sweep in the return code written now."""
        if not isinstance(atom, Var):
            return atom
        node: Node | None = self.node
        while node is not None:
            if atom in node.memo:
                return node.memo[atom]
            if node.binds(atom):
                break
            node = node.parent
        if node is None or node.parent is None:
            return atom  # of the region's own body, or from outside of it
        known = self.had_again(atom, node)
        node.memo[atom] = known
        return known

    @contextmanager
    def at(self, node: Node) -> Iterator[None]:
        """Emit into the return code of `node`."""
        before, self.node = self.node, node
        self.b.scopes.append(node.back)
        try:
            yield
        finally:
            self.b.scopes.pop()
            self.node = before

    def had_again(self, var: Var, node: Node) -> Atom:
        """Compute a variable of a loop's body or an arm again if that is cheap, else record it."""
        item = node.defs.get(var)
        closed = induction(var, node)
        with self.at(node):
            if closed is not None:
                return closed.at(self.b, self.passes[node], self.value)
            if isinstance(item, Plain) and item.let is not None and self.is_cheap(var, node):
                exp = InReturn(self).exp(item.let.exp)
                return self.b.one(exp, var.hint)
            if isinstance(item, Plain) and item.let is not None and isinstance(item.let.exp, Alloc):
                return self.b.one(InReturn(self).exp(item.let.exp), var.hint)
            return self.recorded(var, node)

    def is_cheap(self, atom: Atom, node: Node) -> bool:
        """Whether a scalar can be had again by a few operations on what is at hand."""
        if not isinstance(atom, Var) or self.is_at_hand(atom, node):
            return True
        owner: Node | None = node
        while owner is not None and not owner.binds(atom):
            owner = owner.parent
        item = None if owner is None else owner.defs.get(atom)
        if owner is None or not isinstance(item, Plain) or item.let is None:
            return False
        match item.let.exp:
            case Prim(op, args):
                return op in CHEAP and all(self.is_cheap(a, owner) for a in args)
            case Index(array, at, modes):
                return (
                    set(modes) <= {PROVED, CHECK, WRAP}
                    and self.is_at_hand(array, owner)
                    and all(self.is_cheap(a, owner) for a in at)
                )
            case _:
                return False

    def is_at_hand(self, var: Var, node: Node | None) -> bool:
        while node is not None:
            if var in node.memo:
                return True
            if node.binds(var):
                return node.parent is None
            node = node.parent
        return True

    def recorded(self, var: Var, node: Node) -> Atom:
        kept = record(var, node, self.is_outside)
        counters = tuple(self.value(v) for v in kept.at)
        if kept.flat:
            return self.unpacked(kept, var)
        if kept.start is not None:
            counters = (self.log_position(kept, node),)
        if not counters:
            return kept.var
        if not var.is_array:
            return self.b.one(Index(kept.var, counters, PROVED * len(counters)), var.hint)
        vars, sizes = self.box(var.shape)
        cell = Var(Scalar(var.dtype), var.hint)
        at = (*counters, *vars)
        body = Body((Let((cell,), Index(kept.var, at, PROVED * len(at))),), (cell,))
        return self.b.one(Each(vars, sizes, (), body), var.hint)

    def unpacked(self, kept: Record, var: Var) -> Atom:
        """An array out of a log of elements, in row-major order from `start` on."""
        assert kept.start is not None
        start = self.value(kept.start)
        vars, sizes = self.box(var.shape)
        with self.b.scope():
            at: Atom = ZERO
            for v, n in zip(vars, sizes, strict=True):
                at = self.b.prim("add", self.b.prim("mul", at, n), v)
            cell = self.b.one(Index(kept.var, (self.b.prim("add", start, at),), PROVED), var.hint)
            body = self.b.body((cell,))
        return self.b.one(Each(vars, sizes, (), body), var.hint)

    def log_position(self, kept: Record, node: Node) -> Atom:
        while not isinstance(node.owner, Repeated):
            assert node.parent is not None
            node = node.parent
        assert kept.start is not None
        return self.b.prim("add", self.value(kept.start), self.passes[node])

    def is_outside(self, atom: Atom) -> bool:
        """Known where the region's loops have not begun."""
        node: Node | None = self.node
        while node is not None:
            if isinstance(atom, Var) and node.binds(atom):
                return node.parent is None
            node = node.parent
        return True

    def newest(self, var: Var) -> Atom | None:
        """What holds the value of `var` now, without recording it."""
        node: Node | None = self.node
        while node is not None:
            if var in node.memo:
                return node.memo[var]
            if node.binds(var):
                return var if node.parent is None else None
            node = node.parent
        return var

    def node_of(self, var: Var) -> Node | None:
        node: Node | None = self.node
        while node is not None and not node.binds(var):
            node = node.parent
        return node

    def here(self, type: Type) -> Type:
        """A type of the forward sweep in terms of sizes known here."""
        if isinstance(type, Array):
            return Array(type.dtype, tuple(size_of(self.value(atom_of(s))) for s in type.shape))
        return type

    def box(self, shape: Sequence[int | Var]) -> tuple[tuple[Var, ...], tuple[Atom, ...]]:
        vars = tuple(Var(INDEX, "k") for _ in shape)
        return vars, tuple(self.value(atom_of(s)) for s in shape)


class InReturn(Rewriter):
    """Expressions of the forward sweep in terms of what is known in the return sweep."""

    def __init__(self, reverse: Sweep) -> None:
        super().__init__(fresh=False)
        self.reverse = reverse
        self.inside: set[Var] = set()

    def atom(self, atom: Atom) -> Atom:
        if isinstance(atom, Var) and atom not in self.inside:
            return self.reverse.value(atom)
        return super().atom(atom)

    def var(self, var: Var) -> Var:
        new = self.atom(var)
        assert isinstance(new, Var)
        return new

    def nest(self, exp: Each) -> Each:
        """A nest written for the return sweep: what is free in it is put in place."""
        sizes = self.atoms(exp.sizes)
        return Each(exp.vars, sizes, exp.accs, self.closed(exp.body))

    def closed(self, body: Body) -> Body:
        """A body written for the return sweep, what is free in it put in place."""
        names = {v: now for v in free_vars(body) if (now := self.reverse.value(v)) is not v}
        return Rewriter(names, fresh=False).body(body)
