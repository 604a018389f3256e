"""When a function is compiled again, and when it is not."""

from __future__ import annotations

import gc
import importlib
import weakref
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import tapeless as tp


def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def test_sizes_do_not_matter():
    @tp.jit
    def norm(x, y):
        return np.sqrt(np.sum((x - y) ** 2))

    for n in range(2, 201):
        assert norm(np.ones(n), np.zeros(n)) == pytest.approx(np.sqrt(n))
    assert len(norm.compilations) == 1
    assert norm(np.ones(1), np.zeros(1)) == 1.0
    assert len(norm.compilations) <= 2
    assert norm(np.zeros(0), np.zeros(0)) == 0.0
    assert len(norm.compilations) <= 2


def test_size_one_without_broadcasting():
    @tp.jit
    def last(x):
        for i in range(1, len(x)):
            x[i] += x[i - 1]
        return x[len(x) - 1]

    for n in (1, 2, 1, 7):
        assert last(np.ones(n)) == n
    assert len(last.compilations) == 1


def test_broadcasting_of_one():
    @tp.jit
    def add(x, y):
        return x + y

    for shapes in (((3, 4), (3, 4)), ((3, 1), (3, 4)), ((1, 4), (3, 1)), ((5, 1), (5, 2))):
        x, y = (np.arange(np.prod(s, dtype=float)).reshape(s) for s in shapes)
        np.testing.assert_array_equal(add(x, y), x + y)
    assert len(add.compilations) == 3


def test_types_and_layouts():
    @tp.jit
    def first(x):
        return x[0, 0]

    x = np.arange(6.0).reshape(2, 3)
    for value in (x, x.T, x[:, ::2], x.astype("f4"), x[::-1], x[:1].repeat(2, 0)):
        assert first(value) == value[0, 0]
    assert len(first.compilations) == 4
    whys = [c.why for c in first.compilations]
    assert whys[0] == "first call"
    assert whys[1:3] == ["another memory layout"] * 2 or "layout" in whys[1]
    assert whys[3] == "new argument types"
    record = first.compilations[0]
    assert record.signature == "x: f64[:, :]"
    assert record.seconds > 0 and not record.cached


def test_static_arguments():
    @tp.jit(static_argnames="n")
    def power(x, n):
        out = 1.0
        for _ in range(n):
            out *= x
        return out

    assert [power(2.0, 3), power(3.0, 3), power(2.0, n=4)] == [8.0, 27.0, 16.0]
    assert len(power.compilations) == 2
    with pytest.raises(ValueError, match="no parameter 'm'"):
        tp.jit(total, static_argnames=("m",))


def test_strings_none_and_functions_are_static():
    @tp.jit
    def apply(f, x, mode=None):
        if mode == "twice":
            return f(f(x))
        return f(x) if mode is None else x

    assert apply(np.sqrt, 16.0) == 4.0
    assert apply(np.sqrt, 16.0, "twice") == 2.0
    assert apply(lambda v: v + 1.0, 16.0, mode="none") == 16.0
    assert len(apply.compilations) == 3


def test_captured_floats_and_arrays_are_read_at_every_call():
    factor, table = 2.0, np.arange(3.0)

    @tp.jit
    def f(x):
        return factor * np.sum(table * x)

    assert f(np.ones(3)) == 6.0
    factor = 3.0
    assert f(np.ones(3)) == 9.0
    table[0] = 1.0
    assert f(np.ones(3)) == 12.0
    table = np.ones(5)
    assert f(np.ones(5)) == 15.0
    assert len(f.compilations) == 1


def test_captured_ints_are_static_until_they_keep_changing():
    n = 0

    @tp.jit
    def f(x):
        s = 0.0
        for _ in range(n):
            s += x
        return s

    for n in range(1, 12):
        assert f(2.0) == 2.0 * n
    assert 2 <= len(f.compilations) <= 4
    assert "n changed" in f.compilations[1].why


def test_captured_function_that_changes():
    def inner(v):
        return v + 1.0

    @tp.jit
    def f(x):
        return inner(x)

    assert f(1.0) == 2.0

    def inner(v):  # noqa: F811  # rebinds the captured name
        return v * 10.0

    assert f(1.0) == 10.0
    assert len(f.compilations) == 2


def test_new_function_objects_of_one_code_share_programs():
    def make(c):
        return tp.jit(lambda x: x * c + 1.0)

    results = [make(float(c))(2.0) for c in range(5)]
    assert results == [1.0, 3.0, 5.0, 7.0, 9.0]
    assert len(make(0.0).compilations) == 1


def test_function_arguments_with_their_closures():
    @tp.jit
    def apply(f, x):
        return f(x)

    def adder(c):
        return lambda x: x + c

    assert [apply(adder(c), 1.0) for c in (1.0, 2.5, 4.0)] == [2.0, 3.5, 5.0]
    assert len(apply.compilations) == 1


def test_defaults_belong_to_the_function():
    made = [tp.jit(lambda x, k=k: x * k) for k in (1.0, 2.0, 3.0)]
    assert [f(2.0) for f in made] == [2.0, 4.0, 6.0]


def test_arguments_are_not_kept_alive():
    class Owner:
        def __init__(self):
            self.data = np.ones(4)

    @tp.jit
    def f(o, x):
        return np.sum(o.data * x)

    def call():
        owner, x = Owner(), np.ones(4)
        assert f(owner, x) == 4.0
        return weakref.ref(owner), weakref.ref(x)

    refs = call()
    gc.collect()
    assert [r() for r in refs] == [None, None]


def test_declared_sizes():
    @tp.jit
    def f(x: tp.f64[n, 3], y: tp.f64[n]):  # noqa: F821  (the name of a size)
        return np.sum(x[:, 0] * y)

    assert f(np.ones((4, 3)), np.ones(4)) == 4.0
    for args, words in (
        ((np.ones((4, 2)), np.ones(4)), "declared 3"),
        ((np.ones((4, 3)), np.ones(5)), "'n' is 4"),
        ((np.ones(4), np.ones(4)), "shape"),
        ((np.ones((4, 3), "f4"), np.ones(4)), "float32"),
        ((1.0, np.ones(4)), "float"),
    ):
        with pytest.raises(tp.errors.ArgumentError, match=words):
            f(*args)
    assert f(np.ones((6, 3)), np.ones(6)) == 6.0
    assert len(f.compilations) == 1


def test_sizes_declared_by_jaxtyping():
    """Its annotations are classes with `dims` and `dtypes`, whoever made them."""

    class Rows:
        dims = (SimpleNamespace(name="n"), SimpleNamespace(size=3))
        dtypes = ("float64",)

    def f(x, y):
        return np.sum(x[:, 0] * y[:, 1])

    f.__annotations__ = {"x": Rows, "y": Rows}
    compiled = tp.jit(f)
    assert compiled(np.ones((4, 3)), np.ones((4, 3))) == 4.0
    for shape, words in (((4, 2), "declared 3"), ((5, 3), "'n' is 4")):
        with pytest.raises(tp.errors.ArgumentError, match=words):
            compiled(np.ones((4, 3)), np.ones(shape))
    with pytest.raises(tp.errors.ArgumentError, match="float32"):
        compiled(np.ones((4, 3)), np.ones((4, 3), "f4"))


def test_builtins_may_be_hidden(tmp_path, monkeypatch):
    (tmp_path / "hidden_builtin.py").write_text("def f(x):\n    return abs(x)\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("hidden_builtin")
    f = tp.jit(module.f)
    assert [f(-1.0), f(-2.0)] == [1.0, 2.0]
    module.abs = lambda v: 10.0 * v
    assert [f(-1.0), f(-2.0)] == [-10.0, -20.0]
    del module.abs
    assert [f(-1.0), f(-2.0)] == [1.0, 2.0]


def test_defaults_of_compiled_functions_that_are_captured():
    @tp.jit
    def inner(x, by=2.0, *, plus=1.0):
        return x * by + plus

    bound = partial(inner, plus=0.5)

    @tp.jit
    def outer(x):
        return inner(x) + bound(x)

    assert outer(3.0) == 13.5
    inner.python.__defaults__ = (4.0,)
    assert outer(3.0) == 25.5


def test_compiling_does_not_collect_garbage():
    @tp.jit
    def shape(x):
        return np.sum(np.exp(x) * 2.0), x.T @ x

    @tp.jit
    def wrong(x):
        return x.no_such_attribute

    generations = []

    def note(phase, info):
        generations.append(info["generation"])

    thresholds = gc.get_threshold()
    gc.set_threshold(50, 1, 1)
    gc.callbacks.append(note)
    try:
        traced, made = shape.program((np.ones((3, 4)),), {})
        before = len(generations)
        traced.kernel(traced.layouts(shape.python, made), shape.python, made)
        assert len(generations) - before < 20  # thousands of objects are made
        assert gc.isenabled()
        with pytest.raises(tp.errors.CompileError):
            wrong(np.ones(3))
        assert gc.isenabled()
        gc.disable()
        shape(np.ones((3, 4), "f4"))
        assert not gc.isenabled()
    finally:
        gc.enable()
        gc.callbacks.remove(note)
        gc.set_threshold(*thresholds)
