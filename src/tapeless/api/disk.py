"""Programs on disk: a cache hit calls machine code without tracing the function again.

Under a key of the function's code, its argument types and everything else that a compilation
depends on stands an index: the plans of the programs made so far, each with its guards as text.
A plan that fits the call gives, with the memory layouts, the key of its kernel.
"""

from __future__ import annotations

import functools
import hashlib
import json
import linecache
import platform
import types
from collections.abc import Iterable, Iterator
from pathlib import Path as File
from typing import Any

import numpy as np
import scipy

from tapeless.api import encode
from tapeless.api.kernels import kernel
from tapeless.api.paths import reader
from tapeless.api.plan import Plan
from tapeless.api.program import Layouts
from tapeless.api.settings import Settings
from tapeless.api.stable import (
    Unstable,
    classes_in,
    digest,
    nested,
    signature_text,
    type_text,
    value_text,
)  # fmt: skip
from tapeless.frontend.argtypes import captured_type, plain
from tapeless.frontend.signature import Guard, Path, Signature
from tapeless.runtime import cache
from tapeless.runtime.abi import KernelType
from tapeless.runtime.kernel import Kernel
from tapeless.runtime.machine import host

PACKAGE = str(File(__file__).parents[1])
MAX_PLANS = 16  # alternatives kept for one function and one signature


@functools.cache
def versions() -> str:
    """The compiler itself, by its files, and what it stands on (llvmlite is in `Host.key`)."""
    files = sorted(File(PACKAGE).rglob("*.py"))
    stamps = [f"{p.name} {p.stat().st_mtime_ns} {p.stat().st_size}" for p in files]
    ours = hashlib.sha256("\n".join(stamps).encode()).hexdigest()
    return " ".join((ours, platform.python_version(), np.__version__, scipy.__version__))


class Disk:
    """The disk's view of one function under one set of settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def key(self, f: types.FunctionType, signature: Signature) -> str | None:
        """The key of the index; None where no other process could recognise the call."""
        if not self.settings.cache or cache.limit() == 0:
            return None
        try:
            parts = (value_text(f), signature_text(signature))
        except Unstable:
            return None
        return cache.key_of(*parts, self.settings, versions(), host().key)

    def plans(
        self, key: str, f: types.FunctionType, a: dict[str, Any], signature: Signature
    ) -> Iterator[tuple[Plan, frozenset[Path], str]]:
        """Stored plans whose guards hold, with their dynamic paths and their texts."""
        for entry in _index(key):
            try:
                plan, dynamic = _open(entry, f, a)
            except (LookupError, AttributeError, NameError, TypeError, ValueError, Unstable):
                continue
            if _sources_agree(entry["sources"], f, plan, a, signature):
                yield plan, dynamic, json.dumps(entry)

    @staticmethod
    def load(key: str, plan: str, layouts: Layouts) -> Kernel | None:
        """A stored kernel of a plan."""
        found = cache.read(cache.key_of(key, plan, layouts))
        if found is None:
            return None
        try:
            return kernel(encode.read_kernel(found[0]), found[1])
        except (LookupError, TypeError, ValueError):
            return None

    @staticmethod
    def save(key: str, plan: str, layouts: Layouts, type: KernelType, code: bytes) -> None:
        cache.write(cache.key_of(key, plan, layouts), encode.kernel(type), code)

    @staticmethod
    def add_plan(
        key: str, plan: Plan, dynamic: frozenset[Path], codes: Iterable[types.CodeType]
    ) -> str | None:
        """Put a plan into the index; its text, or None if it cannot be stored."""
        try:
            entry = encode.plan(plan)
            entry["guards"] = [[encode.path(g.path), type_text(g.expected)] for g in plan.guards]
            entry["dynamic"] = sorted((encode.path(p) for p in dynamic), key=repr)
        except Unstable:
            return None
        entry["sources"] = _sources(codes)
        entry = json.loads(json.dumps(entry))
        others = [e for e in _index(key) if e != entry]
        cache.write(key, [entry, *others][:MAX_PLANS], b"")
        return json.dumps(entry)


def _index(key: str) -> list[Any]:
    found = cache.read(key)
    return found[0] if found is not None and isinstance(found[0], list) else []


def _open(
    entry: dict[str, Any], f: types.FunctionType, a: dict[str, Any]
) -> tuple[Plan, frozenset[Path]]:
    """A stored plan with its guards, if they hold now; else a ValueError."""
    dynamic = frozenset(encode.read_path(p) for p in entry["dynamic"])
    guards = []
    for stored, text in entry["guards"]:
        path = encode.read_path(stored)
        now = captured_type(reader(path)(f, a), path, dynamic)
        if type_text(now) != text:
            raise ValueError("a guard does not hold")
        guards.append(Guard(path, now))
    return encode.read_plan(entry, tuple(guards), f), dynamic


# Sources ----------------------------------------------------------------------------------------


def _sources(codes: Iterable[types.CodeType]) -> list[list[str]]:
    """Digest, file and hash of the file of each function that went into a program."""
    mine = [c for c in codes if not c.co_filename.startswith(PACKAGE)]
    return [[digest(c), c.co_filename, _file_hash(c.co_filename)] for c in mine]


def _file_hash(name: str) -> str:
    linecache.checkcache(name)
    return hashlib.sha256("".join(linecache.getlines(name)).encode()).hexdigest()


def _sources_agree(
    sources: list[list[str]], f: types.FunctionType, plan: Plan, a: dict[str, Any],
    signature: Signature,
) -> bool:  # fmt: skip
    """Whether every function that went into a stored program is still what it was: found among
    the functions at hand, or else in a file that has not changed."""
    known = {digest(c) for c in nested(f.__code__)}
    unknown = [s for s in sources if s[0] not in known]
    if not unknown:
        return True
    values = [reader(g.path)(f, a) for g in plan.guards]
    for cls in classes_in(signature):
        values += [v for base in cls.__mro__ for v in vars(base).values()]
    for value in values:
        function = plain(value)
        code = getattr(function, "__code__", None)
        if isinstance(code, types.CodeType):
            known.update(map(digest, nested(code)))
    return all(d in known or _file_hash(file) == was for d, file, was in unknown)
