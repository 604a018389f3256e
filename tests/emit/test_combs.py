"""Lanes whose elements lie a few apart: every stride, type and length, and nothing read beside."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest

import tapeless as tp
from tapeless.emit.combs import WIDEST

LENGTHS = (1, 7, 8, 15, 16, 31, 32, 33, 64, 100, 257)
DTYPES = ("f8", "f4", "i8", "i4", "i2", "u1", "?")


@pytest.fixture
def fenced():
    """Arrays between pages that cannot be read."""
    page, kept = mmap.PAGESIZE, []
    protect = ctypes.CDLL(None).mprotect

    def copy(x: np.ndarray, at_end: bool) -> np.ndarray:
        pages = -(-x.nbytes // page)
        memory = mmap.mmap(-1, (pages + 2) * page)
        kept.append(memory)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        start = page + (pages * page - x.nbytes if at_end else 0)
        out = np.frombuffer(memory, x.dtype, x.size, start).reshape(x.shape)
        out[...] = x
        for fence in (base, base + (pages + 1) * page):
            assert protect(ctypes.c_void_p(fence), ctypes.c_size_t(page), 0) == 0
        return out

    yield copy


def column(x, k):
    out = np.empty(len(x), x.dtype)
    for i in range(len(x)):
        out[i] = x[i, k]
    return out


@pytest.mark.parametrize("stride", range(2, WIDEST + 2))
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns(stride: int, dtype: str, fenced):
    rng = np.random.default_rng(stride)
    first, last = tp.jit(lambda x: column(x, 0)), tp.jit(lambda x: column(x, x.shape[1] - 1))
    for n in LENGTHS:
        data = rng.integers(0, 2 if dtype == "?" else 100, (max(n, 9), stride)).astype(dtype)
        for at_end in (False, True):
            x = fenced(data, at_end)
            np.testing.assert_array_equal(first(x), data[:, 0])
            np.testing.assert_array_equal(last(x), data[:, -1])


def put(x, v, k):
    for i in range(len(v)):
        x[i, k] = v[i]


@pytest.mark.parametrize("stride", range(2, WIDEST + 2))
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_written(stride: int, dtype: str, fenced):
    """What lies between them stays as it is."""
    rng = np.random.default_rng(stride)

    @tp.jit
    def first(x, v):
        put(x, v, 0)

    @tp.jit
    def last(x, v):
        put(x, v, x.shape[1] - 1)

    for n in LENGTHS:
        x = rng.integers(0, 2 if dtype == "?" else 100, (max(n, 9), stride)).astype(dtype)
        v = rng.integers(0, 2 if dtype == "?" else 100, len(x)).astype(dtype)
        for column, write in ((0, first), (stride - 1, last)):
            for at_end in (False, True):
                got, expected = fenced(x, at_end), x.copy()
                write(got, v)
                expected[:, column] = v
                np.testing.assert_array_equal(got, expected)


def test_columns_added_to():
    @tp.jit
    def add(x, v):
        for i in range(len(v)):
            x[i, 0] += v[i]
            x[i, 2] += 2.0 * v[i]
            x[i, 1] += x[i, 0]

    for n in LENGTHS:
        x, v = np.random.default_rng(n).random((max(n, 9), 3)), np.ones(max(n, 9))
        got, expected = x.copy(), x + v[:, None] * [1.0, 0.0, 2.0]
        expected[:, 1] += expected[:, 0]
        add(got, v)
        np.testing.assert_allclose(got, expected, rtol=1e-15)


def test_columns_backwards_and_by_steps():
    @tp.jit
    def every_other(x):
        return x[::2, 1] - x[::-2, 0]

    for n in (20, 33, 130):
        x = np.random.default_rng(n).random((n, 3))
        np.testing.assert_array_equal(every_other(x), x[::2, 1] - x[::-2, 0])


def test_complex_numbers():
    @tp.jit
    def step(z, c):
        return z * z + c, np.abs(z)

    rng = np.random.default_rng(1)
    for n in LENGTHS:
        z, c = rng.random((2, n)) + 1j * rng.random((2, n))
        got, size = step(z, c)
        np.testing.assert_allclose(got, z * z + c, rtol=1e-14)
        np.testing.assert_allclose(size, np.abs(z), rtol=1e-14)
