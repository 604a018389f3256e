"""Products and triangular systems behind the calling convention of foreign functions.

The slots hold operands and results, arrays as data pointer, sizes, strides in elements; results are
contiguous and row-major.
"""

from __future__ import annotations

from tapeless.runtime.native.matrices import (
    GEMM,
    LETTER_L,
    LETTER_N,
    LETTER_R,
    LETTER_T,
    LETTER_U,
    LIMIT,
    NO_MEMORY,
    TOO_LARGE,
    TRSM,
    copy_rows,
    free,
    memset,
    one,
    operand,
    routine,
)
from tapeless.runtime.words import (
    Word,
    indirect,
    load,
    local,
    store,
)


def gemm(slots: Word, size: Word) -> Word:
    """c = a b, computed as cᵀ = bᵀ aᵀ."""
    n = load(slots, 1)
    k = load(slots, 2)
    m = load(slots, 7)
    c = load(slots, 10)
    if n == 0 or m == 0:
        return 0
    if k == 0:
        memset(c, 0, n * m * size)
        return 0
    if n > LIMIT or m > LIMIT or k > LIMIT:
        return TOO_LARGE
    a = local(4)
    b = local(4)
    if operand(size, a, load(slots, 0), n, k, load(slots, 3), load(slots, 4)) != 0:
        return NO_MEMORY
    if operand(size, b, load(slots, 5), k, m, load(slots, 8), load(slots, 9)) != 0:
        free(load(a, 3))
        return NO_MEMORY
    w = local(5)
    store(w, 0, m)
    store(w, 1, n)
    store(w, 2, k)
    store(w, 3, one(size))
    store(w, 4, 0)
    indirect(
        "vwwwwwwwwwwwww",
        routine(size, GEMM),
        b + 16,
        a + 16,
        w,
        w + 8,
        w + 16,
        w + 24,
        load(b, 0),
        b + 8,
        load(a, 0),
        a + 8,
        w + 32,
        c,
        w,
    )
    free(load(a, 3))
    free(load(b, 3))
    return 0


def trsm(slots: Word, size: Word, lower: Word, unit: Word) -> Word:
    """x with a x = b, computed as xᵀ aᵀ = bᵀ."""
    n = load(slots, 1)
    m = load(slots, 7)
    x = load(slots, 10)
    if n == 0 or m == 0:
        return 0
    if n > LIMIT or m > LIMIT:
        return TOO_LARGE
    a = local(4)
    if operand(size, a, load(slots, 0), n, n, load(slots, 3), load(slots, 4)) != 0:
        return NO_MEMORY
    copy_rows(size, n, m, load(slots, 5), load(slots, 8), load(slots, 9), x)
    w = local(6)
    store(w, 0, LETTER_R)
    upper_in_memory = lower
    if load(a, 2) == LETTER_T:
        upper_in_memory = 1 - lower
    store(w, 1, LETTER_L)
    if upper_in_memory == 1:
        store(w, 1, LETTER_U)
    store(w, 2, LETTER_N)
    if unit == 1:
        store(w, 2, LETTER_U)
    store(w, 3, m)
    store(w, 4, n)
    store(w, 5, one(size))
    indirect(
        "vwwwwwwwwwww",
        routine(size, TRSM),
        w,
        w + 8,
        a + 16,
        w + 16,
        w + 24,
        w + 32,
        w + 40,
        load(a, 0),
        a + 8,
        x,
        w + 24,
    )
    free(load(a, 3))
    return 0


def dgemm(slots: Word) -> Word:
    return gemm(slots, 8)


def sgemm(slots: Word) -> Word:
    return gemm(slots, 4)


def dtrsm_lower(slots: Word) -> Word:
    return trsm(slots, 8, 1, 0)


def strsm_lower(slots: Word) -> Word:
    return trsm(slots, 4, 1, 0)


def dtrsm_lower_unit(slots: Word) -> Word:
    return trsm(slots, 8, 1, 1)


def strsm_lower_unit(slots: Word) -> Word:
    return trsm(slots, 4, 1, 1)


def dtrsm_upper(slots: Word) -> Word:
    return trsm(slots, 8, 0, 0)


def strsm_upper(slots: Word) -> Word:
    return trsm(slots, 4, 0, 0)


def dtrsm_upper_unit(slots: Word) -> Word:
    return trsm(slots, 8, 0, 1)


def strsm_upper_unit(slots: Word) -> Word:
    return trsm(slots, 4, 0, 1)
