"""Python objects made from what a kernel returned."""

from __future__ import annotations

from tapeless.runtime.layout import (
    ARG_COUNT,
    ARRAY_TYPE,
    CARRAY,
    ERROR,
    INTERRUPT_SITE,
    MEMORY_SITE,
    NEW_ARRAY,
    SET_BASE,
    SITE,
)
from tapeless.runtime.native.calls import disown_capsule, own
from tapeless.runtime.words import Extern, Word, address_of, indirect, load, local, store

Py_IncRef = Extern("Py_IncRef", "vw")
Py_DecRef = Extern("Py_DecRef", "vw")
PyCapsule_New = Extern("PyCapsule_New", "wwww")
PyCapsule_SetContext = Extern("PyCapsule_SetContext", "iww")
PyErr_NoMemory = Extern("PyErr_NoMemory", "w")
PyErr_Restore = Extern("PyErr_Restore", "vwww")
PyBytes_FromStringAndSize = Extern("PyBytes_FromStringAndSize", "www")
PyObject_Vectorcall = Extern("PyObject_Vectorcall", "wwwww")

FAILURE_BYTES = 8 * (1 + ARG_COUNT)


def adopt(state: Word, data: Word, descr: Word, rank: Word, sizes: Word) -> Word:
    """An array over a result buffer, which it owns from now on; 0 and an exception on failure."""
    capsule = PyCapsule_New(data, 0, address_of(disown_capsule))
    if capsule == 0:
        return 0
    PyCapsule_SetContext(capsule, state)
    own(data)
    Py_IncRef(descr)
    array = indirect(
        "wwwiwwwiw", load(state, NEW_ARRAY),
        load(state, ARRAY_TYPE), descr, rank, sizes, 0, data, CARRAY, 0,
    )  # fmt: skip
    if array == 0:
        Py_DecRef(capsule)
        return 0
    if indirect("iww", load(state, SET_BASE), array, capsule) != 0:
        Py_DecRef(array)
        return 0
    return array


def fail(ctx: Word, handler: Word) -> Word:
    """Set the exception that a failed kernel stands for; 0. `handler` takes site and arguments as
    bytes and raises."""
    site = load(ctx, SITE)
    if site == INTERRUPT_SITE:
        error = ctx + 8 * ERROR
        PyErr_Restore(load(error, 0), load(error, 1), load(error, 2))
        store(error, 0, 0)
        store(error, 1, 0)
        store(error, 2, 0)
        return 0
    if site == MEMORY_SITE:
        return PyErr_NoMemory()
    words = PyBytes_FromStringAndSize(ctx + 8 * SITE, FAILURE_BYTES)
    if words == 0:
        return 0
    args = local(1)
    store(args, 0, words)
    result = PyObject_Vectorcall(handler, args, 1, 0)
    Py_DecRef(words)
    if result != 0:
        Py_DecRef(result)
    return 0
