"""Programs of Core with their meaning in NumPy: at least one for each construct of the grammar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapeless.core.names import Atom
from tapeless.core.types import Array, f64, i64
from tapeless.core.types import Scalar as ScalarType
from tapeless.ir.callees import CALLEES, Callee

X = np.array([3.0, -1.5, 2.0, 0.25, -4.0])
Y = np.array([1.0, 2.0, -3.0, 0.5, 8.0])
A = np.arange(12.0).reshape(3, 4) - 5.0


@dataclass(frozen=True)
class Program:
    """`expected` is the list of results on `args`, computed with NumPy."""

    name: str
    text: str
    args: tuple[Any, ...]
    expected: tuple[Any, ...] | Callable[..., tuple[Any, ...]]

    def results(self) -> tuple[Any, ...]:
        return self.expected(*self.args) if callable(self.expected) else self.expected


def _matvec_types(args: Any) -> tuple[Any, ...]:
    (matrix, _) = args
    return (Array(f64, (rows(matrix),)), ScalarType(i64))


def rows(operand: Any) -> Any:
    """The leading size of an operand of a Call, as a size of a type."""
    size: Atom = operand.dims[0][1] if hasattr(operand, "dims") else operand.shape[0]
    return getattr(size, "value", size)


# A foreign function of the tests' own.
CALLEES["tests.matvec"] = Callee(
    "tests.matvec",
    _matvec_types,
    lambda a, x: (a @ x, 0),
    lambda a, x: 2 * a.size,
)

PROGRAMS = [
    Program(
        "prim",
        """fun f(x: f64, k: i64, b: bool) {
          s: f64 = x * 2.0
          e: f64 = exp(s)
          c: f64 = f64(k)
          d: i64 = k // -3
          m: i64 = k % -3
          q: bool = d < m
          n: bool = not(b)
          w: bool = q | n
          r: f64 = select(w, e, c)
          h: u8 = u8(k)
          return r, d, m, h
        }""",
        (0.5, 7, True),
        (np.exp(1.0), np.int64(-3), np.int64(-2), np.uint8(7)),
    ),
    Program(
        "constants",
        """fun f() {
          a: f32 = 0.1:f32 + 1.5e-3:f32
          b: i8 = 100:i8 + 100:i8
          c: u16 = 0:u16 - 1:u16
          d: f64 = -inf * -1.0
          e: bool = isnan(nan)
          g: f32 = neg(0.0:f32)
          return a, b, c, d, e, g, true
        }""",
        (),
        (
            np.float32(0.1) + np.float32(1.5e-3),
            np.int8(-56),
            np.uint16(65535),
            np.float64(np.inf),
            np.True_,
            np.float32(-0.0),
            np.True_,
        ),
    ),
    Program(
        "index",
        """fun f(n: i64, x: f64[n], k: i64) {
          a: f64 = x[0]
          b: f64 = x[k?]
          c: f64 = x[-1~]
          return a, b, c
        }""",
        (5, X, 2),
        lambda n, x, k: (x[0], x[k], x[-1]),
    ),
    Program(
        "update",
        """fun f(n: i64, x: f64[n]) {
          a: f64[n] = x with [1] = 7.0
          b: f64[n] = a with [-1~] = 8.0
          c: f64[n] = b with [99!] = 9.0
          return x, a, c
        }""",
        (5, X),
        lambda n, x: (x, np.r_[x[0], 7.0, x[2:]], np.r_[x[0], 7.0, x[2:-1], 8.0]),
    ),
    Program(
        "alloc",
        """fun f(n: i64) {
          a: i32[n, 2] = zeros i32[n, 2]
          b: f64[n] = empty f64[n]
          c: f64[n] = each (i < n) with (out: f64[n] = b) {
            v: f64 = f64(i)
            put out[i] <- v
            return
          }
          return a, c
        }""",
        (3,),
        (np.zeros((3, 2), np.int32), np.arange(3.0)),
    ),
    Program(
        "append",
        """fun f(n: i64, x: f64[n]) {
          e: f64[0] = zeros f64[0]
          c: i64, v: f64[c] = loop (k: i64 = 0, a: f64[k] = e) for i < n {
            x_i: f64 = x[i]
            p: bool = 0.0 < x_i
            k2: i64, a2: f64[k2] = if p {
              k1: i64 = k + 1
              a1: f64[k1] = append(a, x_i, k1)
              return k1, a1
            } else {
              return k, a
            }
            return k2, a2
          }
          return c, v
        }""",
        (5, X),
        lambda n, x: (np.int64((x > 0).sum()), x[x > 0]),
    ),
    Program(
        "append_row",
        """fun f(m: i64, n: i64, a: f64[m, n], r: f64[n]) {
          m1: i64 = m + 1
          b: f64[m1, n] = append(a, r, m1)
          return b
        }""",
        (3, 4, A, np.ones(4)),
        lambda m, n, a, r: (np.vstack([a, r]),),
    ),
    Program(
        "if",
        """fun f(n: i64, x: f64[n], b: bool) {
          y: f64[n], s: f64 = if b {
            u: f64[n] = x with [0] = 1.0
            return u, 2.0
          } else {
            return x, 3.0
          }
          return y, s
        }""",
        (5, X, False),
        lambda n, x, b: (x, np.float64(3.0)),
    ),
    Program(
        "iverson",
        """fun f(n: i64, x: f64[n], k: i64) {
          inside: bool = k < n
          e: f64, a: f64[2] = iverson inside {
            v: f64 = x[k]
            z: f64[2] = each (i < 2) {
              return v
            }
            return v, z
          }
          return e, a
        }""",
        (5, X, 7),
        (np.float64(0), np.zeros(2)),
    ),
    Program(
        "loop_for",
        """fun f(n: i64, x: f64[n]) {
          m: f64, a: f64[n] = loop (s: f64 = 0.0, a: f64[n] = x) for i < n {
            v: f64 = a[i]
            t: f64 = s + v
            b: f64[n] = a with [i] = t
            return t, b
          }
          return m, a_1, x
        }""".replace("m: f64, a: f64[n] = loop", "m: f64, a_1: f64[n] = loop"),
        (5, X),
        lambda n, x: (np.cumsum(x)[-1], np.cumsum(x), x),
    ),
    Program(
        "loop_while",
        """fun f(k: i64) {
          last: i64, steps: i64 = loop (a: i64 = k, s: i64 = 0) while {
            more: bool = a != 1
            return more
          } do {
            r: i64 = a % 2
            odd: bool = r == 1
            a3: i64 = a * 3
            up: i64 = a3 + 1
            down: i64 = a // 2
            b: i64 = select(odd, up, down)
            s2: i64 = s + 1
            return b, s2
          }
          return last, steps
        }""",
        (27,),
        (np.int64(1), np.int64(111)),
    ),
    Program(
        "loop_reverse",
        """fun f(n: i64, m: i64) {
          s: f64 = loop (a: f64 = 1.0) reverse checkpoint(levels=2, slots=m, memory=1000)
          for i < n {
            b: f64 = a * 1.5
            return b
          }
          t: f64 = loop (c: f64 = s) reverse store() for j < 2 {
            d: f64 = c + 1.0
            return d
          }
          return t
        }""",
        (4, 3),
        (np.float64(1.5**4 + 2),),
    ),
    Program(
        "each_map",
        """fun f(m: i64, n: i64, a: f64[m, n]) {
          t: f64[n, m], r: f64[n, m, 2] = each (j < n, i < m) {
            v: f64 = a[i, j]
            w: f64[2] = each (k < 2) {
              kf: f64 = f64(k)
              p: f64 = v * kf
              return p
            }
            return v, w
          }
          return t, r
        }""",
        (3, 4, A),
        lambda m, n, a: (a.T.copy(), np.stack([a.T * 0, a.T], -1)),
    ),
    Program(
        "each_accumulate",
        """fun f(n: i64, x: f64[n], b: f64, p0: f64) {
          q: f64[n], s: f64, p: f64, lo: f64, hi: f64 = each (i < n)
          with (a: f64 += b, c: f64 *= p0, d: f64 min= inf, e: f64 max= -inf) {
            v: f64 = x[i]
            w: f64 = v * v
            put a <- v
            put a <- 1.0
            put c <- v
            put d <- v
            put e <- v
            return w
          }
          return q, s, p, lo, hi
        }""",
        (5, X, 10.0, 2.0),
        lambda n, x, b, p0: (x * x, b + x.sum() + 5, p0 * x.prod(), x.min(), x.max()),
    ),
    Program(
        "histogram",
        """fun f(n: i64, k: i64[n], w: f64[n], h0: f64[3]) {
          h: f64[3] = each (i < n) with (a: f64[3] += h0) {
            b: i64 = k[i]
            v: f64 = w[i]
            put a[b!] <- v
            return
          }
          return h
        }""",
        (5, np.array([0, 2, 2, -1, 7]), Y, np.ones(3)),
        (np.array([2.0, 1.0, 0.0]),),
    ),
    Program(
        "nested_put",
        """fun f(m: i64, n: i64, a: f64[m, n]) {
          z: f64[n] = zeros f64[n]
          s: f64[n] = each (i < m) with (acc: f64[n] += z) {
            each (j < n) {
              v: f64 = a[i, j]
              put acc[j] <- v
              return
            }
            return
          }
          return s
        }""",
        (3, 4, A),
        lambda m, n, a: (a.sum(0),),
    ),
    Program(
        "monoid_accumulator",
        """fun f(n: i64, x: f64[n]) {
          hi: f64, at: i64 = each (i < n) with (
            (m: f64, k: i64) = (-inf, -1) by op (a: f64, ai: i64) (b: f64, bi: i64)
            neutral (-inf, -1) commutative {
              less: bool = a < b
              c: f64 = select(less, b, a)
              ci: i64 = select(less, bi, ai)
              return c, ci
            }
          ) {
            v: f64 = x[i]
            put (m, k) <- v, i
            return
          }
          return hi, at
        }""",
        (5, X),
        lambda n, x: (x.max(), np.int64(x.argmax())),
    ),
    Program(
        "fold",
        """fun f(n: i64, x: f64[n]) {
          c: f64, d: f64 = fold i < n by op (a: f64, b: f64) (a2: f64, b2: f64) neutral (1.0, 0.0) {
            s: f64 = a * a2
            t: f64 = a2 * b
            u: f64 = t + b2
            return s, u
          } of {
            v: f64 = x[i]
            return v, 1.0
          }
          return c, d
        }""",
        (5, X),
        lambda n, x: (x.prod(), np.polyval(np.r_[1.0, np.cumprod(x[:0:-1])], 1.0)),
    ),
    Program(
        "scan",
        """fun f(n: i64, x: f64[n]) {
          y: f64[n] = scan i < n by op (a: f64) (b: f64) neutral (-inf) {
            c: f64 = max(a, b)
            return c
          } of {
            v: f64 = x[i]
            return v
          }
          return y
        }""",
        (5, X),
        lambda n, x: (np.maximum.accumulate(x),),
    ),
    Program(
        "check",
        """fun f(n: i64, x: f64[n], m: i64, y: f64[m]) {
          same: bool = n == m
          check same else ValueError("sizes {} and {} differ, \\"{{}}\\"", n, m)
          z: f64[n] = each (i < n) {
            a: f64 = x[i]
            b: f64 = y[i]
            c: f64 = a * b
            return c
          }
          return z
        }""",
        (5, X, 5, Y),
        lambda n, x, m, y: (x * y,),
    ),
    Program(
        "sort",
        """fun f(m: i64, n: i64, a: f64[m, n], k: i64) {
          p: i64[n] = sort a[k]
          x: f64[n] = each (i < n) {
            v: f64 = a[k, i]
            return v
          }
          q: i64[n] = sort x
          return p, q
        }""",
        (3, 4, np.array([[3.0, np.nan, 1.0, 1.0]] * 3), 1),
        (np.array([2, 3, 0, 1]), np.array([2, 3, 0, 1])),
    ),
    Program(
        "call",
        """fun f(m: i64, n: i64, a: f64[m, n], x: f64[n]) {
          y: f64[m], s: i64 = call tests.matvec(a, x)
          z: f64[n], t: i64 = call tests.matvec(a[0, 0 | 1: n, 0: m], y)
          last: i64 = n - 1
          w: f64[m], u: i64 = call tests.matvec(a[0, last | 0: m, 1: n * -1], x)
          return y, z, w, s
        }""",
        (3, 4, A, np.arange(4.0)),
        lambda m, n, a, x: (a @ x, a.T @ (a @ x), a[:, ::-1] @ x, np.int64(0)),
    ),
    Program(
        "written",
        """fun f(n: i64, x: f64[n], *y: f64[n]) {
          z: f64[n] = each (i < n) with (out: f64[n] = y) {
            v: f64 = y[i]
            w: f64 = x[i]
            s: f64 = v + w
            put out[i] <- s
            return
          }
          return 1.0, z
        }""",
        (5, X, Y),
        lambda n, x, y: (np.float64(1.0), x + y),
    ),
    Program(
        "strange_names",
        """fun "<lambda> 1"(return_: f64, 变量: f64, i_7: f64) {
          fun_: f64 = return_ + 变量
          i: f64 = fun_ + i_7
          return i
        }""",
        (1.0, 2.0, 4.0),
        (np.float64(7.0),),
    ),
]
