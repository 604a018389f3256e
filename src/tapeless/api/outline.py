"""What a call would give, without running it: the structure of its result, types and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapeless.api.directions import Shape
from tapeless.api.inspection import calling, no_kernel
from tapeless.api.jit import Jitted
from tapeless.api.paths import reader
from tapeless.api.program import Program
from tapeless.api.results import container
from tapeless.api.store import types_only
from tapeless.core.names import Atom, Var
from tapeless.frontend.array_protocols import as_array, is_array
from tapeless.frontend.signature import (
    ArgOut,
    ArrayOut,
    NumberOut,
    Out,
    Signature,
    StaticOut,
    TreeOut,
)  # fmt: skip
from tapeless.ir.interp import interpret
from tapeless.ir.syntax import Body, Fun, Let
from tapeless.ir.types_of import atom_of
from tapeless.ir.walk import atoms_of, free_vars, type_vars

NEEDED = "the shape of what {} gives depends on values"


class ValuesNeededError(ValueError):
    """A shape depends on what an array holds."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A program that computes the shapes of another one's results, in order, from `needed` of its
    parameters. `results`: those results."""

    program: Program
    results: tuple[Atom, ...]
    sizes: Fun
    needed: tuple[int, ...]


class Outlines:
    """The outlines of one function's calls."""

    def __init__(self, f: Any) -> None:
        self.f = f
        self.known: dict[Signature, list[Outline]] = {}

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any], unknown: Sequence[Any] = ()) -> Any:
        """The result with a `Shape` for each number and array in it. Arrays may be stand-ins of the
        right shape and type; so may be numbers, which are then `unknown`."""
        compiled, arguments = calling(self.f, args, kwargs)
        signature = types_only(compiled.signature(arguments))
        found = self.known.setdefault(signature, [])
        f = compiled.python
        outline = next((o for o in found if o.program.fits(f, arguments)), None)
        if outline is None:
            outline = made(compiled, arguments)
            found.insert(0, outline)
        program, ids = outline.program, set(map(id, unknown))
        sources = [program.plan.inputs[k] for k in outline.needed]
        if any(i.part != "size" and id(reader(i.path)(f, arguments)) in ids for i in sources):
            raise ValuesNeededError(NEEDED.format(program.plan.name))
        values = [program.inputs[k](f, arguments) for k in outline.needed]
        sizes = iter(interpret(outline.sizes, *values))
        shapes = [
            tuple(int(next(sizes)) for _ in a.shape) if isinstance(a, Var) else ()
            for a in outline.results
        ]
        leaves = map(Shape, shapes, [a.dtype.numpy for a in outline.results])
        return shown(program.plan.output, leaves, f, arguments)


def made(compiled: Jitted, arguments: dict[str, Any]) -> Outline:
    plan, traced = compiled.store.core(compiled.python, arguments, compiled.signature(arguments))
    fun = traced.fun
    results = fun.body.results[: len(fun.body.results) - len(fun.writes)]
    sizes = tuple(atom_of(s) for a in results if isinstance(a, Var) for s in a.shape)
    stms = slice_for(fun.body, sizes)
    reads = {*free_vars(Body(stms, sizes))}
    needed = [k for k, p in enumerate(fun.params) if p in reads]
    params = tuple(fun.params[k] for k in needed)
    if any(p.is_array for p in params):
        raise ValuesNeededError(NEEDED.format(plan.name))
    return Outline(
        Program(plan, no_kernel, frozenset()), results, Fun("sizes", params, Body(stms, sizes)),
        tuple(needed),
    )  # fmt: skip


def slice_for(body: Body, wanted: tuple[Atom, ...]) -> tuple[Let, ...]:
    """The statements that some atoms depend on; checks are left out."""
    open_: set[Any] = set(wanted)
    kept: list[Let] = []
    for stm in reversed(body.stms):
        if open_.isdisjoint(stm.outs):
            continue
        kept.append(stm)
        open_ |= {*free_vars(Body((stm,), ())), *atoms_of(stm.exp)}
        open_ |= {s for out in stm.outs for s in type_vars(out.type)}
    return tuple(kept[::-1])


def shown(out: Out, leaves: Iterator[Shape], f: Any, arguments: dict[str, Any]) -> Any:
    match out:
        case ArrayOut(is_complex):
            leaf = next(leaves)
            if is_complex:
                return Shape(leaf.shape[:-1], complex_of(leaf.dtype), is_array=True)
            return Shape(leaf.shape, leaf.dtype, is_array=True)
        case NumberOut(dtype):
            next(leaves)
            if dtype.kind == "c":
                next(leaves)
            return Shape((), dtype)
        case StaticOut(value):
            return value
        case ArgOut(path):
            value = reader(path)(f, arguments)
            array = as_array(value) if is_array(value) else None
            return value if array is None else Shape(array.shape, array.dtype, is_array=True)
        case TreeOut(kind, cls, keys, items):
            return container(kind, cls, keys)([shown(i, leaves, f, arguments) for i in items])


def complex_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"c{2 * dtype.itemsize}")
