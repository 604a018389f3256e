"""Which loops become parallel, and that all of them mean what they meant."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.ir.interp import interpret
from tapeless.ir.parse import parse
from tapeless.ir.syntax import Each, Loop, Put
from tests.passes.support import exps, kinds, modes, optimised, outcome

MATMUL = """
fun matmul(n: i64, m: i64, l: i64, a: f64[n, l], b: f64[l, m]) {
  c: f64[n, m] = zeros f64[n, m]
  r: f64[n, m] = loop (p: f64[n, m] = c) for i < n {
    r1: f64[n, m] = loop (p1: f64[n, m] = p) for j < m {
      r2: f64[n, m] = loop (p2: f64[n, m] = p1) for k < l {
        o: f64 = p2[i~, j~]
        u: f64 = a[i~, k~]
        v: f64 = b[k~, j~]
        w: f64 = u * v
        t: f64 = o + w
        p3: f64[n, m] = p2 with [i~, j~] = t
        return p3
      }
      return r2
    }
    return r1
  }
  return r
}"""

LU = """
fun lu(n: i64, *a: f64[n, n]) {
  r: f64[n, n] = loop (p: f64[n, n] = a) for i < n {
    r1: f64[n, n] = loop (p1: f64[n, n] = p) for j < i {
      r2: f64[n, n] = loop (p2: f64[n, n] = p1) for k < j {
        u: f64 = p2[i~, k~]
        v: f64 = p2[k~, j~]
        w: f64 = u * v
        o: f64 = p2[i~, j~]
        s: f64 = o - w
        p3: f64[n, n] = p2 with [i~, j~] = s
        return p3
      }
      d: f64 = r2[j~, j~]
      e: f64 = r2[i~, j~]
      q: f64 = e / d
      p4: f64[n, n] = r2 with [i~, j~] = q
      return p4
    }
    return r1
  }
  return r
}"""

FLOYD_WARSHALL = """
fun shortest(n: i64, *a: f64[n, n]) {
  r: f64[n, n] = loop (p: f64[n, n] = a) for k < n {
    r1: f64[n, n] = loop (p1: f64[n, n] = p) for i < n {
      r2: f64[n, n] = loop (p2: f64[n, n] = p1) for j < n {
        u: f64 = p2[i~, k~]
        v: f64 = p2[k~, j~]
        w: f64 = u + v
        o: f64 = p2[i~, j~]
        s: f64 = min(o, w)
        p3: f64[n, n] = p2 with [i~, j~] = s
        return p3
      }
      return r2
    }
    return r1
  }
  return r
}"""

SEIDEL = """
fun seidel(n: i64, *a: f64[n]) {
  n2: i64 = n - 2
  s: i64 = max(n2, 0)
  r: f64[n] = loop (p: f64[n] = a) for k < s {
    i: i64 = 1 + k
    l: i64 = i - 1
    h: i64 = i + 1
    x: f64 = p[l~]
    y: f64 = p[h~]
    z: f64 = x + y
    w: f64 = z * 0.5
    q: f64[n] = p with [i~] = w
    return q
  }
  return r
}"""

JACOBI = """
fun jacobi(n: i64, a: f64[n, n], *b: f64[n, n]) {
  n2: i64 = n - 2
  s: i64 = max(n2, 0)
  r: f64[n, n] = loop (p: f64[n, n] = b) for i0 < s {
    i: i64 = 1 + i0
    up: i64 = i - 1
    down: i64 = i + 1
    r1: f64[n, n] = loop (p1: f64[n, n] = p) for j0 < s {
      j: i64 = 1 + j0
      left: i64 = j - 1
      right: i64 = j + 1
      x1: f64 = a[up~, j?]
      x2: f64 = a[down?, j?]
      x3: f64 = a[i?, left~]
      x4: f64 = a[i?, right?]
      t1: f64 = x1 + x2
      t2: f64 = x3 + x4
      t3: f64 = t1 + t2
      t4: f64 = t3 * 0.25
      p2: f64[n, n] = p1 with [i?, j?] = t4
      return p2
    }
    return r1
  }
  return r
}"""

COLUMN_SCAN = """
fun columns(n: i64, m: i64, *a: f64[n, m]) {
  n1: i64 = n - 1
  s: i64 = max(n1, 0)
  r: f64[n, m] = loop (p: f64[n, m] = a) for i0 < s {
    i: i64 = 1 + i0
    r1: f64[n, m] = loop (p1: f64[n, m] = p) for j < m {
      up: i64 = i - 1
      x: f64 = p1[up~, j~]
      y: f64 = p1[i~, j~]
      z: f64 = x + y
      p2: f64[n, m] = p1 with [i~, j~] = z
      return p2
    }
    return r1
  }
  return r
}"""

HISTOGRAM = """
fun histogram(n: i64, m: i64, idx: i64[n], w: f64[n], *h: f64[m]) {
  r: f64[m] = loop (p: f64[m] = h) for i < n {
    k: i64 = idx[i~]
    x: f64 = w[i~]
    o: f64 = p[k~]
    s: f64 = o + x
    q: f64[m] = p with [k~] = s
    return q
  }
  return r
}"""

TRIANGLE = """
fun triangle(n: i64, a: f64[n, n], *b: f64[n, n]) {
  r: f64[n, n], total: f64 = loop (p: f64[n, n] = b, t: f64 = 0.0) for i < n {
    r1: f64[n, n], t1: f64 = loop (p1: f64[n, n] = p, t0: f64 = t) for j < i {
      x: f64 = a[i~, j~]
      p2: f64[n, n] = p1 with [i~, j~] = x
      p3: f64[n, n] = p2 with [j~, i~] = x
      t2: f64 = t0 + x
      return p3, t2
    }
    return r1, t1
  }
  return r, total
}"""

CONDITIONAL = """
fun conditional(n: i64, x: f64[n], *y: f64[n]) {
  r: f64[n], s: f64, m: f64 = loop (p: f64[n] = y, t: f64 = 0.0, b: f64 = -inf) for i < n {
    v: f64 = x[i~]
    c: bool = 0.0 < v
    p1: f64[n], t1: f64 = if c {
      d: f64 = v * 2.0
      q: f64[n] = p with [i~] = d
      t2: f64 = t + v
      return q, t2
    } else {
      return p, t
    }
    bigger: bool = b < v
    b1: f64 = select(bigger, v, b)
    return p1, t1, b1
  }
  return r, s, m
}"""


def count(fun, kind):
    return sum(isinstance(e, kind) for e in exps(fun))


def test_matmul_is_a_map_of_sums():
    new = optimised(MATMUL)
    assert kinds(new) == ["Each", "Each"]
    outer, inner = (e for e in exps(new) if isinstance(e, Each))
    assert len(outer.vars) == 2
    assert not outer.accs
    assert [a.op for a in inner.accs] == ["+"]
    assert modes(new) == {"p"}


def test_lu_keeps_its_order_but_sums_in_parallel():
    new = optimised(LU)
    assert kinds(new) == ["Loop", "Loop", "Each"]
    assert modes(new) == {"p"}


def test_floyd_warshall_in_place_is_parallel_around_the_pivot():
    new = optimised(FLOYD_WARSHALL)
    assert count(new, Loop) == 1
    assert modes(new) == {"p"}


def test_in_place_recurrence_stays_a_loop():
    new = optimised(SEIDEL)
    assert kinds(new) == ["Iverson", "Loop"]
    assert modes(new) == {"p"}


def test_stencil_has_no_check_and_one_nest():
    new = optimised(JACOBI)
    assert kinds(new) == ["Each"]
    assert modes(new) == {"p"}


def test_only_the_inner_loop_of_a_column_recurrence_is_parallel():
    assert kinds(optimised(COLUMN_SCAN)) == ["Loop", "Each"]


def test_histogram_accumulates():
    new = optimised(HISTOGRAM)
    (nest,) = (e for e in exps(new) if isinstance(e, Each))
    assert [a.op for a in nest.accs] == ["+"]


def test_triangle_writes_both_halves():
    new = optimised(TRIANGLE)
    assert count(new, Loop) == 0
    assert modes(new) == {"p"}


def test_conditional_writes_sums_and_maxima():
    new = optimised(CONDITIONAL)
    (nest,) = (e for e in exps(new) if isinstance(e, Each))
    assert sorted(a.op for a in nest.accs) == ["+", "=", "max"]


LEAST = """
fun least(n: i64, x: f64[n], k: i64[n], *y: f64[n]) {{
  r: f64[n] = loop (p: f64[n] = y) for i < n {{
    at: i64 = k[i]
    v: f64 = x[i]
    old: f64 = p[at?]
    {new}
    q: f64[n] = p with [at?] = s
    return q
  }}
  return r
}}"""


def least(*lines: str) -> str:
    return LEAST.format(new="\n".join(lines))


@pytest.mark.parametrize(("test", "op"), [("v < old", "min"), ("old < v", "max")])
def test_cells_that_keep_the_smaller_of_two(test: str, op: str):
    """As Python's min and max of two numbers are written."""
    new = optimised(least(f"c: bool = {test}", "s: f64 = select(c, v, old)"))
    (nest,) = (e for e in exps(new) if isinstance(e, Each))
    assert [a.op for a in nest.accs] == [op]


@pytest.mark.parametrize(
    "lines",
    [
        ("c: bool = old < 3.0", "t: f64 = old + v", "s: f64 = select(c, t, old)"),
        ("t: f64 = old * v", "s: f64 = old + t"),
        ("w: f64 = old * v", "c: bool = w < old", "s: f64 = select(c, w, old)"),
        ("c: bool = v < old", "t: f64 = v + 1.0", "s: f64 = select(c, t, old)"),
    ],
)
def test_cells_whose_old_value_decides_otherwise_stay_in_order(lines: tuple[str, ...]):
    assert "Loop" in kinds(optimised(least(*lines)))


def test_a_cell_that_is_added_to_and_read_stays_in_order():
    new = optimised("""
    fun both(n: i64, x: f64[n], k: i64[n], *y: f64[n]) {
      r: f64[n], u: f64 = loop (p: f64[n] = y, t: f64 = 0.0) for i < n {
        at: i64 = k[i]
        v: f64 = x[i]
        old: f64 = p[at?]
        s: f64 = old + v
        q: f64[n] = p with [at?] = s
        t1: f64 = t + old
        return q, t1
      }
      return u, r
    }""")
    assert "Loop" in kinds(new)


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 2])
def test_reads_at_a_distance(offset):
    """y[2i] = y[2i + offset]: odd offsets never meet a written cell."""
    new = optimised(f"""
    fun far(n: i64, *y: f64[n]) {{
      h: i64 = n // 2
      k: i64 = h - 2
      s: i64 = max(k, 0)
      r: f64[n] = loop (p: f64[n] = y) for i < s {{
        j: i64 = i + 1
        e: i64 = j * 2
        o: i64 = e + {offset}
        x: f64 = p[o~]
        z: f64 = x * 3.0
        q: f64[n] = p with [e~] = z
        return q
      }}
      return r
    }}""")
    assert (count(new, Loop) == 0) == (offset in (-1, 0, 1))


PREFIX = """
fun prefix(n: i64, x: f64[n], *y: f64[n]) {
  n1: i64 = n - 1
  s: i64 = max(n1, 0)
  r: f64[n] = loop (p: f64[n] = y) for k < s {
    i: i64 = 1 + k
    h: i64 = i - 1
    u: f64 = p[h~]
    v: f64 = x[i~]
    w: f64 = u + v
    q: f64[n] = p with [i~] = w
    return q
  }
  return r
}"""

ROWS = """
fun rows(n: i64, m: i64, *a: f64[n, m]) {
  m1: i64 = m - 1
  s: i64 = max(m1, 0)
  r: f64[n, m] = loop (p: f64[n, m] = a) for i < n {
    r1: f64[n, m] = loop (p1: f64[n, m] = p) for j0 < s {
      j: i64 = 1 + j0
      left: i64 = j - 1
      x: f64 = p1[i~, left~]
      y: f64 = p1[i~, j~]
      t: f64 = x * 0.5
      z: f64 = t + y
      p2: f64[n, m] = p1 with [i~, j~] = z
      return p2
    }
    return r1
  }
  return r
}"""

OTHER_ORDER = """
fun matmul(n: i64, m: i64, l: i64, a: f64[n, l], b: f64[l, m]) {
  c: f64[n, m] = zeros f64[n, m]
  r: f64[n, m] = loop (p: f64[n, m] = c) for i < n {
    r1: f64[n, m] = loop (p1: f64[n, m] = p) for k < l {
      r2: f64[n, m] = loop (p2: f64[n, m] = p1) for j < m {
        o: f64 = p2[i~, j~]
        u: f64 = a[i~, k~]
        v: f64 = b[k~, j~]
        w: f64 = u * v
        t: f64 = o + w
        p3: f64[n, m] = p2 with [i~, j~] = t
        return p3
      }
      return r2
    }
    return r1
  }
  return r
}"""

WHILE = """
fun count(n: i64, x: f64[n]) {
  s: f64, k: i64 = loop (t: f64 = 0.0, i: i64 = 1) while {
    c: bool = i < n
    return c
  } do {
    v: f64 = x[i~]
    t1: f64 = t + v
    i1: i64 = i + 2
    return t1, i1
  }
  return s, k
}"""


def test_a_recurrence_is_carried_in_a_scalar():
    new = optimised(PREFIX)
    (loop,) = (e for e in exps(new) if isinstance(e, Loop))
    assert any(not p.is_array for p in loop.params)
    inside = [type(s.exp).__name__ for s in loop.body.stms]
    assert inside.count("Index") == 1


def test_rows_of_recurrences_are_parallel():
    assert kinds(optimised(ROWS)) == ["Each", "Iverson", "Loop"]


def test_a_contraction_looks_the_same_in_any_order():
    new = optimised(OTHER_ORDER)
    assert kinds(new) == ["Each", "Each"]
    outer, inner = (e for e in exps(new) if isinstance(e, Each))
    assert len(outer.vars) == 2
    assert not outer.accs
    assert [a.op for a in inner.accs] == ["+"]


def test_a_counting_while_is_a_sum():
    assert kinds(optimised(WHILE)) == ["Each"]


SMALL_TABLE = (
    OTHER_ORDER.replace("l: i64,", "l: i64, s: i64,")
    .replace("= zeros f64[n, m]", "= zeros f64[s, s]")
    .replace("f64[n, m] =", "f64[s, s] =")
)


def test_a_table_that_may_be_too_small_is_checked():
    new = optimised(SMALL_TABLE)
    a, b = np.ones((4, 2)), np.ones((2, 4))
    assert outcome(new, [4, 4, 2, 3, a, b]) is IndexError
    (enough,) = interpret(new, 4, 4, 2, 4, a, b)
    np.testing.assert_array_equal(enough, a @ b)


SUMS_INTO_CELLS = """
fun slopes(n: i64, x: f64[n]) {
  zero: f64[n] = zeros f64[n]
  y: f64[n] = each (i < n) with (p: f64[n] += zero) {
    v: f64 = x[i]
    w: f64 = v * v
    put p[i] <- w
    put p[i] <- v
    return
  }
  z: f64[n] = each (j < n) with (q: f64[n] += y) {
    u: f64 = x[j]
    put q[j] <- u
    return
  }
  return z
}"""


def test_sums_into_every_cell_are_one_map():
    fun = optimised(SUMS_INTO_CELLS)
    (nest,) = (e for e in exps(fun) if isinstance(e, Each))
    assert not nest.accs
    x = np.array([1.0, -2.0, 0.5])
    np.testing.assert_array_equal(interpret(fun, 3, x)[0], x * x + 2 * x)


STENCIL_BACK = """
fun back(n: i64, m: i64, u: f64[n, m], w: f64[n, m]) {
  p: i64 = n - 2
  p1: i64 = max(p, 0)
  q: i64 = m - 3
  q1: i64 = max(q, 0)
  r: f64[n, m] = each (i < p1, j < q1) with (a: f64[n, m] += w) {
    i1: i64 = i + 1
    i2: i64 = i + 2
    j1: i64 = j + 1
    j3: i64 = j + 3
    v: f64 = u[i1, j1]
    s: f64 = v * v
    put a[i1, j] <- v
    put a[i1, j3] <- s
    put a[i, j1] <- s
    put a[i2, j1] <- v
    put a[i2, j3] <- v
    return
  }
  return r
}"""


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("m", [0, 2, 3, 4, 5, 6, 9])
def test_sums_into_neighbouring_cells_are_added_once(n, m):
    fun = optimised(STENCIL_BACK)
    nests = [e for e in exps(fun) if isinstance(e, Each)]
    for nest in nests:
        lasts = {s.exp.at[-1] for s in nest.body.stms if isinstance(s.exp, Put)}
        assert len(lasts) <= 1
    rng = np.random.default_rng(n * 10 + m)
    u, w = rng.standard_normal((2, n, m))
    truth = interpret(parse(STENCIL_BACK), n, m, u, w)[0]
    np.testing.assert_allclose(interpret(fun, n, m, u, w)[0], truth, rtol=1e-14, atol=1e-14)


TRIANGLE_IN_A_ROW = """
fun packed(n: i64, w: i64, l: f64[w]) {
  at: i64, s: f64 = loop (p: i64 = 0, q: f64 = 0.0) for i < n {
    j: i64 = i + 1
    m: i64 = n - j
    r: f64 = each (k < m) with (acc: f64 += q) {
      here: i64 = p + k
      v: f64 = l[here~]
      put acc <- v
      return
    }
    p2: i64 = p + m
    return p2, r
  }
  return s
}"""


def test_a_place_that_only_grows_is_not_counted_from_the_end():
    assert "w" not in modes(optimised(TRIANGLE_IN_A_ROW))
