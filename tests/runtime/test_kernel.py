"""Kernels called by their ABI: results, checks, memory."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from tapeless.runtime.support import lent_bytes, trim_memory
from tests.runtime.kernels import kernel


def test_scalars_and_arrays():
    x = np.arange(5.0)
    y, total = kernel("scale")(5, 3.0, x)
    assert np.array_equal(y, 3.0 * x)
    assert total == 30.0
    assert y.flags.c_contiguous and y.flags.aligned and y.flags.writeable
    assert y.ctypes.data % 64 == 0


def test_empty_results():
    y, total = kernel("scale")(0, 1.0, np.zeros(0))
    assert y.shape == (0,)
    assert total == 0.0


def test_strides_are_passed():
    x = np.arange(10.0)
    assert kernel("pick")(5, 2, x[::-2])[0] == 5.0
    assert kernel("pick")(1, 0, np.broadcast_to(7.0, 4))[0] == 7.0


def test_failed_check_raises_with_the_line():
    with pytest.raises(IndexError, match=r"index 9 is out of bounds for size 5") as caught:
        kernel("pick")(5, 9, np.zeros(5))
    assert "line 3, in somewhere" in str(caught.value)
    assert "^^^^" in str(caught.value)


def test_wrong_arguments_are_refused():
    for bad in (np.zeros(3, np.float32), np.zeros((3, 1)), np.zeros(6)[::2], [1.0]):
        with pytest.raises(TypeError):
            kernel("scale")(3, 1.0, bad)


def test_result_memory_is_used_again_and_freed():
    trim_memory()
    before = lent_bytes()
    y, _ = kernel("scale")(1000, 1.0, np.zeros(1000))
    place = y.ctypes.data
    assert lent_bytes() >= before + 8000
    view = y[10:20]
    del y
    assert lent_bytes() > before  # the view keeps it
    del view
    gc.collect()
    assert lent_bytes() == before
    again, _ = kernel("scale")(1000, 1.0, np.zeros(1000))
    assert again.ctypes.data == place


def test_arena_grows_and_becomes_one_chunk():
    trim_memory()
    before = lent_bytes()
    assert kernel("arena")(100_000, 20) == [20]
    held = lent_bytes() - before
    kernel("arena")(100_000, 20)
    assert lent_bytes() - before >= 2_000_000
    kernel("arena")(100_000, 20)
    assert lent_bytes() - before < 3 * 2_000_000 + held
    trim_memory()
    assert lent_bytes() == before


def test_no_memory_is_an_error():
    with pytest.raises(MemoryError):
        kernel("arena")(1 << 47, 1)
