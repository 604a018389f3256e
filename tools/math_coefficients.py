"""Derives src/tapeless/emit/math/coefficients.py: polynomials and constants, with mpmath.

Each polynomial interpolates its function at Chebyshev nodes, whose error is within a small factor
of the best possible; its degree is the least that meets the tolerance.

    python tools/math_coefficients.py
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import mpmath as mp

TARGET = Path(__file__).parents[1] / "src/tapeless/emit/math/coefficients.py"
Function = Callable[[mp.mpf], mp.mpf]
mp.mp.dps = 60


def chebyshev(f: Function, lo: mp.mpf, hi: mp.mpf, degree: int) -> list[mp.mpf]:
    """The Chebyshev series on [lo, hi] of the polynomial that interpolates f."""
    n = degree + 1
    angles = [mp.pi * (k + mp.mpf(1) / 2) / n for k in range(n)]
    values = [f((lo + hi) / 2 + (hi - lo) / 2 * mp.cos(t)) for t in angles]
    return [
        sum(v * mp.cos(j * t) for v, t in zip(values, angles, strict=True)) * (2 if j else 1) / n
        for j in range(n)
    ]


def monomial(series: list[mp.mpf], lo: mp.mpf, hi: mp.mpf) -> list[mp.mpf]:
    """The coefficients in powers of x of a Chebyshev series on [lo, hi]."""
    a, b = 2 / (hi - lo), -(hi + lo) / (hi - lo)
    before, now = [mp.mpf(1)], [b, a]
    total = [mp.mpf(0)] * len(series)
    for c in series:
        total = [t + c * p for t, p in zip(total, before + [0] * len(series), strict=False)]
        shifted = [mp.mpf(0), *now]
        double = [2 * (a * s + b * p) for s, p in zip(shifted, [*now, mp.mpf(0)], strict=True)]
        before, now = now, [d - q for d, q in zip(double, [*before, 0, 0], strict=False)]
    return total


def fit(f: Function, lo: float, hi: float, tolerance: float) -> list[mp.mpf]:
    """The polynomial of least degree that meets the tolerance relative to max |f|."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    series = chebyshev(f, lo, hi, 60)
    size = max(abs(f(lo + (hi - lo) * k / 8)) for k in range(9))
    degree = 60
    while degree and sum(map(abs, series[degree:])) < tolerance * size:
        degree -= 1
    return monomial(chebyshev(f, lo, hi, degree), lo, hi)


def rounded(x: mp.mpf, bits: int) -> float:
    """x rounded to a format."""
    if bits == 64:
        return float(x)
    return float(struct.unpack("f", struct.pack("f", float(x)))[0])


def split(x: mp.mpf, bits: int, parts: int) -> tuple[float, ...]:
    """x as a sum of floats, each the rounding of what is left."""
    out = []
    for _ in range(parts):
        out.append(rounded(x, bits))
        x -= out[-1]
    return tuple(out)


def tail(f: Function, head: list[mp.mpf]) -> Function:
    """(f(x) - c0 - c1 x - ... ) / x^n: what follows the first n terms of the series."""

    def quotient(x: mp.mpf) -> mp.mpf:
        with mp.workdps(110):
            x = mp.mpf(x) + mp.mpf(10) ** -35 if abs(x) < mp.mpf(10) ** -35 else mp.mpf(x)
            rest = f(x) - sum(c * x**k for k, c in enumerate(head))
            return rest / x ** len(head)

    return quotient


def of_square(f: Function) -> Function:
    """f(sqrt z), for an even f."""
    return lambda z: f(mp.sqrt(z))


def over_x(f: Function) -> Function:
    """f(x)/x, for an odd f."""
    return lambda x: f(x) / x


def sinhc_tail(z: mp.mpf) -> mp.mpf:
    """(sinh x - x)/x^3 with z = x^2."""
    return tail(of_square(over_x(mp.sinh)), [mp.mpf(1)])(z)


def erf_tail(z: mp.mpf) -> mp.mpf:
    """(erf x)/x with z = x^2."""
    return of_square(over_x(mp.erf))(z + mp.mpf(10) ** -50)


def erfc_mapped(t: mp.mpf) -> mp.mpf:
    """(1 + 2x) e^(x^2) erfc(x) with t = (x - 4)/(x + 4)."""
    if t == 1:
        return 2 / mp.sqrt(mp.pi)
    x = 4 * (1 + t) / (1 - t)
    with mp.workdps(60 + int(x * x)) if x < 12 else mp.workdps(60):
        scaled = (
            mp.exp(x * x) * mp.erfc(x) if x < 60 else mp.hyperu(0.5, 0.5, x * x) / mp.sqrt(mp.pi)
        )
        return (1 + 2 * x) * scaled


LOG_LO, LOG_HI = mp.mpf("0.7050") - 1, mp.mpf("1.4103") - 1
ONE = mp.mpf(1)
# name -> (function, lo, hi, tolerance for 64 bits, tolerance for 32 bits or 0 for none)
POLYNOMIALS: dict[str, tuple[Function, mp.mpf, mp.mpf, float, float]] = {
    # e^r = 1 + r + r^2 P(r)
    "EXP": (tail(mp.exp, [ONE, ONE]), -0.34658, 0.34658, 2e-16, 1e-7),
    # 2^r = 1 + r P(r)
    "EXP2": (tail(lambda x: mp.mpf(2) ** x, [ONE]), -0.5, 0.5, 1e-17, 1e-9),
    # log(1 + f) = f - f^2/2 + f^3 P(f)
    "LOG": (tail(mp.log1p, [0, ONE, -ONE / 2]), LOG_LO, LOG_HI, 1e-16, 3e-8),
    # the same near 1, for a table-driven logarithm
    "LOG_NEAR": (tail(mp.log1p, [0, ONE, -ONE / 2]), -0.0041, 0.0041, 1e-16, 0),
    # sin r = r + r^3 P(r^2), |r| <= pi/2
    "SIN": (tail(of_square(over_x(mp.sin)), [ONE]), 0, 2.4675, 1e-17, 4e-9),
    # sin r = r + r^3 P(r^2), cos r = 1 - r^2/2 + r^4 P(r^2), |r| <= pi/4
    "SIN_QUARTER": (tail(of_square(over_x(mp.sin)), [ONE]), 0, 0.6169, 1e-17, 1e-9),
    "COS_QUARTER": (tail(of_square(mp.cos), [ONE, -ONE / 2]), 0, 0.6169, 1e-17, 1e-9),
    # sinh r = r + r^3 P(r^2)
    "SINH": (sinhc_tail, 0, 0.125, 1e-17, 0),
    # asin r = r + r^3 P(r^2), |r| <= 1/2
    "ASIN": (tail(of_square(over_x(mp.asin)), [ONE]), 0, 0.25, 2e-17, 0),
    # atan r = r + r^3 P(r^2), |r| <= tan(pi/8)
    "ATAN": (tail(of_square(over_x(mp.atan)), [ONE]), 0, 0.1717, 2e-17, 0),
    # m^(-1/3) on [1, 2]
    "CBRT": (lambda m: m ** (-ONE / 3), 1, 2, 1e-5, 0),
}


def constants() -> dict[str, object]:
    """Constants as sums of floats, most significant first."""
    out: dict[str, object] = {}
    for name, value, parts in [
        ("LN2", mp.log(2), 3),
        ("PI", mp.pi, 4),
        ("HALF_PI", mp.pi / 2, 4),
        ("LOG2E", 1 / mp.log(2), 2),
        ("LOG10E", 1 / mp.log(10), 2),
        ("INV_PI", 1 / mp.pi, 2),
        ("TWO_OVER_PI", 2 / mp.pi, 2),
        ("HALF_LOG_2PI", mp.log(2 * mp.pi) / 2, 2),
        ("SQRT2", mp.sqrt(2), 2),
    ]:
        out[name] = {64: split(value, 64, parts), 32: split(value, 32, parts)}
    # k times the first part is exact for every exponent k
    out["LN2_SHORT"] = {
        bits: (
            short := float(mp.nint(mp.log(2) * 2**digits)) / 2**digits,
            rounded(mp.log(2) - short, bits),
        )
        for bits, digits in [(64, 42), (32, 16)]
    }
    with mp.workdps(420):
        out["INV_PI_BITS"] = int(mp.floor(2**1280 / mp.pi))
    return out


def render(name: str, value: object) -> str:
    """name = value, one number a line where there are many."""
    if isinstance(value, int):
        digits = f"{value:x}"
        rows = [digits[i : i + 80] for i in range(0, len(digits), 80)]
        return f"{name} = int(\n" + "".join(f'    "{r}"\n' for r in rows) + "    , 16)\n"
    assert isinstance(value, dict)
    lines = [f"{name} = {{"]
    for bits, numbers in value.items():
        lines += [f"    {bits}: (", *(f"        {x!r}," for x in numbers), "    ),"]
    return "\n".join([*lines, "}\n"])


def main() -> None:
    """Writes the module."""
    tables: dict[str, object] = dict(constants())
    for name, (f, lo, hi, fine, coarse) in POLYNOMIALS.items():
        forms = [(64, fine), (32, coarse)] if coarse else [(64, fine)]
        fitted = {
            bits: tuple(rounded(c, bits) for c in fit(f, lo, hi, tolerance))
            for bits, tolerance in forms
        }
        tables[name] = fitted
        print(name, {b: len(c) for b, c in fitted.items()})
    head = '"""Written by tools/math_coefficients.py: do not edit."""\n'
    TARGET.write_text(head + "".join("\n" + render(n, v) for n, v in tables.items()))


if __name__ == "__main__":
    main()
