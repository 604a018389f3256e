"""`functional`: a call that leaves its arguments alone and says what it would have written."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from tapeless.errors import CompileError
from tapeless.frontend.argtypes import plain
from tapeless.frontend.join import spelled
from tapeless.frontend.leaves import detached, every_leaf
from tapeless.frontend.rule import Args, Kwargs
from tapeless.frontend.values import Arr, DictObj, Fn, Known, Ref, Staged, Tup, Value

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def pure_version(f: Value) -> Value:
    """functional(f), called with arguments."""

    def call(t: Tracer, args: Args, kwargs: Kwargs) -> Value:
        return _call(t, f, args, kwargs)

    return Staged(call)


def pure_rule(t: Tracer, f: Value, args: Value, kwargs: Value) -> Value:
    """call_pure(f, args, kwargs)"""
    args = spelled(args)
    assert isinstance(args, Tup) and isinstance(kwargs, Ref)
    return _call(t, f, args.items, t.state.heap[kwargs.obj])


def _call(t: Tracer, f: Value, args: Args, kwargs: Kwargs) -> Value:
    names = _parameters(t, f, len(args))
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    copies = {name: detached(t, value) for name, value in given.items()}
    before = {name: _contents(t, value) for name, value in copies.items()}
    rest = {name: copies[name] for name in kwargs}
    result = t.rules.call(t, f, [copies[n] for n in names[: len(args)]], rest)
    obj = DictObj()
    t.state.heap[obj] = {n: c for n, c in copies.items() if _contents(t, c) != before[n]}
    return Tup((result, Ref(obj)))


def _contents(t: Tracer, value: Value) -> list[object]:
    """What the arrays of a tree hold now."""
    found: list[object] = []
    every_leaf(
        t, value, lambda v: found.append(t.state.heap[v.obj] if isinstance(v, Arr) else None)
    )
    return found


def _parameters(t: Tracer, f: Value, count: int) -> list[str]:
    """The names of the positional parameters."""
    if isinstance(f, Fn):
        spec = f.source.node.args
        names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    elif isinstance(f, Known) and callable(f.value):
        found = inspect.signature(plain(f.value)).parameters.values()
        names = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    else:
        names = []
    if len(names) < count:
        raise CompileError(
            f"functional: {t.describe(f)} is called with arguments that have no name", t.loc,
            "give its parameters names, or wrap it in a lambda",
        )  # fmt: skip
    return names
