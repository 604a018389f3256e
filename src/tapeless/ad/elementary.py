"""Partials of the elementary and special functions."""

from __future__ import annotations

import math

from tapeless.ad.scalars import Linear, Row, Scalars, Table
from tapeless.core.names import Atom

ELEMENTARY = Table()

# Powers and logarithms --------------------------------------------------------------------------


@ELEMENTARY.of("sqrt")
def _sqrt(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = √x:  ∂z/∂x = 1/(2z)."""
    return (lambda s: k("div", k("mul", 0.5, s), z),)


@ELEMENTARY.of("cbrt")
def _cbrt(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = ∛x:  ∂z/∂x = 1/(3z²)."""
    return (lambda s: k("div", s, k("mul", 3.0, k("mul", z, z))),)


@ELEMENTARY.of("exp")
def _exp(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = eˣ:  ∂z/∂x = z."""
    return (lambda s: k("mul", s, z),)


@ELEMENTARY.of("exp2")
def _exp2(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = 2ˣ:  ∂z/∂x = z·log 2."""
    return (lambda s: k("mul", s, k("mul", z, math.log(2.0))),)


@ELEMENTARY.of("expm1")
def _expm1(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = eˣ − 1:  ∂z/∂x = z + 1."""
    return (lambda s: k("mul", s, k("add", z, 1.0)),)


@ELEMENTARY.of("log")
def _log(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = log x:  ∂z/∂x = 1/x."""
    return (lambda s: k("div", s, x),)


@ELEMENTARY.of("log2")
def _log2(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = log₂ x:  ∂z/∂x = 1/(x·log 2)."""
    return (lambda s: k("div", s, k("mul", x, math.log(2.0))),)


@ELEMENTARY.of("log10")
def _log10(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = log₁₀ x:  ∂z/∂x = 1/(x·log 10)."""
    return (lambda s: k("div", s, k("mul", x, math.log(10.0))),)


@ELEMENTARY.of("log1p")
def _log1p(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = log(1 + x):  ∂z/∂x = 1/(1 + x)."""
    return (lambda s: k("div", s, k("add", 1.0, x)),)


@ELEMENTARY.of("hypot")
def _hypot(k: Scalars, x: Atom, y: Atom, z: Atom) -> Row:
    """z = √(x² + y²):  ∂z/∂x = x/z, ∂z/∂y = y/z, both 0 at the origin."""

    def along(side: Atom) -> Linear:
        def times(s: Atom) -> Atom:
            at_origin = k("eq", z, 0.0)
            return k("mul", s, k("select", at_origin, k.atom(0.0), k("div", side, z)))

        return times

    return along(x), along(y)


# Trigonometry -----------------------------------------------------------------------------------


@ELEMENTARY.of("sin")
def _sin(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = sin x:  ∂z/∂x = cos x."""
    return (lambda s: k("mul", s, k("cos", x)),)


@ELEMENTARY.of("cos")
def _cos(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = cos x:  ∂z/∂x = −sin x."""
    return (lambda s: k("neg", k("mul", s, k("sin", x))),)


@ELEMENTARY.of("tan")
def _tan(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = tan x:  ∂z/∂x = 1 + z²."""
    return (lambda s: k("mul", s, k("add", 1.0, k("mul", z, z))),)


@ELEMENTARY.of("asin")
def _asin(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = arcsin x:  ∂z/∂x = 1/√(1 − x²)."""
    return (lambda s: k("div", s, _circle(k, x)),)


@ELEMENTARY.of("acos")
def _acos(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = arccos x:  ∂z/∂x = −1/√(1 − x²)."""
    return (lambda s: k("neg", k("div", s, _circle(k, x))),)


def _circle(k: Scalars, x: Atom) -> Atom:
    """√(1 − x²), as √((1 − x)(1 + x))."""
    return k("sqrt", k("mul", k("sub", 1.0, x), k("add", 1.0, x)))


@ELEMENTARY.of("atan")
def _atan(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = arctan x:  ∂z/∂x = 1/(1 + x²)."""
    return (lambda s: k("div", s, k("add", 1.0, k("mul", x, x))),)


@ELEMENTARY.of("atan2")
def _atan2(k: Scalars, y: Atom, x: Atom, z: Atom) -> Row:
    """z = angle of (x, y):  ∂z/∂y = x/r², ∂z/∂x = −y/r²."""

    def square() -> Atom:
        return k("add", k("mul", x, x), k("mul", y, y))

    return (
        lambda s: k("mul", s, k("div", x, square())),
        lambda s: k("neg", k("mul", s, k("div", y, square()))),
    )


# Hyperbolic functions ---------------------------------------------------------------------------


@ELEMENTARY.of("sinh")
def _sinh(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = sinh x:  ∂z/∂x = cosh x."""
    return (lambda s: k("mul", s, k("cosh", x)),)


@ELEMENTARY.of("cosh")
def _cosh(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = cosh x:  ∂z/∂x = sinh x."""
    return (lambda s: k("mul", s, k("sinh", x)),)


@ELEMENTARY.of("tanh")
def _tanh(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = tanh x:  ∂z/∂x = 1 − z²."""
    return (lambda s: k("mul", s, k("sub", 1.0, k("mul", z, z))),)


@ELEMENTARY.of("asinh")
def _asinh(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = arsinh x:  ∂z/∂x = 1/√(1 + x²)."""
    return (lambda s: k("div", s, k("hypot", 1.0, x)),)


@ELEMENTARY.of("acosh")
def _acosh(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = arcosh x:  ∂z/∂x = 1/√(x² − 1), as 1/(√(x − 1)·√(x + 1))."""
    return (
        lambda s: k("div", s, k("mul", k("sqrt", k("sub", x, 1.0)), k("sqrt", k("add", x, 1.0)))),
    )


@ELEMENTARY.of("atanh")
def _atanh(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = artanh x:  ∂z/∂x = 1/(1 − x²)."""
    return (lambda s: k("div", s, k("mul", k("sub", 1.0, x), k("add", 1.0, x))),)


# Special functions ------------------------------------------------------------------------------


@ELEMENTARY.of("erf")
def _erf(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = erf x:  ∂z/∂x = 2/√π·exp(−x²)."""
    return (lambda s: k("mul", s, _bell(k, x)),)


@ELEMENTARY.of("erfc")
def _erfc(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = 1 − erf x:  ∂z/∂x = −2/√π·exp(−x²)."""
    return (lambda s: k("neg", k("mul", s, _bell(k, x))),)


def _bell(k: Scalars, x: Atom) -> Atom:
    """2/√π·exp(−x²)."""
    return k("mul", 2.0 / math.sqrt(math.pi), k("exp", k("neg", k("mul", x, x))))


@ELEMENTARY.of("erfinv")
def _erfinv(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = erf⁻¹ x:  ∂z/∂x = √π/2·exp(z²)."""
    return (lambda s: k("mul", s, k("mul", 0.5 * math.sqrt(math.pi), k("exp", k("mul", z, z)))),)


@ELEMENTARY.of("ndtri")
def _ndtri(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = Φ⁻¹(x):  ∂z/∂x = √(2π)·exp(z²/2)."""

    def times(s: Atom) -> Atom:
        half = k("mul", 0.5, k("mul", z, z))
        return k("mul", s, k("mul", math.sqrt(2.0 * math.pi), k("exp", half)))

    return (times,)


@ELEMENTARY.of("lgamma")
def _lgamma(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = log|Γ(x)|:  ∂z/∂x = ψ(x)."""
    return (lambda s: k("mul", s, k("digamma", x)),)


@ELEMENTARY.of("tgamma")
def _tgamma(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = Γ(x):  ∂z/∂x = z·ψ(x)."""
    return (lambda s: k("mul", s, k("mul", z, k("digamma", x))),)


@ELEMENTARY.of("digamma")
def _digamma(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = ψ(x):  ∂z/∂x = ψ₁(x)."""
    return (lambda s: k("mul", s, k("trigamma", x)),)


@ELEMENTARY.of("j0")
def _j0(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = J₀(x):  ∂z/∂x = −J₁(x)."""
    return (lambda s: k("neg", k("mul", s, k("j1", x))),)


@ELEMENTARY.of("j1")
def _j1(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = J₁(x):  ∂z/∂x = J₀(x) − z/x, ½ at 0."""
    return (lambda s: k("mul", s, k("sub", k("j0", x), _slope_at_zero(k, z, x))),)


@ELEMENTARY.of("i0")
def _i0(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = I₀(x):  ∂z/∂x = I₁(x)."""
    return (lambda s: k("mul", s, k("i1", x)),)


@ELEMENTARY.of("i1")
def _i1(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = I₁(x):  ∂z/∂x = I₀(x) − z/x, ½ at 0."""
    return (lambda s: k("mul", s, k("sub", k("i0", x), _slope_at_zero(k, z, x))),)


def _slope_at_zero(k: Scalars, z: Atom, x: Atom) -> Atom:
    """z/x, and its limit ½ at 0."""
    return k("select", k("eq", x, 0.0), k.atom(0.5), k("div", z, x))
