"""Derives src/tapeless/emit/math/special_coefficients.py: what the special functions build upon.

python -m tools.special_coefficients
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mpmath as mp

from tools.math_coefficients import erfc_mapped, fit, render, rounded, split

TARGET = Path(__file__).parents[1] / "src/tapeless/emit/math/special_coefficients.py"
Function = Callable[[mp.mpf], mp.mpf]
TINY = mp.mpf(10) ** -25
mp.mp.dps = 60


def off_zero(f: Function) -> Function:
    """f, evaluated beside 0 where it is asked for at 0 (a removable singularity)."""
    return lambda x: f(x if abs(x) > TINY else TINY)


def about(f: Function, root: mp.mpf) -> Function:
    """f(root + t)/t: f without its simple zero."""
    return off_zero(lambda t: f(root + t) / t)


def stirling(v: mp.mpf) -> mp.mpf:
    """z (log Gamma(z) - (z - 1/2) log z + z - log(2 pi)/2) with v = 1/z^2."""
    z = 1 / mp.sqrt(v)
    return z * (mp.loggamma(z) - (z - 0.5) * mp.log(z) + z - mp.log(2 * mp.pi) / 2)


def digamma_tail(v: mp.mpf) -> mp.mpf:
    """z^2 (log z - 1/2z - psi(z)) with v = 1/z^2."""
    z = 1 / mp.sqrt(v)
    return z * z * (mp.log(z) - 1 / (2 * z) - mp.digamma(z))


def trigamma_tail(v: mp.mpf) -> mp.mpf:
    """z^3 (psi'(z) - 1/z - 1/2z^2) with v = 1/z^2."""
    z = 1 / mp.sqrt(v)
    return z**3 * (mp.psi(1, z) - 1 / z - 1 / (2 * z * z))


def erfcinv(p: mp.mpf) -> mp.mpf:
    """x with erfc x = p, by Newton's method on log erfc."""
    s = mp.sqrt(-mp.log(p * (2 - p)))
    return mp.findroot(lambda x: mp.log(mp.erfc(x)) - mp.log(p), s * mp.mpf("0.9") + mp.mpf("0.01"))


def erfinv_centre(w: mp.mpf) -> mp.mpf:
    """erfinv(a)/a with w = -log(1 - a^2)."""
    a = mp.sqrt(1 - mp.exp(-w))
    return mp.erfinv(a) / a


def erfinv_tail(s: mp.mpf) -> mp.mpf:
    """erfinv(a)/s with s^2 = -log(1 - a^2)."""
    p = 1 - mp.sqrt(1 - mp.exp(-s * s))
    with mp.workdps(60 + int(s * s)):
        p = 1 - mp.sqrt(1 - mp.exp(-s * s))
    return erfcinv(p) / s


def hankel(order: int, part: Callable[[mp.mpc], mp.mpf], power: int) -> Function:
    """P or x Q of (J + iY) = sqrt(2/pi x) (P + iQ) e^(i chi), with v = 1/x^2."""

    def value(v: mp.mpf) -> mp.mpf:
        x = 1 / mp.sqrt(v)
        chi = x - mp.pi * (2 * order + 1) / 4
        h = mp.mpc(mp.besselj(order, x), mp.bessely(order, x)) / mp.sqrt(2 / (mp.pi * x))
        return part(h * mp.expj(-chi)) * x**power

    return off_zero(value)


def i_large(order: int) -> Function:
    """I(x) sqrt(x) e^-x with u = 1/x."""
    return off_zero(lambda u: mp.besseli(order, 1 / u) * mp.exp(-1 / u) / mp.sqrt(u))


def log_erfc(degree: int, points: int = 64, rounds: int = 4) -> list[mp.mpf]:
    """log erfc(1 + u) = c0 + c1 u + ... for 0 <= u <= 5, such that 1 - e^(...) is as near as can
    be to erf: least squares in the Chebyshev points, each weighted by what an error there does to
    erf, and (Lawson's method) by how large the error was before."""
    angles = [mp.pi * (k + mp.mpf(1) / 2) / points for k in range(points)]
    us = [(1 + mp.cos(t)) * 5 / 2 for t in angles]
    start = mp.log(mp.erfc(1))
    values = [mp.log(mp.erfc(1 + u)) - start for u in us]
    effects = [mp.erfc(1 + u) / mp.erf(1 + u) for u in us]
    shares = [mp.mpf(1)] * points
    for _ in range(rounds):
        roots = [e * mp.sqrt(s) for e, s in zip(effects, shares, strict=True)]
        rows = [[w * u ** (j + 1) for j in range(degree)] for w, u in zip(roots, us, strict=True)]
        goal = [w * v for w, v in zip(roots, values, strict=True)]
        solution = list(mp.qr_solve(mp.matrix(rows), mp.matrix(goal))[0])
        errors = [
            abs(mp.polyval([*solution[::-1], 0], u) - v) * e
            for u, v, e in zip(us, values, effects, strict=True)
        ]
        shares = [s * e for s, e in zip(shares, errors, strict=True)]
    return [start, *solution]


ROOT = mp.findroot(mp.digamma, 1.46, tol=mp.mpf(10) ** -110)
# name -> (function, lo, hi, tolerance)
POLYNOMIALS: dict[str, tuple[Function, float, float, float]] = {
    # erf x = x + x P(x^2), |x| <= 1
    "ERF": (off_zero(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1), 0, 1, 1e-16),
    # (1 + 2x) e^(x^2) erfc(x), t = (x - 4)/(x + 4), 1/2 <= x <= 28
    "ERFC": (erfc_mapped, -0.7778, 0.7501, 1e-17),
    "ERFINV_CENTRE": (off_zero(erfinv_centre), 0, 5.02, 1e-7),
    "ERFINV_TAIL": (erfinv_tail, 2.23, 6.5, 1e-7),
    "ERFINV_FAR": (lambda u: erfinv_tail(1 / u), 1 / 28, 1 / 6.4, 1e-7),
    # log Gamma(1 + t)/t, log Gamma(2 + t)/t
    "LGAMMA_ONE": (about(mp.loggamma, mp.mpf(1)), -0.26, 0.26, 2e-17),
    "LGAMMA_TWO": (about(mp.loggamma, mp.mpf(2)), -0.26, 0.26, 2e-17),
    "STIRLING": (off_zero(stirling), 0, 1 / 64, 1e-17),
    "DIGAMMA": (off_zero(digamma_tail), 0, 1 / 64, 1e-17),
    "DIGAMMA_ROOT": (about(mp.digamma, ROOT), -0.26, 0.26, 2e-17),
    "TRIGAMMA": (off_zero(trigamma_tail), 0, 1 / 64, 1e-17),
    # I0 = P(x^2/4), I1 = x/2 P(x^2/4), |x| <= 8
    "I0": (off_zero(lambda z: mp.besseli(0, 2 * mp.sqrt(z))), 0, 16, 1e-19),
    "I1": (off_zero(lambda z: mp.besseli(1, 2 * mp.sqrt(z)) / mp.sqrt(z)), 0, 16, 1e-19),
    "I0_LARGE": (i_large(0), 0, 0.125, 1e-17),
    "I1_LARGE": (i_large(1), 0, 0.125, 1e-17),
    "J0_P": (hankel(0, mp.re, 0), 0, 0.01, 1e-17),
    "J0_Q": (hankel(0, mp.im, 1), 0, 0.01, 1e-17),
    "J1_P": (hankel(1, mp.re, 0), 0, 0.01, 1e-17),
    "J1_Q": (hankel(1, mp.im, 1), 0, 0.01, 1e-17),
}
# Bessel functions on [0, 10], each piece about one of its zeros: order -> (zero, from, to)
PIECES = {
    0: [(mp.besseljzero(0, 1), 1.5, 4.0), (mp.besseljzero(0, 2), 4.0, 7.0),
        (mp.besseljzero(0, 3), 7.0, 10.1)],
    1: [(mp.besseljzero(1, 1), 2.3, 5.4), (mp.besseljzero(1, 2), 5.4, 8.6),
        (mp.besseljzero(1, 3), 8.6, 10.1)],
}  # fmt: skip
START = {
    0: (off_zero(lambda z: mp.besselj(0, mp.sqrt(z))), 0.0, 2.26),
    1: (off_zero(lambda z: mp.besselj(1, mp.sqrt(z)) / mp.sqrt(z)), 0.0, 5.3),
}


def main() -> None:
    """Writes the module."""
    tables: dict[str, object] = {}

    def keep(name: str, coefficients: list[mp.mpf]) -> None:
        tables[name] = {64: tuple(rounded(c, 64) for c in coefficients)}
        print(name, len(coefficients))

    for name, (f, lo, hi, tolerance) in POLYNOMIALS.items():
        keep(name, fit(f, mp.mpf(lo), mp.mpf(hi), tolerance))
    keep("LOG_ERFC", log_erfc(17))
    tables["DIGAMMA_ZERO"] = {64: split(ROOT, 64, 3)}
    for order, pieces in PIECES.items():
        f, lo, hi = START[order]
        keep(f"J{order}_START", fit(f, mp.mpf(lo), mp.mpf(hi), 1e-18))
        for k, (root, lo, hi) in enumerate(pieces):
            tables[f"J{order}_ZERO_{k}"] = {64: split(root, 64, 2)}
            g = about(lambda x, order=order: mp.besselj(order, x), root)
            keep(f"J{order}_PIECE_{k}", fit(g, mp.mpf(lo) - root, mp.mpf(hi) - root, 1e-17))
    head = '"""Written by tools/special_coefficients.py: do not edit."""\n'
    TARGET.write_text(head + "".join("\n" + render(n, v) for n, v in tables.items()))


if __name__ == "__main__":
    main()
