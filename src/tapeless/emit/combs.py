"""Lanes whose elements lie a few apart: a coordinate of points, the real parts of complex numbers.

The elements between them are loaded too, side by side, and left out by shuffles, or spared by
masks in stores, which takes a fraction of the time of a gather or scatter. Nothing is touched
before the first lane's element or behind the last one's.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.core.types import DType
from tapeless.emit.asm import memory_type, vector_suffix, wide
from tapeless.emit.context import Context

WIDEST = 4  # elements from lane to lane


def load_comb(c: Context, where: str, stride: int, dtype: DType, alias: str) -> str:
    """The elements at `where`, `where` + stride, …, one for each lane."""
    lanes = min(c.width, c.target.vector_bits // (8 * dtype.bytes))
    groups = [
        _group(c, where, first * stride, stride, lanes, dtype, alias)
        for first in range(0, c.width, lanes)
    ]
    type = memory_type(dtype)
    while len(groups) > 1:
        lanes *= 2
        pairs = zip(groups[::2], groups[1::2], strict=True)
        groups = [shuffled(c, type, lanes // 2, pair, range(lanes)) for pair in pairs]
    return groups[0]


def _group(
    c: Context, where: str, start: int, stride: int, lanes: int, dtype: DType, alias: str
) -> str:
    """A register of lanes out of `stride` registers of elements. The last of these ends where the
    last lane's element does."""
    type, end = memory_type(dtype), (lanes - 1) * stride + 1
    vector, out = wide(type, lanes), ""
    for k in range(stride):
        first = min(k * lanes, end - lanes)
        place = c.a.let(f"getelementptr inbounds {type}, ptr {where}, i64 {start + first}")
        piece = c.a.let(f"load {vector}, ptr {place}, align {dtype.bytes}{alias}")
        owners = [n * stride // lanes for n in range(lanes)]
        order = [
            lanes + n * stride - first if owner == k else -1 if owner > k
            else n * stride if k == 1 else n
            for n, owner in enumerate(owners)
        ]  # fmt: skip
        out = shuffled(c, type, lanes, (out, piece), order) if k else piece
    return out


def store_comb(c: Context, text: str, where: str, stride: int, dtype: DType, alias: str) -> None:
    """Each lane's value to `where`, `where` + stride, …; what lies between stays as it is."""
    lanes = min(c.width, c.target.vector_bits // (8 * dtype.bytes))
    type = memory_type(dtype)
    vector, end = wide(type, lanes), (lanes - 1) * stride + 1
    for start in range(0, c.width, lanes):
        group = shuffled(c, type, c.width, (text, "poison"), range(start, start + lanes))
        for k in range(stride):
            first = min(k * lanes, end - lanes)
            at = start * stride + first
            owners = [
                e // stride if e % stride == 0 and k * lanes <= e else -1
                for e in range(first, first + lanes)
            ]
            piece = shuffled(c, type, lanes, (group, "poison"), owners)
            mask = ", ".join(f"i1 {str(n >= 0).lower()}" for n in owners)
            place = c.a.let(f"getelementptr inbounds {type}, ptr {where}, i64 {at}")
            name = f"@llvm.masked.store.{vector_suffix(dtype, lanes)}.p0"
            c.a.do(
                f"call void {name}({vector} {piece}, ptr align {dtype.bytes} {place}, "
                f"<{lanes} x i1> <{mask}>){alias}"
            )


def shuffled(c: Context, type: str, lanes: int, pair: tuple[str, str], order: Sequence[int]) -> str:
    """Lanes of two registers by their numbers; -1 is a lane that does not matter."""
    numbers = ", ".join("i32 poison" if n < 0 else f"i32 {n}" for n in order)
    vector = wide(type, lanes)
    return c.a.let(
        f"shufflevector {vector} {pair[0]}, {vector} {pair[1]}, <{len(order)} x i32> <{numbers}>"
    )
