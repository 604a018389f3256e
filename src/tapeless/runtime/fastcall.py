"""The fast entry: a builtin function that goes from arguments to a kernel without Python code.

It handles calls with positional arrays and numbers. A `Plan` says which arguments a kernel accepts,
where its parameters come from, and what is returned; it becomes a table for `native/entry.py`. A
call that no plan accepts goes to the fallback, a Python callable, with the same arguments.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.core.types import dtype_named
from tapeless.runtime import layout
from tapeless.runtime.abi import ArraySlot
from tapeless.runtime.kernel import Kernel
from tapeless.runtime.plan import (
    AbsentIn,
    ArgumentBack,
    ArgumentIn,
    ArrayBack,
    ArrayIn,
    Back,
    Capture,
    CellValue,
    ConstantBack,
    Data,
    Disjoint,
    Fixed,
    GlobalValue,
    Guard,
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
    Source,
)
from tapeless.runtime.slots import result_words
from tapeless.runtime.support import support

_W = ctypes.c_int64
SHORT = 512  # array elements: the interpreter lock is kept for calls with fewer


class FastEntry:
    """`entry.callable` is a builtin function that calls the first kernel whose plan accepts its
    arguments (the one added last is tried first, unless it is to be the last one), else
    `fallback`."""

    def __init__(self, fallback: Callable[..., Any]) -> None:
        native = support()
        self._record = (_W * layout.RECORD_WORDS)()
        self._record[layout.RECORD_STATE] = native.state
        self._kept: list[object] = []
        self._tables: list[ctypes.Array[_W]] = []  # in the order of trial
        owner = (self._record, self._kept)
        self.callable: Callable[..., Any] = _new_function(
            ctypes.byref(_definition()),
            (fallback, ctypes.addressof(self._record), owner),
            "tapeless",
        )

    def add(self, kernel: Kernel, plan: Plan, last: bool = False) -> bool:
        """Let calls that `plan` accepts go to `kernel`. False: too many arguments or results."""
        words = sum(map(result_words, kernel.type.results))
        feeds = _feeds(kernel, plan)
        if (
            len(plan.args) > layout.MAX_ARGS
            or len(feeds) > layout.MAX_SLOTS
            or words > layout.MAX_RESULTS
        ):
            return False
        returns = plan.returns if isinstance(plan.returns, tuple) else (plan.returns,)
        table = (_W * layout.TABLE_WORDS)()
        table[layout.TABLE_KERNEL] = kernel.address
        table[layout.TABLE_NARGS] = len(plan.args) - len(plan.captures)
        table[layout.TABLE_NCAPTURES] = len(plan.captures)
        table[layout.TABLE_NGUARDS] = len(plan.guards)
        table[layout.TABLE_NFEEDS] = len(feeds)
        table[layout.TABLE_FOREIGN] = kernel.foreign_table
        table[layout.TABLE_RAISE] = id(kernel.raiser)
        table[layout.TABLE_NOUTS] = len(returns)
        table[layout.TABLE_TUPLE] = isinstance(plan.returns, tuple)
        table[layout.TABLE_HOLD] = 0 if plan.long else SHORT
        guards = [_guard_words(guard, plan.args) for guard in plan.guards]
        table[layout.TABLE_ARGS] = self._rows(map(_arg_words, plan.args), layout.ARG_WORDS)
        captures = list(map(_capture_words, plan.captures))
        table[layout.TABLE_CAPTURES] = self._rows(captures, layout.CAPTURE_WORDS)
        table[layout.TABLE_GUARDS] = self._rows(guards, layout.GUARD_WORDS)
        table[layout.TABLE_FEEDS] = self._rows(feeds, layout.FEED_WORDS)
        table[layout.TABLE_OUTS] = self._rows(
            (_out_words(back, kernel) for back in returns), layout.OUT_WORDS
        )
        self._kept += [table, kernel, plan]  # as long as `callable` is there
        self._kept += [sys.intern(c.name) for c in plan.captures if isinstance(c, GlobalValue)]
        self._link(table, last)
        return True

    def _link(self, table: ctypes.Array[_W], last: bool) -> None:
        """Into the list that calls run through: what it points to is written first."""
        tables = self._tables
        if last and tables:
            tables[-1][layout.TABLE_NEXT] = ctypes.addressof(table)
            tables.append(table)
        else:
            table[layout.TABLE_NEXT] = ctypes.addressof(tables[0]) if tables else 0
            self._record[layout.RECORD_TABLES] = ctypes.addressof(table)
            tables.insert(0, table)

    def clear(self) -> None:
        """All calls go to the fallback again."""
        self._record[layout.RECORD_TABLES] = 0
        self._tables = []

    def _rows(self, rows: Any, width: int) -> int:
        """Rows of words as one array, kept alive; its address."""
        flat = [word for row in rows for word in (*row, *[0] * (width - len(row)))]
        array = (_W * max(len(flat), 1))(*flat)
        self._kept.append(array)
        return ctypes.addressof(array)


def flat(kernel: Kernel) -> Callable[..., Sequence[Any]]:
    """`kernel` as a function of its parameters in order, like calling it but ten times as fast."""
    entry = FastEntry(kernel)
    entry.add(kernel, _identity(kernel))
    return entry.callable


def _identity(kernel: Kernel) -> Plan:
    """Parameters are the arguments, results are a tuple."""
    args: list[ArgumentIn] = []
    sources: list[Source] = []
    for index, slot in enumerate(kernel.type.params):
        kind = dtype_named(slot.dtype)
        if isinstance(slot, ArraySlot):
            args.append(ArrayIn(kind.numpy, slot.rank, slot.layout, slot.written))
            sources.append(Data(index))
            continue
        sources.append(Number(index))
        if slot.dtype in _PYTHON_NUMBERS:
            args.append(NumberIn(_PYTHON_NUMBERS[slot.dtype]))
        else:
            args.append(ScalarIn(kind.numpy))
    returns = [
        ArrayBack(index, dtype_named(slot.dtype).numpy)
        if isinstance(slot, ArraySlot)
        else NumberBack(index, _PYTHON_NUMBERS[slot.dtype])
        if slot.dtype in _PYTHON_NUMBERS
        else ScalarBack(index, dtype_named(slot.dtype).numpy)
        for index, slot in enumerate(kernel.type.results)
    ]
    return Plan(tuple(args), tuple(sources), tuple(returns))


_PYTHON_NUMBERS: dict[str, type] = {"f64": float, "i64": int, "bool": bool}


def _arg_words(arg: ArgumentIn) -> Sequence[int]:
    match arg:
        case ArrayIn(dtype, rank, order, written):
            flags = layout.ALIGNED | (layout.WRITEABLE if written else 0)
            flags |= {"C": layout.C_CONTIGUOUS, "F": layout.F_CONTIGUOUS, "S": 0}[order]
            identity = _W.from_address(id(dtype) + layout.DESCR_IDENTITY).value
            return layout.ARRAY_ARG, id(dtype), identity, rank, flags
        case NumberIn(type):
            return (_NUMBER_ARGS[type],)
        case ScalarIn(dtype):
            return layout.SCALAR_ARG, id(dtype.type), 0, 0, 0, _extension(dtype)
        case SameIn(value):
            return layout.SAME_ARG, id(value)
        case AbsentIn():
            return layout.SAME_ARG, 0


def _capture_words(capture: Capture) -> Sequence[int]:
    match capture:
        case GlobalValue(scope, name):
            return layout.GLOBAL_CAPTURE, id(scope), id(sys.intern(name))
        case CellValue(cell):
            return layout.CELL_CAPTURE, id(cell)
        case ObjectValue(value):
            return layout.OBJECT_CAPTURE, id(value)


_NUMBER_ARGS = {
    float: layout.FLOAT_ARG, int: layout.INT_ARG, bool: layout.BOOL_ARG, complex: layout.COMPLEX_ARG
}  # fmt: skip


def _extension(dtype: np.dtype[Any]) -> int:
    """How a scalar's bytes become words (`accepts_scalar` in `native/entry.py`)."""
    unused = 64 - 8 * dtype.itemsize
    if dtype.kind == "c":
        return -1 if dtype.itemsize == 8 else 0
    if dtype.kind == "f" or unused == 0:
        return 0
    return unused if dtype.kind == "i" else 128 + unused


def _guard_words(guard: Guard, args: tuple[ArgumentIn, ...]) -> Sequence[int]:
    match guard:
        case SizeIs(arg, axis, size):
            return layout.SIZE_IS, arg, axis, size
        case SizeIsNot(arg, axis, size):
            return layout.SIZE_IS_NOT, arg, axis, size
        case SizesAgree(arg, axis, other, other_axis):
            return layout.SIZES_AGREE, arg, axis, other, other_axis
        case Disjoint(arg, other):
            sizes = [a.dtype.itemsize for a in (args[arg], args[other]) if isinstance(a, ArrayIn)]
            return layout.DISJOINT, arg, sizes[0], other, sizes[1]


def _feeds(kernel: Kernel, plan: Plan) -> list[tuple[int, ...]]:
    """One row per argument slot of the kernel."""
    rows: list[tuple[int, ...]] = []
    for slot, source in zip(kernel.type.params, plan.sources, strict=True):
        match source:
            case Data(arg):
                given = plan.args[arg]
                if not (isinstance(given, ArrayIn) and isinstance(slot, ArraySlot)):
                    raise TypeError(f"{given} cannot feed {slot}")
                rows += _array_feeds(slot, given, arg)
            case Size(arg, axis):
                rows.append((layout.FEED_SIZE, arg, axis))
            case Number(arg, part):
                rows.append((layout.FEED_VALUE, arg, part))
            case Fixed(word):
                rows.append((layout.FEED_CONST, 0, 0, word))
    return rows


def _array_feeds(slot: ArraySlot, given: ArrayIn, arg: int) -> list[tuple[int, ...]]:
    is_complex = given.dtype.kind == "c"
    item = dtype_named(slot.dtype).numpy
    real = np.dtype(f"f{given.dtype.itemsize // 2}") if is_complex else given.dtype
    same = item == real and slot.rank == given.rank + is_complex and slot.layout == given.layout
    if not same or (slot.written and not given.written):
        raise TypeError(f"{given} cannot feed {slot}")
    rows: list[tuple[int, ...]] = [(layout.FEED_DATA, arg)]
    if slot.layout == "S":
        rows += [(layout.FEED_STRIDE, arg, axis, item.itemsize) for axis in range(given.rank)]
        if is_complex:
            rows.append((layout.FEED_CONST, 0, 0, 1))
    return rows


def _out_words(back: Back, kernel: Kernel) -> Sequence[int]:
    results = kernel.type.results
    match back:
        case ArrayBack(result, dtype):
            where = sum(map(result_words, results[:result]))
            slot = results[result]
            if not isinstance(slot, ArraySlot):
                raise TypeError(f"result {result} is {slot}, not an array")
            return layout.ARRAY_OUT, where, id(dtype), slot.rank - (dtype.kind == "c")
        case NumberBack(result, type):
            return _NUMBER_OUTS[type], sum(map(result_words, results[:result]))
        case ScalarBack(result, dtype):
            kind = layout.COMPLEX64_OUT if dtype == np.complex64 else layout.SCALAR_OUT
            return kind, sum(map(result_words, results[:result])), id(dtype)
        case ArgumentBack(arg):
            return layout.ARGUMENT_OUT, arg
        case ConstantBack(value):
            return layout.CONSTANT_OUT, 0, id(value)


_NUMBER_OUTS = {
    float: layout.FLOAT_OUT, int: layout.INT_OUT, bool: layout.BOOL_OUT, complex: layout.COMPLEX_OUT
}  # fmt: skip


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL_KEYWORDS = 0x80 | 0x02
_new_function: Any = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object
)(("PyCFunction_NewEx", ctypes.pythonapi))
_DEFINITIONS: list[_MethodDef] = []


def _definition() -> _MethodDef:
    """What all these builtin functions share. It must outlive them, so it is never freed."""
    if not _DEFINITIONS:
        made = _MethodDef(b"call", support().entry, _FASTCALL_KEYWORDS, None)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
        _DEFINITIONS.append(made)
    return _DEFINITIONS[0]
