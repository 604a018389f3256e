"""The machine code behind foreign functions gives what their reference meaning says."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tapeless.ir.callees import CALLEES
from tapeless.runtime import foreign

WORD = ctypes.c_int64
R = np.random.default_rng(3)


def words_of(value: Any) -> list[int]:
    """An operand as its slots."""
    if isinstance(value, np.ndarray):
        strides = [s // value.itemsize for s in value.strides]
        return [value.ctypes.data, *value.shape, *strides]
    return [int(value)]


def call(name: str, args: tuple[Any, ...], results: list[np.ndarray]) -> int:
    words = [w for value in (*args, *results) for w in words_of(value)]
    slots = (WORD * len(words))(*words)
    function = ctypes.CFUNCTYPE(WORD, WORD)(foreign.address(name))
    return function(ctypes.addressof(slots))


def layouts(a: np.ndarray) -> list[np.ndarray]:
    """The matrix with rows, with columns contiguous, every other cell, and upside down."""
    wide = np.zeros((2 * a.shape[0], 3 * a.shape[1]), a.dtype)
    wide[::2, ::3] = a
    return [a, np.asfortranarray(a), wide[::2, ::3], a[::-1].copy()[::-1]]


def spd(n: int) -> np.ndarray:
    m = R.normal(size=(n, n))
    return m @ m.T + n * np.eye(n)


SQUARE = R.normal(size=(5, 5)) + 3 * np.eye(5)
RIGHT = R.normal(size=(5, 3))
TALL = R.normal(size=(6, 4))
CASES: dict[str, tuple[Any, ...]] = {
    "gemm": (TALL, R.normal(size=(4, 5))),
    "trsm_lower": (SQUARE, RIGHT),
    "trsm_lower_unit": (SQUARE, RIGHT),
    "trsm_upper": (SQUARE, RIGHT),
    "trsm_upper_unit": (SQUARE, RIGHT),
    "gesv": (SQUARE, RIGHT),
    "potrf": (spd(5),),
    "getrf": (SQUARE,),
    "syevd": (spd(5),),
    "qr": (TALL, 4),
}


@pytest.mark.parametrize("prefix", "ds")
@pytest.mark.parametrize("name", CASES)
def test_gives_its_meaning_at_every_layout(name: str, prefix: str):
    dtype = np.float64 if prefix == "d" else np.float32
    tolerance = 1e-11 if prefix == "d" else 2e-4
    given = [a.astype(dtype) if isinstance(a, np.ndarray) else a for a in CASES[name]]
    for a in layouts(given[0]):
        args = (a, *given[1:])
        *want, status = CALLEES[prefix + name].meaning(*args)
        got = [np.full(np.shape(w), 7.0, dtype) for w in want]
        assert call(prefix + name, args, got) == status == 0
        for g, w in zip(got, want, strict=True):
            g, w = (np.abs(g), np.abs(w)) if name == "syevd" else (g, w)
            np.testing.assert_allclose(g, w, tolerance, tolerance)


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5), (1, 3), (40, 70)])
@pytest.mark.parametrize("full", [False, True])
def test_singular_values(shape: tuple[int, int], full: bool):
    a = R.normal(size=shape)
    want = np.linalg.svd(a, full_matrices=full)
    u, s, v = (np.zeros(w.shape) for w in want)
    assert call("dgesdd_full" if full else "dgesdd", (a, min(shape)), [u, s, v]) == 0
    np.testing.assert_allclose(s, want[1], 1e-12)
    few = len(s)
    np.testing.assert_allclose(u[:, :few] * s @ v[:few], a, 1e-10, 1e-12)
    np.testing.assert_allclose(u.T @ u, np.eye(u.shape[1]), 1e-10, 1e-12)


def test_what_cannot_be_factored_is_said():
    bad = -np.eye(3)
    assert call("dpotrf", (bad,), [np.zeros((3, 3))]) != 0
    assert call("dgesv", (np.zeros((3, 3)), np.ones((3, 1))), [np.zeros((3, 1))]) != 0


def test_many_columns_of_q():
    a = R.normal(size=(7, 3))
    q, r = np.zeros((7, 7)), np.zeros((7, 3))
    assert call("dqr", (a, 7), [q, r]) == 0
    np.testing.assert_allclose(q @ r, a, 1e-12, 1e-13)
    np.testing.assert_allclose(q.T @ q, np.eye(7), 1e-12, 1e-13)


def test_empty_products():
    out = np.full((3, 2), 5.0)
    assert call("dgemm", (np.zeros((3, 0)), np.zeros((0, 2))), [out]) == 0
    assert not out.any()
    assert call("dgemm", (np.zeros((0, 4)), np.zeros((4, 2))), [np.zeros((0, 2))]) == 0
