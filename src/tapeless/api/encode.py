"""Plans and kernel types as JSON."""

from __future__ import annotations

import sys
import types
from dataclasses import asdict
from typing import Any

import numpy as np

from tapeless.api.plan import Fixed, Plan
from tapeless.api.stable import Unstable
from tapeless.core.names import Loc
from tapeless.frontend.signature import (
    ArgOut,
    ArrayOut,
    Guard,
    Input,
    NotOne,
    NumberOut,
    Out,
    Path,
    Root,
    StaticOut,
    TreeOut,
)  # fmt: skip
from tapeless.runtime.abi import ArraySlot, KernelType, ScalarSlot, Site, Slot

# Paths ------------------------------------------------------------------------------------------


def path(p: Path) -> list[Any]:
    owner = None if p.root.owner is None else path(p.root.owner)
    if not all(isinstance(key, int | str) for _, key in p.steps):
        raise Unstable("a key that is no number or string")
    return [p.root.kind, p.root.key, owner, [list(s) for s in p.steps]]


def read_path(p: list[Any]) -> Path:
    kind, key, owner, steps = p
    root = Root(kind, key, None if owner is None else read_path(owner))
    return Path(root, tuple((k, s) for k, s in steps))


# Results ----------------------------------------------------------------------------------------


def out(o: Out) -> list[Any]:
    match o:
        case ArrayOut(is_complex):
            return ["array", is_complex]
        case NumberOut(dtype, weak):
            return ["number", dtype.str, weak]
        case StaticOut(value):
            return ["static", _static(value)]
        case ArgOut(p):
            return ["arg", path(p)]
        case TreeOut(kind, cls, keys, items):
            if not all(isinstance(k, int | str) for k in keys):
                raise Unstable("a key that is no number or string")
            return ["tree", kind, _class(cls), list(keys), [out(i) for i in items]]


def read_out(o: list[Any]) -> Out:
    match o:
        case ["array", is_complex]:
            return ArrayOut(is_complex)
        case ["number", dtype, weak]:
            return NumberOut(np.dtype(dtype), weak)
        case ["static", value]:
            return StaticOut(_read_static(value))
        case ["arg", p]:
            return ArgOut(read_path(p))
        case ["tree", kind, cls, keys, items]:
            return TreeOut(kind, _read_class(cls), tuple(keys), tuple(map(read_out, items)))
    raise ValueError("not a result")


def _static(value: Any) -> list[Any]:
    match value:
        case bool() | int() | str() | None:
            return ["plain", value]
        case float():
            return ["float", value.hex()]
        case tuple() if type(value) is tuple:
            return ["tuple", [_static(v) for v in value]]
        case np.generic():
            return ["numpy", value.dtype.str, value.tobytes().hex()]
    raise Unstable(f"a {type(value).__name__} as result")


def _read_static(value: list[Any]) -> Any:
    match value:
        case ["plain", v]:
            return v
        case ["float", text]:
            return float.fromhex(text)
        case ["tuple", items]:
            return tuple(map(_read_static, items))
        case ["numpy", dtype, data]:
            return np.frombuffer(bytes.fromhex(data), np.dtype(dtype))[0]
    raise ValueError("not a static value")


def _class(cls: type) -> list[str]:
    name = [cls.__module__, cls.__qualname__]
    try:
        found = _read_class(name)
    except (LookupError, AttributeError):
        found = None
    if found is not cls:
        raise Unstable(f"the class {cls.__qualname__} cannot be found by its name")
    return name


def _read_class(name: list[str]) -> type:
    found: Any = sys.modules[name[0]]
    for part in name[1].split("."):
        found = getattr(found, part)
    if not isinstance(found, type):
        raise ValueError("not a class")
    return found


# Plans ------------------------------------------------------------------------------------------


def plan(p: Plan) -> dict[str, Any]:
    """A plan but for its guards and its location, which belong to a call."""
    return {
        "name": p.name,
        "inputs": [[path(i.path), i.part, i.axis] for i in p.inputs],
        "ranks": list(p.ranks),
        "output": out(p.output),
        "written": [path(w) for w in p.written],
        "not_one": [[path(n.path), n.axis] for n in p.not_one],
        "fixed": [[path(f.path), f.axis, f.size] for f in p.fixed],
        "long": p.long,
        "sequel": None if p.sequel is None else out(p.sequel),
    }


def read_plan(p: dict[str, Any], guards: tuple[Guard, ...], f: types.FunctionType) -> Plan:
    return Plan(
        p["name"],
        Loc(f.__code__.co_filename, f.__code__.co_firstlineno, function=f.__name__),
        tuple(Input(read_path(i), part, axis) for i, part, axis in p["inputs"]),
        tuple(p["ranks"]),
        read_out(p["output"]),
        tuple(map(read_path, p["written"])),
        guards,
        tuple(NotOne(read_path(n), axis) for n, axis in p["not_one"]),
        tuple(Fixed(read_path(n), axis, size) for n, axis, size in p["fixed"]),
        p["long"],
        None if p["sequel"] is None else read_out(p["sequel"]),
    )


# Kernels ----------------------------------------------------------------------------------------


def kernel(k: KernelType) -> dict[str, Any]:
    return {
        "symbol": k.symbol,
        "params": [asdict(s) for s in k.params],
        "results": [asdict(s) for s in k.results],
        "sites": [asdict(s) for s in k.sites],
        "foreign": list(k.foreign),
    }


def read_kernel(k: dict[str, Any]) -> KernelType:
    return KernelType(
        k["symbol"],
        tuple(map(_slot, k["params"])),
        tuple(map(_slot, k["results"])),
        tuple(_site(**s) for s in k["sites"]),
        tuple(k["foreign"]),
    )


def _slot(s: dict[str, Any]) -> Slot:
    return ArraySlot(**s) if "rank" in s else ScalarSlot(**s)


def _site(error: str, message: str, dtypes: list[str], loc: dict[str, Any] | None) -> Site:
    return Site(error, message, tuple(dtypes), None if loc is None else Loc(**loc))
