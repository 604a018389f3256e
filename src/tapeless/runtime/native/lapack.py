"""Factorisations of LAPACK behind the calling convention of foreign functions: `i64 f(ptr slots)`.

The slots hold operands and results, arrays as data pointer, sizes, strides in elements; results are
contiguous and row-major.
"""

from __future__ import annotations

from tapeless.runtime.native.matrices import (
    BLOCK,
    DOUBLE_MINUS_ONE,
    GEQRF,
    GESDD,
    GESV,
    GETRF,
    LETTER_A,
    LETTER_L,
    LETTER_S,
    LETTER_U,
    LETTER_V,
    LIMIT,
    NO_MEMORY,
    ORGQR,
    POTRF,
    SINGLE_MINUS_ONE,
    SYEVD,
    TOO_LARGE,
    copy_line,
    copy_rows,
    free,
    malloc,
    memset,
    one,
    routine,
)
from tapeless.runtime.words import (
    Word,
    indirect,
    load,
    load_i32,
    local,
    store,
)


def potrf(slots: Word, size: Word) -> Word:
    """The lower Cholesky factor: below the diagonal of rows is above that of columns."""
    n = load(slots, 1)
    s0 = load(slots, 3)
    s1 = load(slots, 4)
    x = load(slots, 0)
    out = load(slots, 5)
    if n > LIMIT:
        return TOO_LARGE
    memset(out, 0, n * n * size)
    for i in range(n):
        copy_line(size, i + 1, x + i * s0 * size, s1, out + i * n * size, 1)
    w = local(4)
    store(w, 0, LETTER_U)
    store(w, 1, n)
    store(w, 2, max(n, 1))
    store(w, 3, 0)
    indirect("vwwwww", routine(size, POTRF), w, w + 8, out, w + 16, w + 24)
    return load_i32(w, 24)


def gesv(slots: Word, size: Word) -> Word:
    """x with a x = b by LU factors of a copy in columns."""
    n = load(slots, 1)
    m = load(slots, 7)
    if n == 0 or m == 0:
        return 0
    if n > LIMIT or m > LIMIT:
        return TOO_LARGE
    a = malloc(n * n * size + n * m * size + n * 4)
    if a == 0:
        return NO_MEMORY
    b = a + n * n * size
    copy_rows(size, n, n, load(slots, 0), load(slots, 4), load(slots, 3), a)
    copy_rows(size, m, n, load(slots, 5), load(slots, 9), load(slots, 8), b)
    w = local(3)
    store(w, 0, n)
    store(w, 1, m)
    store(w, 2, 0)
    indirect("vwwwwwwww", routine(size, GESV), w, w + 8, a, w, b + n * m * size, b, w, w + 16)
    copy_rows(size, n, m, b, 1, n, load(slots, 10))
    free(a)
    return load_i32(w, 16)


def getrf(slots: Word, size: Word) -> Word:
    """L and U in one matrix, and the sign of the row exchanges."""
    n = load(slots, 1)
    if n > LIMIT:
        return TOO_LARGE
    a = malloc(n * n * size + n * 4 + 8)
    if a == 0:
        return NO_MEMORY
    pivots = a + n * n * size
    copy_rows(size, n, n, load(slots, 0), load(slots, 4), load(slots, 3), a)
    w = local(3)
    store(w, 0, n)
    store(w, 1, max(n, 1))
    store(w, 2, 0)
    indirect("vwwwwww", routine(size, GETRF), w, w, a, w + 8, pivots, w + 16)
    copy_rows(size, n, n, a, 1, n, load(slots, 5))
    odd = 0
    for i in range(n):
        if load_i32(pivots, 4 * i) != i + 1:
            odd = 1 - odd
    store(w, 0, one(size))
    if odd == 1:
        store(w, 0, DOUBLE_MINUS_ONE)
        if size == 4:
            store(w, 0, SINGLE_MINUS_ONE)
    copy_line(size, 1, w, 1, load(slots, 10), 1)
    free(a)
    return min(load_i32(w, 16), 0)


def syevd(slots: Word, size: Word) -> Word:
    """Eigenvalues and eigenvectors from the lower triangle."""
    n = load(slots, 1)
    if n == 0:
        return 0
    if n > LIMIT:
        return TOO_LARGE
    w = local(6)
    store(w, 0, LETTER_V)
    store(w, 1, LETTER_L)
    store(w, 2, n)
    store(w, 3, 1 + (6 + BLOCK) * n + 2 * n * n)
    store(w, 4, 3 + 5 * n)
    store(w, 5, 0)
    a = malloc(n * n * size + load(w, 3) * size + load(w, 4) * 4)
    if a == 0:
        return NO_MEMORY
    work = a + n * n * size
    copy_rows(size, n, n, load(slots, 0), load(slots, 4), load(slots, 3), a)
    indirect(
        "vwwwwwwwwwww",
        routine(size, SYEVD),
        w,
        w + 8,
        w + 16,
        a,
        w + 16,
        load(slots, 5),
        work,
        w + 24,
        work + load(w, 3) * size,
        w + 32,
        w + 40,
    )
    copy_rows(size, n, n, a, 1, n, load(slots, 8))
    free(a)
    return load_i32(w, 40)


def gesdd(slots: Word, size: Word, job: Word) -> Word:
    """u, s, vᴴ: the rows of a are the columns of aᵀ = v s uᵀ, whose factors come out as rows."""
    rows = load(slots, 1)
    columns = load(slots, 2)
    few = min(rows, columns)
    many = max(rows, columns)
    if many > LIMIT:
        return TOO_LARGE
    w = local(7)
    store(w, 0, job)
    store(w, 1, columns)
    store(w, 2, rows)
    store(w, 3, max(columns, 1))
    store(w, 4, max(few, 1))
    if job == LETTER_A:
        store(w, 4, max(rows, 1))
    store(w, 5, 4 * few * few + 7 * few + (BLOCK + 1) * (rows + columns) + 8)
    store(w, 6, 0)
    a = malloc(rows * columns * size + load(w, 5) * size + 8 * few * 4 + 8)
    if a == 0:
        return NO_MEMORY
    work = a + rows * columns * size
    copy_rows(size, rows, columns, load(slots, 0), load(slots, 3), load(slots, 4), a)
    u = load(slots, 6)
    s = load(slots, 11)
    v = load(slots, 14)
    indirect(
        "vwwwwwwwwwwwwww",
        routine(size, GESDD),
        w,
        w + 8,
        w + 16,
        a,
        w + 24,
        s,
        v,
        w + 24,
        u,
        w + 32,
        work,
        w + 40,
        work + load(w, 5) * size,
        w + 48,
    )
    free(a)
    return load_i32(w, 48)


def qr(slots: Word, size: Word) -> Word:
    """q with as many columns as asked for, and r."""
    rows = load(slots, 1)
    columns = load(slots, 2)
    kept = load(slots, 5)
    q = load(slots, 6)
    r = load(slots, 11)
    few = min(rows, columns)
    wide = max(columns, kept)
    if rows > LIMIT or wide > LIMIT:
        return TOO_LARGE
    w = local(7)
    store(w, 0, rows)
    store(w, 1, columns)
    store(w, 2, max(rows, 1))
    store(w, 3, max(wide * BLOCK, 1))
    store(w, 4, 0)
    store(w, 5, kept)
    store(w, 6, few)
    a = malloc(rows * wide * size + few * size + load(w, 3) * size)
    if a == 0:
        return NO_MEMORY
    tau = a + rows * wide * size
    work = tau + few * size
    copy_rows(size, columns, rows, load(slots, 0), load(slots, 4), load(slots, 3), a)
    indirect("vwwwwwwww", routine(size, GEQRF), w, w + 8, a, w + 16, tau, work, w + 24, w + 32)
    memset(r, 0, kept * columns * size)
    for i in range(min(kept, few)):
        copy_line(
            size, columns - i, a + (i + i * rows) * size, rows, r + (i * columns + i) * size, 1
        )
    indirect(
        "vwwwwwwwww", routine(size, ORGQR), w, w + 40, w + 48, a, w + 16, tau, work, w + 24, w + 32
    )
    copy_rows(size, rows, kept, a, 1, rows, q)
    free(a)
    return load_i32(w, 32)


def dpotrf(slots: Word) -> Word:
    return potrf(slots, 8)


def spotrf(slots: Word) -> Word:
    return potrf(slots, 4)


def dgesv(slots: Word) -> Word:
    return gesv(slots, 8)


def sgesv(slots: Word) -> Word:
    return gesv(slots, 4)


def dgetrf(slots: Word) -> Word:
    return getrf(slots, 8)


def sgetrf(slots: Word) -> Word:
    return getrf(slots, 4)


def dsyevd(slots: Word) -> Word:
    return syevd(slots, 8)


def ssyevd(slots: Word) -> Word:
    return syevd(slots, 4)


def dgesdd(slots: Word) -> Word:
    return gesdd(slots, 8, LETTER_S)


def sgesdd(slots: Word) -> Word:
    return gesdd(slots, 4, LETTER_S)


def dgesdd_full(slots: Word) -> Word:
    return gesdd(slots, 8, LETTER_A)


def sgesdd_full(slots: Word) -> Word:
    return gesdd(slots, 4, LETTER_A)


def dqr(slots: Word) -> Word:
    return qr(slots, 8)


def sqr(slots: Word) -> Word:
    return qr(slots, 4)
