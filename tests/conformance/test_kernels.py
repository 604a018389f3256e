"""The kernel corpus: plain Python against formulas, and compiled code against plain Python."""

from __future__ import annotations

import copy
import inspect
import zlib

import numpy as np
import pytest

from tests.conformance.kernels import KERNELS, Kernel

SIZES = (7, 20)

over_kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
over_sizes = pytest.mark.parametrize("size", SIZES)


def arguments(kernel: Kernel, size: int) -> tuple:
    seed = zlib.crc32(kernel.name.encode()) + size
    return kernel.data(np.random.default_rng(seed), size)


def run(function, kernel: Kernel, args: tuple) -> tuple:
    """Result and written arguments of a call on copies; nothing else may have changed."""
    names = list(inspect.signature(kernel.function).parameters)
    copies = copy.deepcopy(args)
    result = function(*copies)
    after = dict(zip(names, copies, strict=True))
    for name, before in zip(names, args, strict=True):
        if name not in kernel.writes:
            np.testing.assert_array_equal(after[name], before, err_msg=f"{name} was written")
    return result, {name: after[name] for name in kernel.writes}


def assert_same(got, expected, tol: float) -> None:
    """Equal structure, dtype kind and shape; integers exactly, floats to `tol`."""
    if isinstance(expected, tuple | list):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            assert_same(g, e, tol)
    elif isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for key, value in expected.items():
            assert_same(got[key], value, tol)
    elif expected is None:
        assert got is None
    else:
        assert_same_array(np.asarray(got), np.asarray(expected), tol)


def assert_same_array(got: np.ndarray, expected: np.ndarray, tol: float) -> None:
    assert got.shape == expected.shape
    assert got.dtype.kind == expected.dtype.kind
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=tol, atol=tol)


def test_names_are_unique():
    names = [kernel.name for kernel in KERNELS]
    assert len(set(names)) == len(names)


@over_sizes
@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.oracle], ids=lambda k: k.name)
def test_plain_python_agrees_with_formula(kernel: Kernel, size: int):
    """Checks the corpus itself, without the compiler."""
    args = arguments(kernel, size)
    assert_same(run(kernel.function, kernel, args), run(kernel.oracle, kernel, args), kernel.tol)


@over_kernels
@over_sizes
def test_plain_python_writes_what_it_declares(kernel: Kernel, size: int):
    args = arguments(kernel, size)
    _, written = run(kernel.function, kernel, args)
    before = dict(zip(inspect.signature(kernel.function).parameters, args, strict=True))
    for name, value in written.items():
        assert not np.array_equal(value, before[name]), f"{name} is not written"


@over_kernels
@over_sizes
def test_compiled_agrees_with_plain_python(kernel: Kernel, size: int):
    tp = pytest.importorskip("tapeless", exc_type=ImportError)
    if not hasattr(tp, "jit"):
        pytest.skip("tapeless has no jit yet")
    args = arguments(kernel, size)
    expected = run(kernel.function, kernel, args)
    got = run(tp.jit(kernel.function), kernel, args)
    assert_same(got, expected, kernel.tol)
    for name, value in expected[1].items():
        assert got[1][name].dtype == value.dtype
    assert_same_dtypes(got[0], expected[0])


def assert_same_dtypes(got, expected) -> None:
    """Array results keep NumPy's dtype (NEP 50); Python scalars are compared by kind only."""
    if isinstance(expected, tuple | list):
        for g, e in zip(got, expected, strict=True):
            assert_same_dtypes(g, e)
    elif isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype
