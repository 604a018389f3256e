"""Errors of derivatives: in the user's words, at the user's line."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import tapeless as tp

X = np.array([1.0, 2.0, 4.0])
HERE = Path(__file__)
TAPELESS = str(Path(tp.__file__).parent)


def square(x):  # line: square
    return x * x


def loss(p, n):  # line: loss
    return np.sum(p["w"]) * n


def writes(u):  # line: writes
    u *= 2.0


def bent(x):
    y = x + 1.0
    return math.lgamma(y) * 2.0  # line: bent


def picks(x):
    return x[7] * 2.0  # line: picks


@tp.jit
def gradient_inside(x):
    y = x + 1.0
    return tp.grad(square)(y)  # line: gradient inside


@tp.jit
def tangent_inside(x):
    return tp.jvp(square, (x,), (x[:2],))  # line: tangent inside


@tp.jit
def cotangent_inside(x):
    _, pullback = tp.vjp(square, x)
    return pullback((x, x))  # line: cotangent inside


def squared(x, n):
    for _ in tp.loop(n, reverse="invert"):
        x = x * x  # line: squared
    return np.sum(x)


def within(x, n, bytes):
    for _ in tp.loop(n, memory=bytes):  # line: within
        x = np.sin(x)
    return np.sum(x)


def slotted(x, n, slots):
    for _ in tp.loop(n, reverse="checkpoint", slots=slots):  # line: slotted
        x = np.sin(x)
    return np.sum(x)


def no_slots(x):
    for _ in tp.loop(3, reverse="checkpoint", slots=0):  # line: no slots
        x = np.sin(x)
    return np.sum(x)


def both(x):
    for _ in tp.loop(3, reverse="checkpoint", slots=2, levels=2):  # line: both
        x = np.sin(x)
    return np.sum(x)


def unslotted(x):
    for _ in tp.loop(3, reverse="store", slots=2):  # line: unslotted
        x = np.sin(x)
    return np.sum(x)


def open_ended(x, n, kind):
    for _ in tp.loop(n, reverse=kind):  # line: open ended
        x = np.sin(x) + x
        if x[0] > 9.0:
            break
    return np.sum(x)


SCALE = np.array([2.0])


@tp.custom_vjp
def scaled(x):
    return x * SCALE[0]


scaled.defvjp(lambda x: (x * SCALE[0], x), lambda x, bar: (bar * SCALE[0],))


def uses_scaled(x):
    return scaled(x)  # line: uses scaled


def line(mark: str) -> int:
    lines = HERE.read_text().splitlines()
    return next(k for k, text in enumerate(lines, 1) if text.endswith(f"# line: {mark}"))


CASES = [
    ("square", lambda: tp.grad(square)(X),
     "square gives an array of f64 and rank 1: a gradient needs one real number"),
    ("square", lambda: tp.grad(square)(3), "'x' is a Python int"),
    ("square", lambda: tp.grad(square)(np.arange(3)), "'x' is an array of i64 and rank 1"),
    ("square", lambda: tp.grad(square, argnums=1)(X), "there is no argument 1"),
    ("square", lambda: tp.grad(square, argnums="x")(2.0), "there is no argument 'x'"),
    ("square", lambda: tp.grad(square, argnums=(0, -1))(2.0), "names an argument twice"),
    ("square", lambda: tp.grad(square, has_aux=True)(2.0), "it has to give two values"),
    ("square", lambda: tp.jvp(square, (X,), (X[:2],)),
     "the tangent of 'x' differs from it in shape: sizes 2 and 3"),
    ("square", lambda: tp.jvp(square, (X,), (X.astype(np.float32),)),
     "the tangent of 'x' is an array of f32 and rank 1"),
    ("square", lambda: tp.jvp(square, (X,), (np.arange(3),)), "is an array of i64 and rank 1"),
    ("square", lambda: tp.jvp(square, (X,), (X, X)), "not a tuple of 2"),
    ("loss", lambda: tp.jvp(loss, ({"w": X}, 2.0), ({"v": X}, 1.0)), "a dict of 'v'"),
    ("loss", lambda: tp.jvp(loss, ({"w": X}, 2), ({"w": X}, 1.0)), "'n' is a Python int, which"),
    ("loss", lambda: tp.jvp(loss, ({"w": X}, 2.0), ({"w": 1.0}, 1.0)), "of 'p'['w'] is a Python"),
    ("square", lambda: tp.vjp(square, X)[1](np.ones(4)), "the cotangent of square(…) is an array"),
    ("square", lambda: tp.vjp(square, X)[1](np.ones(3, np.float32)), "of float32 and shape (3,)"),
    ("square", lambda: tp.vjp(square, X)[1]((X,)), "is a tuple of 1"),
    ("square", lambda: tp.vjp(square, 2.0)[1](1j), "a number of type complex128"),
    ("square", lambda: tp.linearize(square, X)[1](X, X), "a tuple of 2"),
    ("writes", lambda: tp.grad(writes)(X), "writes gives None: without a float among its results"),
    ("writes", lambda: tp.vjp(writes, X), "tp.functional(writes) returns also what"),
    ("bent", lambda: tp.grad(tp.grad(tp.grad(bent)))(2.0), "'trigamma' has no derivative"),
    ("picks", lambda: tp.grad(picks)(X), "index 7 is out of bounds for axis 0 with size 3"),
    ("square", lambda: tp.hvp(square, (X,), (X,)), "a gradient needs one real number"),
    ("squared", lambda: tp.grad(squared)(X, 3), "how 'x' changes here has no inverse"),
    ("within", lambda: tp.grad(within)(X, 9, 10),
     "a loop may take 10 bytes, but one copy of its state takes 24"),
    ("slotted", lambda: tp.grad(slotted)(X, 9, 0), "slots must be at least 1, not 0"),
    ("no slots", lambda: tp.grad(no_slots)(X), "slots must be at least 1, not 0"),
    ("both", lambda: tp.grad(both)(X), "give slots or levels, not both"),
    ("unslotted", lambda: tp.grad(unslotted)(X), "are for reverse='checkpoint', not 'store'"),
    ("open ended", lambda: tp.grad(open_ended)(X, 9, "checkpoint"), "not known when it begins"),
    ("open ended", lambda: tp.grad(open_ended)(X, 9, "invert"), "how many passes it makes is"),
    ("uses scaled", lambda: tp.jvp(uses_scaled, (2.0,), (1.0,)), "for reverse mode only"),
    ("gradient inside", lambda: gradient_inside(X), "a gradient needs one real number"),
    ("tangent inside", lambda: tangent_inside(X), "the tangent of 'x' differs from it in shape"),
    ("cotangent inside", lambda: cotangent_inside(X), "the cotangent of square(…) is a tuple of 2"),
]  # fmt: skip


@pytest.mark.parametrize(("mark", "call", "message"), CASES, ids=[c[2] for c in CASES])
def test_message_and_line(mark, call, message):
    with pytest.raises((tp.errors.TapelessError, ValueError, IndexError)) as caught:
        call()
    text = str(caught.value)
    assert message in text
    assert f'File "{HERE}", line {line(mark)}' in text
    assert TAPELESS not in text
    assert len(text.splitlines()) <= 8


def test_what_is_no_function():
    with pytest.raises(TypeError, match=r"grad: 3\.0 is not a function"):
        tp.grad(3.0)
    with pytest.raises(TypeError, match="a tuple of primals"):
        tp.jvp(square, X, X)


def test_arguments_that_do_not_fit_the_function():
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        tp.grad(square)()
    with pytest.raises(TypeError, match="too many positional arguments"):
        tp.grad(square)(1.0, 2.0)


def test_complex_results():
    with pytest.raises(tp.errors.CompileError, match="return its real part"):
        tp.grad(lambda x: x * 1j)(2.0)


def test_a_tuple_without_has_aux():
    with pytest.raises(tp.errors.CompileError, match="set has_aux=True"):
        tp.grad(lambda x: (x, 2.0))(2.0)


@pytest.mark.parametrize("operator", [tp.jvp, tp.hvp])
def test_bare_primals_are_told_to_be_tuples(operator):
    name = operator.__name__
    words = f"{name} takes a tuple of primals and a tuple of tangents: {name}(f, (x,), "
    with pytest.raises(TypeError, match=re.escape(words)):
        operator(np.sum, X, X)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: np.sum(x.at[0].set(2.0)), r"no attribute 'at'(.|\n)*write in place: x\[i\] = v"),
        (lambda x: np.sum(np.vectorize(abs)(x)), r"'np.vectorize' is not supp(.|\n)*tp\.vmap"),
    ],
    ids=["at", "vectorize"],
)
def test_habits_of_other_systems(f, words):
    with pytest.raises(tp.errors.CompileError, match=words):
        tp.grad(f)(X)


@pytest.mark.parametrize("name", ["lax", "numpy", "checkpoint"])
def test_names_of_other_systems(name):
    assert not hasattr(tp, name)
    with pytest.raises(AttributeError, match=f"no attribute '{name}': "):
        getattr(tp, name)
