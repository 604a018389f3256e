"""Every library function, run as the plain Python that it is, gives what NumPy gives."""

from __future__ import annotations

import cmath
import functools
import math
import types
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from scipy import linalg, special

from tapeless.frontend.library import LIBRARY
from tests.library.compare import assert_same
from tests.library.inputs import pool
from tests.library.table import EXPRESSIONS

PLAIN = {"np": np, "math": math, "cmath": cmath, "special": special, "linalg": linalg}


class Library:
    """A module as the library has it; a name that is not in the table means the original."""

    def __init__(self, original: Any) -> None:
        self.original = original

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.original, name)
        if isinstance(value, types.ModuleType):
            return Library(value)
        if isinstance(value, np.ufunc):
            return Ufunc(value)
        if isinstance(value, Hashable) and value in LIBRARY:
            return LIBRARY[value]
        return value


class Ufunc:
    """A ufunc as the library has it: entries of its own, complex ones on elements, its forms."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self.ufunc = ufunc

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if self.ufunc in LIBRARY:
            return LIBRARY[self.ufunc](*args, **keywords)
        rule = LIBRARY.get(("complex", self.ufunc.__name__))
        if rule is not None and any(np.iscomplexobj(a) for a in args):
            types_ = self.ufunc.resolve_dtypes((*(np.asarray(a).dtype for a in args), None))
            wide = np.broadcast_arrays(*args)
            items = [rule(*(t.type(e) for t, e in zip(types_, es, strict=False)))
                     for es in zip(*(w.ravel() for w in wide), strict=True)]  # fmt: skip
            return np.array(items, types_[-1]).reshape(wide[0].shape)[()]
        return self.ufunc(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        return functools.partial(LIBRARY["ufunc", name], self.ufunc)


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_as_plain_python(expression: str):
    names = {name: Library(module) for name, module in PLAIN.items()}
    got = eval(expression, names | pool())
    assert_same(got, eval(expression, PLAIN | pool()), expression)
