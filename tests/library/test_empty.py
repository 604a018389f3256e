"""Reductions of arrays without elements: no value is an error, whatever the size of the result."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as tp

OPERATORS = {
    "min": lambda x: x.min(axis=1),
    "max of all": lambda x: np.max(x),  # noqa: PLW0108  (a function with a source)
    "max by axes": lambda x: x.max(axis=(0, 1)),
    "min with a start": lambda x: x.min(axis=0, initial=3.0),
    "sum": lambda x: x.sum(axis=1),
}


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3), (2, 3)], ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_as_in_numpy(name: str, shape: tuple[int, int]):
    f, x = OPERATORS[name], np.ones(shape)
    try:
        expected = f(x)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)):
            tp.jit(f)(x)
    else:
        np.testing.assert_array_equal(tp.jit(f)(x), expected)
