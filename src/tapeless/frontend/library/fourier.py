"""np.fft: discrete Fourier transforms of any length.

A power of two by Stockham's passes of radix 2, other lengths by Bluestein's convolution, short ones
by their definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.frontend.intrinsics import (
    as_array,
    build,
    cast,
    dtype_of,
    element,
    is_complex,
    is_list,
    make_complex,
    rank,
    reduce_over,
    select,
    transpose,
)  # fmt: skip
from tapeless.frontend.library.registry import implements
from tapeless.frontend.library.static import (
    complex_type,
    counted,
    moved,
    one_axis,
    one_of,
    real_type,
)

SHORT = 16  # lengths up to this are summed as they are defined
NORMS = (None, "backward", "ortho", "forward")


def _turn(k: Any, n: Any, sign: int) -> Any:
    """e^(sign · 2πi k / n)"""
    angle = (sign * 2 * math.pi) * (float(k) / float(n))
    return make_complex(np.cos(angle), np.sin(angle))


def _by_definition(x: Any, sign: int) -> Any:
    n = x.shape[0]
    return build(
        n,
        lambda k: reduce_over("+", n, lambda j: element(x, (j,)) * _turn(k * j % n, n, sign)),
        np.complex128,
    )  # fmt: skip


def _by_halves(x: Any, sign: int) -> Any:
    """Stockham: at each pass blocks of length `size` become blocks of twice that length."""
    n = x.shape[0]
    y = build(n, lambda k: element(x, (k,)), np.complex128)
    half, size = n // 2, 1
    while size < n:
        y = _pass(y, half, size, sign)
        size = size * 2
    return y


def _pass(y: Any, half: Any, size: Any, sign: int) -> Any:
    """One pass: a + w b and a − w b for the pairs (a, b) that lie n/2 apart."""
    n = y.shape[0]

    def at(k: Any) -> Any:
        block, within = k // (2 * size), k % (2 * size)
        j = select(within < size, within, within - size)
        p = block * size + j
        a, b = element(y, (p,)), element(y, (p + half,))
        w = _turn(j, 2 * size, sign)
        return a + w * b * select(within < size, 1.0, -1.0)

    return build(n, at, np.complex128)


def _by_convolution(x: Any, sign: int) -> Any:
    """Bluestein: jk = (j² + k² − (k − j)²) / 2 makes the sum a convolution, of a power of two."""
    n = x.shape[0]
    m = 1
    while m < 2 * n - 1:
        m = m * 2
    chirp = build(n, lambda k: _turn(k * k % (2 * n), 2 * n, sign), np.complex128)
    zero = cast(0, np.complex128)
    a = build(
        m, lambda k: element(x, (k,)) * element(chirp, (k,)) if k < n else zero, np.complex128
    )

    def tail(k: Any) -> Any:
        back = np.minimum(k, m - k)
        return np.conjugate(element(chirp, (back,))) if back < n else zero

    b = build(m, tail, np.complex128)
    product = _by_halves(_by_halves(a, -1) * _by_halves(b, -1), 1)
    return build(n, lambda k: element(product, (k,)) * element(chirp, (k,)) / m, np.complex128)


def transform(x: Any, sign: int) -> Any:
    """Σ_j x_j e^(sign · 2πi jk / n) of a line, in double precision."""
    n = x.shape[0]
    if n <= SHORT:
        return _by_definition(x, sign)
    if n & (n - 1) == 0:
        return _by_halves(x, sign)
    return _by_convolution(x, sign)


# Transforms of one axis -------------------------------------------------------------------------


def _resized(x: Any, n: Any) -> Any:
    """The line cut or filled with zeros to length n, complex."""
    if n is None:
        return build(x.shape[0], lambda k: cast(element(x, (k,)), np.complex128), np.complex128)
    size = x.shape[0]
    zero = cast(0, np.complex128)
    return build(
        n, lambda k: cast(element(x, (k,)), np.complex128) if k < size else zero, np.complex128
    )


def _scale(n: Any, norm: Any, is_inverse: bool) -> Any:
    how = one_of(norm, NORMS, "norm")
    if how == "ortho":
        return 1 / np.sqrt(float(n))
    return 1 / float(n) if is_inverse == (how != "forward") else 1.0


def _lines(a: Any, axis: int, f: Callable[[Any], Any]) -> Any:
    """f(line) for each line along an axis."""
    x = as_array(a)
    if rank(x) == 1:
        return f(x)
    d = one_axis(axis, rank(x))
    y = transpose(x, moved(d, -1, rank(x)))
    out = build(y.shape[:-1], lambda *i: f(y[i]))
    return transpose(out, moved(-1, d, rank(x)))


def _narrow(a: Any, out: Any) -> Any:
    """The result in the precision of the argument."""
    t = complex_type(dtype_of(a))
    return out if t == np.complex128 else cast(out, t if is_complex(out) else real_type(t))


@implements(np.fft.fft, ("scipy.fft", "fft"))
def fft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    return _narrow(a, _lines(a, axis, lambda line: _scaled(_resized(line, n), -1, norm)))


@implements(np.fft.ifft, ("scipy.fft", "ifft"))
def ifft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    return _narrow(a, _lines(a, axis, lambda line: _scaled(_resized(line, n), 1, norm)))


def _scaled(line: Any, sign: int, norm: Any) -> Any:
    size = line.shape[0]
    scale = _scale(size, norm, sign == 1)
    out = transform(line, sign)
    return build(size, lambda k: element(out, (k,)) * scale, np.complex128)


@implements(np.fft.rfft, ("scipy.fft", "rfft"))
def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    def half(line: Any) -> Any:
        out = _scaled(_resized(line, n), -1, norm)
        return build(out.shape[0] // 2 + 1, lambda k: element(out, (k,)), np.complex128)

    return _narrow(a, _lines(a, axis, half))


@implements(np.fft.irfft, ("scipy.fft", "irfft"))
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    def whole(line: Any) -> Any:
        kept = line.shape[0]
        size = 2 * (kept - 1) if n is None else n
        zero = cast(0, np.complex128)

        def at(k: Any) -> Any:
            back = np.minimum(k, size - k)
            if back >= kept:
                return zero
            z = cast(element(line, (back,)), np.complex128)
            straight = make_complex(z.real, select((back == 0) | (2 * back == size), 0.0, z.imag))
            return straight if k == back else np.conjugate(straight)

        out = _scaled(build(size, at, np.complex128), 1, norm)
        return build(size, lambda k: element(out, (k,)).real, np.float64)

    return _narrow(a, _lines(a, axis, whole))


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    x = as_array(a)
    size = 2 * (x.shape[one_axis(axis, rank(x))] - 1) if n is None else n
    scale = _scale(size, norm, False) / _scale(size, norm, True)
    return irfft(np.conjugate(x), n, axis, norm) * scale


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    x = as_array(a)
    size = x.shape[one_axis(axis, rank(x))] if n is None else n
    scale = _scale(size, norm, True) / _scale(size, norm, False)
    return np.conjugate(rfft(x, n, axis, norm)) * scale


# Transforms of several axes ---------------------------------------------------------------------


def _over_axes(f: Callable[..., Any], a: Any, s: Any, axes: Any, norm: Any) -> Any:
    x = as_array(a)
    which = axes if axes is not None else (
        counted(rank(x)) if s is None else tuple(d - len(s) for d in counted(len(s))))  # fmt: skip
    for k in counted(len(which))[::-1]:
        x = f(x, None if s is None else s[k], which[k], norm)
    return x


@implements(np.fft.fft2, ("scipy.fft", "fft2"))
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    return _over_axes(fft, a, s, axes, norm)


@implements(np.fft.ifft2, ("scipy.fft", "ifft2"))
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    return _over_axes(ifft, a, s, axes, norm)


@implements(np.fft.fftn, ("scipy.fft", "fftn"))
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    return _over_axes(fft, a, s, axes, norm)


@implements(np.fft.ifftn, ("scipy.fft", "ifftn"))
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    return _over_axes(ifft, a, s, axes, norm)


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    first = rfft(a, None if s is None else s[-1], axes[-1], norm)
    return _over_axes(fft, first, None if s is None else s[:-1], axes[:-1], norm)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    first = _over_axes(ifft, a, None if s is None else s[:-1], axes[:-1], norm)
    return irfft(first, None if s is None else s[-1], axes[-1], norm)


# Frequencies ------------------------------------------------------------------------------------


@implements(np.fft.fftfreq, ("scipy.fft", "fftfreq"))
def fftfreq(n: Any, d: Any = 1.0) -> Any:
    step = 1.0 / (n * d)
    return build(n, lambda k: select(k < (n + 1) // 2, k, k - n) * step, np.float64)


@implements(np.fft.rfftfreq, ("scipy.fft", "rfftfreq"))
def rfftfreq(n: Any, d: Any = 1.0) -> Any:
    step = 1.0 / (n * d)
    return build(n // 2 + 1, lambda k: k * step, np.float64)


def _shifted(x: Any, axes: Any, is_inverse: bool) -> Any:
    v = as_array(x)
    which = counted(rank(v)) if axes is None else axes if is_list(axes) else (axes,)
    for d in which:
        n = v.shape[d]
        v = np.roll(v, n - n // 2 if is_inverse else n // 2, d)
    return v


@implements(np.fft.fftshift, ("scipy.fft", "fftshift"))
def fftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, False)


@implements(np.fft.ifftshift, ("scipy.fft", "ifftshift"))
def ifftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, True)
