"""Types that name two sizes: what no check makes equal is proved, or the program is invalid."""

from __future__ import annotations

import pytest

from tapeless.analysis.verify import verify
from tapeless.ir.invalid import InvalidIR
from tapeless.ir.parse import parse
from tapeless.ir.verify import verify as verify_names

HALVES = """
fun f(n: i64, m: i64, x: f64[n]) {{
  half: i64 = n // 2
  same: bool = {0}
  check same else ValueError("sizes")
  twice: i64 = 2 * half
  end: i64 = min(twice, m)
  gap: i64 = end - half
  late: i64 = max(gap, 0)
  s: f64[half] = zeros f64[half]
  last: f64[half] = loop (now: f64[half] = s) for t < 3 {{
    upper: f64[late] = each (i < late) {{
      at: i64 = half + i
      v: f64 = x[at?]
      return v
    }}
    return upper
  }}
  return last
}}
"""


@pytest.mark.parametrize("condition", ["n == m", "n <= m"])
def test_arithmetic_shows_that_sizes_are_equal(condition: str):
    """max(min(2⌊n/2⌋, m) - ⌊n/2⌋, 0) = ⌊n/2⌋ where n ≤ m."""
    fun = parse(HALVES.format(condition))
    verify(fun)
    with pytest.raises(InvalidIR, match=r"next state upper.* has type"):
        verify_names(fun)


@pytest.mark.parametrize("condition", ["m <= n", "n != m"])
def test_sizes_that_may_differ_are_invalid(condition: str):
    with pytest.raises(InvalidIR, match=r"next state upper.* has type"):
        verify(parse(HALVES.format(condition)))


def test_other_types_are_no_question_of_sizes():
    text = HALVES.format("n == m").replace("upper: f64[late] = each", "upper: i64[late] = each")
    with pytest.raises(InvalidIR):
        verify(parse(text))
