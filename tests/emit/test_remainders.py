"""Float remainders and floor division, run by kernels, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp

VALUES = [
    s * v for v in (0.0, 0.5, 1.0, 2.0, 3.5, 0.1, 1e17, 1e30, 1e-30, np.inf) for s in (1.0, -1.0)
] + [np.nan]  # fmt: skip


def remainders(x, y):
    return np.fmod(x, y), np.mod(x, y), x // y


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_all_pairs(dtype):
    x, y = np.array([(a, b) for a in VALUES for b in VALUES], dtype).T.copy()
    with np.errstate(all="ignore"):
        expected = remainders(x, y)
    for got, want in zip(tp.jit(remainders)(x, y), expected, strict=True):
        np.testing.assert_array_equal(got, want)
        finite = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(want[finite]))
