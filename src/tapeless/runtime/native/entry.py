"""The fast way from Python to a kernel: arguments read by tables, not by code per function.

`entry` is the body of a builtin function. Its `self` is `(fallback, address of a record, owner)`.
The record leads to a list of tables, one per compiled specialisation (`runtime/fastcall.py` writes
them). The first table that accepts the arguments is called; when none does, the fallback is called
with the same arguments.
"""

from __future__ import annotations

from tapeless.runtime.layout import (
    ARG_FLAGS,
    ARG_IDENTITY,
    ARG_KIND,
    ARG_RANK,
    ARG_SHIFT,
    ARG_WHAT,
    ARG_WORDS,
    ARGUMENT_OUT,
    ARRAY_ARG,
    ARRAY_OUT,
    ARRAY_TYPE,
    BOOL_ARG,
    BOOL_OUT,
    BOOL_TYPE,
    CAPTURE_WORDS,
    CELL,
    CELL_CAPTURE,
    COMPLEX64_OUT,
    COMPLEX_ARG,
    COMPLEX_OUT,
    COMPLEX_TYPE,
    DATA,
    DESCR,
    DESCR_IDENTITY,
    FEED_DATA,
    FEED_SIZE,
    FEED_STRIDE,
    FEED_VALUE,
    FEED_WORDS,
    FLAGS,
    FLOAT_ARG,
    FLOAT_OUT,
    FLOAT_TYPE,
    GLOBAL_CAPTURE,
    GUARD_WORDS,
    INT_ARG,
    INT_OUT,
    INT_TYPE,
    NEW_SCALAR,
    OUT_WORDS,
    RANK,
    READ_SCALAR,
    RECORD_STATE,
    RECORD_TABLES,
    SAME_ARG,
    SCALAR_OUT,
    STRIDES,
    TABLE_ARGS,
    TABLE_CAPTURES,
    TABLE_FEEDS,
    TABLE_FOREIGN,
    TABLE_GUARDS,
    TABLE_HOLD,
    TABLE_KERNEL,
    TABLE_NARGS,
    TABLE_NCAPTURES,
    TABLE_NEXT,
    TABLE_NFEEDS,
    TABLE_NGUARDS,
    TABLE_NOUTS,
    TABLE_OUTS,
    TABLE_RAISE,
    TABLE_TUPLE,
    TRUE,
    TYPE,
)
from tapeless.runtime.native.calls import acquire, finish
from tapeless.runtime.native.guards import holds, size_of
from tapeless.runtime.native.objects import (
    Py_DecRef,
    Py_IncRef,
    PyErr_NoMemory,
    PyObject_Vectorcall,
    adopt,
    fail,
)
from tapeless.runtime.words import (
    Extern,
    Word,
    divide,
    indirect,
    load,
    load_i32,
    local,
    remainder,
    store,
)

PyDict_GetItem = Extern("PyDict_GetItem", "www")
PyTuple_GetItem = Extern("PyTuple_GetItem", "www")
PyTuple_SetItem = Extern("PyTuple_SetItem", "iwww")
PyTuple_New = Extern("PyTuple_New", "ww")
PyTuple_Size = Extern("PyTuple_Size", "ww")
PyLong_AsVoidPtr = Extern("PyLong_AsVoidPtr", "ww")
PyLong_AsLongLongAndOverflow = Extern("PyLong_AsLongLongAndOverflow", "www")
PyLong_FromLongLong = Extern("PyLong_FromLongLong", "ww")
PyFloat_AsDouble = Extern("PyFloat_AsDouble", "dw")
PyFloat_FromDouble = Extern("PyFloat_FromDouble", "wd")
PyBool_FromLong = Extern("PyBool_FromLong", "ww")
PyComplex_RealAsDouble = Extern("PyComplex_RealAsDouble", "dw")
PyComplex_ImagAsDouble = Extern("PyComplex_ImagAsDouble", "dw")
PyComplex_FromDoubles = Extern("PyComplex_FromDoubles", "wdd")
PyEval_SaveThread = Extern("PyEval_SaveThread", "w")
PyEval_RestoreThread = Extern("PyEval_RestoreThread", "vw")

LOW_HALF = 0xFFFFFFFF


def entry(self: Word, args: Word, nargs: Word, kwnames: Word) -> Word:
    """METH_FASTCALL | METH_KEYWORDS."""
    if kwnames == 0 or PyTuple_Size(kwnames) == 0:
        record = PyLong_AsVoidPtr(PyTuple_GetItem(self, 1))
        state = load(record, RECORD_STATE)
        table = load(record, RECORD_TABLES)
        slots = local(256)
        values = local(128)
        whole = local(64)
        while table != 0:
            if load(table, TABLE_NARGS) == nargs:
                given = args
                if load(table, TABLE_NCAPTURES) != 0:
                    given = with_captures(table, args, whole)
                if (
                    accepts(state, table, given, values) != 0
                    and feed(table, given, values, slots) != 0
                ):
                    return run(state, table, given, slots)
            table = load(table, TABLE_NEXT)
    return PyObject_Vectorcall(PyTuple_GetItem(self, 0), args, nargs, kwnames)


def with_captures(table: Word, args: Word, whole: Word) -> Word:
    """The given arguments, then what globals and cells hold now (borrowed; 0: nothing)."""
    nargs = load(table, TABLE_NARGS)
    for index in range(nargs):
        store(whole, index, load(args, index))
    item = load(table, TABLE_CAPTURES)
    for index in range(load(table, TABLE_NCAPTURES)):
        found = load(item, 1)
        if load(item, 0) == GLOBAL_CAPTURE:
            found = PyDict_GetItem(found, load(item, 2))
        elif load(item, 0) == CELL_CAPTURE:
            found = load(found + CELL, 0)
        store(whole, nargs + index, found)
        item += 8 * CAPTURE_WORDS
    return whole


def accepts(state: Word, table: Word, args: Word, values: Word) -> Word:
    """Whether every argument is what the table wants; `values` gets the numbers, two words each."""
    wanted = load(table, TABLE_ARGS)
    for index in range(load(table, TABLE_NARGS) + load(table, TABLE_NCAPTURES)):
        given = load(args, index)
        if given == 0:
            if load(wanted, ARG_KIND) != SAME_ARG or load(wanted, ARG_WHAT) != 0:
                return 0
        elif load(wanted, ARG_KIND) == ARRAY_ARG:
            if accepts_array(state, wanted, given) == 0:
                return 0
        elif accepts_number(state, wanted, given, values + 16 * index) == 0:
            return 0
        wanted += 8 * ARG_WORDS
    guard = load(table, TABLE_GUARDS)
    for _ in range(load(table, TABLE_NGUARDS)):
        if holds(guard, args) == 0:
            return 0
        guard += 8 * GUARD_WORDS
    return 1


def accepts_array(state: Word, wanted: Word, given: Word) -> Word:
    if load(given + TYPE, 0) != load(state, ARRAY_TYPE):
        return 0
    if load_i32(given, RANK) != load(wanted, ARG_RANK):
        return 0
    flags = load(wanted, ARG_FLAGS)
    if load_i32(given, FLAGS) & flags != flags:
        return 0
    descr = load(given + DESCR, 0)
    if descr == load(wanted, ARG_WHAT):
        return 1
    return load(descr + DESCR_IDENTITY, 0) == load(wanted, ARG_IDENTITY)


def accepts_number(state: Word, wanted: Word, given: Word, value: Word) -> Word:
    kind = load(wanted, ARG_KIND)
    if kind == SAME_ARG:
        return given == load(wanted, ARG_WHAT)
    type = load(given + TYPE, 0)
    if kind == FLOAT_ARG:
        if type != load(state, FLOAT_TYPE):
            return 0
        store(value, 0, PyFloat_AsDouble(given))
    elif kind == INT_ARG:
        if type != load(state, INT_TYPE):
            return 0
        overflow = local(1)
        store(overflow, 0, 0)
        store(value, 0, PyLong_AsLongLongAndOverflow(given, overflow))
        return load_i32(overflow, 0) == 0
    elif kind == BOOL_ARG:
        if type != load(state, BOOL_TYPE):
            return 0
        store(value, 0, given == load(state, TRUE))
    elif kind == COMPLEX_ARG:
        if type != load(state, COMPLEX_TYPE):
            return 0
        store(value, 0, PyComplex_RealAsDouble(given))
        store(value, 1, PyComplex_ImagAsDouble(given))
    else:
        return accepts_scalar(state, wanted, given, type, value)
    return 1


def accepts_scalar(state: Word, wanted: Word, given: Word, type: Word, value: Word) -> Word:
    """A NumPy scalar. `shift`: bits to move left and back, so that small integers are extended;
    128 + n: the same without a sign; −1: two halves of a complex64."""
    if type != load(wanted, ARG_WHAT):
        return 0
    store(value, 0, 0)
    indirect("vww", load(state, READ_SCALAR), given, value)
    shift = load(wanted, ARG_SHIFT)
    word = load(value, 0)
    if shift == -1:
        store(value, 0, word & LOW_HALF)
        store(value, 1, (word >> 32) & LOW_HALF)
    elif shift >= 128:
        store(value, 0, word & ((1 << (192 - shift)) - 1))
    elif shift != 0:
        store(value, 0, (word << shift) >> shift)
    return 1


def feed(table: Word, args: Word, values: Word, slots: Word) -> Word:
    """Fill the kernel's argument slots; 0 if a stride is no multiple of the element."""
    item = load(table, TABLE_FEEDS)
    for index in range(load(table, TABLE_NFEEDS)):
        kind = load(item, 0)
        a = load(item, 1)
        word = load(item, 3)
        if kind == FEED_DATA:
            word = load(load(args, a) + DATA, 0)
        elif kind == FEED_SIZE:
            word = size_of(args, a, load(item, 2))
        elif kind == FEED_VALUE:
            word = load(values, 2 * a + load(item, 2))
        elif kind == FEED_STRIDE:
            stride = load(load(load(args, a) + STRIDES, 0), load(item, 2))
            if remainder(stride, word) != 0:
                return 0
            word = divide(stride, word)
        store(slots, index, word)
        item += 8 * FEED_WORDS
    return 1


def is_short(table: Word, args: Word) -> Word:
    """Whether so few elements are at stake that the interpreter lock is kept."""
    limit = load(table, TABLE_HOLD)
    if limit == 0:
        return 0
    wanted = load(table, TABLE_ARGS)
    total = 0
    for index in range(load(table, TABLE_NARGS) + load(table, TABLE_NCAPTURES)):
        if load(wanted, ARG_KIND) == ARRAY_ARG:
            elements = 1
            for axis in range(load(wanted, ARG_RANK)):
                elements = elements * size_of(args, index, axis)
            total += elements
        wanted += 8 * ARG_WORDS
    return total < limit


def run(state: Word, table: Word, args: Word, slots: Word) -> Word:
    """Call the kernel and make the returned object."""
    results = local(128)
    ctx = acquire(state, load(table, TABLE_FOREIGN))
    if ctx == 0:
        return PyErr_NoMemory()
    kernel = load(table, TABLE_KERNEL)
    captures = load(table, TABLE_NCAPTURES)
    captured = args + 8 * load(table, TABLE_NARGS)
    for index in range(captures):
        Py_IncRef(load(captured, index))
    if is_short(table, args) != 0:
        status = indirect("iwww", kernel, ctx, slots, results)
    else:
        thread = PyEval_SaveThread()
        status = indirect("iwww", kernel, ctx, slots, results)
        PyEval_RestoreThread(thread)
    if status != 0:
        out = fail(ctx, load(table, TABLE_RAISE))
    else:
        out = returned(state, table, args, results)
    finish(ctx)
    for index in range(captures):
        Py_DecRef(load(captured, index))
    return out


def returned(state: Word, table: Word, args: Word, results: Word) -> Word:
    item = load(table, TABLE_OUTS)
    if load(table, TABLE_TUPLE) == 0:
        return object_of(state, item, args, results)
    count = load(table, TABLE_NOUTS)
    whole = PyTuple_New(count)
    if whole == 0:
        return 0
    for index in range(count):
        part = object_of(state, item, args, results)
        if part == 0:
            Py_DecRef(whole)
            return 0
        PyTuple_SetItem(whole, index, part)
        item += 8 * OUT_WORDS
    return whole


def object_of(state: Word, item: Word, args: Word, results: Word) -> Word:
    """One returned object, a new reference; 0 and an exception if there is no memory."""
    kind = load(item, 0)
    where = load(item, 1)
    what = load(item, 2)
    if kind == ARRAY_OUT:
        sizes = results + 8 * (where + 1)
        return adopt(state, load(results, where), what, load(item, 3), sizes)
    if kind == FLOAT_OUT:
        return PyFloat_FromDouble(load(results, where))
    if kind == INT_OUT:
        return PyLong_FromLongLong(load(results, where))
    if kind == BOOL_OUT:
        return PyBool_FromLong(load(results, where) & 1)
    if kind == COMPLEX_OUT:
        return PyComplex_FromDoubles(load(results, where), load(results, where + 1))
    if kind == SCALAR_OUT:
        return indirect("wwww", load(state, NEW_SCALAR), results + 8 * where, what, 0)
    if kind == COMPLEX64_OUT:
        pair = local(1)
        high = load(results, where + 1) << 32
        store(pair, 0, (load(results, where) & LOW_HALF) | high)
        return indirect("wwww", load(state, NEW_SCALAR), pair, what, 0)
    if kind == ARGUMENT_OUT:
        what = load(args, where)
    Py_IncRef(what)
    return what
