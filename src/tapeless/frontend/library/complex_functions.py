"""Elementary functions of complex numbers, by their real and imaginary parts.

Formulas after W. Kahan, "Branch cuts for complex elementary functions" (1987): each is accurate
near its zeros and on both sides of its cuts, and signed zeros say which side that is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import cast, dtype_of, make_complex, prim, select
from tapeless.frontend.library.registry import implements

LN2 = 0.6931471805599453
LN10 = 2.302585092994046


def _parts(z: Any) -> Any:
    return z.real, z.imag


def _turned(z: Any) -> Any:
    """i z"""
    return make_complex(-z.imag, z.real)


def _back(z: Any) -> Any:
    """−i z"""
    return make_complex(z.imag, -z.real)


def _shifted(z: Any, by: Any) -> Any:
    """z + by, a real number: the imaginary part keeps its sign."""
    return make_complex(z.real + by, z.imag)


def _minus(z: Any) -> Any:
    return make_complex(-z.real, -z.imag)


@implements(("complex", "exp"))
def exp(z: Any) -> Any:
    x, y = _parts(z)
    r = np.exp(x)
    return make_complex(r * np.cos(y), select(y == 0, y, r * np.sin(y)))


@implements(("complex", "exp2"))
def exp2(z: Any) -> Any:
    x, y = _parts(z)
    r, a = np.exp2(x), y * LN2
    return make_complex(r * np.cos(a), select(y == 0, y, r * np.sin(a)))


@implements(("complex", "expm1"))
def expm1(z: Any) -> Any:
    """eˣ cos y − 1 = (eˣ − 1) cos y − 2 sin²(y/2)"""
    x, y = _parts(z)
    s = np.sin(y / 2)
    return make_complex(
        np.expm1(x) * np.cos(y) - 2 * s * s, select(y == 0, y, np.exp(x) * np.sin(y))
    )


def _log_abs(x: Any, y: Any) -> Any:
    """log √(x² + y²), accurate near 1."""
    high, low = np.maximum(abs(x), abs(y)), np.minimum(abs(x), abs(y))
    near = (high > 0.5) & (high < 2.0)
    safe = select(near, (high - 1) * (high + 1) + low * low, high * 0)
    return select(near & (low < 2.0), np.log1p(safe) / 2, np.log(prim("hypot", x, y)))


@implements(("complex", "log"))
def log(z: Any) -> Any:
    x, y = _parts(z)
    return make_complex(_log_abs(x, y), np.arctan2(y, x))


@implements(("complex", "log2"))
def log2(z: Any) -> Any:
    x, y = _parts(z)
    return make_complex(_log_abs(x, y) / LN2, np.arctan2(y, x) / LN2)


@implements(("complex", "log10"))
def log10(z: Any) -> Any:
    x, y = _parts(z)
    return make_complex(_log_abs(x, y) / LN10, np.arctan2(y, x) / LN10)


@implements(("complex", "log1p"))
def log1p(z: Any) -> Any:
    """|1 + z|² − 1 = x (2 + x) + y²"""
    x, y = _parts(z)
    near = prim("hypot", x, y) < 0.5
    safe = select(near, x * (2 + x) + y * y, x * 0)
    far = np.log(prim("hypot", x + 1, y))
    return make_complex(select(near, np.log1p(safe) / 2, far), np.arctan2(y, x + 1))


@implements(("complex", "sqrt"))
def sqrt(z: Any) -> Any:
    x, y = _parts(z)
    big = np.maximum(abs(x), abs(y)) > 1e30
    scale = cast(select(big, 0.0625, 1.0), dtype_of(x))
    a, b = x * scale, y * scale
    r = np.sqrt((abs(a) + prim("hypot", a, b)) / 2) * select(big, scale * 64, scale)
    safe = select(r == 0, cast(1, dtype_of(x)), r)
    other = abs(y) / (2 * safe)
    re = select(x >= 0, r, other)
    im = np.copysign(select(x >= 0, other, r), y)
    endless = np.isinf(y)
    nothing = (x == 0) & (y == 0)
    return make_complex(
        select(endless, abs(y), select(nothing, abs(x), re)), select(endless | nothing, y, im)
    )


@implements(("complex", "sinh"))
def sinh(z: Any) -> Any:
    x, y = _parts(z)
    return make_complex(np.sinh(x) * np.cos(y), np.cosh(x) * np.sin(y))


@implements(("complex", "cosh"))
def cosh(z: Any) -> Any:
    x, y = _parts(z)
    return make_complex(np.cosh(x) * np.cos(y), np.sinh(x) * np.sin(y))


@implements(("complex", "tanh"))
def tanh(z: Any) -> Any:
    x, y = _parts(z)
    far = abs(x) > 20
    s = np.sinh(select(far, x * 0, x))
    t = np.tan(y)
    beta = 1 + t * t
    d = 1 + beta * s * s
    re, im = beta * np.sqrt(1 + s * s) * s / d, t / d
    tail = 4 * np.sin(y) * np.cos(y) * np.exp(-2 * abs(x))
    one = np.copysign(cast(1, dtype_of(x)), x)
    return make_complex(select(far, one, re), select(far, tail, im))


@implements(("complex", "sin"))
def sin(z: Any) -> Any:
    return _back(sinh(_turned(z)))


@implements(("complex", "cos"))
def cos(z: Any) -> Any:
    return cosh(_turned(z))


@implements(("complex", "tan"))
def tan(z: Any) -> Any:
    return _back(tanh(_turned(z)))


@implements(("complex", "arcsin"))
def arcsin(z: Any) -> Any:
    p, q = sqrt(_shifted(_minus(z), 1)), sqrt(_shifted(z, 1))
    re = np.arctan2(z.real, p.real * q.real - p.imag * q.imag)
    return make_complex(re, np.arcsinh(p.real * q.imag - p.imag * q.real))


@implements(("complex", "arccos"))
def arccos(z: Any) -> Any:
    p, q = sqrt(_shifted(_minus(z), 1)), sqrt(_shifted(z, 1))
    re = 2 * np.arctan2(p.real, q.real)
    return make_complex(re, np.arcsinh(q.real * p.imag - q.imag * p.real))


@implements(("complex", "arcsinh"))
def arcsinh(z: Any) -> Any:
    return _back(arcsin(_turned(z)))


@implements(("complex", "arccosh"))
def arccosh(z: Any) -> Any:
    p, q = sqrt(_shifted(z, -1)), sqrt(_shifted(z, 1))
    re = np.arcsinh(p.real * q.real + p.imag * q.imag)
    return make_complex(re, 2 * np.arctan2(p.imag, q.real))


@implements(("complex", "arctanh"))
def arctanh(z: Any) -> Any:
    x, y = _parts(z)
    re = np.log1p(4 * x / ((1 - x) * (1 - x) + y * y)) / 4
    return make_complex(re, np.arctan2(2 * y, (1 - x) * (1 + x) - y * y) / 2)


@implements(("complex", "arctan"))
def arctan(z: Any) -> Any:
    return _back(arctanh(_turned(z)))


@implements(("complex", "sign"))
def sign(z: Any) -> Any:
    x, y = _parts(z)
    r = prim("hypot", x, y)
    safe = select(r == 0, cast(1, dtype_of(x)), r)
    return make_complex(x / safe, y / safe)


WHOLE = 100  # exponents below this are products


@implements(("complex", "power"), ("complex", "float_power"))
def power(z: Any, w: Any) -> Any:
    """Small whole powers by products; else e^(w log z), and 0 to a positive power is 0."""
    n = w.real
    if (w.imag == 0) & (n == np.floor(n)) & (abs(n) < WHOLE):
        out = _whole_power(z, int(abs(n)))
        return 1 / out if n < 0 else out
    out = exp(w * log(z))
    zero = (z.real == 0) & (z.imag == 0)
    nothing = cast(0, dtype_of(n))
    return make_complex(select(zero, nothing, out.real), select(zero, nothing, out.imag))


def _whole_power(z: Any, n: Any) -> Any:
    out = cast(1, dtype_of(z))
    while n > 0:
        if n % 2 == 1:
            out = out * z
        z = z * z
        n = n // 2
    return out
