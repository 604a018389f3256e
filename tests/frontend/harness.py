"""Runs a function through the frontend and the reference interpreter, as a call would."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.frontend.argtypes import arg_type, plain, static_arg
from tapeless.frontend.signature import (
    ArgOut,
    ArrayOut,
    Input,
    NumberOut,
    Options,
    Out,
    Path,
    StaticOut,
    Traced,
    TreeOut,
)  # fmt: skip
from tapeless.frontend.trace import trace
from tapeless.ir.interp import interpret
from tapeless.ir.verify import verify


class Program:
    """A traced function and its arguments."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        static: tuple[str, ...] = (),
        options: Options = Options(),
    ) -> None:
        self.function = plain(function)
        bound = inspect.signature(self.function).bind(*args, **(kwargs or {}))
        bound.apply_defaults()
        self.arguments = dict(bound.arguments)
        signature = tuple(
            (n, static_arg(v) if n in static else arg_type(v)) for n, v in self.arguments.items()
        )
        self.traced: Traced = trace(self.function, signature, options)
        verify(self.traced.fun)

    def find(self, path: Path) -> Any:
        root = path.root
        if root.kind == "arg":
            value = self.arguments.get(root.key, getattr(self.function, root.key, None))
        elif root.kind == "module":
            value = sys.modules[root.key]
        else:
            owner = self.function if root.owner is None else plain(self.find(root.owner))
            owner = getattr(owner, "__func__", owner)
            if root.kind == "global":
                value = owner.__globals__[root.key]
            else:
                value = owner.__closure__[owner.__code__.co_freevars.index(root.key)].cell_contents
        for kind, key in path.steps:
            value = getattr(plain(value), key) if kind == "attr" else value[key]
        return value

    def value(self, given: Input) -> Any:
        found = self.find(given.path)
        match given.part:
            case "size":
                return np.shape(found)[given.axis]
            case "re":
                return np.real(found)
            case "im":
                return np.imag(found)
        if np.iscomplexobj(found):
            return np.stack([found.real, found.imag], axis=-1)
        return found

    def run(self) -> tuple[Any, dict[str, Any]]:
        """The result, and arguments as they are after the call."""
        results = list(interpret(self.traced.fun, *map(self.value, self.traced.inputs)))
        after = copy.deepcopy(self.arguments)
        count = len(self.traced.written)
        contents = results[len(results) - count :]
        for path, content in zip(self.traced.written, contents, strict=True):
            target = Program.find(_Holder(after, self), path)
            target[...] = (
                content[..., 0] + 1j * content[..., 1] if np.iscomplexobj(target) else content
            )
        return self.rebuild(self.traced.output, results, after), after

    def rebuild(self, out: Out, results: list[Any], after: dict[str, Any]) -> Any:
        match out:
            case ArrayOut(is_complex):
                array = results.pop(0)
                return array[..., 0] + 1j * array[..., 1] if is_complex else array
            case NumberOut(dtype, weak):
                value = results.pop(0)
                if dtype.kind == "c":
                    value = value + 1j * results.pop(0)
                return dtype.type(value).item() if weak else dtype.type(value)
            case StaticOut(value):
                return value
            case ArgOut(path):
                return Program.find(_Holder(after, self), path)
            case TreeOut(kind, cls, keys, items):
                values = [self.rebuild(i, results, after) for i in items]
                match kind:
                    case "namedtuple":
                        return cls(*values)
                    case "dict":
                        return dict(zip(keys, values, strict=True))
                    case "dataclass":
                        return cls(**dict(zip(keys, values, strict=True)))
                return cls(values)
        raise AssertionError(out)


class _Holder(Program):
    """Finds values among changed arguments."""

    def __init__(self, arguments: dict[str, Any], program: Program) -> None:
        self.arguments = arguments
        self.function = program.function


def same(got: Any, expected: Any, tol: float = 1e-12) -> None:
    """Equal structure, types and values."""
    if isinstance(expected, tuple | list) and not isinstance(got, np.ndarray):
        assert type(got) is type(expected), (got, expected)
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            same(g, e, tol)
    elif isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for key, value in expected.items():
            same(got[key], value, tol)
    elif dataclasses.is_dataclass(expected):
        for f in dataclasses.fields(expected):
            same(getattr(got, f.name), getattr(expected, f.name), tol)
    elif expected is None or isinstance(expected, str):
        assert got == expected
    else:
        g, e = np.asarray(got), np.asarray(expected)
        assert g.shape == e.shape, (g.shape, e.shape)
        if not isinstance(expected, list):
            assert g.dtype == e.dtype, (g.dtype, e.dtype)
        if e.dtype.kind in "biu":
            np.testing.assert_array_equal(g, e)
        else:
            np.testing.assert_allclose(g, e, rtol=tol, atol=tol)


def check(function: Callable[..., Any], *args: Any, tol: float = 1e-12, **kwargs: Any) -> Traced:
    """The program gives what plain Python gives, and writes the same arguments."""
    program = Program(function, copy.deepcopy(args), copy.deepcopy(kwargs))
    got, after = program.run()
    given = inspect.signature(program.function).bind(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    given.apply_defaults()
    with np.errstate(all="ignore"):
        expected = program.function(*given.args, **given.kwargs)
    same(got, expected, tol)
    for name, value in given.arguments.items():
        if isinstance(value, np.ndarray):
            same(after[name], value, tol)
    return program.traced
