"""What other systems' modules are built on, with plain arrays: arguments in order, derivatives by
some of them, derivatives as functions, and shapes of results without running anything."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import tapeless as tp
from tapeless.api.bridge import called, in_order, names_of, pulled, pushed
from tapeless.api.outline import Outlines, ValuesNeededError
from tapeless.api.pullbacks import at_points
from tapeless.api.trees import leaves_of, structure, tree_map, with_leaves

W, X = np.array([0.5, -1.0, 2.0]), np.array([1.0, 3.0, -2.0])


def model(w, x, p, mode="plain", *, n=3):
    residual = w * x - p["b"]
    return np.sum(residual**2) * n, {"r": residual, "mode": mode}


# Trees


class Pair(NamedTuple):
    one: object
    two: object


@dataclasses.dataclass(frozen=True)
class Box:
    inside: object
    label: str = ""

    def __post_init__(self):
        assert isinstance(self.label, str), "__init__ is not run when trees are rebuilt"


TREE = {"a": [1, Pair(2, (3,))], "b": Box(4)}


def test_leaves_have_names():
    assert list(leaves_of(TREE, "t")) == [
        ("t['a'][0]", 1), ("t['a'][1].one", 2), ("t['a'][1].two[0]", 3), ("t['b'].inside", 4),
        ("t['b'].label", ""),
    ]  # fmt: skip


def test_trees_are_mapped_and_filled():
    doubled = tree_map(lambda x: x * 2, TREE)
    assert doubled == {"a": [2, Pair(4, (6,))], "b": Box(8)}
    assert tree_map(lambda x, y: y, TREE, doubled) == doubled
    assert with_leaves(TREE, [5, 6, 7, 8, "x"]) == {"a": [5, Pair(6, (7,))], "b": Box(8, "x")}
    with pytest.raises(ValueError, match="zip"):
        tree_map(lambda x, y: x, (1, 2), (1,))


def test_structures_tell_apart_what_differs():
    trees = [(1,), [1], (1.0,), (True,), {"a": 1}, {"b": 1}, (0.0,), (-0.0,), (np.float32(1),),
             Pair(1, 2), (1, 2), ((1,),)]  # fmt: skip
    assert len(set(map(structure, trees))) == len(trees)
    assert structure({"a": (1.5, "x")}) == structure({"a": (1.5, "x")})


# Calls


def test_arguments_in_order():
    assert in_order(model, (1, 2), {}) == ((1, 2), {})
    assert in_order(model, (1,), {"p": 3, "x": 2}) == ((1, 2, 3), {})
    assert in_order(model, (1, 2), {"p": 3, "n": 4}) == ((1, 2, 3), {"n": 4})
    with pytest.raises(TypeError, match="unexpected keyword"):
        in_order(model, (1, 2, 3), {"q": 1})


def test_names():
    assert names_of(model, 2) == ["w", "x"]
    assert names_of(lambda *rest: rest, 2) == ["argument 0", "argument 1"]
    assert (called(model), called(lambda x: x), called(Box(1))) == ("model", "the lambda", "Box")


def test_pullback_by_some_arguments():
    (value, extra), pullback = at_points(model, "pull", (0, 2))(W, X, {"b": 0.5}, n=2)
    residual = W * X - 0.5
    assert value == pytest.approx(2 * np.sum(residual**2))
    by_w, by_p = pullback((1.0, {"r": np.ones(3), "mode": None}))
    np.testing.assert_allclose(by_w, (4 * residual + 1) * X)
    assert by_p["b"] == pytest.approx(-np.sum(4 * residual + 1))
    assert extra["mode"] == "plain"


def test_what_no_derivative_is_asked_by_is_not_kept():
    def f(w, x):
        return np.sum(w * w) * x[0]

    long = np.ones(10_000)
    _, both = at_points(f, "pull", (0, 1))(W, long)
    _, one = at_points(f, "pull", (0,))(W, long)
    assert len(one(1.0)) == 1 and len(both(1.0)) == 2
    assert one.nbytes <= both.nbytes


def test_derivatives_are_functions():
    seed = (1.0, {"r": None, "mode": None})
    back = pulled(model, (0,))
    residual = W * X - 0.5
    np.testing.assert_allclose(tp.jit(back)(seed, W, X, {"b": 0.5})[0], 6 * residual * X)
    slope, _ = tp.jit(pushed(model, (0,)))((np.ones(3),), W, X, {"b": 0.5})
    assert slope == pytest.approx(np.sum(6 * residual * X))
    again = tp.jacfwd(lambda w: back(seed, w, X, {"b": 0.5})[0])(W)
    np.testing.assert_allclose(again, np.diag(6 * X * X))


# Shapes


def stand_in(*shape):
    return np.broadcast_to(np.zeros(()), shape)


def shapes(tree):
    """Shape and type for each leaf but text."""

    def shown(leaf):
        return leaf if isinstance(leaf, str) else (leaf.shape, str(leaf.dtype))

    return tree_map(shown, tree)


def joined(w, x, n):
    z = np.outer(w, x) + 1j
    return {"all": np.concatenate([w, x[:n]]), "z": z, "best": np.argmax(w), "s": "text"}


def test_shapes_follow_from_shapes():
    outlines = Outlines(joined)
    for m, k, n in ((5, 4, 2), (7, 3, 9), (2, 2, -1), (1, 6, 3), (0, 3, 1)):
        found = outlines.of((stand_in(m), stand_in(k), n), {})
        real = joined(np.ones(m), np.ones(k), n) if m else None
        assert shapes(found) == {
            "all": ((m + len(range(k)[:n]),), "float64"), "z": ((m, k), "complex128"),
            "best": ((), "int64"), "s": "text",
        }  # fmt: skip
        assert real is None or found["all"].shape == real["all"].shape


def test_shapes_of_derivatives():
    found = Outlines(pulled(model, (0, 2))).of(
        ((1.0, {"r": stand_in(4), "mode": None}), stand_in(4), stand_in(4), {"b": 0.5}), {}
    )
    assert shapes(found) == (((4,), "float64"), {"b": ((), "float64")})


def test_shapes_after_a_captured_value_changes():
    size = 3
    outlines = Outlines(lambda x: np.zeros(size) + x)
    assert outlines.of((1.0,), {}).shape == (3,)
    size = 4
    assert outlines.of((1.0,), {}).shape == (4,)


def test_shapes_that_depend_on_values():
    def kept(x):
        out = []
        for v in x:
            if v > 0.0:
                out.append(v)
        return np.array(out)

    with pytest.raises(ValuesNeededError, match="the shape of what kept gives depends on values"):
        Outlines(kept).of((stand_in(5),), {})
    outlines, count = Outlines(lambda n: np.zeros(n)), np.int64(3)  # noqa: PLW0108
    assert outlines.of((count,), {}).shape == (3,)
    with pytest.raises(ValuesNeededError):
        outlines.of((count,), {}, (count,))


def test_written_arguments():
    def double(x):
        x *= 2.0
        return x

    assert shapes(Outlines(double).of((stand_in(3),), {})) == ((3,), "float64")


# Missing systems


@pytest.mark.parametrize(("module", "name"), [("torch", "PyTorch"), ("jax", "JAX")])
def test_a_missing_system_is_named(module, name):
    program = f"import sys; sys.modules[{module!r}] = None; import tapeless as tp; tp.{module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)  # noqa: PLW1510
    assert done.stderr.splitlines()[-1] == (
        f"ModuleNotFoundError: tapeless.{module} needs {name}: pip install 'tapeless[{module}]'"
    )


def test_modules_load_when_asked_for():
    assert tp.scipy.minimize.__module__ == "tapeless.scipy"
    with pytest.raises(AttributeError, match="module 'tapeless' has no attribute 'tensorflow'"):
        tp.tensorflow


class Guarded:
    """An array that may not be read, as a tensor of PyTorch that requires a gradient."""

    def __init__(self, words):
        self.words = words

    def __dlpack__(self, **_):
        raise BufferError(self.words)

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("Can't export tensors that require gradient", "pass it as an argument to tapeless.torch"),
        ("Abstract tracer value encountered", "pass it as an argument to tapeless.torch"),
        ("device 7", "move it to the CPU first"),
    ],
)
def test_memory_that_may_not_be_read(words, remedy):
    array = Guarded(words)
    with pytest.raises(tp.errors.CompileError, match=rf"{words}(.|\n)*Remedy: {remedy}"):
        tp.jit(lambda x: x * array)(1.0)
    with pytest.raises(tp.errors.ArgumentError, match=rf"{words}(.|\n)*Remedy: {remedy}"):
        tp.jit(lambda x: x * 2.0)(array)
