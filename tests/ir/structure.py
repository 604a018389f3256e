"""Equality of programs up to the identity of variables, by walking both at once."""

from __future__ import annotations

import dataclasses
from typing import Any

from tapeless.core.names import Const, Loc, Var
from tapeless.core.types import Array, Scalar
from tapeless.ir.print import base_name


def difference(a: Any, b: Any) -> str | None:
    """Where two programs differ, as a path; None if they are the same."""
    return _differ(a, b, {}, "")


def _differ(a: Any, b: Any, pairs: dict[Var, Var], path: str) -> str | None:
    if type(a) is not type(b):
        return f"{path}: {a!r} is no {type(b).__name__}"
    if isinstance(a, Loc):
        return None
    if isinstance(a, Var):
        return _differ_vars(a, b, pairs, path)
    if isinstance(a, tuple):
        if len(a) != len(b):
            return f"{path}: lengths {len(a)} and {len(b)}"
        return _first(
            _differ(x, y, pairs, f"{path}[{k}]") for k, (x, y) in enumerate(zip(a, b, strict=True))
        )
    if dataclasses.is_dataclass(a) and not isinstance(a, Scalar | Array):
        return _first(
            _differ(getattr(a, f.name), getattr(b, f.name), pairs, f"{path}.{f.name}")
            for f in dataclasses.fields(a)
            if f.name != "loc"
        )
    if isinstance(a, Array):
        return _differ((a.dtype.name, a.shape), (b.dtype.name, b.shape), pairs, path)
    if isinstance(a, Const):
        return None if a == b and a.dtype is b.dtype else f"{path}: {a} and {b}"
    return None if a == b else f"{path}: {a!r} and {b!r}"


def _differ_vars(a: Var, b: Var, pairs: dict[Var, Var], path: str) -> str | None:
    if a in pairs:
        return None if pairs[a] is b else f"{path}: {a} is another variable"
    if b in pairs.values():
        return f"{path}: {b} stands for two variables"
    pairs[a] = b
    if base_name(a.hint) != base_name(b.hint):
        return f"{path}: hints {a.hint} and {b.hint}"
    return _differ(a.type, b.type, pairs, f"{path}.type")


def _first(found: Any) -> str | None:
    return next((d for d in found if d is not None), None)
