"""Rows laid side by side for lanes: where, and that they hold what is read."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tapeless as tp


def nearest(points, centres):
    owner = np.empty(points.shape[0], dtype=np.int64)
    for i in range(points.shape[0]):
        best = np.inf
        who = -1
        for j in range(centres.shape[0]):
            far = 0.0
            for k in range(points.shape[1]):
                t = points[i, k] - centres[j, k]
                far += t * t
            if far < best:
                best = far
                who = j
        owner[i] = who
    return owner


def distances(x, y):
    out = np.empty((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            s = 0.0
            for k in range(x.shape[1]):
                s += abs(x[i, k] - y[j, k])
            out[i, j] = s
    return out


def own_rows(x, y):
    """Rows that change while they are read."""
    for i in range(x.shape[0]):
        for j in range(y.size):
            s = 0.0
            for k in range(x.shape[1]):
                s += x[i, k] * y[j]
            x[i, 0] = s
    return x


def loops(f, *args):
    return tp.explain(f, *args).stages["loops"]


@pytest.mark.parametrize(
    "n, m, d", [(1, 1, 1), (5, 3, 2), (0, 4, 3), (4, 0, 3), (37, 9, 7), (90, 5, 3), (37, 9, 12)]
)
@pytest.mark.parametrize("f", [nearest, distances])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_hold_what_is_read(f, order, n, m, d):
    rng = np.random.default_rng(0)
    x, y = (np.asarray(rng.random((k, d)), order=order) for k in (n, m))
    np.testing.assert_allclose(tp.jit(f)(x, y), f(x, y), rtol=1e-13)


def test_rows_are_gathered_once_for_all_partners():
    x, y = np.ones((40, 9)), np.ones((9, 9))
    text = loops(nearest, x, y)
    assert re.search(
        r"for simd i .*\n\s*scope \{\n\s*points\S*: f64\[points_1 \| 1\] local = empty", text
    )


def test_lanes_that_lie_side_by_side_need_no_rows():
    x, y = (np.asfortranarray(np.ones((n, 9))) for n in (40, 9))
    assert "local" not in loops(nearest, x, y)


def test_rows_that_change_are_read_where_they_are():
    rng = np.random.default_rng(0)
    x, y = rng.random((20, 10)), rng.random(6)
    np.testing.assert_allclose(tp.jit(own_rows)(x.copy(), y), own_rows(x.copy(), y), rtol=1e-13)


def backwards(x, y):
    """Each row is read forwards and backwards."""
    out = np.empty((x.shape[0], y.size))
    for i in range(x.shape[0]):
        for j in range(y.size):
            s = 0.0
            for k in range(x.shape[1]):
                s += x[i, k] * y[j] - x[i, x.shape[1] - 1 - k]
            out[i, j] = s
    return out


def test_a_row_serves_reads_at_other_places():
    rng = np.random.default_rng(0)
    x, y = rng.random((40, 10)), rng.random(6)
    text = loops(backwards, x, y)
    assert "local" in text
    assert len(re.findall(r"= x\[", text)) == 1
    np.testing.assert_allclose(tp.jit(backwards)(x, y), backwards(x, y), rtol=1e-13)
