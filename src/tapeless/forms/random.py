"""Random numbers without a state: a function of a seed and any number of counters.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC11), in
64-bit integers that hold 32-bit words. The functions are written in the language itself: compiled
code runs this very source, so that the bits are the same everywhere.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

MASK = 0xFFFFFFFF
BITS, NORMAL = 0, 0x3C6EF372  # what is drawn: other streams for other kinds
PER_COUNTER = 0x9E3779B9  # f(seed, i) and f(seed, i, 0) differ


def bits(seed: int, *counters: int) -> np.uint64:
    """64 random bits.

    >>> bits(1, 2, 3) == bits(1, 2, 3), bits(1, 2, 3) == bits(1, 2, 4)
    (np.True_, np.False_)
    """
    a, b, _, _ = words(seed, counters, BITS)
    return np.uint64(a | b << 32)


def uniform(seed: int, *counters: int) -> float:
    """A number of [0, 1), a multiple of 2⁻⁵³: the leading bits of `bits(seed, *counters)`.

    >>> 0 <= uniform(42, 0) < 1
    True
    """
    a, b, _, _ = words(seed, counters, BITS)
    return float((a | b << 32) >> 11) * 2.0**-53


def normal(seed: int, *counters: int) -> float:
    """A number from the standard normal distribution, by Box and Muller: √(−2 ln u) cos 2πv.

    >>> abs(normal(42, 0)) < 8.6
    True
    """
    a, b, c, d = words(seed, counters, NORMAL)
    u = 1.0 - float((a | b << 32) >> 11) * 2.0**-53
    v = float((c | d << 32) >> 11) * 2.0**-53
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


def words(seed: int, counters: tuple[int, ...], kind: int) -> tuple[Any, Any, Any, Any]:
    """Four random 32-bit words of a seed, counters and a kind of number."""
    k0, k1 = halves(seed)
    tweak = (kind + PER_COUNTER * len(counters)) & MASK
    return absorb(counters, k0, k1 ^ tweak)


def absorb(counters: tuple[int, ...], k0: Any, k1: Any) -> tuple[Any, Any, Any, Any]:
    """The block at up to two counters; before more of them, a block makes the next key."""
    a0, a1 = halves(counters[0] if len(counters) > 0 else 0)
    b0, b1 = halves(counters[1] if len(counters) > 1 else 0)
    block = philox(a0, a1, b0, b1, k0, k1)
    if len(counters) <= 2:
        return block
    return absorb(counters[2:], block[0], block[1])


def halves(n: int) -> tuple[np.uint64, np.uint64]:
    """The low and high 32 bits of n modulo 2⁶⁴."""
    n = operator.index(n)
    return np.uint64(n & MASK), np.uint64((n >> 32) & MASK)


def philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> tuple[Any, Any, Any, Any]:
    """Ten rounds of Philox on a counter of four words, with a key of two."""
    for _ in range(10):
        p, q = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (q >> 32) ^ c1 ^ k0, q & MASK, (p >> 32) ^ c3 ^ k1, p & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3
