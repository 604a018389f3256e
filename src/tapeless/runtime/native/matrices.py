"""Matrices as BLAS and LAPACK take them, and the table of SciPy's functions.

LAPACK works on columns: a row-major matrix is its transpose there. `size` is that of an element, 8
or 4; the addresses of SciPy's functions are in TABLE.
"""

from __future__ import annotations

from tapeless.runtime.words import (
    Extern,
    Static,
    Word,
    address_of,
    indirect,
    load,
    local,
    store,
)

malloc = Extern("malloc", "ww")


free = Extern("free", "vw")


memset = Extern("memset", "wwiw")


TABLE = Static("tapeless_lapack", 32)


COPY = 0


GEMM = 1


TRSM = 2


POTRF = 3


GESV = 4


GETRF = 5


SYEVD = 6


GESDD = 7


GEQRF = 8


ORGQR = 9


SINGLE = 16  # where the functions of single precision begin


NO_MEMORY = -1


TOO_LARGE = -2


LIMIT = 2147483647


BLOCK = 64  # columns that LAPACK may work on at a time


DOUBLE_ONE = 4607182418800017408


SINGLE_ONE = 1065353216


DOUBLE_MINUS_ONE = -4616189618054758400


SINGLE_MINUS_ONE = 3212836864


LETTER_N = 78


LETTER_T = 84


LETTER_L = 76


LETTER_U = 85


LETTER_R = 82


LETTER_V = 86


LETTER_S = 83


LETTER_A = 65


def lapack_table() -> Word:
    return address_of(TABLE)


def routine(size: Word, number: Word) -> Word:
    if size == 4:
        number = number + SINGLE
    return load(address_of(TABLE), number)


def one(size: Word) -> Word:
    if size == 4:
        return SINGLE_ONE
    return DOUBLE_ONE


def copy_line(size: Word, n: Word, x: Word, step: Word, y: Word, y_step: Word) -> Word:
    """n elements from x, `step` apart, to y."""
    w = local(3)
    if step < 0:
        x = x + (n - 1) * step * size
    store(w, 0, n)
    store(w, 1, step)
    store(w, 2, y_step)
    indirect("vwwwww", routine(size, COPY), w, x, w + 8, y, w + 16)
    return 0


def copy_rows(size: Word, rows: Word, columns: Word, x: Word, s0: Word, s1: Word, y: Word) -> Word:
    """A matrix of any strides to contiguous rows."""
    for i in range(rows):
        copy_line(size, columns, x + i * s0 * size, s1, y + i * columns * size, 1)
    return 0


def operand(size: Word, plan: Word, x: Word, rows: Word, columns: Word, s0: Word, s1: Word) -> Word:
    """plan: where the matrix is for BLAS, its leading dimension, "N" if that has its rows as
    columns or "T", and memory to free. 0 if all went well."""
    if columns <= 1:
        s1 = 1
    if rows <= 1:
        s0 = max(columns, 1)
    store(plan, 0, x)
    store(plan, 3, 0)
    if s1 == 1 and s0 >= columns and s0 > 0:
        store(plan, 1, s0)
        store(plan, 2, LETTER_N)
        return 0
    if s0 == 1 and s1 >= rows:
        store(plan, 1, s1)
        store(plan, 2, LETTER_T)
        return 0
    packed = malloc(max(rows * columns * size, 8))
    if packed == 0:
        return NO_MEMORY
    copy_rows(size, rows, columns, x, s0, s1, packed)
    store(plan, 0, packed)
    store(plan, 1, columns)
    store(plan, 2, LETTER_N)
    store(plan, 3, packed)
    return 0
