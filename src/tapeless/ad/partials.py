"""Derivatives of the scalar operators: each rule is the row of partials, as multiplications.

A rule for y = op(x₁, …, xₖ) gives, for every operand, the linear map s ↦ s·∂y/∂xᵢ, or None where
the partial is zero everywhere. Forward mode sums maps of tangents, reverse mode applies each to the
cotangent of y: one table serves both. At kinks a rule picks one side, named in its docstring.
"""

from __future__ import annotations

from collections.abc import Callable

from tapeless.ad.elementary import ELEMENTARY
from tapeless.ad.scalars import Row, Scalars, Table
from tapeless.core.names import Atom, Const
from tapeless.core.prims import CASTS, OPS
from tapeless.errors import UnsupportedError
from tapeless.ir.build import Builder

ARITHMETIC = Table()


def itself(atom: Atom) -> Atom:
    return atom


def row(
    b: Builder, op: str, args: tuple[Atom, ...], out: Atom,
    value: Callable[[Atom], Atom] = itself,
) -> Row:  # fmt: skip
    """The linear maps of `out = op(*args)`, one per operand."""
    if op in CASTS:
        return _cast(b, args[0], out)
    rule = ARITHMETIC.get(op) or ELEMENTARY.get(op)
    if rule is None:
        if is_flat(op):
            return (None,) * len(args)
        raise UnsupportedError(
            f"'{op}' has no derivative", b.loc,
            "give the function around it a rule of its own: tp.custom_jvp, tp.custom_vjp",
        )  # fmt: skip
    return rule(Scalars(b, out, value), *args, out)


def is_flat(op: str) -> bool:
    """Whether the derivative is zero wherever there is one, or the result is no float."""
    return op in FLAT or OPS[op].result.__name__ == "boolean"


FLAT = frozenset({
    "floor", "ceil", "trunc", "rint", "sign", "floordiv", "not", "and", "or", "xor", "shl", "shr",
    "mulhi", "to_bits", "from_bits", "exponent", "isnan", "signbit",
})  # fmt: skip


def _cast(b: Builder, x: Atom, out: Atom) -> Row:
    """y = x in another precision: s ↦ s in the other one. Integers have no derivative."""
    if not (x.dtype.is_float and out.dtype.is_float):
        return (None,)
    return (lambda s: b.cast(s, out.dtype if s.dtype is x.dtype else x.dtype),)


# Arithmetic -------------------------------------------------------------------------------------


@ARITHMETIC.of("add")
def _add(k: Scalars, x: Atom, y: Atom, z: Atom) -> Row:
    """z = x + y:  ∂z/∂x = ∂z/∂y = 1."""
    return (lambda s: s), (lambda s: s)


@ARITHMETIC.of("sub")
def _sub(k: Scalars, x: Atom, y: Atom, z: Atom) -> Row:
    """z = x − y:  ∂z/∂x = 1, ∂z/∂y = −1."""
    return (lambda s: s), (lambda s: k("neg", s))


@ARITHMETIC.of("mul")
def _mul(k: Scalars, x: Atom, y: Atom, z: Atom) -> Row:
    """z = x·y:  ∂z/∂x = y, ∂z/∂y = x."""
    return (lambda s: k("mul", s, y)), (lambda s: k("mul", s, x))


@ARITHMETIC.of("div")
def _div(k: Scalars, x: Atom, y: Atom, z: Atom) -> Row:
    """z = x/y:  ∂z/∂x = 1/y, ∂z/∂y = −z/y."""
    return (
        lambda s: k("div", s, y),
        lambda s: k("neg", k("mul", k("div", s, y), z)),
    )


@ARITHMETIC.of("neg")
def _neg(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = −x:  ∂z/∂x = −1."""
    return (lambda s: k("neg", s),)


@ARITHMETIC.of("fma")
def _fma(k: Scalars, x: Atom, y: Atom, w: Atom, z: Atom) -> Row:
    """z = x·y + w:  ∂z/∂x = y, ∂z/∂y = x, ∂z/∂w = 1."""
    return (lambda s: k("mul", s, y)), (lambda s: k("mul", s, x)), (lambda s: s)


@ARITHMETIC.of("mod")
def _mod(k: Scalars, x: Atom, y: Atom, z: Atom) -> Row:
    """z = x − y·⌊x/y⌋:  ∂z/∂x = 1, ∂z/∂y = −⌊x/y⌋."""
    return (lambda s: s), (lambda s: k("neg", k("mul", s, k("floordiv", x, y))))


@ARITHMETIC.of("fmod")
def _fmod(k: Scalars, x: Atom, y: Atom, z: Atom) -> Row:
    """z = x − y·trunc(x/y):  ∂z/∂x = 1, ∂z/∂y = −trunc(x/y)."""
    return (lambda s: s), (lambda s: k("neg", k("mul", s, k("trunc", k("div", x, y)))))


@ARITHMETIC.of("pow")
def _pow(k: Scalars, x: Atom, y: Atom, z: Atom) -> Row:
    """z = xʸ:  ∂z/∂x = y·xʸ⁻¹, and 0 for y = 0;  ∂z/∂y = z·log x, and 0 for x = 0."""

    def wrt_base(s: Atom) -> Atom:
        if isinstance(y, Const):
            return s if y.value == 1 else k("mul", s, _power_slope(k, x, y))
        slope = k("mul", y, k("pow", x, k("sub", y, 1.0)))
        return k("mul", s, k("select", k("eq", y, 0.0), k.atom(0.0), slope))

    def wrt_exponent(s: Atom) -> Atom:
        slope = k("mul", z, k("log", x))
        return k("mul", s, k("select", k("eq", x, 0.0), k.atom(0.0), slope))

    return wrt_base, wrt_exponent


def _power_slope(k: Scalars, x: Atom, y: Const) -> Atom:
    """d xᶜ/dx for a known exponent."""
    if y.value == 0:
        return k.atom(0.0)
    if y.value == 2:
        return k("mul", 2.0, x)
    return k("mul", y, k("pow", x, float(y.value) - 1.0))


# Choices ----------------------------------------------------------------------------------------


@ARITHMETIC.of("select")
def _select(k: Scalars, c: Atom, x: Atom, y: Atom, z: Atom) -> Row:
    """z = x if c else y: the cotangent goes to the chosen operand."""
    return (
        None,
        lambda s: k("select", c, s, k.atom(0.0)),
        lambda s: k("select", c, k.atom(0.0), s),
    )


@ARITHMETIC.of("min")
def _min(k: Scalars, x: Atom, y: Atom, z: Atom) -> Row:
    """z = min(x, y): all to the smaller; ties to the first, if it is no constant."""
    return _chosen(k, lambda: k(wins(x), y, x))


@ARITHMETIC.of("max")
def _max(k: Scalars, x: Atom, y: Atom, z: Atom) -> Row:
    """z = max(x, y): all to the larger; ties to the first, if it is no constant."""
    return _chosen(k, lambda: k(wins(x), x, y))


def wins(first: Atom) -> str:
    """The comparison by which the second operand of min or max is chosen."""
    return "le" if isinstance(first, Const) else "lt"


def _chosen(k: Scalars, second: Callable[[], Atom]) -> Row:
    return (
        lambda s: k("select", second(), k.atom(0.0), s),
        lambda s: k("select", second(), s, k.atom(0.0)),
    )


@ARITHMETIC.of("abs")
def _abs(k: Scalars, x: Atom, z: Atom) -> Row:
    """z = |x|:  ∂z/∂x = sign x, 0 at 0."""
    return (lambda s: k("mul", s, k("sign", x)),)


@ARITHMETIC.of("copysign")
def _copysign(k: Scalars, x: Atom, y: Atom, z: Atom) -> Row:
    """z = |x| with the sign of y:  ∂z/∂x = 1 if the signs agree, else −1."""

    def wrt_x(s: Atom) -> Atom:
        same = k("eq", k("signbit", x), k("signbit", y))
        return k("select", same, s, k("neg", s))

    return wrt_x, None


@ARITHMETIC.of("nextafter")
def _nextafter(k: Scalars, x: Atom, y: Atom, z: Atom) -> Row:
    """z = x but for rounding."""
    return (lambda s: s), None
