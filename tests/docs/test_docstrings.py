"""Examples in the docstrings of the public functions run and print what they say."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import tapeless as tp

NAMES = [
    n for n in tp.__all__
    if n not in ("errors", "random") and ">>>" in (getattr(tp, n).__doc__ or "")
]  # fmt: skip
DERIVATIVES = {
    "check_grads", "custom_jvp", "custom_vjp", "functional", "grad", "hessian", "hvp", "jacfwd",
    "jacobian", "jacrev", "jvp", "linearize", "stop_gradient", "value_and_grad", "vjp", "vmap",
}  # fmt: skip


def test_every_operator_has_an_example():
    assert set(NAMES) >= DERIVATIVES


@pytest.mark.parametrize("name", sorted(DERIVATIVES))
def test_examples(name):
    scope = {n: getattr(tp, n) for n in tp.__all__} | {"np": np}
    test = doctest.DocTestParser().get_doctest(getattr(tp, name).__doc__, scope, name, None, 0)
    assert test.examples
    lines: list[str] = []
    with np.printoptions(precision=4, suppress=True):
        failed = doctest.DocTestRunner().run(test, out=lines.append).failed
    assert not failed, "".join(lines)
