"""Lowered programs do what the reference interpreter does, on memory that is checked."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from check import same

R = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return R.normal(size=shape)


PROGRAMS: dict[str, tuple[str, list[tuple]]] = {}


def program(text: str, *args: tuple) -> None:
    PROGRAMS[text.partition("(")[0].split()[1]] = (text, list(args))


A34, B45 = floats(3, 4), floats(4, 5)
program(
    """fun arms(n: i64, m: i64, x: f64[n, m], c: bool) {
  k: i64, y: f64[n, k] = if c {
    d: i64 = m + 1
    z: f64[n, d] = each (i < n, j < d) {
      o: f64 = f64(j)
      return o
    }
    return d, z
  } else {
    return m, x
  }
  start: f64[m] = zeros f64[m]
  s: i64, w: f64[s] = loop (s1: i64 = m, w1: f64[s1] = start) while {
    more: bool = s1 < 6
    return more
  } do {
    e: bool = s1 == 4
    s2: i64, w2: f64[s2] = if e {
      g: i64 = s1 + 2
      h: f64[g] = each (l < g) {
        q: f64 = f64(l)
        return q
      }
      return g, h
    } else {
      r: i64 = s1 + 1
      t: f64[r] = zeros f64[r]
      return r, t
    }
    return s2, w2
  }
  return y, w
}""",
    (3, 4, floats(3, 4), True), (3, 4, floats(3, 4), False), (2, 0, floats(2, 0), True),
)  # fmt: skip
program(
    """fun grows_in_an_arm(n: i64, c: bool) {
  start: i64[0] = empty i64[0]
  k: i64, y: i64[k] = if c {
    k1: i64, y1: i64[k1] = loop (k2: i64 = 0, y2: i64[k2] = start) for i < n {
      k3: i64 = k2 + 1
      y3: i64[k3] = append(y2, i, k3)
      return k3, y3
    }
    return k1, y1
  } else {
    return 0, start
  }
  return y
}""",
    (20, True), (20, False), (0, True),
)  # fmt: skip
program(
    """fun known_place(n: i64, x: f64[n]) {
  z: f64[2] = zeros f64[2]
  r: f64[2] = each (i < n) with (acc: f64[2] += z) {
    v: f64 = x[i]
    put acc[1?] <- v
    return
  }
  return r
}""",
    (20, floats(20)), (0, floats(0)),
)  # fmt: skip
program(
    """fun rows_of_sums(n: i64, m: i64, x: f64[m, n], *c: f64[m]) {
  r: f64[m] = each (k < n) with (acc: f64[m] += c) {
    each (i < m) {
      u: f64 = x[i, k]
      v: f64 = exp(u)
      put acc[i] <- v
      return
    }
    ok: bool = k < 100
    check ok else ValueError("k")
    return
  }
  return r
}""",
    (5, 300, floats(300, 5), floats(300)),
)
program(
    """fun matmul(n: i64, m: i64, k: i64, a: f64[n, k], b: f64[k, m]) {
  c: f64[n, m] = each (i < n, j < m) {
    s: f64 = each (l < k) with (acc: f64 += 0.0) {
      x: f64 = a[i, l]
      y: f64 = b[l, j]
      z: f64 = x * y
      put acc <- z
      return
    }
    return s
  }
  return c
}""",
    (3, 5, 4, A34, B45), (0, 5, 4, floats(0, 4), B45), (3, 5, 0, floats(3, 0), floats(0, 5)),
)  # fmt: skip
program(
    """fun histogram(n: i64, m: i64, x: i64[n]) {
  z: f64[m] = zeros f64[m]
  h: f64[m] = each (i < n) with (acc: f64[m] += z) {
    k: i64 = x[i]
    put acc[k!] <- 1.0
    return
  }
  return h, h
}""",
    (6, 4, np.array([0, 3, 3, -1, 7, 3])), (0, 4, np.zeros(0, int)),
)  # fmt: skip
program(
    """fun two_results(n: i64, x: f64[n]) {
  a: f64[n], s: f64, top: f64 = each (i < n) with (acc: f64 += 1.0, m: f64 max= -inf) {
    v: f64 = x[i]
    w: f64 = v * v
    put acc <- w
    put m <- v
    return w
  }
  return a, x, s, top
}""",
    (5, floats(5)), (0, floats(0)),
)  # fmt: skip
program(
    """fun time_loop(n: i64, steps: i64, *u: f64[n]) {
  inside: i64 = n - 2
  last: f64[n] = loop (a: f64[n] = u) for t < steps {
    b: f64[n] = each (i < n) {
      l: i64 = i - 1
      r: i64 = i + 1
      lo: i64 = max(l, 0)
      m: i64 = n - 1
      hi: i64 = min(r, m)
      x: f64 = a[lo]
      y: f64 = a[hi]
      z: f64 = x + y
      return z
    }
    return b
  }
  return last
}""",
    (5, 3, floats(5)), (5, 4, floats(5)), (5, 0, floats(5)),
)  # fmt: skip
program(
    """fun in_place(n: i64, *u: f64[n]) {
  m: i64 = n - 1
  last: f64[n], s: f64 = loop (a: f64[n] = u, t: f64 = 0.0) for i < m {
    x: f64 = a[i]
    k: i64 = i + 1
    y: f64 = a[k?]
    z: f64 = x + y
    b: f64[n] = a with [k?] = z
    w: f64 = t + z
    return b, w
  }
  return s, last
}""",
    (5, floats(5)), (1, floats(1)),
)  # fmt: skip
program(
    """fun keeps_old(n: i64, x: f64[n]) {
  y: f64[n] = each (i < n) {
    v: f64 = x[i]
    return v
  }
  z: f64[n] = y with [0?] = 7.0
  w: f64[n] = x with [1!] = 8.0
  return y, z, w
}""",
    (5, floats(5)), (1, floats(1)), (0, floats(0)),
)  # fmt: skip
program(
    """fun swapped(n: i64, k: i64, *x: f64[n], *y: f64[n]) {
  a: f64[n], b: f64[n] = loop (p: f64[n] = x, q: f64[n] = y) for t < k {
    r: f64[n] = p with [0!] = 2.5
    return q, r
  }
  return a, b
}""",
    (4, 1, floats(4), floats(4)), (4, 2, floats(4), floats(4)), (4, 0, floats(4), floats(4)),
)  # fmt: skip
program(
    """fun crossed(n: i64, *x: f64[n], *y: f64[n]) {
  return y, x
}""",
    (4, floats(4), floats(4)),
)  # fmt: skip
program(
    """fun grows(n: i64, x: f64[n]) {
  z: f64[0] = zeros f64[0]
  c: i64, out: f64[c] = loop (m: i64 = 0, a: f64[m] = z) for i < n {
    v: f64 = x[i]
    p: bool = 0.0 < v
    m2: i64, a2: f64[m2] = if p {
      m3: i64 = m + 1
      a3: f64[m3] = append(a, v, m3)
      return m3, a3
    } else {
      return m, a
    }
    return m2, a2
  }
  s: f64 = each (i2 < c) with (acc: f64 += 0.0) {
    v2: f64 = out[i2]
    put acc <- v2
    return
  }
  return c, out, s
}""",
    (40, floats(40)), (0, floats(0)), (3, -np.ones(3)), (70, np.ones(70)),
)  # fmt: skip
program(
    """fun appends_rows(n: i64, k: i64, x: f64[n, k]) {
  z: f64[0, k] = zeros f64[0, k]
  c: i64, out: f64[c, k] = loop (m: i64 = 0, a: f64[m, k] = z) for i < n {
    m3: i64 = m + 1
    row: f64[k] = each (j < k) {
      v: f64 = x[i, j]
      return v
    }
    a3: f64[m3, k] = append(a, row, m3)
    return m3, a3
  }
  return c, out
}""",
    (20, 3, floats(20, 3)), (0, 3, floats(0, 3)),
)  # fmt: skip
program(
    """fun branches(n: i64, p: bool, x: f64[n]) {
  y: f64[n], s: f64 = if p {
    a: f64[n] = each (i < n) {
      v: f64 = x[i]
      w: f64 = exp(v)
      return w
    }
    return a, 1.0
  } else {
    return x, 2.0
  }
  z: f64[n], t: i64 = iverson p {
    b: f64[n] = each (j < n) {
      v2: f64 = y[j]
      w2: f64 = v2 + s
      return w2
    }
    return b, 3
  }
  return z, y, t, s
}""",
    (4, True, floats(4)), (4, False, floats(4)),
)  # fmt: skip
program(
    """fun branch_update(n: i64, p: bool, *x: f64[n]) {
  y: f64[n] = if p {
    a: f64[n] = x with [0!] = 1.0
    return a
  } else {
    return x
  }
  return y
}""",
    (4, True, floats(4)), (4, False, floats(4)), (0, True, floats(0)),
)  # fmt: skip
program(
    """fun argmax(n: i64, x: f64[n]) {
  v: f64, k: i64 = fold i < n by op (a: f64, ai: i64) (b: f64, bi: i64) neutral (-inf, -1) {
    p: bool = a < b
    m: f64 = select(p, b, a)
    mi: i64 = select(p, bi, ai)
    return m, mi
  } of {
    e: f64 = x[i]
    return e, i
  }
  return v, k
}""",
    (9, floats(9)), (0, floats(0)), (4, np.ones(4)),
)  # fmt: skip
program(
    """fun argmax_rows(n: i64, m: i64, x: f64[n, m]) {
  q: i64[n] = each (r < n) {
    v: f64, k: i64 = fold i < m by op (a: f64, ai: i64) (b: f64, bi: i64) neutral (-inf, -1) {
      p: bool = a < b
      t: f64 = select(p, b, a)
      mi: i64 = select(p, bi, ai)
      return t, mi
    } of {
      e: f64 = x[r, i]
      return e, i
    }
    return k
  }
  return q
}""",
    (4, 9, floats(4, 9)),
)  # fmt: skip
program(
    """fun prefix(n: i64, x: f64[n]) {
  y: f64[n], z: f64[n] = scan i < n by op (a: f64, a2: f64) (b: f64, b2: f64) neutral (1.0, 0.0) {
    c: f64 = a * b
    d: f64 = a2 * b
    e: f64 = d + b2
    return c, e
  } of {
    v: f64 = x[i]
    return v, 1.0
  }
  return y, z
}""",
    (9, floats(9)), (0, floats(0)),
)  # fmt: skip
program(
    """fun fold_of_matrices(n: i64, x: f64[n, 2, 2]) {
  one: f64[2, 2] = each (i1 < 2, j1 < 2) {
    p1: bool = i1 == j1
    e1: f64 = f64(p1)
    return e1
  }
  y: f64[2, 2] = fold k < n by op (a: f64[2, 2]) (b: f64[2, 2]) neutral (one) {
    c: f64[2, 2] = each (i < 2, j < 2) {
      s: f64 = each (l < 2) with (acc: f64 += 0.0) {
        u: f64 = a[i, l]
        v: f64 = b[l, j]
        w: f64 = u * v
        put acc <- w
        return
      }
      return s
    }
    return c
  } of {
    m: f64[2, 2] = each (r < 2, q < 2) {
      t: f64 = x[k, r, q]
      return t
    }
    return m
  }
  ys: f64[n, 2, 2] = scan k2 < n by op (a2: f64[2, 2]) (b2: f64[2, 2]) neutral (one) {
    c2: f64[2, 2] = each (i2 < 2, j2 < 2) {
      s2: f64 = each (l2 < 2) with (acc2: f64 += 0.0) {
        u2: f64 = a2[i2, l2]
        v2: f64 = b2[l2, j2]
        w2: f64 = u2 * v2
        put acc2 <- w2
        return
      }
      return s2
    }
    return c2
  } of {
    m2: f64[2, 2] = each (r2 < 2, q2 < 2) {
      t2: f64 = x[k2, r2, q2]
      return t2
    }
    return m2
  }
  return y, ys
}""",
    (4, floats(4, 2, 2)), (0, floats(0, 2, 2)),
)  # fmt: skip
program(
    """fun sorts(n: i64, m: i64, x: f64[n, m]) {
  y: i64[n, m] = each (i < n) {
    p: i64[m] = sort x[i]
    return p
  }
  return y
}""",
    (3, 17, floats(3, 17)), (2, 8, np.round(floats(2, 8))), (2, 1, floats(2, 1)),
    (1, 0, floats(1, 0)), (1, 6, np.array([[3.0, np.nan, 1.0, np.nan, np.inf, -1.0]])),
)  # fmt: skip
program(
    """fun mandel(n: i64, x: f64[n]) {
  y: i64[n] = each (i < n) {
    c: f64 = x[i]
    z: f64, k: i64 = loop (a: f64 = 0.0, j: i64 = 0) while {
      q: bool = j < 50
      p: bool = a < 4.0
      r: bool = p & q
      return r
    } do {
      b: f64 = a * a
      d: f64 = b + c
      j2: i64 = j + 1
      return d, j2
    }
    return k
  }
  return y
}""",
    (7, floats(7)),
)  # fmt: skip
program(
    """fun row_state(n: i64, m: i64, x: f64[n, m]) {
  y: f64[n, m] = each (i < n) {
    row: f64[m] = each (j < m) {
      v: f64 = x[i, j]
      return v
    }
    q: f64[m] = loop (a: f64[m] = row) for t < m {
      e: f64 = a[t]
      b: f64[m] = each (k < m) {
        f: f64 = a[k]
        g: f64 = f + e
        return g
      }
      return b
    }
    return q
  }
  return y
}""",
    (3, 4, floats(3, 4)),
)  # fmt: skip
program(
    """fun outer_puts(n: i64, m: i64, x: f64[n, m]) {
  zero: f64[n] = zeros f64[n]
  col: f64[m] = zeros f64[m]
  r: f64[n], c: f64[m], s: f64 = each (i < n) with (rs: f64[n] += zero,
      cs: f64[m] += col, t: f64 += 0.0) {
    each (j < m) {
      v: f64 = x[i, j]
      put rs[i] <- v
      put cs[j] <- v
      p: bool = 0.0 < v
      if p {
        put t <- v
        return
      } else {
        return
      }
      return
    }
    return
  }
  return r, c, s
}""",
    (3, 4, floats(3, 4)), (0, 4, floats(0, 4)), (3, 0, floats(3, 0)),
)  # fmt: skip
program(
    """fun assigns(n: i64, x: f64[n]) {
  d: i64 = n * 2
  e: f64[d] = empty f64[d]
  y: f64[d] = each (i < n) with (o: f64[d] = e) {
    v: f64 = x[i]
    k: i64 = i * 2
    k1: i64 = k + 1
    put o[k] <- v
    put o[k1] <- 0.0
    return
  }
  return y
}""",
    (5, floats(5)), (0, floats(0)),
)  # fmt: skip
program(
    """fun checked(n: i64, x: f64[n], k: i64) {
  p: bool = k < 100
  check p else ValueError("k is {0}", k)
  v: f64 = x[k?]
  w: f64 = x[k~]
  return v, w
}""",
    (5, floats(5), 2), (5, floats(5), 5), (5, floats(5), 200),
)  # fmt: skip

# In lanes ----------------------------------------------------------------------------------------

program(
    """fun lane_arrays(n: i64, x: f64[n, 3]) {
  y: f64[n], m: f64[n, 3] = each (i < n) {
    row: f64[3] = each (j < 3) {
      v: f64 = x[i, j]
      w: f64 = v * 2.0
      return w
    }
    p: f64 = row[0]
    q: bool = 0.0 < p
    two: f64[3] = if q {
      a: f64[3] = row with [1] = p
      return a
    } else {
      b: f64[3] = each (j2 < 3) {
        v2: f64 = row[j2]
        w2: f64 = v2 + 1.0
        return w2
      }
      return b
    }
    z: f64[3] = iverson q {
      c: f64[3] = each (j3 < 3) {
        v3: f64 = two[j3]
        return v3
      }
      return c
    }
    s: f64 = each (j4 < 3) with (acc: f64 += 0.0) {
      v4: f64 = two[j4]
      v5: f64 = z[j4]
      v6: f64 = v4 * v5
      put acc <- v6
      return
    }
    return s, two
  }
  return y, m
}""",
    (11, floats(11, 3)), (0, floats(0, 3)),
)  # fmt: skip
program(
    """fun lane_loops(n: i64, k: i64, x: f64[n]) {
  y: f64[n] = each (i < n) {
    v: f64 = x[i]
    start: f64[2] = zeros f64[2]
    other: f64[2] = each (j < 2) {
      return v
    }
    a: f64[2], b: f64[2] = loop (p: f64[2] = start, q: f64[2] = other) for t < k {
      e: f64 = q[0]
      f: f64 = p[1]
      g: f64 = e + f
      r: f64[2] = p with [1] = g
      return q, r
    }
    u: f64 = a[0]
    w: f64 = b[1]
    z: f64 = u - w
    return z
  }
  return y
}""",
    (9, 3, floats(9)), (9, 0, floats(9)), (9, 4, floats(9)),
)  # fmt: skip
program(
    """fun ragged(n: i64, m: i64, at: i64[n], x: f64[m]) {
  last: i64 = n - 1
  y: f64[n] = each (i < n) {
    b: i64 = at[i]
    s: f64, top: f64 = each (k < b) with (acc: f64 += 0.5, t: f64 max= -inf) {
      v: f64 = x[k?]
      put acc <- v
      put t <- v
      return
    }
    r: f64 = s + top
    return r
  }
  return y
}""",
    (4, 6, np.array([0, 6, 3, 1]), floats(6)), (4, 6, np.array([0, 6, 7, 1]), floats(6)),
)  # fmt: skip
program(
    """fun two_tiles(n: i64, m: i64, k: i64, a: f64[n, k], b: f64[m, k], *c: f64[n, m]) {
  r: f64[n, m] = each (i < n, j < m) with (out: f64[n, m] += c) {
    each (l < k) {
      x: f64 = a[i, l]
      y: f64 = b[j, l]
      z: f64 = x * y
      put out[i, j] <- z
      return
    }
    return
  }
  return r
}""",
    (9, 7, 5, floats(9, 5), floats(7, 5), floats(9, 7)),
    (3, 2, 0, floats(3, 0), floats(2, 0), floats(3, 2)),
)  # fmt: skip
program(
    """fun least_sum(n: i64, m: i64, x: f64[n, 2], c: f64[m, 2]) {
  best: f64[n] = each (i < n) {
    low: f64 = each (k < m) with (acc: f64 min= inf) {
      s: f64 = each (d < 2) with (t: f64 += 0.0) {
        u: f64 = x[i, d]
        v: f64 = c[k, d]
        w: f64 = u - v
        w2: f64 = w * w
        put t <- w2
        return
      }
      put acc <- s
      return
    }
    return low
  }
  return best
}""",
    (9, 3, floats(9, 2), floats(3, 2)),
)  # fmt: skip
program(
    """fun triangle(n: i64, x: f64[n, n]) {
  y: f64[n] = each (i < n) {
    s: f64 = each (j < i) with (acc: f64 += 0.0) {
      v: f64 = x[i, j]
      put acc <- v
      return
    }
    return s
  }
  return y
}""",
    (9, floats(9, 9)),
)  # fmt: skip
program(
    """fun inner_rows(n: i64, m: i64, x: f64[n, m]) {
  y: f64[n] = each (i < n) {
    row: f64[m] = each (j < m) {
      v: f64 = x[i, j]
      w: f64 = exp(v)
      return w
    }
    s: f64 = each (j2 < m) with (acc: f64 += 0.0) {
      v2: f64 = row[j2]
      put acc <- v2
      return
    }
    each_row: f64[m] = each (j3 < m) {
      v3: f64 = row[j3]
      w3: f64 = v3 / s
      return w3
    }
    last: i64 = m - 1
    r: f64 = each_row[last]
    return r
  }
  return y
}""",
    (4, 9, floats(4, 9)),
)  # fmt: skip

program(
    """fun flat_matmul(n: i64, m: i64, k: i64, a: f64[n, k], b: f64[k, m]) {
  z: f64[n, m] = zeros f64[n, m]
  c: f64[n, m] = each (i < n, j < m, l < k) with (acc: f64[n, m] += z) {
    x: f64 = a[i, l]
    y: f64 = b[l, j]
    w: f64 = x * y
    put acc[i, j] <- w
    return
  }
  return c
}""",
    (5, 9, 3, floats(5, 3), floats(3, 9)), (9, 2, 0, floats(9, 0), floats(0, 2)),
    (9, 0, 2, floats(9, 2), floats(2, 0)),
)  # fmt: skip
program(
    """fun bodies(n: i64, p: f64[n, 3], mass: f64[n]) {
  z: f64[n, 3] = zeros f64[n, 3]
  f: f64[n, 3], e: f64 = each (i < n, j < n) with (acc: f64[n, 3] += z, s: f64 += 0.0) {
    x: f64 = p[j, 0]
    x0: f64 = p[i, 0]
    y: f64 = p[j, 1]
    y0: f64 = p[i, 1]
    dx: f64 = x - x0
    dy: f64 = y - y0
    d2: f64 = dx * dx
    e2: f64 = dy * dy
    r: f64 = d2 + e2
    r1: f64 = r + 0.001
    q: f64 = sqrt(r1)
    m: f64 = mass[j]
    w: f64 = m / q
    fx: f64 = w * dx
    fy: f64 = w * dy
    put acc[i, 0] <- fx
    put acc[i, 1] <- fy
    put s <- w
    return
  }
  return f, e
}""",
    (9, floats(9, 3), floats(9)), (0, floats(0, 3), floats(0)),
)  # fmt: skip
program(
    """fun nearest(n: i64, m: i64, d: i64, x: f64[n, d], c: f64[m, d]) {
  who: i64[n] = each (i < n) {
    best: f64, k: i64 = fold j < m by op (a: f64, ai: i64) (b: f64, bi: i64) neutral (inf, 0) {
      p: bool = b < a
      t: f64 = select(p, b, a)
      ti: i64 = select(p, bi, ai)
      return t, ti
    } of {
      far: f64 = each (l < d) with (acc: f64 += 0.0) {
        u: f64 = x[i, l]
        v: f64 = c[j, l]
        w: f64 = u - v
        w2: f64 = w * w
        put acc <- w2
        return
      }
      return far, j
    }
    return k
  }
  return who
}""",
    (9, 6, 2, floats(9, 2), floats(6, 2)), (3, 11, 8, floats(3, 8), floats(11, 8)),
    (3, 0, 8, floats(3, 8), floats(0, 8)), (5, 4, 0, floats(5, 0), floats(4, 0)),
)  # fmt: skip


CASES = [
    pytest.param(text, args, id=f"{name}-{k}")
    for name, (text, runs) in PROGRAMS.items()
    for k, args in enumerate(runs)
]


@pytest.mark.parametrize(("text", "args"), CASES)
def test_lowered_program_is_the_same(text: str, args: tuple):
    same(text, *args)


@pytest.mark.parametrize("layout", ["F", "S"])
def test_layouts(layout: str):
    text, runs = PROGRAMS["matmul"]
    args = tuple(np.asarray(a, order="F") if np.ndim(a) else a for a in runs[0])
    same(text, *args, layouts=layout * 2)


def test_written_parameter_with_strides():
    text, runs = PROGRAMS["time_loop"]
    for args in runs:
        same(text, *args, layouts="S")
