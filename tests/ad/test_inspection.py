"""tp.source, tp.explain and tp.cost of derivatives."""

from __future__ import annotations

import linecache
import textwrap

import numpy as np
import pytest

import tapeless as tp

X = np.array([1.0, 2.0, 4.0])
Y = np.array([0.5, 0.25, 3.0])


def loss(w, data):
    residual = w * data - 1.0
    return np.sum(residual**2)


def recur(a, x):
    for i in range(1, a.size):
        a[i] = a[i - 1] * x[i] / 2 + a[i]
    return a[-1]


def norm(p):
    return np.sqrt(np.sum((p["x"] * p["scale"]) ** 2))


def root(c):
    y = 1.0
    while abs(y * y - c) > 1e-12:
        y = 0.5 * (y + c / y)
    return y


def chosen(x):
    total = 0.0
    for v in x:
        if v > 1.5:
            total += np.log(v)
    return total


CASES = [
    (tp.grad(loss), (X, Y)),
    (tp.grad(recur, argnums=(0, 1)), (X, Y)),
    (tp.value_and_grad(norm), ({"x": X, "scale": 2.0},)),
    (tp.grad(root), (2.0,)),
    (tp.grad(chosen), (X,)),
    (tp.jacfwd(lambda v: np.cumsum(v * v)), (X,)),
    (tp.jacrev(lambda v: np.array([v[0] * v[1], np.sin(v[2])])), (X,)),
    (tp.hessian(lambda v: np.sum(v**3) * v[0]), (X,)),
    (tp.vmap(tp.grad(root)), (X,)),
    (tp.grad(lambda z: np.sum(abs(z) ** 2)), (X + 1j * Y,)),
]


def defined(text: str):
    """The function in a source text, from a file of its own that linecache knows."""
    name = f"<source {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, object] = {"__name__": "printed"}
    exec(compile(text, name, "exec"), scope)
    return list(scope.values())[-1]


def flat(tree):
    if isinstance(tree, tuple | list):
        return [x for part in tree for x in flat(part)]
    return flat(list(tree.values())) if isinstance(tree, dict) else [tree]


@pytest.mark.parametrize("case", CASES, ids=[g.__name__ for g, _ in CASES])
def test_source_is_the_same_function(case):
    """In plain Python, and compiled again."""
    g, args = case
    printed = defined(tp.source(g, *args))
    for again in (printed, tp.jit(printed)):
        for a, b in zip(flat(again(*args)), flat(g(*args)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)


def test_source_of_a_gradient():
    assert tp.source(tp.grad(loss), X, Y) == textwrap.dedent("""\
        import numpy as np
        import tapeless as tp


        def grad_of_loss(w, data):
            w_0 = w.shape[0]
            data_0 = data.shape[0]
            if not w_0 == data_0:
                raise ValueError(f'shapes that are broadcast do not agree: sizes {w_0} and {data_0}')
            w_bar = np.empty(w_0)
            for i in tp.each(w_0):
                data_i = data[i]
                t = w[i] * data_i - 1.0
                w_bar[i] = (t + t) * data_i + 0.0
            return w_bar
    """)  # noqa: E501


def test_names_tell_what_things_are():
    assert "data_bar" in tp.source(tp.grad(loss, argnums=1), X, Y)
    tangents = tp.source(lambda w, v: tp.jvp(lambda w: np.sin(w) ** 2, (w,), (v,))[1], X, Y)
    assert "_dot" in tangents
    trees = tp.source(tp.grad(norm), {"x": X, "scale": 2.0})
    assert "p_x_bar" in trees
    assert "p_scale_bar" in trees


def test_explain_is_by_line_of_the_function():
    shown = str(tp.explain(tp.grad(loss), X, Y))
    assert shown.startswith("grad_of_loss: what the compiler decided")
    assert "residual = w * data - 1.0" in shown
    assert "parallel over w.shape[0]" in shown


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_cost_of_a_gradient_is_that_of_a_few_primals(n):
    w = np.linspace(0.1, 1.0, n)
    assert tp.cost(tp.value_and_grad(loss), w, w).flops <= 5 * tp.cost(loss, w, w).flops
    both = tp.cost(tp.value_and_grad(recur, argnums=(0, 1)), w, w).flops
    assert both <= 5 * tp.cost(recur, w.copy(), w).flops
