"""Derivatives of foreign functions: products, systems and factors of matrices.

A rule gives, for every operand that is an array, its cotangent (`PULL`) or, for every result, its
tangent (`PUSH`). Functions that read one triangle of a matrix, as LAPACK's do, have a derivative by
that triangle only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tapeless.ad.matrices import Matrices, Matrix
from tapeless.core.names import Atom, Var
from tapeless.errors import UnsupportedError
from tapeless.ir.build import Builder
from tapeless.ir.syntax import Alloc, View
from tapeless.ir.types_of import atom_of

Inputs: TypeAlias = Sequence[Matrix]
Rule: TypeAlias = Callable[[Matrices, Inputs, Inputs, Inputs], Sequence[Matrix]]


class Rules(dict[str, Rule]):
    """Rules by the name of their function, without the letter of the element type."""

    def of(self, *names: str) -> Callable[[Rule], Rule]:
        def enter(rule: Rule) -> Rule:
            self.update(dict.fromkeys(names, rule))
            return rule

        return enter


PULL = Rules()
PUSH = Rules()


# Products and systems ---------------------------------------------------------------------------


@PULL.of("gemm")
def pull_product(k: Matrices, args: Inputs, outs: Inputs, bars: Inputs) -> Sequence[Matrix]:
    """C = A·B  ⇒  Ā = C̄·Bᵀ,  B̄ = Aᵀ·C̄."""
    (a, b), (c_bar,) = args, bars
    return c_bar @ b.T, a.T @ c_bar


@PUSH.of("gemm")
def push_product(k: Matrices, args: Inputs, outs: Inputs, dots: Inputs) -> Sequence[Matrix]:
    """Ċ = Ȧ·B + A·Ḃ."""
    (a, b), (a_dot, b_dot) = args, dots
    return ((a_dot @ b) + (a @ b_dot),)


@PULL.of("gesv")
def pull_solve(k: Matrices, args: Inputs, outs: Inputs, bars: Inputs) -> Sequence[Matrix]:
    """X = A⁻¹·B  ⇒  B̄ = A⁻ᵀ·X̄,  Ā = −B̄·Xᵀ."""
    (a, _), (x,), (x_bar,) = args, outs, bars
    b_bar = k.solve(a.T, x_bar)
    return -(b_bar @ x.T), b_bar


@PUSH.of("gesv")
def push_solve(k: Matrices, args: Inputs, outs: Inputs, dots: Inputs) -> Sequence[Matrix]:
    """Ẋ = A⁻¹·(Ḃ − Ȧ·X)."""
    (a, _), (x,), (a_dot, b_dot) = args, outs, dots
    return (k.solve(a, b_dot - (a_dot @ x)),)


def _triangular(lower: bool, unit: bool) -> tuple[Rule, Rule]:
    """X = T⁻¹·B for a triangle T, whose diagonal is 1 if `unit`."""

    def triangle(x: Matrix) -> Matrix:
        return x.lower(strict=unit) if lower else x.upper(strict=unit)

    def pull(k: Matrices, args: Inputs, outs: Inputs, bars: Inputs) -> Sequence[Matrix]:
        """B̄ = T⁻ᵀ·X̄,  T̄ = −triangle(B̄·Xᵀ)."""
        (a, _), (x,), (x_bar,) = args, outs, bars
        across = k.solve_upper if lower else k.solve_lower
        b_bar = across(a.T, x_bar, unit)
        return triangle(-(b_bar @ x.T)), b_bar

    def push(k: Matrices, args: Inputs, outs: Inputs, dots: Inputs) -> Sequence[Matrix]:
        """Ẋ = T⁻¹·(Ḃ − Ṫ·X)."""
        (a, _), (x,), (a_dot, b_dot) = args, outs, dots
        along = k.solve_lower if lower else k.solve_upper
        return (along(a, b_dot - (triangle(a_dot) @ x), unit),)

    return pull, push


for _side in ("lower", "upper"):
    for _end in ("", "_unit"):
        _name = f"trsm_{_side}{_end}"
        PULL[_name], PUSH[_name] = _triangular(_side == "lower", bool(_end))


# Factors of a symmetric matrix, of which the lower triangle is read ------------------------------


def _by_lower_triangle(s: Matrix) -> Matrix:
    """The derivative by the lower triangle alone, if S is the one by a symmetric matrix."""
    return (s + s.T).lower(diagonal=0.5)


def _symmetric(a_dot: Matrix) -> Matrix:
    """The change of a symmetric matrix whose lower triangle changes so."""
    low = a_dot.lower(diagonal=0.5)
    return low + low.T


@PULL.of("potrf")
def pull_cholesky(k: Matrices, args: Inputs, outs: Inputs, bars: Inputs) -> Sequence[Matrix]:
    """A = L·Lᵀ  ⇒  S = L⁻ᵀ·Φ(Lᵀ·L̄)·L⁻¹, with Φ the lower triangle, its diagonal halved."""
    (l,), (l_bar,) = outs, bars
    half = (l.T @ l_bar.lower()).lower(diagonal=0.5)
    left = k.solve_upper(l.T, half)
    return (_by_lower_triangle(k.solve_upper(l.T, left.T).T),)


@PUSH.of("potrf")
def push_cholesky(k: Matrices, args: Inputs, outs: Inputs, dots: Inputs) -> Sequence[Matrix]:
    """L̇ = L·Φ(L⁻¹·Ȧ·L⁻ᵀ)."""
    (l,), (a_dot,) = outs, dots
    left = k.solve_lower(l, _symmetric(a_dot))
    return (l @ k.solve_lower(l, left.T).T.lower(diagonal=0.5),)


@PULL.of("syevd")
def pull_eigh(k: Matrices, args: Inputs, outs: Inputs, bars: Inputs) -> Sequence[Matrix]:
    """A = V·diag(w)·Vᵀ  ⇒  S = V·(diag(w̄) + F∘(Vᵀ·V̄))·Vᵀ, Fᵢⱼ = 1/(wⱼ − wᵢ)."""
    (w, v), (w_bar, v_bar) = outs, bars
    gaps, inner = k.gaps(w.array, lambda x: x), v.T @ v_bar
    middle = inner.map(
        lambda i, j: k.op(
            "select", k.op("eq", i, j), w_bar.at(i, j), k.op("mul", gaps.at(i, j), inner.at(i, j))
        )
    )
    return (_by_lower_triangle(v @ middle @ v.T),)


@PUSH.of("syevd")
def push_eigh(k: Matrices, args: Inputs, outs: Inputs, dots: Inputs) -> Sequence[Matrix]:
    """ẇ = diag(Vᵀ·Ȧ·V),  V̇ = V·(F∘(Vᵀ·Ȧ·V))."""
    (w, v), (a_dot,) = outs, dots
    inner = v.T @ _symmetric(a_dot) @ v
    return k.of(inner.column()), v @ k.zipped("mul", k.gaps(w.array, lambda x: x), inner)


# Factors of any matrix ---------------------------------------------------------------------------


@PULL.of("getrf")
def pull_lu(k: Matrices, args: Inputs, outs: Inputs, bars: Inputs) -> Sequence[Matrix]:
    """P·A = L·U  ⇒  Ā = A⁻ᵀ·Uᵀ·M·U⁻ᵀ, M = (Lᵀ·L̄ below the diagonal) + (Ū·Uᵀ on and above);
    for Pᵀ·L⁻ᵀ = A⁻ᵀ·Uᵀ."""
    (a,), (lu, _), (lu_bar, _) = args, outs, bars
    upper, unit = lu.upper(), lu.lower(diagonal=0.0) + lu.map(lambda i, j: _one_if(k, i, j))
    low = (unit.T @ lu_bar.lower(strict=True)).lower(strict=True)
    middle = low + (lu_bar.upper() @ upper.T).upper()
    right = k.solve_upper(upper, middle.T).T
    return (k.solve(a.T, upper.T @ right),)


@PUSH.of("getrf")
def push_lu(k: Matrices, args: Inputs, outs: Inputs, dots: Inputs) -> Sequence[Matrix]:
    """F = U·A⁻¹·Ȧ·U⁻¹;  L̇ = L·(F below the diagonal),  U̇ = (F on and above)·U."""
    (a,), (lu, sign), (a_dot,) = args, outs, dots
    upper, unit = lu.upper(), lu.lower(diagonal=0.0) + lu.map(lambda i, j: _one_if(k, i, j))
    f = k.solve_lower(upper.T, (upper @ k.solve(a, a_dot)).T).T
    zero = k.of(k.b.one(Alloc("zeros", k.dtype, (atom_of(sign.array.shape[0]),)), "zeros"))
    return (unit @ f.lower(strict=True)) + (f.upper() @ upper), zero


def _one_if(k: Matrices, i: Atom, j: Atom) -> Atom:
    return k.op("select", k.op("eq", i, j), k.const(1.0), k.const(0.0))


@PULL.of("gesdd", "gesdd_full")
def pull_svd(k: Matrices, args: Inputs, outs: Inputs, bars: Inputs) -> Sequence[Matrix]:
    """A = U·S·Vᵀ  ⇒  Ā = U·((J + Jᵀ)·S + S·(K + Kᵀ) + diag(s̄))·Vᵀ
    + (Ū − U·Uᵀ·Ū)·S⁻¹·Vᵀ + U·S⁻¹·(V̄ᵀ − V̄ᵀ·V·Vᵀ), with J = F∘(Uᵀ·Ū), K = F∘(Vᵀ·V̄),
    Fᵢⱼ = 1/(sⱼ² − sᵢ²)."""
    (u, s, vt), (u_bar, s_bar, vt_bar) = outs, bars
    _square_if_full(k, args[0], u, vt)
    gaps = k.gaps(s.array, lambda x: k.op("mul", x, x))
    j, q = (k.zipped("mul", gaps, x) for x in (u.T @ u_bar, vt @ vt_bar.T))
    middle = k.scaled(j + j.T, s.array) + k.scaled(q + q.T, s.array).T
    middle = middle.map(
        lambda i, n: k.op(
            "add", middle.at(i, n), k.op("select", k.op("eq", i, n), s_bar.at(i, n), k.const(0.0))
        )
    )
    whole = u @ middle @ vt
    beside_u = k.scaled(u_bar - (u @ (u.T @ u_bar)), s.array, -1) @ vt
    beside_v = k.scaled(u, s.array, -1) @ (vt_bar - ((vt_bar @ vt.T) @ vt))
    return (whole + beside_u + beside_v,)


@PUSH.of("gesdd", "gesdd_full")
def push_svd(k: Matrices, args: Inputs, outs: Inputs, dots: Inputs) -> Sequence[Matrix]:
    """D = Uᵀ·Ȧ·V:  ṡ = diag(D),  U̇ = U·(F∘(D·S + S·Dᵀ)) + (I − U·Uᵀ)·Ȧ·V·S⁻¹, V̇ alike."""
    (u, s, vt), a_dot = outs, dots[0]
    _square_if_full(k, args[0], u, vt)
    gaps = k.gaps(s.array, lambda x: k.op("mul", x, x))
    right, left = a_dot @ vt.T, a_dot.T @ u
    d = u.T @ right
    ds, sd = k.scaled(d, s.array), k.scaled(d.T, s.array).T
    u_dot = u @ k.zipped("mul", gaps, ds + ds.T)
    u_dot = u_dot + k.scaled(right - (u @ d), s.array, -1)
    v_dot = vt.T @ k.zipped("mul", gaps, sd + sd.T)
    v_dot = v_dot + k.scaled(left - (vt.T @ d.T), s.array, -1)
    return u_dot, k.of(d.column()), v_dot.T


def _square_if_full(k: Matrices, a: Matrix, u: Matrix, vt: Matrix) -> None:
    """Columns of U or V that belong to no singular value have no derivative."""
    rows, columns = a.shape
    thin = k.op("eq", u.shape[1], vt.shape[0])
    k.b.check(
        thin, "ValueError",
        "svd of {0} by {1}: with full matrices only square ones have a derivative;"
        " pass full_matrices=False", rows, columns,
    )  # fmt: skip


@PULL.of("qr")
def pull_qr(k: Matrices, args: Inputs, outs: Inputs, bars: Inputs) -> Sequence[Matrix]:
    """A = Q·R  ⇒  Ā = (Q̄ + Q·C)·R⁻ᵀ, with M = R·R̄ᵀ − Q̄ᵀ·Q and C its lower triangle, mirrored."""
    (q, r), (q_bar, r_bar) = outs, bars
    _tall(k, args[0], q)
    m = (r @ r_bar.upper().T) - (q_bar.T @ q)
    mirrored = m.lower() + m.lower(strict=True).T
    whole = q_bar + (q @ mirrored)
    return (k.solve_upper(r, whole.T).T,)


@PUSH.of("qr")
def push_qr(k: Matrices, args: Inputs, outs: Inputs, dots: Inputs) -> Sequence[Matrix]:
    """C = Qᵀ·Ȧ·R⁻¹, Ω = C below the diagonal less its transpose:  Ṙ = (C − Ω)·R,
    Q̇ = Q·Ω + (I − Q·Qᵀ)·Ȧ·R⁻¹."""
    (q, r), a_dot = outs, dots[0]
    _tall(k, args[0], q)
    right = k.solve_lower(r.T, a_dot.T).T
    c = q.T @ right
    turn = c.lower(strict=True) - c.lower(strict=True).T
    return (q @ turn) + (right - (q @ c)), (c - turn) @ r


def _tall(k: Matrices, a: Matrix, q: Matrix) -> None:
    rows, columns = a.shape
    k.b.check(
        k.op("eq", q.shape[1], columns), "ValueError",
        "qr of {0} by {1}: only the reduced factors of matrices with at least as many rows as"
        " columns have a derivative", rows, columns,
    )  # fmt: skip


# Entry -------------------------------------------------------------------------------------------


def call_tangents(
    b: Builder, callee: str, args: Sequence[Atom | View], outs: Sequence[Var],
    tangent: Callable[[Atom], Atom], varies: Callable[[Atom], bool],
) -> Sequence[Atom]:  # fmt: skip
    """Tangents of the array results of a call."""
    arrays = [a for a in args if isinstance(a, Var) and a.is_array]
    k = Matrices(b, outs[0].dtype)
    rule = _rule(b, PUSH, callee, args)
    found = rule(k, [k.of(a) for a in arrays], [k.of(o) for o in outs if o.is_array],
                 [k.of(tangent(a)) for a in arrays])  # fmt: skip
    return [whole(m, o) for m, o in zip(found, (o for o in outs if o.is_array), strict=True)]


def call_cotangents(
    b: Builder, callee: str, args: Sequence[Atom | View], outs: Sequence[Var],
    bars: Mapping[Var, Atom], value: Callable[[Atom], Atom],
) -> list[tuple[Var, Atom]]:  # fmt: skip
    """Cotangents of the array operands of a call; `bars`: of all its array results."""
    arrays = [a for a in args if isinstance(a, Var) and a.is_array]
    k = Matrices(b, outs[0].dtype)
    results = [o for o in outs if o.is_array]
    found = _rule(b, PULL, callee, args)(
        k, [k.of(value(a)) for a in arrays], [k.of(value(o)) for o in results],
        [k.of(bars[o]) for o in results],
    )  # fmt: skip
    return [(a, whole(m, value(a))) for a, m in zip(arrays, found, strict=True)]


def _rule(b: Builder, table: Rules, callee: str, args: Sequence[Atom | View]) -> Rule:
    rule = table.get(callee[1:])
    if rule is None or any(isinstance(a, View) for a in args):
        raise UnsupportedError(
            f"'{callee}' has no derivative", b.loc,
            "give the function around it a rule of its own: tp.custom_jvp, tp.custom_vjp",
        )  # fmt: skip
    return rule


def whole(m: Matrix, like: Atom) -> Var:
    """A matrix as an array of the very shape of another."""
    if not m.flipped and m.array.type == like.type:
        return m.array
    if len(m.array.shape) == 1:
        return m.array
    return m.tools.of(like).map(m.at).array
