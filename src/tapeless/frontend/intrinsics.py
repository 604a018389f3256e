"""What the library builds on: functions with a meaning in plain Python and a staged rule of their
own (`intrinsic_rules.py`).

The library is ordinary code of the language (loops, `if` on static values, generators, closures,
`*idx`), inlined at the caller's location. Tests on what is known at compile time (`rank(x) == 2`,
`dtype_of(x) == np.float32`, `axis is None`) disappear.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from tapeless.core.prims import OPS
from tapeless.errors import CompileError, UnsupportedError
from tapeless.ir.callees import CALLEES

Operator: TypeAlias = Callable[[Any, Any], Any]

# What is known at compile time ------------------------------------------------------------------


def rank(x: Any) -> int:
    """The number of axes, static: 0 for numbers; lists and tuples count their nesting."""
    return np.ndim(x)


def dtype_of(x: Any) -> np.dtype[Any]:
    """The element type, static: of an array, a number (Python's: i8 f8 c16 ?), a list of them."""
    return np.asarray(x).dtype


def result_type(*xs: Any) -> np.dtype[Any]:
    """The type that operands meet in, static, by NumPy's promotion: dtypes, arrays and numbers
    (Python's numbers are weak)."""
    return np.result_type(*xs)


def is_array(x: Any) -> bool:
    """Static: whether `x` is an array of any rank, 0 too (not a number, not a list)."""
    return isinstance(x, np.ndarray)


def is_number(x: Any) -> bool:
    """Static: whether `x` is a number (NumPy's or Python's)."""
    return isinstance(x, int | float | complex | np.number | np.bool_)


def is_list(x: Any) -> bool:
    """Static: whether `x` is a list or a tuple."""
    return isinstance(x, list | tuple)


def is_function(x: Any) -> bool:
    """Static: whether `x` can be called."""
    return callable(x)


def is_complex(x: Any) -> bool:
    """Static: whether `x` is a complex number or array."""
    return bool(np.iscomplexobj(x))


def is_static(x: Any) -> bool:
    """Static: whether the value of `x` is known at compile time (in plain Python: always)."""
    return True


def static(x: Any, what: str = "this argument") -> Any:
    """`x`, or an error saying that `what` must be known at compile time."""
    return x


def is_one(size: Any) -> bool:
    """Static: whether a size is known to be 1 (sizes of run time are taken not to be)."""
    return bool(size == 1)


def fail(message: str, remedy: str = "") -> NoReturn:
    """An error of compile time at the caller's line, when this call is reached in tracing."""
    raise CompileError(message, None, remedy)


def unsupported(message: str, remedy: str = "") -> NoReturn:
    """As `fail`, for what the language does not have."""
    raise UnsupportedError(message, None, remedy)


# Numbers ----------------------------------------------------------------------------------------


def cast(x: Any, dtype: Any) -> Any:
    """A number, or the elements of an array (a new one), as `dtype`; numbers become strong."""
    return np.asarray(x).astype(dtype)[()]


def select(condition: Any, a: Any, b: Any) -> Any:
    """`a if condition else b` for numbers, both evaluated: no branch."""
    return np.where(condition, a, b)[()]


def prim(name: str, *args: Any) -> Any:
    """The operator `name` of `core.prims` on numbers of one type (`erf`, `lgamma`, `fma` …)."""
    strong = [np.asarray(a)[()] for a in args]
    return OPS[name].meaning(*strong)


def make_complex(re: Any, im: Any) -> Any:
    """re + i·im from two real numbers, parts unchanged (infinities and signed zeros kept)."""
    out = np.empty((), np.result_type(re, im, np.complex64))
    out.real, out.imag = re, im
    return out[()]


# Arrays -----------------------------------------------------------------------------------------


def as_array(x: Any, dtype: Any = None) -> Any:
    """An array of rank ≥ 0: an array as it is, or copied if `dtype` differs; numbers become
    0-dimensional, (nested) lists and tuples arrays."""
    return np.asarray(x, dtype)


def as_operand(x: Any) -> Any:
    """Lists and tuples as arrays; arrays and numbers as they are."""
    return np.asarray(x) if isinstance(x, list | tuple) else x


def element(x: Any, idx: Sequence[int]) -> Any:
    """x[idx] at a full tuple of indices that are in range (no checks are made)."""
    return x[tuple(idx)]


def build(shape: Any, f: Callable[..., Any], dtype: Any = None) -> Any:
    """The array of f(i, j, …) over `shape` (a tuple of ints, or one int), independent iterations.

    `f` may give a number (rank = len(shape)), an array (its axes follow), or a tuple of these (then
    a tuple of arrays). `dtype`: convert elements. An empty shape gives a 0-dimensional array.
    """
    shape = shape if isinstance(shape, tuple) else (shape,)
    items = [f(*idx) for idx in np.ndindex(*shape)]
    if items and isinstance(items[0], tuple):
        return tuple(_stack(shape, list(column), dtype) for column in zip(*items, strict=True))
    return _stack(shape, items, dtype)


def _stack(shape: tuple[int, ...], items: list[Any], dtype: Any) -> Any:
    array = np.array(items, dtype)
    return array.reshape(shape + array.shape[1:])


def elementwise(f: Callable[..., Any], *xs: Any) -> Any:
    """f on the elements of broadcast arrays and numbers; a number if all are numbers."""
    xs = tuple(as_operand(x) for x in xs)
    if not any(isinstance(x, np.ndarray) for x in xs):
        return f(*xs)
    wide = np.broadcast_arrays(*xs)
    return build(wide[0].shape, lambda *idx: f(*(w[idx] for w in wide)))


def reduce_over(op: str, shape: Any, f: Callable[..., Any]) -> Any:
    """f(i, j, …) over `shape` combined by op: "+", "*", "min", "max", "and", "or" (numbers only).

    Of nothing: 0, 1, False, True as fits `f`'s type; "min" and "max" of nothing raise ValueError.
    """
    shape = shape if isinstance(shape, tuple) else (shape,)
    items = np.array([f(*idx) for idx in np.ndindex(*shape)])
    how: dict[str, Any] = {"+": np.sum, "*": np.prod, "min": np.min, "max": np.max, "and": np.all,
                           "or": np.any}  # fmt: skip
    return how[op](items)


def best_over(op: str, size: int, f: Callable[[int], Any]) -> tuple[Any, int]:
    """The first best ("min", "max") of f(i), i < size, and its index; NaN wins. size > 0."""
    items = np.array([f(i) for i in range(size)])
    at = int(np.argmin(items) if op == "min" else np.argmax(items))
    return items[at], at


def scan_over(op: Operator, size: int, f: Callable[[int], Any], neutral: Any) -> Any:
    """Inclusive prefixes of f(i), i < size, under an associative `op` of the language (tuples too:
    then a tuple of arrays)."""
    items = list(itertools.accumulate((f(i) for i in range(size)), op))
    if isinstance(neutral, tuple):
        return tuple(np.array(column) for column in zip(*items, strict=True))
    return np.array(items)


def fold_over(op: Operator, size: int, f: Callable[[int], Any], neutral: Any) -> Any:
    """f(0) op f(1) op … under an associative `op` of the language (numbers, arrays, tuples)."""
    out = neutral
    for i in range(size):
        out = op(out, f(i))
    return out


_COMBINE: dict[str, Operator] = {
    "=": lambda _, new: new, "+": operator.add, "*": operator.mul, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip


def put_over(
    op: str, target: Any, shape: Any, where: Callable[..., Any], value: Callable[..., Any],
    mode: str = "check", when: Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """For each index of `shape` (in any order): target[where(*idx)] op= value(*idx), in place.

    op: "=" (each cell at most once), "+", "*", "min", "max". mode: "proved" (indices are in range),
    "check" (IndexError), "wrap" (negative counts from the end, then checked), "ignore" (out of
    range does nothing). `when(*idx)`: only where true.
    """
    shape = shape if isinstance(shape, tuple) else (shape,)
    for idx in np.ndindex(*shape):
        if when is not None and not when(*idx):
            continue
        at = where(*idx)
        at = at if isinstance(at, tuple) else (at,)
        inside = all(0 <= i < n for i, n in zip(at, target.shape, strict=True))
        if inside or mode == "wrap":
            target[at] = _COMBINE[op](target[at], value(*idx))
        elif mode == "check":
            raise IndexError(f"index {at} is out of bounds for shape {target.shape}")


def zeros(shape: Any, dtype: Any = float) -> Any:
    """A new array of zeros."""
    return np.zeros(shape, dtype)


def empty(shape: Any, dtype: Any = float) -> Any:
    """A new array whose every cell is written before it is read."""
    return np.empty(shape, dtype)


def full(shape: Any, value: Any, dtype: Any = None) -> Any:
    """A new array of one value."""
    return np.full(shape, value, dtype)


def copy(x: Any) -> Any:
    """A new array with the elements of `x`."""
    return np.array(x)


def reshape(x: Any, shape: Any) -> Any:
    """View: the elements in row-major order under another shape (sizes given, no -1)."""
    return np.reshape(x, shape)


def transpose(x: Any, order: Sequence[int]) -> Any:
    """View: result axis k is axis order[k] of `x`; `order` static."""
    return np.transpose(x, order)


def broadcast_to(x: Any, shape: Any) -> Any:
    """View: `x` (an array or a number) stretched to `shape`."""
    return np.broadcast_to(x, shape)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that shapes broadcast to; sizes that meet are checked."""
    return np.broadcast_shapes(*shapes)


def diagonal(x: Any, offset: int = 0) -> Any:
    """View: the diagonal of the last two axes (`offset` static), that becomes the last axis."""
    return np.diagonal(x, offset, -2, -1)


def real(x: Any) -> Any:
    """The real part of a number, or of an array (a view)."""
    return np.real(x)


def imag(x: Any) -> Any:
    """The imaginary part of a number, or of an array (a view; zeros if it is real)."""
    return np.imag(x)


def sort_order(x: Any) -> Any:
    """i64 permutation that stably sorts a real array of rank 1, NaN last."""
    return np.argsort(x, kind="stable")


def same_size(a: int, b: int, message: str = "the sizes do not agree") -> int:
    """The size that `a` and `b` both are: decided at compile time or checked."""
    if a != b:
        raise ValueError(f"{message}: {a} and {b}")
    return a


def foreign(callee: str, message: str, *args: Any) -> Any:
    """The results (a tuple, or the one) of an `ir.callees` function on arrays and numbers. Its
    status is checked: ValueError(message) if not 0."""
    results = CALLEES[callee].meaning(*args)
    *values, status = results
    if status != 0:
        raise ValueError(message)
    return values[0] if len(values) == 1 else tuple(values)
