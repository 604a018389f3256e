"""Kernels in the disk cache: their description as JSON beside their object code."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tapeless.core.names import Loc
from tapeless.runtime import cache
from tapeless.runtime.abi import ArraySlot, KernelType, ScalarSlot, Site, Slot


def read_kernel(key: str) -> tuple[KernelType, bytes, Any] | None:
    """Description, object code and the caller's own JSON stored under `key`, or None."""
    entry = cache.read(key)
    if entry is None:
        return None
    (described, extra), code = entry
    return type_from_json(described), code, extra


def write_kernel(key: str, type: KernelType, code: bytes, extra: Any) -> bool:
    return cache.write(key, [type_to_json(type), extra], code)


def type_to_json(type: KernelType) -> dict[str, Any]:
    return asdict(type)


def type_from_json(data: dict[str, Any]) -> KernelType:
    return KernelType(
        data["symbol"],
        tuple(map(_slot, data["params"])),
        tuple(map(_slot, data["results"])),
        tuple(map(_site, data["sites"])),
        tuple(data["foreign"]),
    )


def _slot(data: dict[str, Any]) -> Slot:
    return ArraySlot(**data) if "rank" in data else ScalarSlot(**data)


def _site(data: dict[str, Any]) -> Site:
    loc = data["loc"]
    return Site(
        data["error"], data["message"], tuple(data["dtypes"]), None if loc is None else Loc(**loc)
    )
