"""Arguments that the function writes: in place, refused where that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp
from tapeless.errors import AliasError, ReadOnlyError


@tp.jit
def add_into(y, x):
    for i in range(len(y)):
        y[i] += x[i]


@tp.jit
def clear(y):
    y[:] = 0.0


def test_in_place_and_nothing_returned():
    y, x = np.zeros(3), np.arange(3.0)
    assert add_into(y, x) is None
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::2], lambda a: a[::-1], lambda a: a.reshape(4, 5)[:, 2],
        lambda a: np.frombuffer(bytearray(a.nbytes + 1), np.uint8)[1:].view("f8"),
    ],
    ids=["step", "back", "column", "unaligned"],
)  # fmt: skip
def test_any_memory(view):
    y = view(np.zeros(20))
    x = np.arange(float(len(y)))
    add_into(y, x)
    np.testing.assert_array_equal(y, x)


def test_the_argument_itself_is_returned():
    @tp.jit
    def fill(y):
        y[:] = 2.0
        return y

    y = np.zeros(4)
    assert fill(y) is y


def test_read_only():
    y = np.zeros(3)
    y.flags.writeable = False
    with pytest.raises(ReadOnlyError, match=r"'y'.*read-only") as caught:
        clear(y)
    assert ".copy()" in str(caught.value)
    with pytest.raises(ReadOnlyError, match="byte order"):
        clear(np.zeros(3, ">f8"))


def test_same_array_twice():
    y = np.zeros(3)
    with pytest.raises(AliasError, match="same array"):
        add_into(y, y)


def test_overlap_is_exact():
    a = np.zeros(10)
    with pytest.raises(AliasError, match="overlap"):
        add_into(a[:5], a[4:9])
    add_into(a[:5], a[5:])
    add_into(a[::2], a[1::2])
    with pytest.raises(AliasError, match="overlap"):
        add_into(a[:8:2], a[2:6])


def test_elements_that_share_memory():
    with pytest.raises((AliasError, ReadOnlyError)):
        clear(np.broadcast_to(np.zeros(1), (4,)))
    window = np.lib.stride_tricks.as_strided(np.zeros(5), (3, 3), (8, 8))
    with pytest.raises(AliasError, match="share memory"):
        tp.jit(lambda y: clear.python(y))(window)  # noqa: PLW0108  (a function of its own)


def test_reading_twice_is_no_problem():
    @tp.jit
    def dot(a, b):
        return np.sum(a * b)

    x = np.arange(3.0)
    assert dot(x, x) == 5.0


def test_captured_array_that_is_an_argument():
    table = np.arange(4.0)

    @tp.jit
    def shift(y):
        for i in range(len(y)):
            y[i] = table[i] + 1.0

    y = np.zeros(4)
    shift(y)
    np.testing.assert_array_equal(y, table + 1)
    with pytest.raises(AliasError):
        shift(table)


def test_functional():
    @tp.jit
    def step(u, n):
        for _ in range(n):
            u[1:] = u[:-1] + 1.0
        return np.sum(u)

    u = np.zeros(3)
    result, written = tp.functional(step)(u, 2)
    np.testing.assert_array_equal(u, 0.0)
    expected = u.copy()
    assert result == step(expected, 2)
    assert list(written) == ["u"]
    np.testing.assert_array_equal(written["u"], expected)
    with tp.disable_jit():
        again, plain = tp.functional(step)(u, 2)
    assert again == result
    np.testing.assert_array_equal(plain["u"], expected)
    np.testing.assert_array_equal(u, 0.0)


def test_functional_on_the_same_array_twice():
    x = np.arange(3.0)
    _, written = tp.functional(add_into)(x, x)
    np.testing.assert_array_equal(written["y"], 2 * x)


def test_functional_leaf_of_a_tree():
    @tp.jit
    def push(state, by):
        state["x"][0] += by
        return None

    state = {"x": np.zeros(2), "y": 1.0}
    result, written = tp.functional(push)(state, 2.0)
    assert result is None
    np.testing.assert_array_equal(written["state"]["x"], [2.0, 0.0])
    np.testing.assert_array_equal(state["x"], 0.0)


def test_out():
    @tp.jit
    def twice(x):
        return 2.0 * x

    x = np.arange(4.0)
    out = np.empty(4)
    assert twice(x, out=out) is out
    np.testing.assert_array_equal(out, 2 * x)
    assert twice(x, out=x) is x
    np.testing.assert_array_equal(x, [0.0, 2.0, 4.0, 6.0])
    strided = np.zeros(8)[::2]
    assert twice(x, out=strided) is strided
    np.testing.assert_array_equal(strided, 2 * x)
    with pytest.raises(ValueError, match="shape"):
        twice(x, out=np.empty(5))
    with pytest.raises(TypeError, match="float32"):
        twice(x, out=np.empty(4, np.float32))
