"""The fast entry: what it accepts, what it passes on, what it returns, under threads too."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import numpy as np
import pytest

from tapeless.runtime.abi import ArraySlot, KernelType, ScalarSlot
from tapeless.runtime.codegen import compile_object
from tapeless.runtime.fastcall import FastEntry, flat
from tapeless.runtime.kernel import Kernel
from tapeless.runtime.machine import load
from tapeless.runtime.plan import (
    AbsentIn,
    ArgumentBack,
    ArrayBack,
    ArrayIn,
    CellValue,
    ConstantBack,
    Data,
    Disjoint,
    Fixed,
    GlobalValue,
    Number,
    NumberBack,
    NumberIn,
    ObjectValue,
    Plan,
    SameIn,
    ScalarBack,
    ScalarIn,
    Size,
    SizeIs,
    SizeIsNot,
    SizesAgree,
)
from tapeless.runtime.support import lent_bytes
from tests.runtime.kernels import define, kernel, put, slot

F8 = np.dtype("f8")
SCALE = Plan(
    (NumberIn(float), ArrayIn(F8, 1)),
    (Size(1, 0), Number(0), Data(1)),
    (ArrayBack(0, F8), NumberBack(1, float)),
    long=False,
)
PICK = Plan(
    (ArrayIn(F8, 1, "S"), NumberIn(int)),
    (Size(0, 0), Number(1), Data(0)),
    ScalarBack(0, F8),
)


def elsewhere(*args: Any, **kwargs: Any) -> tuple[str, Any, Any]:
    return "fallback", args, kwargs


def entry_for(name: str, plan: Plan) -> Any:
    entry = FastEntry(elsewhere)
    assert entry.add(kernel(name), plan)
    return entry.callable


def words_kernel(params: tuple, results: tuple, count: int) -> Kernel:
    """A kernel that copies its first `count` argument words to its results."""
    body = "".join(
        slot("args", k, f"a{k}") + put("results", k, f"%a{k}", f"r{k}") for k in range(count)
    )
    text = define("words", body + "  ret i32 0\n")
    return Kernel(KernelType("words", params, results, ()), load(compile_object(text)))


def test_array_and_number_results():
    y, total = entry_for("scale", SCALE)(2.0, np.arange(8.0))
    assert np.array_equal(y, 2.0 * np.arange(8.0))
    assert total == 56.0 and type(total) is float


@pytest.mark.parametrize(
    "args",
    [
        (2, np.arange(3.0)),
        (np.float64(2.0), np.arange(3.0)),
        (2.0, np.arange(3)),
        (2.0, np.arange(3.0).reshape(1, 3)),
        (2.0, np.arange(6.0)[::2]),
        (2.0, np.arange(3.0).astype(">f8")),
        (2.0, [1.0, 2.0]),
        (2.0, np.arange(3.0).view(np.recarray)),
        (2.0, None),
        (2.0,),
        (),
        (2.0, np.arange(3.0), 1),
    ],
    ids=str,
)
def test_anything_else_goes_to_the_fallback(args):
    where, given, kwargs = entry_for("scale", SCALE)(*args)
    assert where == "fallback" and kwargs == {}
    assert len(given) == len(args) and all(a is b for a, b in zip(given, args, strict=True))


def test_keywords_go_to_the_fallback():
    assert entry_for("scale", SCALE)(1.0, x=3) == ("fallback", (1.0,), {"x": 3})
    y, _ = entry_for("scale", SCALE)(1.0, np.ones(2))
    assert np.array_equal(y, np.ones(2))


def test_an_equal_dtype_object_is_accepted():
    dtype = np.dtype(F8, copy=True)
    assert dtype is not F8
    y, _ = entry_for("scale", SCALE)(2.0, np.ones(3, dtype))
    assert np.array_equal(y, [2.0, 2.0, 2.0])


def test_strides_and_scalar_results():
    pick = entry_for("pick", PICK)
    x = np.arange(10.0)
    assert pick(x[::-3], 1) == 6.0 and type(pick(x, 1)) is np.float64
    pairs = np.zeros(4, [("a", "f8"), ("b", "i4")])
    assert pick(pairs["a"], 0)[0] == "fallback"  # 12 bytes apart: unaligned, no whole stride
    assert pick(x, 1 << 70)[0] == "fallback"
    with pytest.raises(IndexError, match="index 10 is out of bounds for size 10"):
        pick(x, 10)


def test_guards():
    a = ArrayIn(F8, 1)
    for guard, good, bad in [
        (SizeIs(0, 0, 3), (3, 5), (4, 5)),
        (SizeIsNot(1, 0, 1), (3, 5), (3, 1)),
        (SizesAgree(0, 0, 1, 0), (4, 4), (4, 5)),
    ]:
        plan = Plan((a, a), (Size(0, 0), Fixed(0), Data(0)), (ArrayBack(0, F8),), (guard,))
        call = entry_for("scale", plan)
        assert call(*map(np.ones, good))[0].shape == good[:1]
        assert call(*map(np.ones, bad))[0] == "fallback"


def test_written_arguments_may_not_overlap_and_come_back():
    written = ArrayIn(F8, 1, "S", written=True)
    plan = Plan(
        (written, ArrayIn(F8, 1, "S")), (Size(0, 0), Fixed(0), Data(0)), ArgumentBack(0),
        (Disjoint(0, 1),),
    )  # fmt: skip
    call = entry_for("pick", plan)
    x = np.arange(10.0)
    y = np.ones(5)
    assert call(y, x) is y
    assert call(x[:5], x[5:]).base is x
    assert call(x[5:][::-1], x[:5]).base is x
    assert call(x[:5], x[4:])[0] == "fallback"
    assert call(x[4::-1], x[4:])[0] == "fallback"
    y.flags.writeable = False
    assert call(y, x)[0] == "fallback"


def test_numbers_of_every_kind():
    kinds: list[tuple[Any, Any, Any]] = [
        (NumberIn(bool), NumberBack, [True, False]),
        (NumberIn(int), NumberBack, [0, -1, 2**63 - 1, -(2**63)]),
        (NumberIn(float), NumberBack, [0.5, -0.0, float("inf")]),
        (NumberIn(complex), NumberBack, [1.5 - 2j, 0j]),
    ]
    for name in "f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 ? c8 c16".split():
        values = [np.dtype(name).type(v) for v in (0, 1, 3)]
        values += [np.dtype(name).type(-5)] if name[0] in "fic" else [~np.dtype(name).type(0)]
        kinds.append((ScalarIn(np.dtype(name)), ScalarBack, values))
    for given, back, values in kinds:
        plan_type = given.type if isinstance(given, NumberIn) else given.dtype
        two = np.dtype(plan_type).kind == "c"
        real = {"?": "bool", "b": "bool", "c": "f64"}.get(np.dtype(plan_type).kind)
        real = real or f"{np.dtype(plan_type).kind}{8 * np.dtype(plan_type).itemsize}"
        slots = (ScalarSlot("f32" if plan_type == np.complex64 else real),) * (1 + two)
        plan = Plan((given,), tuple(Number(0, part) for part in range(1 + two)), back(0, plan_type))
        entry = FastEntry(elsewhere)
        entry.add(words_kernel(slots, slots, len(slots)), plan)
        for value in values:
            result = entry.callable(value)
            assert type(result) is type(value) and repr(result) == repr(value), (given, value)


def test_complex_arrays():
    slots = (ArraySlot("f64", 2, "S"),)
    plan = Plan((ArrayIn(np.dtype("c16"), 1, "S"),), (Data(0),), NumberBack(1, int))
    results = (ScalarSlot("i64"),) * 3
    entry = FastEntry(elsewhere)
    entry.add(words_kernel(slots, results, 3), plan)
    assert entry.callable(np.zeros(9, complex)[::-2]) == -4  # in elements of half the size


def test_same_objects_and_constants():
    plan = Plan(
        (SameIn(None), SameIn("mode")), (Fixed(0), Fixed(0), Fixed(0)), ConstantBack("done")
    )
    call = entry_for("scale", plan)
    assert call(None, sys.intern("mode")) == "done"
    assert call(0, "mode")[0] == "fallback"


def test_captured_values_and_guards_on_them():
    scope: dict[str, Any] = {"x": np.arange(4.0), "math": sys, "factor": 2.0}

    def outer() -> Any:
        held = 3
        return (lambda: held).__closure__[0]

    cell = outer()
    plan = Plan(
        (NumberIn(float), ArrayIn(F8, 1), SameIn(sys), AbsentIn(), NumberIn(int), ScalarIn(F8)),
        (Size(1, 0), Number(0), Data(1)),
        (ArrayBack(0, F8), NumberBack(1, float), ArgumentBack(4)),
        captures=(
            GlobalValue(scope, "x"),
            GlobalValue(scope, "math"),
            GlobalValue(scope, "missing"),
            CellValue(cell),
            ObjectValue(np.float64(1.0)),
        ),
    )
    call = entry_for("scale", plan)
    assert call(2.0)[1:] == (12.0, 3)
    count = sys.getrefcount(scope["x"])
    scope["x"] = scope["x"] + 1
    assert call(2.0)[1] == 20.0
    count_now = sys.getrefcount(scope["x"])
    assert count_now == count
    cell.cell_contents = 4
    assert call(2.0)[2] == 4
    cell.cell_contents = "four"
    assert call(2.0)[0] == "fallback"
    del cell.cell_contents
    assert call(2.0)[0] == "fallback"
    cell.cell_contents = 5
    for change in ({"math": np}, {"missing": 1}, {"x": [1.0]}):
        before = dict(scope)
        scope.update(change)
        assert call(2.0) == ("fallback", (2.0,), {})
        scope.clear()
        scope.update(before)
        assert call(2.0)[2] == 5
    del scope["x"]
    assert call(2.0)[0] == "fallback"


def test_specialisations_and_clear():
    entry = FastEntry(elsewhere)
    entry.add(kernel("scale"), SCALE)
    entry.add(kernel("pick"), PICK)
    assert entry.callable(np.arange(4.0), 2) == 2.0
    assert entry.callable(3.0, np.ones(2))[1] == 6.0
    entry.clear()
    assert entry.callable(3.0, np.ones(2))[0] == "fallback"


def test_too_many_arguments_are_left_to_the_fallback():
    plan = Plan((NumberIn(float),) * 70, (Fixed(0), Fixed(0), Fixed(0)), ConstantBack(1))
    assert not FastEntry(elsewhere).add(kernel("scale"), plan)


def test_flat():
    call = flat(kernel("scale"))
    y, total = call(3, 2.0, np.ones(3))
    assert np.array_equal(y, [2.0, 2.0, 2.0]) and total == 6.0
    y, total = call(np.int64(3), 2.0, np.ones(3))
    assert total == 6.0


def test_references_stay_even():
    call = entry_for("scale", SCALE)
    x = np.ones(100)
    call(2.0, x)
    gc.collect()
    counts = sys.getrefcount(x), sys.getrefcount(F8), lent_bytes()
    for _ in range(100):
        call(2.0, x)
        call(2, x)
    assert (sys.getrefcount(x), sys.getrefcount(F8), lent_bytes()) == counts


def test_an_entry_is_collected():
    class Owner:
        pass

    def make() -> Any:
        owner = Owner()

        def fallback() -> Any:
            return owner

        owner.entry = FastEntry(fallback)
        owner.entry.add(kernel("scale"), SCALE)
        owner.call = owner.entry.callable
        return __import__("weakref").ref(owner)

    gone = make()
    gc.collect()
    assert gone() is None


def test_threads():
    call = entry_for("scale", SCALE)
    wrong: list[Any] = []

    def work(factor: float) -> None:
        for size in range(1, 1500, 3):
            x = np.arange(float(size))
            y, total = call(factor, x)
            if not np.array_equal(y, factor * x) or total != y.sum():
                wrong.append((factor, size))

    crowd = [threading.Thread(target=work, args=(float(k),)) for k in range(6)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert not wrong
