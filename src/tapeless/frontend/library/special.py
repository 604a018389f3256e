"""scipy.special: what is made of erf, gamma and the elementary functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    as_operand,
    cast,
    dtype_of,
    elementwise,
    prim,
    rank,
    result_type,
    select,
)  # fmt: skip
from tapeless.frontend.library import reductions
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import kind

ROOT_2 = math.sqrt(2)
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def of_floats(f: Callable[..., Any], *xs: Any) -> Any:
    """f on elements as floats of one type: f32 if all are, else f64 (complex is refused)."""
    t = result_type(result_type(*(as_operand(x) for x in xs)), np.float32)
    return elementwise(lambda *values: f(*(cast(v, t) for v in values)), *xs)


# Logistic and entropies -------------------------------------------------------------------------


@implements(("scipy.special", "expit"))
def expit(x: Any) -> Any:
    return of_floats(lambda v: 1 / (1 + np.exp(-v)), x)


@implements(("scipy.special", "logit"))
def logit(x: Any) -> Any:
    return of_floats(_logit, x)


def _logit(p: Any) -> Any:
    """Near 1/2 by differences from it."""
    s = 2 * (p - 0.5)
    middle = (p > 0.3) & (p < 0.65)
    safe = select(middle, s, s * 0)
    return select(middle, np.log1p(safe) - np.log1p(-safe), np.log(p / (1 - p)))


@implements(("scipy.special", "log_expit"))
def log_expit(x: Any) -> Any:
    return of_floats(lambda v: np.minimum(v, 0) - np.log1p(np.exp(-abs(v))), x)


@implements(("scipy.special", "xlogy"))
def xlogy(x: Any, y: Any) -> Any:
    return of_floats(lambda p, q: select((p == 0) & ~np.isnan(q), p * 0, p * np.log(q)), x, y)


@implements(("scipy.special", "xlog1py"))
def xlog1py(x: Any, y: Any) -> Any:
    return of_floats(lambda p, q: select((p == 0) & ~np.isnan(q), p * 0, p * np.log1p(q)), x, y)


@implements(("scipy.special", "entr"))
def entr(x: Any) -> Any:
    return of_floats(
        lambda v: select(v == 0, v * 0, select(v < 0, cast(-np.inf, dtype_of(v)), -v * np.log(v))),
        x,
    )


def _x_log_ratio(x: Any, y: Any, more: Any, at_zero: Any) -> Any:
    inside, edge = (x > 0) & (y > 0), (x == 0) & (y >= 0)
    p, q = select(inside, x, x * 0 + 1), select(inside, y, y * 0 + 1)
    value = select(
        inside, p * np.log(p / q) + more, select(edge, at_zero, cast(np.inf, dtype_of(x)))
    )
    return select(np.isnan(x) | np.isnan(y), x + y, value)


@implements(("scipy.special", "rel_entr"))
def rel_entr(x: Any, y: Any) -> Any:
    return of_floats(lambda p, q: _x_log_ratio(p, q, p * 0, p * 0), x, y)


@implements(("scipy.special", "kl_div"))
def kl_div(x: Any, y: Any) -> Any:
    return of_floats(lambda p, q: _x_log_ratio(p, q, q - p, q), x, y)


@implements(("scipy.special", "huber"))
def huber(delta: Any, r: Any) -> Any:
    return of_floats(
        lambda d, v: select(d < 0, cast(np.inf, dtype_of(d)), select(
            abs(v) <= d, 0.5 * v * v, d * (abs(v) - 0.5 * d))), delta, r
    )  # fmt: skip


@implements(("scipy.special", "pseudo_huber"))
def pseudo_huber(delta: Any, r: Any) -> Any:
    return of_floats(_pseudo_huber, delta, r)


def _pseudo_huber(d: Any, v: Any) -> Any:
    u = v / select(d > 0, d, d * 0 + 1)
    value = d * d * (u * u / (np.sqrt(1 + u * u) + 1))
    return select(d < 0, cast(np.inf, dtype_of(d)), select((d == 0) | (v == 0), d * 0, value))


@implements(("scipy.special", "boxcox"))
def boxcox(x: Any, lmbda: Any) -> Any:
    return of_floats(lambda v, k: _boxcox(np.log(v), k), x, lmbda)


@implements(("scipy.special", "boxcox1p"))
def boxcox1p(x: Any, lmbda: Any) -> Any:
    return of_floats(lambda v, k: _boxcox(np.log1p(v), k), x, lmbda)


def _boxcox(log_x: Any, k: Any) -> Any:
    safe = select(k == 0, k * 0 + 1, k)
    return select(k == 0, log_x, np.expm1(safe * log_x) / safe)


@implements(("scipy.special", "inv_boxcox"))
def inv_boxcox(y: Any, lmbda: Any) -> Any:
    return of_floats(_inv_boxcox, y, lmbda)


def _inv_boxcox(y: Any, k: Any) -> Any:
    safe = select(k == 0, k * 0 + 1, k)
    return select(k == 0, np.exp(y), np.exp(np.log1p(safe * y) / safe))


# Elementary -------------------------------------------------------------------------------------


@implements(("scipy.special", "exprel"))
def exprel(x: Any) -> Any:
    return of_floats(
        lambda v: select(v == 0, v * 0 + 1, np.expm1(v) / select(v == 0, v * 0 + 1, v)), x
    )


@implements(("scipy.special", "cosm1"))
def cosm1(x: Any) -> Any:
    return of_floats(lambda v: -2 * np.sin(v / 2) ** 2, x)


@implements(("scipy.special", "exp10"))
def exp10(x: Any) -> Any:
    return of_floats(lambda v: np.power(cast(10.0, dtype_of(v)), v), x)


@implements(("scipy.special", "log1p"))
def log1p(x: Any) -> Any:
    return of_floats(np.log1p, x)


@implements(("scipy.special", "expm1"))
def expm1(x: Any) -> Any:
    return of_floats(np.expm1, x)


@implements(("scipy.special", "exp2"))
def exp2(x: Any) -> Any:
    return of_floats(np.exp2, x)


@implements(("scipy.special", "cbrt"))
def cbrt(x: Any) -> Any:
    return of_floats(np.cbrt, x)


# Normal distribution ----------------------------------------------------------------------------


@implements(("scipy.special", "ndtr"))
def ndtr(a: Any) -> Any:
    return of_floats(lambda x: 0.5 * prim("erfc", -x / ROOT_2), a)


@implements(("scipy.special", "log_ndtr"))
def log_ndtr(a: Any) -> Any:
    return of_floats(_log_ndtr, a)


def _log_ndtr(x: Any) -> Any:
    """Far left by the asymptotic series of Mills' ratio."""
    zero = x * 0
    far = x < -20
    u = select(far, x, zero - 20)
    w = 1 / (u * u)
    series = 1 - w * (1 - w * (3 - w * (15 - w * (105 - w * (945 - w * 10395)))))
    left = -0.5 * u * u - np.log(-u) - HALF_LOG_2PI + np.log(series)
    near = np.log(0.5 * prim("erfc", -np.minimum(x, zero) / ROOT_2))
    right = np.log1p(-0.5 * prim("erfc", np.maximum(x, zero) / ROOT_2))
    value = select(far, left, select(x < 0, near, right))
    return select(x == -np.inf, x, select(np.isnan(x), x, value))


@implements(("scipy.special", "erfcinv"))
def erfcinv(y: Any) -> Any:
    return of_floats(lambda v: -prim("ndtri", 0.5 * v) / ROOT_2, y)


@implements(("scipy.special", "erfcx"))
def erfcx(x: Any) -> Any:
    return of_floats(_erfcx, x)


def _erfcx(x: Any) -> Any:
    far = x > 9
    u = select(far, x, x * 0 + 9)
    w = 1 / (2 * u * u)
    series = 1 - w * (1 - w * (3 - w * (15 - w * (105 - w * (945 - w * (10395 - w * 135135))))))
    near = np.exp(x * x) * prim("erfc", x)
    return select(far, series / (u * math.sqrt(math.pi)), near)


# Bessel -----------------------------------------------------------------------------------------


@implements(("scipy.special", "i0e"))
def i0e(x: Any) -> Any:
    return of_floats(lambda v: _scaled_bessel(v, "i0", 0), x)


@implements(("scipy.special", "i1e"))
def i1e(x: Any) -> Any:
    return of_floats(lambda v: np.sign(v) * _scaled_bessel(abs(v), "i1", 4), x)


def _scaled_bessel(x: Any, name: str, mu: int) -> Any:
    """e^−|x| times a modified Bessel function; by Hankel's series where that would overflow."""
    far = abs(x) > 80
    u = select(far, abs(x), x * 0 + 80)
    term = x * 0 + 1
    series = term
    for k in (1, 3, 5, 7, 9, 11, 13, 15):
        term = term * (k * k - mu) / ((4 * k + 4) * u)
        series = series + term
    near = np.exp(-abs(x)) * prim(name, select(far, x * 0, x))
    return select(far, series / np.sqrt(2 * math.pi * u), near)


# Sums of exponentials ---------------------------------------------------------------------------


def _shift(x: Any, axis: Any) -> Any:
    """The maxima, 0 where they are infinite."""
    top = reductions.max(x, axis, None, True)
    return np.where(np.isfinite(top), top, cast(0, dtype_of(top)))


def _floating(a: Any) -> Any:
    x = as_array(a)
    return x if kind(dtype_of(x)) == "f" else cast(x, np.float64)


@implements(("scipy.special", "logsumexp"))
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    x = _floating(a)
    if rank(x) == 0:
        x = x.reshape((1,))
    shift = _shift(x, axis)
    weighed = np.exp(x - shift) if b is None else as_array(b) * np.exp(x - shift)
    total = reductions.sum(weighed, axis, keepdims=keepdims)
    at = shift if keepdims else np.reshape(shift, np.shape(total))[()]
    if return_sign:
        return np.log(abs(total)) + at, np.sign(total)
    return np.log(total) + at


@implements(("scipy.special", "softmax"))
def softmax(x: Any, axis: Any = None) -> Any:
    v = _floating(x)
    e = np.exp(v - reductions.max(v, axis, None, True))
    return e / reductions.sum(e, axis, keepdims=True)


@implements(("scipy.special", "log_softmax"))
def log_softmax(x: Any, axis: Any = None) -> Any:
    v = _floating(x)
    rest = v - _shift(v, axis)
    return rest - np.log(reductions.sum(np.exp(rest), axis, keepdims=True))
