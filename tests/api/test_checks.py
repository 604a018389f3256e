"""jit(check=...): what is checked, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp

BIG = np.full(3, 2**62)
LEAST = -(2**63)


def _as_int(x):
    return int(x)


def _stored(a, x):
    for i in range(len(x)):
        a[i] = x[i]
    return a


def _added_at(a, k, x):
    a = a.copy()
    np.add.at(a, k, x)
    return a


def _by_index(x, k):
    return tp.reduce_by_index(np.zeros(3, np.int64), k, x)


OVERFLOWS = {
    "add": (lambda x, y: x + y, 2**62, 2**62),
    "subtract": (lambda x, y: x - y, LEAST, 1),
    "multiply": (lambda x, y: x * y, 2**40, 2**40),
    "negate": (lambda x: -x, LEAST),
    "abs": (lambda x: abs(x) + 0, LEAST),
    "shift": (lambda x: x << 3, 2**62),
    "divide": (lambda x, y: x // y, LEAST, -1),
    "power": (lambda x: x**3, 2**40),
    "power of arrays": (lambda x: x**3, BIG),
    "int32": (lambda x: x + x, np.array([2**31 - 1], "i4")),
    "unsigned add": (lambda x: x + x, np.array([2**63], "u8")),
    "unsigned subtract": (lambda x, y: x - y, np.array([0], "u8"), np.array([1], "u8")),
    "unsigned multiply": (lambda x: x * x, np.array([2**32], "u8")),
    "array sum": (lambda x: x.sum(), BIG),
    "generator": (lambda x: sum(v for v in x), BIG),
    "product": (lambda x: x.prod(), BIG),
    "dot": (lambda x: x @ x, BIG),
    "cumsum": (lambda x: x.cumsum(), BIG),
    "int of a float": (_as_int, 2.0**63),
    "int of a small float": (_as_int, -(2.0**64)),
    "int of nan": (_as_int, np.nan),
    "astype": (lambda x: x.astype(np.int8), np.array([1.0, -129.0])),
    "astype of single floats": (lambda x: x.astype(np.int32), np.array([2.0**31], "f4")),
    "astype unsigned": (lambda x: x.astype(np.uint8), np.array([-1.0])),
    "astype of integers": (lambda x: x.astype(np.int8), np.array([1, 128])),
    "astype of negative integers": (lambda x: x.astype(np.uint64), np.array([1, -1])),
    "stored integers": (_stored, np.zeros(2, "u1"), np.array([255, 256])),
    "add.at": (_added_at, np.array([2**62, 0]), np.array([0, 0]), BIG[:2]),
    "add.at of bytes": (_added_at, np.zeros(2, "i1"), np.array([1, 1]), np.array([100, 28], "i1")),
    "reduce_by_index": (_by_index, BIG, np.array([1, 1, 0])),
}
FITS = {
    "int of a float": (_as_int, -(2.0**63)),
    "int of a fraction": (_as_int, -0.75),
    "astype": (lambda x: x.astype(np.int8), np.array([127.9, -128.9, 0.0])),
    "astype unsigned": (lambda x: x.astype(np.uint8), np.array([-0.5, 255.5])),
    "astype of integers": (lambda x: x.astype(np.int8), np.array([127, -128])),
    "astype of unsigned": (lambda x: x.astype(np.int64), np.array([2**63 - 1], "u8")),
    "add.at": (_added_at, np.array([2**62, 0]), np.array([1, 0, 0]), np.array([5, 2**61, -9])),
    "add": (lambda x, y: x + y, 2**62, 2**62 - 1),
    "subtract": (lambda x, y: x - y, LEAST + 1, 1),
    "multiply": (lambda x, y: x * y, -(2**40), 2**23),
    "negate": (lambda x: -x, LEAST + 1),
    "shift": (lambda x: x << 3, -(2**60)),
    "divide": (lambda x, y: x // y, LEAST, -2),
    "power": (lambda x: x**3, -(2**21)),
    "unsigned subtract": (lambda x: x - x, np.array([2**64 - 1], "u8")),
    "array sum": (lambda x: x.sum(), np.array([2**62, 2**62 - 1, -5])),
    "product": (lambda x: x.prod(), np.array([2**40, 2**22, -1])),
    "generator": (lambda x: sum(v * 2 for v in x), np.arange(100)),
}


@pytest.mark.parametrize("case", OVERFLOWS.values(), ids=OVERFLOWS.keys())
def test_overflow_raises(case):
    function, *args = case
    compiled = tp.jit(function, check="overflow")
    for _ in range(2):
        with pytest.raises(OverflowError, match="integer overflow"):
            compiled(*args)


@pytest.mark.parametrize("case", FITS.values(), ids=FITS.keys())
def test_what_fits_does_not_raise(case):
    function, *args = case
    got = tp.jit(function, check="overflow")(*args)
    np.testing.assert_array_equal(got, function(*args))


def test_without_checks():
    def pick(x, k):
        assert k < 100, "too far"
        return x[k] + x[1:][k]

    x = np.arange(500.0)
    checked, unchecked = tp.jit(pick), tp.jit(pick, check=False)
    for k in (3, -2, 0):
        assert unchecked(x, k) == checked(x, k) == pick(x, k)
    with pytest.raises(AssertionError, match="too far"):
        checked(x, 200)
    assert unchecked(x, 200) == 401.0
    assert "raise" not in tp.source(unchecked, x, 3) and "assert" not in tp.source(unchecked, x, 3)


def test_a_users_own_errors_stay():
    @tp.jit(check=False)
    def f(k):
        if k > 3:
            raise ValueError(f"{k} is too much")
        return 7 // k

    with pytest.raises(ValueError, match="5 is too much"):
        f(5)
    with pytest.raises(ZeroDivisionError):
        f(0)
