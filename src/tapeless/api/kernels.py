"""From Core to something that can be called with a flat list of values."""

from __future__ import annotations

from collections.abc import Sequence

from tapeless import pipeline
from tapeless.api.settings import Settings
from tapeless.ir.syntax import Fun
from tapeless.runtime.abi import KernelType
from tapeless.runtime.kernel import Kernel
from tapeless.runtime.machine import load


def choices(settings: Settings) -> pipeline.Choices:
    return pipeline.Choices(settings.parallel, settings.fastmath, settings.deterministic)


def machine_code(fun: Fun, layouts: Sequence[str], settings: Settings) -> tuple[KernelType, bytes]:
    """An optimised program for arrays of these layouts, as an object file."""
    return pipeline.compile(fun, layouts, choices(settings))


def kernel(type: KernelType, code: bytes) -> Kernel:
    """Machine code, ready to be called."""
    return Kernel(type, load(code))
