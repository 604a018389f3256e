"""What fuses, and that it means what it meant."""

from __future__ import annotations

from tapeless.ir.syntax import Each
from tests.passes.support import exps, kinds, modes, optimised

CHAIN = """
fun chain(n: i64, x: f64[n], y: f64[n], z: f64[n], a: f64) {
  t: f64[n] = each (i < n) {
    u: f64 = x[i]
    v: f64 = a * u
    return v
  }
  s: f64[n] = each (j < n) {
    u1: f64 = t[j]
    v1: f64 = y[j]
    w1: f64 = u1 + v1
    e1: f64 = exp(w1)
    return e1
  }
  r: f64[n] = each (k < n) {
    u2: f64 = s[k]
    v2: f64 = z[k]
    w2: f64 = u2 * v2
    return w2
  }
  return r
}"""

SOFTMAX_SUM = """
fun total(n: i64, x: f64[n]) {
  m: f64 = each (i < n) with (acc: f64 max= -inf) {
    u: f64 = x[i]
    put acc <- u
    return
  }
  e: f64[n] = each (j < n) {
    v: f64 = x[j]
    d: f64 = v - m
    w: f64 = exp(d)
    return w
  }
  s: f64 = each (k < n) with (sum: f64 += 0.0) {
    q: f64 = e[k]
    put sum <- q
    return
  }
  l: f64 = log(s)
  r: f64 = l + m
  return r
}"""

OUTER = """
fun outer(n: i64, x: f64[n]) {
  e: f64[n] = each (i < n) {
    u: f64 = x[i]
    w: f64 = exp(u)
    return w
  }
  o: f64[n, n] = each (j < n, k < n) {
    a: f64 = e[j]
    b: f64 = e[k]
    p: f64 = a * b
    return p
  }
  return o
}"""

PRODUCT_SUM = """
fun rows(n: i64, m: i64, a: f64[n, m], b: f64[n, m]) {
  p: f64[n, m] = each (i < n, j < m) {
    u: f64 = a[i, j]
    v: f64 = b[i, j]
    w: f64 = u * v
    return w
  }
  s: f64[n] = each (k < n) {
    t: f64 = each (l < m) with (acc: f64 += 0.0) {
      q: f64 = p[k, l]
      put acc <- q
      return
    }
    return t
  }
  return s
}"""

IN_PLACE = """
fun shift(n: i64, *a: f64[n]) {
  m: i64 = n - 1
  s: i64 = max(m, 0)
  t: f64[s] = each (i < s) {
    u: f64 = a[i]
    e: f64 = exp(u)
    return e
  }
  r: f64[n] = each (j < s) with (acc: f64[n] = a) {
    k: i64 = j + 1
    v: f64 = t[j]
    put acc[k] <- v
    return
  }
  return r
}"""

OWN_CELL = IN_PLACE.replace("k: i64 = j + 1", "k: i64 = j + 0")


def test_a_chain_is_one_nest():
    assert kinds(optimised(CHAIN)) == ["Each"]


def test_a_map_goes_into_its_sum():
    assert kinds(optimised(SOFTMAX_SUM)) == ["Each", "Each"]


def test_costly_elements_are_not_computed_again():
    new = optimised(OUTER)
    assert sum(getattr(e, "op", "") == "exp" for e in exps(new)) == 1
    assert kinds(new) == ["Each", "Each"]


def test_a_summed_product_is_never_stored():
    new = optimised(PRODUCT_SUM)
    assert kinds(new) == ["Each", "Each"]
    outer = next(e for e in exps(new) if isinstance(e, Each))
    assert len(outer.vars) == 1


def test_an_overwritten_input_keeps_its_reader():
    assert kinds(optimised(IN_PLACE)) == ["Each", "Each"]
    assert modes(optimised(IN_PLACE)) == {"p"}


def test_own_cells_are_overwritten_in_one_nest():
    assert kinds(optimised(OWN_CELL)) == ["Each"]


SOFTMAX = SOFTMAX_SUM.replace(
    "l: f64 = log(s)\n  r: f64 = l + m\n  return r",
    """p: f64[n] = each (h < n) {
    z: f64 = e[h]
    y: f64 = z / s
    return y
  }
  return p""",
)

TWO_SUMS = """
fun moments(n: i64, x: f64[n]) {
  s: f64 = each (i < n) with (a: f64 += 0.0) {
    u: f64 = x[i]
    put a <- u
    return
  }
  q: f64 = each (j < n) with (b: f64 += 0.0) {
    v: f64 = x[j]
    w: f64 = v * v
    put b <- w
    return
  }
  return s, q
}"""

HOIST = """
fun scaled(n: i64, m: i64, x: f64[n], y: f64[m]) {
  r: f64[n] = each (i < n) {
    s: f64 = each (j < m) with (a: f64 += 0.0) {
      u: f64 = x[i]
      e: f64 = exp(u)
      v: f64 = y[j]
      w: f64 = e * v
      put a <- w
      return
    }
    return s
  }
  return r
}"""


def test_the_sum_of_softmax_is_made_with_its_terms():
    new = optimised(SOFTMAX)
    assert kinds(new) == ["Each", "Each", "Each"]
    assert sum(getattr(e, "op", "") == "exp" for e in exps(new)) == 1


def test_two_sums_read_their_array_once():
    new = optimised(TWO_SUMS)
    (nest,) = (e for e in exps(new) if isinstance(e, Each))
    assert [a.op for a in nest.accs] == ["+", "+"]


def test_what_does_not_change_leaves_the_inner_nest():
    outer = next(e for e in exps(optimised(HOIST)) if isinstance(e, Each))
    names = [getattr(s.exp, "op", "") for s in outer.body.stms]
    assert "exp" in names
