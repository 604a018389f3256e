"""What np.linalg and scipy.linalg share: element types, stacks, and LAPACK for large real matrices,
plain loops for small and complex ones and wherever a size is known to be small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    build,
    cast,
    dtype_of,
    fail,
    foreign,
    is_static,
    rank,
    same_size,
)  # fmt: skip
from tapeless.frontend.library.static import (
    kind,
    routine,
)

NO_MEMORY = "no memory for a copy of a matrix"


LAPACK_PAYS = 24  # the size of a matrix from which a call of LAPACK is faster than plain loops


def as_floats(a: Any) -> Any:
    """An array of floats or complex numbers."""
    x = as_array(a)
    return x if kind(dtype_of(x)) in "fc" else cast(x, np.float64)


def square_size(a: Any) -> Any:
    """The size of square matrices."""
    if rank(a) < 2:
        fail("a matrix is needed, of rank 2 at least")
    return same_size(a.shape[-1], a.shape[-2], "the matrix is not square")


def by_size(n: Any, a: Any, large: Callable[[], Any], small: Callable[[], Any]) -> Any:
    """large() for real matrices whose size n pays for a call, else small()."""
    if kind(dtype_of(a)) == "c" or (is_static(n) and n < LAPACK_PAYS):
        return small()
    if is_static(n):
        return large()
    return large() if n >= LAPACK_PAYS else small()


def call(name: str, message: str, a: Any, *more: Any) -> Any:
    """The foreign function of this name for the element type of `a`."""
    return foreign(routine(name, dtype_of(a)), message, a, *more)


def each_matrix(f: Callable[[Any], Any], a: Any) -> Any:
    """f of every matrix in a stack."""
    if rank(a) == 2:
        return f(a)
    return build(a.shape[:-2], lambda *i: f(a[i]))
