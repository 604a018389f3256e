"""Foreign functions that a Call may name: signature, reference meaning, cost.

Operands are scalars, whole arrays or views; results are new arrays or scalars. The last result is
an i64 status, 0 if all went well. Names are BLAS's and LAPACK's where there is one: `d` works on
f64, `s` on f32. `runtime.foreign` has their machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Array, DType, Size, Type
from tapeless.ir.syntax import Given, View

Operands = Sequence[Atom | View]
Results = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Callee:
    """`result_types` sees the operands; `meaning` maps NumPy operands to a tuple of results."""

    name: str
    result_types: Callable[[Operands], tuple[Type, ...]]
    meaning: Callable[..., tuple[Any, ...]]
    flops: Callable[..., int]


def _shape(arg: Atom | View) -> tuple[Size, ...]:
    if isinstance(arg, View):
        return tuple(_size(size) for _, size, _ in arg.dims)
    return arg.shape if isinstance(arg, Var) else ()


def _size(atom: Atom) -> Size:
    return int(atom.value) if isinstance(atom, Const) else atom


def _dtype(arg: Atom | View) -> DType:
    return arg.array.dtype if isinstance(arg, View) else arg.dtype


def _arrays(args: Operands, *shapes: tuple[Size, ...]) -> tuple[Type, ...]:
    """Arrays of the first operand's element type, then the status."""
    return (*(Array(_dtype(args[0]), shape) for shape in shapes), INDEX)


# Products and systems ---------------------------------------------------------------------------


def _gemm_types(args: Operands) -> tuple[Type, ...]:
    return _arrays(args, (_shape(args[0])[0], _shape(args[1])[1]))


def _gemm(a: Any, b: Any) -> Results:
    return a @ b, 0


def _like_right_side(args: Operands) -> tuple[Type, ...]:
    return _arrays(args, _shape(args[1]))


def _gesv(a: Any, b: Any) -> Results:
    try:
        return np.linalg.solve(a, b), 0
    except np.linalg.LinAlgError:
        return np.full_like(b, np.nan), 1


def _trsm(lower: bool, unit: bool) -> Callable[..., Results]:
    def meaning(a: Any, b: Any) -> Results:
        triangle = np.tril(a) if lower else np.triu(a)
        if unit:
            np.fill_diagonal(triangle, 1)
        return np.linalg.solve(triangle, b), 0

    return meaning


# Factors ----------------------------------------------------------------------------------------


def _like_matrix(args: Operands) -> tuple[Type, ...]:
    return _arrays(args, _shape(args[0]))


def _potrf(a: Any) -> Results:
    try:
        return np.linalg.cholesky(a), 0
    except np.linalg.LinAlgError:
        return np.full_like(a, np.nan), 1


def _getrf_types(args: Operands) -> tuple[Type, ...]:
    return _arrays(args, _shape(args[0]), (1,))


def _getrf(a: Any) -> Results:
    """L and U in one matrix; +1 or −1 for the exchanges of rows."""
    lu, sign = a.copy(), np.ones(1, a.dtype)
    for k in range(len(lu)):
        p = k + int(np.argmax(np.abs(lu[k:, k])))
        if p != k:
            lu[[k, p]] = lu[[p, k]]
            sign = -sign
        if lu[k, k] != 0:
            lu[k + 1 :, k] /= lu[k, k]
            lu[k + 1 :, k + 1 :] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 :])
    return lu, sign, 0


def _syevd_types(args: Operands) -> tuple[Type, ...]:
    shape = _shape(args[0])
    return _arrays(args, shape[:1], shape)


def _syevd(a: Any) -> Results:
    return (*np.linalg.eigh(a), 0)


def _svd_types(args: Operands) -> tuple[Type, ...]:
    """The number of singular values is the second operand."""
    rows, columns = _shape(args[0])
    few = _size(args[1]) if isinstance(args[1], Const | Var) else columns
    return _arrays(args, (rows, few), (few,), (few, columns))


def _full_svd_types(args: Operands) -> tuple[Type, ...]:
    rows, columns = _shape(args[0])
    few = _size(args[1]) if isinstance(args[1], Const | Var) else columns
    return _arrays(args, (rows, rows), (few,), (columns, columns))


def _svd(full: bool) -> Callable[..., Results]:
    def meaning(a: Any, few: int) -> Results:
        return (*np.linalg.svd(a, full_matrices=full), 0)

    return meaning


def _qr_types(args: Operands) -> tuple[Type, ...]:
    rows, columns = _shape(args[0])
    kept = _size(args[1]) if isinstance(args[1], Const | Var) else columns
    return _arrays(args, (rows, kept), (kept, columns))


def _qr(a: Any, kept: int) -> Results:
    q, r = np.linalg.qr(a, mode="complete")
    return q[:, :kept], r[:kept], 0


def _cube(factor: int) -> Callable[..., int]:
    """factor · rows · columns · the smaller of both."""
    return lambda a, *_: factor * a.shape[0] * a.shape[1] * min(a.shape)


def _product(a: Any, b: Any) -> int:
    return 2 * int(a.shape[0] * a.shape[1] * b.shape[1])


_TABLE: list[tuple[str, Any, Any, Any]] = [
    ("gemm", _gemm_types, _gemm, _product),
    ("trsm_lower", _like_right_side, _trsm(True, False), _product),
    ("trsm_lower_unit", _like_right_side, _trsm(True, True), _product),
    ("trsm_upper", _like_right_side, _trsm(False, False), _product),
    ("trsm_upper_unit", _like_right_side, _trsm(False, True), _product),
    ("gesv", _like_right_side, _gesv, lambda a, b: len(a) ** 3 + _product(a, b)),
    ("potrf", _like_matrix, _potrf, _cube(1)),
    ("getrf", _getrf_types, _getrf, _cube(1)),
    ("syevd", _syevd_types, _syevd, _cube(9)),
    ("gesdd", _svd_types, _svd(False), _cube(20)),
    ("gesdd_full", _full_svd_types, _svd(True), _cube(24)),
    ("qr", _qr_types, _qr, _cube(4)),
]

CALLEES: dict[str, Callee] = {
    prefix + name: Callee(prefix + name, *rest) for name, *rest in _TABLE for prefix in "ds"
}


def is_known(callee: str | Given) -> bool:
    return isinstance(callee, Given) or callee in CALLEES


def callee_of(callee: str | Given) -> Callee:
    """What a Call names; with a given rule, its first operands are its results."""
    if isinstance(callee, str):
        return CALLEES[callee]
    count = callee.outs
    return Callee(
        callee.name,
        lambda args: tuple(a.type for a in args[:count] if not isinstance(a, View)),
        lambda *values: values[:count],
        lambda *values: 0,
    )
