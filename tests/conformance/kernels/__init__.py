"""Kernels as people write them for NumPy and Numba: the corpus of the conformance tests."""

from . import (
    dynamic_programming,
    integer,
    learning,
    linear_algebra,
    physics,
    signal,
    statistics,
    stencils,
)
from .registry import Kernel

KERNELS: list[Kernel] = [
    *linear_algebra.KERNELS,
    *stencils.KERNELS,
    *dynamic_programming.KERNELS,
    *integer.KERNELS,
    *physics.KERNELS,
    *signal.KERNELS,
    *statistics.KERNELS,
    *learning.KERNELS,
]

__all__ = ["KERNELS", "Kernel"]
