"""BLAS and LAPACK behind the calling convention of foreign functions: `i64 f(ptr slots)`.

The slots hold operands and results, arrays as data pointer, sizes, strides in elements; results are
contiguous and row-major. LAPACK works on columns: a row-major matrix is its transpose there. `size`
is that of an element, 8 or 4; the addresses of SciPy's functions are in TABLE.
"""

from __future__ import annotations

from tapeless.runtime.words import (
    Extern,
    Static,
    Word,
    address_of,
    indirect,
    load,
    load_i32,
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
