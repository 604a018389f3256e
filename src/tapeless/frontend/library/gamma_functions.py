"""scipy.special: the family of gamma and beta, zeta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import cast, dtype_of, prim, select, static
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.special import of_floats
from tapeless.frontend.library.static import counted

# Gamma and beta ---------------------------------------------------------------------------------


@implements(("scipy.special", "rgamma"))
def rgamma(z: Any) -> Any:
    return of_floats(
        lambda x: select((x <= 0) & (x == np.floor(x)), x * 0, 1 / prim("tgamma", x)), z
    )


@implements(("scipy.special", "gammasgn"))
def gammasgn(x: Any) -> Any:
    return of_floats(_gammasgn, x)


def _gammasgn(x: Any) -> Any:
    low = np.floor(x)
    odd = np.remainder(low, 2) != 0
    one = x * 0 + 1
    sign = select((x > 0) | ~odd, one, -one)
    return select((x < 0) & (x == low), cast(np.nan, dtype_of(x)), select(np.isnan(x), x, sign))


@implements(("scipy.special", "betaln"))
def betaln(a: Any, b: Any) -> Any:
    return of_floats(_betaln, a, b)


def _betaln(a: Any, b: Any) -> Any:
    return prim("lgamma", a) + prim("lgamma", b) - prim("lgamma", a + b)


@implements(("scipy.special", "beta"))
def beta(a: Any, b: Any) -> Any:
    return of_floats(_beta, a, b)


def _beta(a: Any, b: Any) -> Any:
    """By gamma functions where none of them overflows."""
    small = (a > 0) & (b > 0) & (a + b < 30)
    p, q = select(small, a, a * 0 + 1), select(small, b, b * 0 + 1)
    direct = prim("tgamma", p) * (prim("tgamma", q) / prim("tgamma", p + q))
    sign = _gammasgn(a) * _gammasgn(b) * _gammasgn(a + b)
    return select(small, direct, sign * np.exp(_betaln(a, b)))


@implements(("scipy.special", "poch"))
def poch(z: Any, m: Any) -> Any:
    return of_floats(_poch, z, m)


def _poch(z: Any, m: Any) -> Any:
    """Γ(z + m) / Γ(z): a product for small whole m."""
    out = z * 0 + 1
    if (m == np.floor(m)) & (m >= 0) & (m < 50):
        for k in range(int(m)):
            out = out * (z + k)
        return out
    sign = _gammasgn(z + m) * _gammasgn(z)
    return sign * np.exp(prim("lgamma", z + m) - prim("lgamma", z))


@implements(("scipy.special", "binom"))
def binom(n: Any, k: Any) -> Any:
    return of_floats(_binom, n, k)


def _binom(n: Any, k: Any) -> Any:
    if (k == np.floor(k)) & (abs(k) < 1e8):
        whole = n == np.floor(n)
        few = n - k if whole and (k > n / 2) and n > 0 else k
        if few >= 0 and few < 30:
            out = n * 0 + 1
            for i in range(1, int(few) + 1):
                out = out * (n + i - few) / i
            return out
        if whole and n >= 0 and (k < 0 or k > n):
            return n * 0
    return 1 / (n + 1) / _beta(1 + n - k, 1 + k)


@implements(("scipy.special", "comb"))
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    if exact:
        return math.comb(N + k - 1, k) if repetition else math.comb(N, k)
    if repetition:
        return comb(N + k - 1, k)
    return of_floats(
        lambda n, j: select((j <= n) & (n >= 0) & (j >= 0), _binom(n, j), n * 0), N * 1.0, k
    )


@implements(("scipy.special", "factorial"))
def factorial(n: Any, exact: bool = False) -> Any:
    if exact:
        return math.factorial(n)
    return of_floats(lambda x: select(x < 0, x * 0, prim("tgamma", abs(x) + 1)), n)


@implements(("scipy.special", "multigammaln"))
def multigammaln(a: Any, d: int) -> Any:
    total = d * (d - 1) * 0.25 * math.log(math.pi)
    for j in counted(static(d, "the dimension")):
        total = total + of_floats(lambda x, j=j: prim("lgamma", x - j / 2), a)
    return total


@implements(("scipy.special", "polygamma"))
def polygamma(n: Any, x: Any) -> Any:
    order = static(n, "the order of polygamma")
    if order == 0:
        return of_floats(lambda v: prim("digamma", v), x)
    if order == 1:
        return of_floats(lambda v: prim("trigamma", cast(v, np.float64)), x)
    sign = 1.0 if order % 2 == 1 else -1.0
    scale = sign * math.factorial(order)
    return of_floats(lambda v: scale * _zeta(v * 0 + (order + 1), v), x)


@implements(("scipy.special", "zeta"))
def zeta(x: Any, q: Any = 1.0) -> Any:
    return of_floats(_zeta, x, q)


BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
             1 / 74724249600)  # B₂ₖ / (2k)!  # fmt: skip


def _zeta(s: Any, q: Any) -> Any:
    """Σ (q + k)⁻ˢ: terms up to 10, then Euler and Maclaurin's formula."""
    total = s * 0
    for k in counted(10):
        total = total + np.power(q + k, -s)
    w = q + 10
    tail = np.power(w, -s)
    total = total + w * tail / (s - 1) + tail / 2
    factor = s * tail / w
    for k in counted(len(BERNOULLI)):
        total = total + BERNOULLI[k] * factor
        factor = factor * (s + (2 * k + 1)) * (s + (2 * k + 2)) / (w * w)
    return select(
        s == 1, cast(np.inf, dtype_of(s)), select(s < 1, cast(np.nan, dtype_of(s)), total)
    )
