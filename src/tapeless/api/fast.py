"""Programs with simple arguments and results as plans of the fast entry, which runs no Python."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapeless.api.paths import function_of, reader
from tapeless.api.plan import Plan, is_unchanging
from tapeless.core.types import dtype_named
from tapeless.forms.elements import ArrayOf
from tapeless.frontend.signature import (
    ArgOut,
    ArgType,
    ArrayArg,
    ArrayOut,
    NumberArg,
    NumberOut,
    Out,
    Path,
    Root,
    Signature,
    StaticArg,
    StaticOut,
    TreeArg,
    TreeOut,
)  # fmt: skip
from tapeless.runtime import plan as fc
from tapeless.runtime.abi import ArraySlot, KernelType

PYTHON = {"f": float, "i": int, "b": bool, "c": complex}
BACK: dict[str, type] = {"i": int, "b": bool}


class TooComplicated(Exception):
    """A call that needs Python."""


def fast_plan(
    plan: Plan, type: KernelType, function: types.FunctionType, signature: Signature, count: int,
    declared: dict[str, ArrayOf],
) -> fc.Plan | None:  # fmt: skip
    """How the fast entry makes this call with `count` positional arguments; None if it cannot."""
    try:
        return _Planner(plan, type, function, signature, count).plan_for(declared)
    except TooComplicated:
        return None


class _Planner:
    def __init__(
        self, plan: Plan, kernel: KernelType, function: types.FunctionType, signature: Signature,
        count: int,
    ) -> None:  # fmt: skip
        self.plan = plan
        self.kernel = kernel
        self.function = function
        self.given = signature[:count]
        self.args: list[fc.ArgumentIn] = []
        self.captures: list[fc.Capture] = []
        self.places: dict[Path, int] = {}
        self.layouts = {
            i.path: slot.layout
            for i, slot in zip(plan.inputs, kernel.params, strict=True)
            if isinstance(slot, ArraySlot)
        }
        for name, arg in self.given:
            self._place(Path(Root("arg", name)), self.accepts(arg, Path(Root("arg", name))))
        self._defaults(signature[count:])

    def _place(self, path: Path, arg: fc.ArgumentIn, capture: fc.Capture | None = None) -> None:
        self.places[path] = len(self.args)
        self.args.append(arg)
        if capture is not None:
            self.captures.append(capture)

    def _defaults(self, missing: Signature) -> None:
        parameters = inspect.signature(self.function, follow_wrapped=False).parameters
        for name, arg in missing:
            default = parameters[name].default
            if default is inspect.Parameter.empty:  # *args, **kwargs
                if isinstance(arg, TreeArg) and not arg.items:
                    continue
                raise TooComplicated
            path = Path(Root("arg", name))
            self._place(path, self.accepts(arg, path), fc.ObjectValue(default))

    def accepts(self, arg: ArgType, path: Path) -> fc.ArgumentIn:
        match arg:
            case ArrayArg(dtype, dims):
                written = path in self.plan.written
                return fc.ArrayIn(dtype, len(dims), self.layouts.get(path, "S"), written)
            case NumberArg(dtype, True):
                return fc.NumberIn(PYTHON[dtype.kind])
            case NumberArg(dtype):
                return fc.ScalarIn(dtype)
            case StaticArg(value) if is_unchanging(value):
                return fc.SameIn(value)
        raise TooComplicated

    def plan_for(self, declared: dict[str, ArrayOf]) -> fc.Plan:
        for guard in self.plan.guards:
            self.guard(guard.path, guard.expected)
        sources = tuple(
            self.source(i.path, i.part, i.axis, slot)
            for i, slot in zip(self.plan.inputs, self.kernel.params, strict=True)
        )
        self.results = 0
        returns = self.returns(self.plan.output)
        guards = (*self.size_guards(), *self.declared_guards(declared), *self.aliases())
        return fc.Plan(
            tuple(self.args), sources, returns, guards, tuple(self.captures), self.plan.long
        )

    # captured values
    def guard(self, path: Path, expected: ArgType) -> None:
        if path in self.places:
            return
        if _is_of_argument(path):  # inside of an instance, a class or a function
            raise TooComplicated
        if isinstance(expected, StaticArg):
            value = reader(path)(self.function, {})
            if not is_unchanging(value):
                raise TooComplicated
            self._captured(path, fc.SameIn(value))
        else:
            self._captured(path, self.accepts(expected, path))

    def _captured(self, path: Path, arg: fc.ArgumentIn) -> None:
        *before, last = path.steps or (None,)
        if last is not None:
            owner = Path(path.root, tuple(before))
            module = self._constant(owner)
            if last[0] != "attr" or not isinstance(module, types.ModuleType):
                raise TooComplicated
            self._place(path, arg, fc.GlobalValue(vars(module), str(last[1])))
            return
        root = path.root
        if root.kind == "arg":
            raise TooComplicated
        if root.kind == "module":
            self._place(path, arg, fc.GlobalValue(sys.modules, root.key))
            return
        function = self.function
        if root.owner is not None:
            function = function_of(self._constant(root.owner))
        if root.kind == "cell":
            cells = function.__closure__ or ()
            cell = cells[function.__code__.co_freevars.index(root.key)]
            self._place(path, arg, fc.CellValue(cell))
        elif root.key in function.__globals__:
            self._place(path, arg, fc.GlobalValue(function.__globals__, root.key))
        else:  # a builtin, as long as nothing hides it: nobody replaces it where it is
            self._place(path, fc.AbsentIn(), fc.GlobalValue(function.__globals__, root.key))

    def _constant(self, path: Path) -> Any:
        """The object at a path, guarded to be the same at every call."""
        if path in self.places:
            arg = self.args[self.places[path]]
            if isinstance(arg, fc.SameIn):
                return arg.value
            raise TooComplicated
        value = reader(path)(self.function, {})
        self._captured(path, fc.SameIn(value))
        return value

    # parameters and results
    def source(self, path: Path, part: str, axis: int, slot: object) -> fc.Source:
        place = self.places.get(path)
        if place is None:
            raise TooComplicated
        match part:
            case "size":
                return fc.Size(place, axis)
            case "re":
                return fc.Number(place, 0)
            case "im":
                return fc.Number(place, 1)
        return fc.Data(place) if isinstance(slot, ArraySlot) else fc.Number(place)

    def returns(self, out: Out) -> fc.Back | tuple[fc.Back, ...]:
        if isinstance(out, TreeOut):
            if out.cls is not tuple:
                raise TooComplicated
            return tuple(self.back(item) for item in out.items)
        return self.back(out)

    def back(self, out: Out) -> fc.Back:
        k = self.results
        match out:
            case ArrayOut(is_complex):
                self.results += 1
                dtype = dtype_named(self.kernel.results[k].dtype).numpy
                return fc.ArrayBack(k, np.dtype(f"c{dtype.itemsize * 2}") if is_complex else dtype)
            case NumberOut(dtype, weak):
                self.results += 2 if dtype.kind == "c" else 1
                if weak and dtype.kind in BACK:
                    return fc.NumberBack(k, BACK[dtype.kind])
                return fc.ScalarBack(k, dtype)
            case StaticOut(value):
                return fc.ConstantBack(value)
            case ArgOut(path) if path in self.places:
                return fc.ArgumentBack(self.places[path])
        raise TooComplicated

    # what else must hold
    def size_guards(self) -> Iterator[fc.Guard]:
        for fixed in self.plan.fixed:
            yield fc.SizeIs(self.places[fixed.path], fixed.axis, fixed.size)
        for free in self.plan.not_one:
            if free.path not in self.places:
                raise TooComplicated
            yield fc.SizeIsNot(self.places[free.path], free.axis, 1)

    def declared_guards(self, declared: dict[str, ArrayOf]) -> Iterator[fc.Guard]:
        known: dict[str, tuple[int, int]] = {}
        for name, array in declared.items():
            place = self.places.get(Path(Root("arg", name)))
            if place is None:
                raise TooComplicated
            for axis, size in enumerate(array.sizes):
                if isinstance(size, int):
                    yield fc.SizeIs(place, axis, size)
                elif isinstance(size, str):
                    first = known.setdefault(size, (place, axis))
                    if first != (place, axis):
                        yield fc.SizesAgree(*first, place, axis)

    def aliases(self) -> Iterator[fc.Guard]:
        arrays = {k: a for k, a in enumerate(self.args) if isinstance(a, fc.ArrayIn)}
        written = [k for k, a in arrays.items() if a.written]
        for k in written:
            for other in arrays:
                if other != k and not (other in written and other < k):
                    yield fc.Disjoint(k, other)


def _is_of_argument(path: Path) -> bool:
    """Whether the value is found by way of an argument."""
    owner = path.root.owner
    return path.root.kind == "arg" or (owner is not None and _is_of_argument(owner))
