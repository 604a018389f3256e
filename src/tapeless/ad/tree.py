"""The forward sweep as a tree that can still grow: what the return sweep asks for is recorded.

A *region* is a body whose forward and return sweep run one after the other, so that the return
sweep sees every variable of the body itself. Variables of a loop or an arm inside are gone by then.
`record` carries one of them out: through an arm as one more result; through loops of known bounds
into an array over their box, stored in at every pass; else into a log that grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tapeless.ad.revolve import Run, Schedule, is_revolved, refuse_open_end
from tapeless.ad.sequential import named, stored
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Array, Scalar, Type
from tapeless.ir.build import ONE, ZERO, Builder
from tapeless.ir.syntax import (
    PROVED,
    Alloc,
    Append,
    Body,
    For,
    If,
    Index,
    Let,
    Loop,
    Prim,
)  # fmt: skip
from tapeless.ir.types_of import atom_of, size_of


@dataclass(eq=False)
class Plain:
    """A statement of the forward sweep without sequential bodies."""

    let: Let | None  # None: nothing to run forward
    is_turned: bool = False  # whether it holds its own return sweep
    kept: dict[Var, Var] = field(default_factory=dict)  # what a nest keeps of each pass, and where

    def frozen(self) -> Iterator[Let]:
        if self.let is not None:
            yield self.let


@dataclass(eq=False)
class Carried:
    """One more value that passes through a loop or a conditional."""

    out: Var
    results: tuple[Atom, ...]  # of the body, or of both arms
    param: Var | None = None
    init: Atom | None = None


@dataclass(eq=False)
class Repeated:
    """A loop of the forward sweep."""

    let: Let
    exp: Loop
    child: Node
    extra: list[Carried] = field(default_factory=list)

    def frozen(self) -> Iterator[Let]:
        exp, extra = self.exp, self.extra
        params = (*exp.params, *(c.param for c in extra if c.param is not None))
        inits = (*exp.inits, *(c.init for c in extra if c.init is not None))
        body = self.child.body((*exp.body.results, *(c.results[0] for c in extra)))
        outs = (*self.let.outs, *(c.out for c in extra))
        yield Let(outs, Loop(exp.form, params, inits, body, exp.reverse), self.let.loc)


@dataclass(eq=False)
class Branched:
    """A conditional of the forward sweep."""

    let: Let
    exp: If
    arms: tuple[Node, Node]
    extra: list[Carried] = field(default_factory=list)

    def frozen(self) -> Iterator[Let]:
        then, orelse = (
            arm.body((*body.results, *(c.results[k] for c in self.extra)))
            for k, (arm, body) in enumerate(
                zip(self.arms, (self.exp.then, self.exp.orelse), strict=True)
            )
        )
        outs = (*self.let.outs, *(c.out for c in self.extra))
        yield Let(outs, If(self.exp.cond, then, orelse), self.let.loc)


@dataclass(eq=False)
class Revolved:
    """A loop of the forward sweep that keeps some of its states for the return sweep."""

    let: Let
    exp: Loop
    lets: list[Let]
    run: Run

    def frozen(self) -> Iterator[Let]:
        yield from self.lets


@dataclass(eq=False)
class Inverted:
    """A loop of the forward sweep that the return sweep undoes pass by pass."""

    let: Let
    exp: Loop

    def frozen(self) -> Iterator[Let]:
        yield self.let


Item = Plain | Repeated | Branched | Revolved | Inverted


class Node:
    """One body of a region. `memo`: values of its variables in the return sweep; `back`: where
    return code of this body goes while it is written."""

    def __init__(
        self, parent: Node | None = None, owner: Repeated | Branched | None = None
    ) -> None:
        self.parent = parent
        self.owner = owner
        self.items: list[Item] = []
        self.defs: dict[Var, Item] = {}
        self.params: set[Var] = set()
        self.memo: dict[Var, Atom] = {}
        self.back: list[Let] = []

    def binds(self, var: Var) -> bool:
        return var in self.defs or var in self.params

    def body(self, results: tuple[Atom, ...]) -> Body:
        return Body(tuple(self.frozen()), results)

    def frozen(self) -> Iterator[Let]:
        for item in self.items:
            yield from item.frozen()

    def path(self) -> list[tuple[Repeated | Branched, Node]]:
        """Owners from the region's own body down to this one."""
        steps: list[tuple[Repeated | Branched, Node]] = []
        node = self
        while node.parent is not None:
            assert node.owner is not None
            steps.append((node.owner, node))
            node = node.parent
        return steps[::-1]

    def grow(self, body: Body) -> None:
        """Take up the statements of `body`."""
        for stm in body.stms:
            item = self.item(stm)
            self.items.append(item)
            self.defs.update(dict.fromkeys(stm.outs, item))
            if isinstance(item, Revolved):
                self.defs.update((o, item) for let in item.lets for o in let.outs)

    def item(self, stm: Let) -> Item:
        match stm.exp:
            case Loop() if stm.exp.reverse.kind == "invert":
                refuse_open_end(stm.exp, stm.loc)
                return Inverted(stm, stm.exp)
            case Loop() if is_revolved(stm.exp):
                refuse_open_end(stm.exp, stm.loc)
                return revolved(stm, stm.exp)
            case Loop(form, params, _, body):
                loop = Repeated(stm, stm.exp, Node(self))
                loop.child.owner = loop
                loop.child.params.update(params)
                if isinstance(form, For):
                    loop.child.params.add(form.var)
                loop.child.grow(body)
                return loop
            case If(_, then, orelse):
                fork = Branched(stm, stm.exp, (Node(self), Node(self)))
                for arm, body in zip(fork.arms, (then, orelse), strict=True):
                    arm.owner = fork
                    arm.grow(body)
                return fork
            case _:
                return Plain(stm)

    def after(self, var: Var) -> int:
        """The position right after `var` gets its value."""
        item = self.defs.get(var)
        return 0 if item is None else self.items.index(item) + 1


def revolved(stm: Let, exp: Loop) -> Revolved:
    """The loop as it runs first: up to its end, leaving states on the way."""
    b = Builder()
    b.loc = stm.loc
    with b.scope() as lets:
        schedule = Schedule(b, exp)
        run = Run(ZERO, exp.inits, schedule.first(schedule.slots()))
        run = schedule.forward(schedule.size, b.prim("sub", schedule.size, ONE), run)
        results = schedule.passes(run.at, schedule.size, run.state)
    names: dict[Atom, Var] = dict(zip(results, stm.outs, strict=True))
    return Revolved(stm, exp, named(lets, names), run)


# Records ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Record:
    """Where values of a variable are kept: `at` the counters of the loops around it, of a box; or
    a log from `start` on, at the counter of the innermost loop, or (`flat`) element by element."""

    var: Var
    at: tuple[Var, ...] = ()
    start: Atom | None = None
    flat: bool = False


def trips(owner: Repeated | Branched) -> For | None:
    return (
        owner.exp.form if isinstance(owner, Repeated) and isinstance(owner.exp.form, For) else None
    )


def record(var: Var, node: Node, is_outside: Callable[[Atom], bool]) -> Record:
    """Keep the values that `var` of `node` takes. `is_outside(atom)`: known in front of all
    loops of the region."""
    path = node.path()
    if not all(is_outside(atom_of(s)) for s in var.shape):
        return _in_flat_log(var, node, path)
    loops = [owner for owner, _ in path if isinstance(owner, Repeated)]
    forms = [trips(owner) for owner in loops]
    sizes = [None if f is None else f.size for f in forms]
    if all(s is not None and is_outside(s) for s in sizes):
        counters = tuple(f.var for f in forms if f is not None)
        return _in_box(var, node, path, counters, tuple(s for s in sizes if s is not None))
    innermost = max(k for k, (owner, _) in enumerate(path) if isinstance(owner, Repeated))
    if innermost < len(path) - 1:  # out of the arms first, so that every pass has a value
        var = _in_box(var, node, path[innermost + 1 :], (), ()).var
    return _in_log(var, path[innermost][1], path[: innermost + 1])


def _in_box(
    var: Var, node: Node, path: list[tuple[Repeated | Branched, Node]],
    counters: tuple[Var, ...], sizes: tuple[Atom, ...],
) -> Record:  # fmt: skip
    """An array over the box of the loops, or a plain value where there are none."""
    type: Type = var.type
    start: Atom
    first = path[0][0]
    root = path[0][1].parent
    assert root is not None
    shape = (*map(size_of, sizes), *var.shape)
    if shape:
        type = Array(var.dtype, shape)
        home = Var(type, f"{var.hint}_kept")
        alloc = Alloc("empty", var.dtype, tuple(map(atom_of, shape)))
        root.items.insert(root.items.index(first), Plain(Let((home,), alloc)))
        start = home
    else:
        start = Const(False if var.dtype.is_bool else 0, var.dtype)

    def leaf(incoming: tuple[Atom, ...]) -> tuple[Atom, ...]:
        if not counters:
            return (var,)
        (kept,) = incoming
        assert isinstance(kept, Var)
        new = Var(type, kept.hint)
        node.items.insert(node.after(var), Plain(Let((new,), stored(kept, counters, var))))
        return (new,)

    (out,) = _carry(path, (start,), leaf)
    assert isinstance(out, Var)
    return Record(out, counters)


def _in_log(var: Var, node: Node, path: list[tuple[Repeated | Branched, Node]]) -> Record:
    """A growing array and its length; the visit that a value belongs to starts where the log ended
    when the innermost loop began."""
    root = path[0][1].parent
    assert root is not None
    empty = Var(Array(var.dtype, (0, *var.shape)), f"{var.hint}_log")
    alloc = Alloc("empty", var.dtype, (ZERO, *map(atom_of, var.shape)))
    root.items.insert(root.items.index(path[0][0]), Plain(Let((empty,), alloc)))
    begins: list[Atom] = []

    def leaf(incoming: tuple[Atom, ...]) -> tuple[Atom, ...]:
        size, log = incoming
        assert isinstance(log, Var)
        more = Var(INDEX, "kept")
        longer = Var(Array(var.dtype, (more, *var.shape)), log.hint)
        node.items[node.after(var) : node.after(var)] = [
            Plain(Let((more,), Prim("add", (size, ONE)))),
            Plain(Let((longer,), Append(log, var, more))),
        ]
        return more, longer

    def watch(depth: int, incoming: tuple[Atom, ...]) -> None:
        if depth == len(path) - 1:
            begins.append(incoming[0])

    _, out = _carry(path, (ZERO, empty), leaf, watch)
    assert isinstance(out, Var)
    return Record(out, start=begins[0])


def _in_flat_log(var: Var, node: Node, path: list[tuple[Repeated | Branched, Node]]) -> Record:
    """The elements of arrays whose sizes change, one after the other in one log."""
    root = path[0][1].parent
    assert root is not None
    empty = Var(Array(var.dtype, (0,)), f"{var.hint}_log")
    first = Plain(Let((empty,), Alloc("empty", var.dtype, (ZERO,))))
    root.items.insert(root.items.index(path[0][0]), first)
    begins: list[Atom] = []

    def leaf(incoming: tuple[Atom, ...]) -> tuple[Atom, ...]:
        begins.append(incoming[0])
        let = _appending(var, incoming, ())
        node.items.insert(node.after(var), Plain(let))
        return let.outs

    _, out = _carry(path, (ZERO, empty), leaf)
    assert isinstance(out, Var)
    return Record(out, start=begins[0], flat=True)


def _appending(var: Var, incoming: tuple[Atom, ...], at: tuple[Var, ...]) -> Let:
    """for k …: append var[k] to the log, in row-major order."""
    params, outs = (_like(incoming, [a.type for a in incoming]) for _ in range(2))
    counter = Var(INDEX, "k")
    here = (*at, counter)
    if len(here) < len(var.shape):
        inner = _appending(var, params, here)
        body = Body((inner,), inner.outs)
    else:
        cell, more = Var(Scalar(var.dtype), var.hint), Var(INDEX, "kept")
        longer = Var(Array(var.dtype, (more,)), "log")
        size, log = params
        body = Body(
            (
                Let((cell,), Index(var, here, PROVED * len(here))),
                Let((more,), Prim("add", (size, ONE))),
                Let((longer,), Append(log, cell, more)),
            ),
            (more, longer),
        )
    form = For(counter, atom_of(var.shape[len(at)]))
    return Let(outs, Loop(form, params, incoming, body))


def _carry(
    path: list[tuple[Repeated | Branched, Node]],
    start: tuple[Atom, ...],
    leaf: Callable[[tuple[Atom, ...]], tuple[Atom, ...]],
    watch: Callable[[int, tuple[Atom, ...]], None] = lambda depth, incoming: None,
) -> tuple[Atom, ...]:
    """Pass values through the owners on `path`, changed by `leaf` at its end."""

    def through(depth: int, incoming: tuple[Atom, ...]) -> tuple[Atom, ...]:
        if depth == len(path):
            return leaf(incoming)
        watch(depth, incoming)
        owner, node = path[depth]
        if isinstance(owner, Repeated):
            params = _like(incoming, [a.type for a in incoming])
            results = through(depth + 1, params)
            outs = _like(params, [p.type for p in params])
            owner.extra += [
                Carried(o, (r,), p, i)
                for o, r, p, i in zip(outs, results, params, incoming, strict=True)
            ]
            node.params.update(params)
        else:
            results = through(depth + 1, incoming)
            outs = _like(incoming, [r.type for r in results])
            k = owner.arms.index(node)
            for o, r, i in zip(outs, results, incoming, strict=True):
                owner.extra.append(Carried(o, (r, i) if k == 0 else (i, r)))
        if node.parent is not None:
            node.parent.defs.update(dict.fromkeys(outs, owner))
        return outs

    return through(0, start)


def _like(atoms: tuple[Atom, ...], types: list[Type]) -> tuple[Var, ...]:
    """New variables for `atoms`; a size among them is the size of the arrays that follow."""
    new: list[Var] = []
    for atom, type in zip(atoms, types, strict=True):
        if len(atoms) == 2 and isinstance(type, Array):
            type = Array(type.dtype, (new[0], *type.shape[1:]))
        var = Var(type, atom.hint if isinstance(atom, Var) else "kept")
        new.append(var)
    return tuple(new)
