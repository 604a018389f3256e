"""The modules math and cmath: Python's numbers in, Python's numbers out (weak)."""

from __future__ import annotations

import cmath
import math
from functools import partial
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import as_array, element, is_list, prim, reduce_over, select
from tapeless.frontend.library.elementwise import ldexp
from tapeless.frontend.library.registry import LIBRARY, implements
from tapeless.frontend.library.static import counted, one_of

REAL = {
    math.sqrt: np.sqrt, math.cbrt: np.cbrt, math.exp: np.exp, math.exp2: np.exp2,
    math.expm1: np.expm1, math.log2: np.log2, math.log10: np.log10, math.log1p: np.log1p,
    math.sin: np.sin, math.cos: np.cos, math.tan: np.tan, math.asin: np.arcsin,
    math.acos: np.arccos, math.atan: np.arctan, math.atan2: np.arctan2, math.sinh: np.sinh,
    math.cosh: np.cosh, math.tanh: np.tanh, math.asinh: np.arcsinh, math.acosh: np.arccosh,
    math.atanh: np.arctanh, math.degrees: np.degrees, math.radians: np.radians, math.fabs: np.fabs,
    math.fmod: np.fmod, math.pow: np.power, math.copysign: np.copysign,
}  # fmt: skip
PRIMS = {math.erf: "erf", math.erfc: "erfc", math.gamma: "tgamma"}
COMPLEX = {
    cmath.sqrt: np.sqrt, cmath.exp: np.exp, cmath.log10: np.log10, cmath.sin: np.sin,
    cmath.cos: np.cos, cmath.tan: np.tan, cmath.asin: np.arcsin, cmath.acos: np.arccos,
    cmath.atan: np.arctan, cmath.sinh: np.sinh, cmath.cosh: np.cosh, cmath.tanh: np.tanh,
    cmath.asinh: np.arcsinh, cmath.acosh: np.arccosh, cmath.atanh: np.arctanh,
}  # fmt: skip
TESTS = {math.isnan: np.isnan, math.isinf: np.isinf, math.isfinite: np.isfinite}
COMPLEX_TESTS = {cmath.isnan: np.isnan, cmath.isinf: np.isinf, cmath.isfinite: np.isfinite}


def of_floats(ufunc: Any, *xs: Any) -> Any:
    return float(ufunc(*(float(x) for x in xs)))


def of_prim(name: str, x: Any) -> Any:
    return float(prim(name, float(x)))


def of_complex(ufunc: Any, z: Any) -> Any:
    return complex(ufunc(complex(z)))


def test_float(ufunc: Any, x: Any) -> Any:
    return bool(ufunc(float(x)))


def test_complex(ufunc: Any, z: Any) -> Any:
    return bool(ufunc(complex(z)))


LIBRARY.update({f: partial(of_floats, ufunc) for f, ufunc in REAL.items()})
LIBRARY.update({f: partial(of_prim, name) for f, name in PRIMS.items()})
LIBRARY.update({f: partial(of_complex, ufunc) for f, ufunc in COMPLEX.items()})
LIBRARY.update({f: partial(test_float, ufunc) for f, ufunc in TESTS.items()})
LIBRARY.update({f: partial(test_complex, ufunc) for f, ufunc in COMPLEX_TESTS.items()})


@implements(math.lgamma)
def lgamma(x: Any, /) -> Any:
    """+inf at -inf, where SciPy's is -inf."""
    return of_prim("lgamma", max(float(x), -1e308))


@implements(math.floor)
def floor(x: Any, /) -> Any:
    return int(np.floor(x))


@implements(math.ceil)
def ceil(x: Any, /) -> Any:
    return int(np.ceil(x))


@implements(math.trunc)
def trunc(x: Any, /) -> Any:
    return int(np.trunc(x))


@implements(math.log)
def log(x: Any, base: Any = None, /) -> Any:
    value = float(np.log(float(x)))
    return value if base is None else value / float(np.log(float(base)))


@implements(cmath.log)
def complex_log(x: Any, base: Any = None, /) -> Any:
    value = complex(np.log(complex(x)))
    return value if base is None else value / complex(np.log(complex(base)))


@implements(math.hypot)
def hypot(*coordinates: Any) -> Any:
    if len(coordinates) == 2:
        return float(np.hypot(float(coordinates[0]), float(coordinates[1])))
    return _length(tuple(float(x) for x in coordinates))


def _length(xs: Any) -> Any:
    """√Σ x² scaled by the largest, so that it does not overflow."""
    top = 0.0
    for x in xs:
        top = float(np.maximum(top, abs(x)))
    total = 0.0
    scale = select((top > 0) & np.isfinite(top), top, 1.0)
    for x in xs:
        total = total + (x / scale) ** 2
    return float(np.sqrt(total) * scale)


@implements(math.dist)
def dist(p: Any, q: Any, /) -> Any:
    if is_list(p) and is_list(q):
        return _length(tuple(float(p[k]) - float(q[k]) for k in counted(len(p))))
    d = as_array(p) - as_array(q)
    return float(np.sqrt(reduce_over("+", d.shape[0], lambda i: element(d, (i,)) ** 2)))


@implements(math.modf)
def modf(x: Any, /) -> Any:
    whole = float(np.trunc(float(x)))
    rest = select(np.isinf(whole), 0.0, float(x) - whole)
    return float(np.copysign(rest, float(x))), whole


@implements(math.frexp)
def frexp(x: Any, /) -> Any:
    v = float(x)
    e = int(prim("exponent", v))
    return float(ldexp(v, -e)), e


@implements(math.ldexp)
def ldexp_(x: Any, i: Any, /) -> Any:
    return float(ldexp(float(x), i))


@implements(math.remainder)
def remainder(x: Any, y: Any, /) -> Any:
    """x − y·n with n the even-rounded quotient, exact as `fmod` is."""
    a, b = abs(float(x)), abs(float(y))
    r = float(np.fmod(a, b))
    rest = b - r
    odd = float(np.fmod((a - r) / b, 2.0)) == 1.0 if np.isfinite(b) else False
    value = r if (r < rest) or (r == rest and not odd) else -rest
    if np.isinf(b) and np.isfinite(a):
        value = a
    return float(np.copysign(1.0, float(x))) * value


@implements(math.nextafter)
def nextafter(x: Any, y: Any, /, *, steps: Any = None) -> Any:
    one_of(steps, (None, 1), "steps")
    return float(np.nextafter(float(x), float(y)))


@implements(math.ulp)
def ulp(x: Any, /) -> Any:
    a = abs(float(x))
    return float(np.nextafter(a, np.inf)) - a if a < 1.7e308 else a - float(np.nextafter(a, 0.0))


@implements(math.isclose)
def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> bool:
    x, y = float(a), float(b)
    near = abs(x - y) <= float(np.maximum(rel_tol * float(np.maximum(abs(x), abs(y))), abs_tol))
    return bool((x == y) | (near & np.isfinite(x) & np.isfinite(y)))


@implements(math.fsum)
def fsum(seq: Any, /) -> Any:
    """The sum with the errors of every step carried along (Neumaier)."""
    total, rest = 0.0, 0.0
    for x in seq:
        v = float(x)
        s = total + v
        rest += (total - s) + v if abs(total) >= abs(v) else (v - s) + total
        total = s
    return total + rest if np.isfinite(total) else total


# Whole numbers ----------------------------------------------------------------------------------


@implements(math.gcd)
def gcd(*integers: Any) -> Any:
    out = 0
    for x in integers:
        out = int(np.gcd(out, x))
    return out


@implements(math.lcm)
def lcm(*integers: Any) -> Any:
    out = 1
    for x in integers:
        out = int(np.lcm(out, x))
    return out


@implements(math.factorial)
def factorial(n: Any, /) -> Any:
    if n < 0 or n > 20:
        raise ValueError("math.factorial is for 0 to 20 here: beyond, 64 bits do not hold it")
    out = 1
    for k in range(2, n + 1):
        out = out * k
    return out


@implements(math.comb)
def comb(n: Any, k: Any, /) -> Any:
    if n < 0 or k < 0:
        raise ValueError("math.comb takes no negative numbers")
    few = int(np.minimum(k, n - k))
    out = 1
    for i in range(1, few + 1):
        out = out * (n - few + i) // i
    return out if k <= n else 0


@implements(math.perm)
def perm(n: Any, k: Any = None, /) -> Any:
    if k is None:
        return factorial(n)
    if n < 0 or k < 0:
        raise ValueError("math.perm takes no negative numbers")
    out = 1
    for i in range(k):
        out = out * (n - i)
    return out if k <= n else 0


@implements(math.isqrt)
def isqrt(n: Any, /) -> Any:
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    r = int(np.sqrt(float(n)))
    while r * r > n:
        r -= 1
    while (r + 1) * (r + 1) <= n:
        r += 1
    return r


# Complex numbers --------------------------------------------------------------------------------


@implements(cmath.phase)
def phase(z: Any, /) -> Any:
    w = complex(z)
    return float(np.arctan2(w.imag, w.real))


@implements(cmath.polar)
def polar(z: Any, /) -> Any:
    return float(abs(complex(z))), phase(z)


@implements(cmath.rect)
def rect(r: Any, phi: Any, /) -> Any:
    return complex(float(r) * float(np.cos(float(phi))), float(r) * float(np.sin(float(phi))))
