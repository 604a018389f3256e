"""Comprehensions and generators: lists of static or run-time length, dicts, reductions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Const
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend.indexing import new_list
from tapeless.frontend.iteration import Items, NeedsStatic, counted_or_unrolled, iterate
from tapeless.frontend.reductions import Level, reduce_levels
from tapeless.frontend.sequences import seq_over
from tapeless.frontend.state import Frame
from tapeless.frontend.truth import truth_of
from tapeless.frontend.unpacking import static_items
from tapeless.frontend.values import DictObj, Gen, Known, Many, Ref, Value

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


@contextmanager
def scope_of(t: Tracer, gen: Gen) -> Iterator[Frame]:
    """The scope of a comprehension: its own names, inside the frame it stands in."""
    outer = gen.frame
    frame = Frame(outer.source, outer.globals, outer.captured, outer, outer.owner)
    t.frames.append(frame)
    try:
        yield frame
    finally:
        t.frames.pop()


def as_list(t: Tracer, gen: Gen) -> Value:
    """The list that a comprehension or generator makes."""
    with scope_of(t, gen):
        return _Listing(t, gen).run(0)


class _Listing:
    def __init__(self, t: Tracer, gen: Gen) -> None:
        self.t = t
        self.generators = gen.node.generators
        self.elt = gen.node.elt

    def run(self, k: int) -> Value:
        """The list of the elements of generators k…"""
        items = self.items(k)
        if isinstance(items, list):
            return self.unrolled(items, k)
        return counted_or_unrolled(
            self.t, items, lambda many: self.counted(many, k), lambda xs: self.unrolled(xs, k)
        )

    def items(self, k: int) -> Items:
        if self.generators[k].is_async:
            raise UnsupportedError("'async for' is not supported", self.t.loc, "use 'for'")
        return iterate(self.t, self.t.evaluate(self.generators[k].iter))

    def unrolled(self, items: list[Value], k: int) -> Value:
        t, g = self.t, self.generators[k]
        out: list[Value] = []
        for item in items:
            t.rules.bind(t, g.target, item)
            if not all(self.holds(test) for test in g.ifs):
                continue
            if k + 1 == len(self.generators):
                out.append(t.evaluate(self.elt))
                continue
            out += static_items(t, iterate(t, self.run(k + 1)), None)
        return new_list(t, tuple(out))

    def holds(self, test: ast.expr) -> bool:
        known = truth_of(self.t, self.t.evaluate(test))
        if isinstance(known, Known):
            return bool(known.value)
        raise self.no_if()

    def no_if(self) -> CompileError:
        if self.t.countable:
            raise NeedsStatic
        return UnsupportedError(
            "an 'if' that is decided at run time cannot filter a list", self.t.loc,
            "write a ternary: [e if p else 0.0 for ...], or append in a loop",
        )  # fmt: skip

    def counted(self, items: Many, k: int) -> Value:
        """Loops over boxes of run-time size, all the rest of them."""
        t = self.t
        sizes = [items.size]
        chain = [items]
        before, place = t.snapshot(), t.b.here()
        with t.construct(), t.b.scope():  # a trace that is thrown away, to see the sizes
            for j in range(k + 1, len(self.generators)):
                last = chain[-1]
                t.rules.bind(t, self.generators[j - 1].target, last.item(t.index_var("i")))
                inner = self.items(j)
                if not isinstance(inner, Many) or not t.is_outer(inner.size):
                    if t.countable:
                        raise NeedsStatic
                    raise CompileError("the loops of this list are not a regular box", t.loc,
                                       "nest brackets, or append in a loop")  # fmt: skip
                sizes.append(inner.size)
                chain.append(inner)
        before.restore(t.frames, t.state)
        t.b.rewind(place)

        def element(idx: tuple[Any, ...]) -> Value:
            for depth, i in enumerate(idx):
                g = self.generators[k + depth]
                own = chain[depth] if depth == 0 else self.items(k + depth)
                assert isinstance(own, Many)
                if depth and own.size != sizes[depth] and not t.is_outer(own.size):
                    raise CompileError(
                        "the lengths of the inner loop differ (a ragged list)",
                        t.loc,
                        "append in a loop, or nest brackets",
                    )
                t.rules.bind(t, g.target, own.item(i))
                for test in g.ifs:
                    if not self.holds(test):
                        raise self.no_if()
            return t.evaluate(self.elt)

        return seq_over(t, tuple(sizes), element)


def reduce_generator(t: Tracer, kind: str, gen: Gen, default: Value | None = None) -> Value:
    """sum(e for … if p) and its kin."""
    with scope_of(t, gen):
        levels = tuple(
            Level(_items_of(t, g.iter), _binder(t, g.target), tuple(_test(t, i) for i in g.ifs))
            for g in gen.node.generators
        )
        return reduce_levels(t, kind, levels, lambda: t.evaluate(gen.node.elt), default)


def _items_of(t: Tracer, node: ast.expr) -> Callable[[], Items]:
    return lambda: iterate(t, t.evaluate(node))


def _binder(t: Tracer, target: ast.expr) -> Callable[[Value], None]:
    return lambda value: t.rules.bind(t, target, value)


def _test(t: Tracer, node: ast.expr) -> Callable[[], Value]:
    return lambda: t.evaluate(node)


def dict_of(t: Tracer, node: ast.DictComp) -> Value:
    """A dict comprehension over items of compile time."""
    fields: dict[Any, Value] = {}
    pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
    made = as_list(t, Gen(ast.copy_location(ast.ListComp(pair, node.generators), node), t.frame))
    items = iterate(t, made)
    if isinstance(items, Many):
        if not isinstance(items.size, Const):
            raise CompileError("the keys of a dict must be known at compile time", t.loc)
        raise CompileError("the keys of a dict must be known at compile time", t.loc,
                           "loop over a tuple of keys")  # fmt: skip
    for item in items:
        key, value = iterate(t, item)  # type: ignore[misc]  # pairs by construction
        if not isinstance(key, Known):
            raise CompileError("the keys of a dict must be known at compile time", t.loc)
        fields[key.value] = value
    obj = DictObj()
    t.state.heap[obj] = fields
    return Ref(obj)
