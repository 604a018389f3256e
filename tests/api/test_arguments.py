"""What may be passed: arrays in every form of memory, numbers, arrays of other libraries."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tapeless as tp


@tp.jit
def weighted(x, w):
    total = 0.0
    for i in range(len(x)):
        total += w * x[i]
    return total


@tp.jit
def scaled(x, factor):
    return x * factor


def memory_forms(x):
    """The same values in other memory."""
    padded = np.zeros(3 * x.size + 5, x.dtype)
    padded[2 : 2 + 3 * x.size : 3] = x
    raw = np.zeros(x.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(x.dtype)
    unaligned[...] = x
    fields = np.zeros(x.size, [("a", np.int8), ("x", x.dtype)])
    fields["x"] = x
    frozen = x.copy()
    frozen.flags.writeable = False
    return {
        "contiguous": x.copy(),
        "strided": padded[2 : 2 + 3 * x.size : 3],
        "reversed": x[::-1].copy()[::-1],
        "unaligned": unaligned,
        "field": fields["x"],
        "big-endian": x.astype(x.dtype.newbyteorder(">")),
        "read-only": frozen,
        "subclass": x.view(type("Sub", (np.ndarray,), {})),
        "memoryview": memoryview(x.copy()),
    }


@pytest.mark.parametrize("form", memory_forms(np.zeros(1)).keys())
def test_memory(form):
    x = np.arange(1.0, 8.0)
    value = memory_forms(x)[form]
    assert weighted(value, 2.0) == 56.0
    np.testing.assert_array_equal(scaled(value, 2.0), 2 * x)


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_orders_of_two_axes(order):
    x = np.arange(12.0).reshape(3, 4)
    value = x.T.copy().T if order == "F" else x[::-1, ::-2][::-1, ::-1] if order == "A" else x
    np.testing.assert_array_equal(scaled(value, 3.0), 3 * value)


@pytest.mark.parametrize(
    "dtype", ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16"]
)
def test_dtypes(dtype):
    @tp.jit
    def pick(x, k):
        return x[k], x[::-1]

    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    if x.dtype.kind == "c":
        x = x + np.array(2j).astype(dtype)
    one, back = pick(x, 1)
    assert one == x[1] and type(one) is type(x[1])
    assert back.dtype == x.dtype
    np.testing.assert_array_equal(back, x[::-1])


@pytest.mark.parametrize(
    "value", [3, 3.5, True, 2 - 1j, np.float32(1.5), np.int16(-2), np.bool_(True)]
)
def test_numbers(value):
    @tp.jit
    def double(v):
        return v + v

    expected = double.python(value)
    got = double(value)
    assert got == expected
    assert np.asarray(got).dtype == np.asarray(expected).dtype


def test_zero_dimensional_array():
    @tp.jit
    def same(x):
        return x * 2.0

    assert same(np.array(4.0)) == 8.0


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_empty(shape):
    got = scaled(np.zeros(shape), 2.0)
    assert got.shape == shape
    assert got.dtype == np.float64


class Interface:
    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class DLPack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("wrapper", [Interface, DLPack])
def test_other_libraries(wrapper):
    assert weighted(wrapper(np.arange(4.0)), 1.0) == 6.0


def test_written_through_an_interface():
    @tp.jit
    def clear(x):
        x[:] = 0.0

    x = np.ones(3)
    clear(Interface(x))
    np.testing.assert_array_equal(x, 0.0)


def test_keywords_defaults_and_stars():
    @tp.jit
    def f(a, /, b, *rest, scale=2.0, **named):
        total = a * scale + b
        for r in rest:
            total += r
        return total + named["extra"] if "extra" in named else total

    cases = [
        ((1.0, 2.0), {}), ((1.0,), {"b": 5.0}), ((1.0, 2.0, 3.0, 4.0), {"scale": 1.0}),
        ((1.0, 2.0), {"extra": 10.0}),
    ]  # fmt: skip
    for args, kwargs in cases:
        assert f(*args, **kwargs) == f.python(*args, **kwargs)


def test_wrong_calls_say_what_python_says():
    for args, words in (((1.0,), "missing a required argument: 'w'"), ((1, 2, 3), "too many")):
        with pytest.raises(TypeError, match=words):
            weighted(*args)
    with pytest.raises(TypeError, match="unexpected keyword argument 'v'"):
        weighted(np.ones(2), v=3.0)


@pytest.mark.parametrize(
    "value, words",
    [
        (np.ones(3, np.float16), "float16"),
        (np.array(["a"]), "<U1"),
        (np.array([None]), "object"),
        (np.ma.masked_array([1.0], [True]), "masked"),
        (np.matrix([[1.0]]), "np.matrix"),
    ],
    ids=["half", "text", "object", "masked", "matrix"],
)
def test_refused_arrays(value, words):
    with pytest.raises(tp.errors.ArgumentError, match=words) as caught:
        scaled(value, 2.0)
    shown = str(caught.value)
    assert "'x'" in shown and "Remedy" in shown
    assert len(shown.splitlines()) <= 8


def test_attributes_of_functions():
    assert scaled.__name__ == "scaled"
    assert scaled.__module__ == __name__
    assert scaled.python.__name__ == "scaled"
    assert list(inspect.signature(scaled).parameters) == ["x", "factor"]
    assert "scaled" in repr(scaled)


def test_functions_that_capture_functions():
    """A function as an argument, which calls another one that captures a number."""

    @tp.jit
    def called(x, f):
        return f(x)

    def outer(k):
        def shifted(v):
            return v + k

        return called(2.0, lambda v: shifted(v) * 2.0)

    assert [outer(3.0), outer(4.0), outer(3)] == [10.0, 12.0, 10.0]
