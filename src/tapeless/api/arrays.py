"""Arrays as kernels take them: native, aligned, real, with strides in whole elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tapeless.core.names import Loc
from tapeless.errors import AliasError, ReadOnlyError
from tapeless.frontend.array_protocols import as_array

ArrayLike: TypeAlias = np.ndarray[Any, np.dtype[Any]]
REALS: dict[Any, np.dtype[Any]] = {np.dtype("c8"): np.dtype("f4"), np.dtype("c16"): np.dtype("f8")}


def layout_of(value: Any) -> str:
    """ "C" or "F" for contiguous memory, else "S": any strides."""
    array = as_array(value)
    if not is_ready(array):
        return "C"  # it will be a copy
    flags = array.flags
    if flags.c_contiguous:
        return "C"
    return "F" if flags.f_contiguous and array.dtype.kind != "c" else "S"


def is_ready(array: ArrayLike) -> bool:
    """Whether a kernel can work on this memory as it is."""
    unit = array.dtype.itemsize
    return (
        array.dtype.isnative
        and array.flags.aligned
        and (array.flags.c_contiguous or not any(s % unit for s in array.strides))
    )


def ready(array: ArrayLike) -> ArrayLike:
    """The same values in memory that a kernel can work on."""
    if is_ready(array):
        return array
    return np.array(array, array.dtype.newbyteorder("="), order="C")  # a copy is aligned


def as_reals(array: ArrayLike) -> ArrayLike:
    """A complex array as reals with one more axis, on the same memory."""
    real = REALS.get(array.dtype)
    if real is None:
        return array
    if array.flags.c_contiguous:
        return np.ndarray((*array.shape, 2), real, array) if array.flags.writeable else (
            array.reshape(*array.shape, 1).view(real)
        )  # fmt: skip
    strides = (*array.strides, real.itemsize)
    return np.lib.stride_tricks.as_strided(array.real, (*array.shape, 2), strides)


def as_complex(array: ArrayLike) -> ArrayLike:
    """The inverse of `as_reals`, for an array that a kernel made."""
    to = np.dtype(f"c{array.dtype.itemsize * 2}")
    return array.view(to).reshape(array.shape[:-1])


# Written arguments ------------------------------------------------------------------------------


def check_written(name: str, value: Any, loc: Loc) -> None:
    """Refuse what cannot be written in place."""
    array = as_array(value)
    if not array.flags.writeable:
        raise ReadOnlyError(
            f"'{name}' is written by the function, but the array is read-only", loc,
            f"pass a copy: {name}.copy()",
        )  # fmt: skip
    if not array.dtype.isnative:
        raise ReadOnlyError(
            f"'{name}' is written by the function, but its byte order is not this machine's", loc,
            f"convert it first: {name}.astype({name}.dtype.newbyteorder('='))",
        )  # fmt: skip
    if overlaps_itself(array):
        raise AliasError(
            f"'{name}' is written by the function, but several of its elements share memory", loc,
            f"pass a copy: {name}.copy()",
        )  # fmt: skip


def overlaps_itself(array: ArrayLike) -> bool:
    """Whether two elements may share memory (certain for what NumPy's views can make)."""
    if array.flags.c_contiguous or array.flags.f_contiguous or array.size <= 1:
        return False
    reach = array.dtype.itemsize
    axes = [(abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    for stride, size in sorted(axes):
        if stride < reach:
            return True
        reach += stride * (size - 1)
    return False


def check_aliases(
    written: Sequence[tuple[str, Any]], others: Sequence[tuple[str, Any]], loc: Loc
) -> None:
    """No array that is written may share an element with another argument."""
    for k, (name, value) in enumerate(written):
        array = as_array(value)
        for other_name, other in (*written[k + 1 :], *others):
            if overlap(array, as_array(other)):
                what = "are the same array" if other is value else "overlap in memory"
                raise AliasError(
                    f"'{name}' and '{other_name}' {what}, and the function writes '{name}'", loc,
                    f"pass a copy of one of them: {other_name}.copy()",
                )  # fmt: skip


def overlap(a: ArrayLike, b: ArrayLike) -> bool:
    """Whether two arrays share a byte, exactly (or, where that is too hard to tell, maybe)."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=1_000_000)  # type: ignore[arg-type]  # any int
    except np.exceptions.TooHardError:
        return True
