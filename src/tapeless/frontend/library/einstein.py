"""Einstein's notation read and planned at compile time: ordinary Python, run then."""

from __future__ import annotations

import operator
from itertools import combinations
from typing import Any

from tapeless.frontend.intrinsics import fail
from tapeless.frontend.library.registry import compile_time


@compile_time
def read_subscripts(text: str, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The labels of every operand and of the result, `...` spelled out by digits."""
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        fail(f"einsum: {len(terms)} terms for {len(ranks)} operands")
    ins = tuple(_spelled(term, rank) for term, rank in zip(terms, ranks, strict=True))
    dots = max((t for t in map(_digits, ins)), key=len)
    if arrow:
        result = right.replace("...", dots)
    else:
        letters = "".join(ins)
        result = dots + "".join(
            sorted(c for c in set(letters) if letters.count(c) == 1 and c.isalpha())
        )
    if len(set(result)) != len(result) or not set(result) <= set("".join(ins)):
        fail(f"einsum: {text!r} has an output index that is repeated or in no operand")
    return ins, result


def _digits(labels: str) -> str:
    return "".join(c for c in labels if c.isdigit())


def _spelled(term: str, rank: int) -> str:
    head, dots, tail = term.partition("...")
    missing = rank - len(head) - len(tail)
    if missing < 0 or (missing > 0 and not dots):
        fail(f"einsum: the indices {term!r} do not fit an array of rank {rank}")
    if not all(c.isalpha() for c in head + tail):
        fail(f"einsum: {term!r} is no list of indices")
    return head + "9876543210"[10 - missing :] + tail if dots else term


@compile_time
def contraction(ins: tuple[str, ...], result: str) -> tuple[int, int, str] | None:
    """Two operands to contract first, with the labels that remain; None if no pair pays."""
    best: tuple[int, int, int, int, str] | None = None
    for i, j in combinations(range(len(ins)), 2):
        others = set(result).union(*(ins[k] for k in range(len(ins)) if k not in (i, j)))
        both = set(ins[i]) | set(ins[j])
        kept = "".join(c for c in dict.fromkeys(ins[i] + ins[j]) if c in others)
        if len(kept) < len(both):
            best = min(best or (99, 0, 0, 0, ""), (len(both), len(kept), i, j, kept))
    if best is None or best[0] == len(set("".join(ins))):
        return None
    return best[2], best[3], best[4]


@compile_time
def label_axes(ins: tuple[str, ...], result: str) -> tuple[str, tuple[Any, ...], tuple[Any, ...]]:
    """All labels, those of the result first; where each stands, as (operand, axis) pairs; and per
    operand the place of each of its labels among all."""
    rest = dict.fromkeys(c for names in ins for c in names if c not in result)
    labels = result + "".join(rest)
    sites = tuple(
        tuple((k, d) for k, names in enumerate(ins) for d, c in enumerate(names) if c == label)
        for label in labels
    )
    return labels, sites, tuple(tuple(labels.index(c) for c in names) for names in ins)


@compile_time
def matrix_roles(ins: tuple[str, ...], result: str) -> tuple[Any, Any, Any] | None:
    """Orders of axes, of operands and result, that make this contraction rows × columns."""
    if len(ins) != 2 or len(result) != 2 or any(len(names) != 2 for names in ins):
        return None
    shared = set(ins[0]) & set(ins[1])
    if len(shared) != 1 or len(set("".join(ins))) != 3 or shared & set(result):
        return None
    inner = shared.pop()
    first = (0, 1) if ins[0][1] == inner else (1, 0)
    second = (0, 1) if ins[1][0] == inner else (1, 0)
    return first, second, (0, 1) if result[0] in ins[0] else (1, 0)


@compile_time
def contraction_axes(axes: Any, rank_x: int, rank_y: int) -> tuple[Any, Any, Any, Any]:
    """For `np.tensordot`: the axes to sum over, and the orders that put them last and first."""
    if isinstance(axes, tuple | list):
        given = tuple(a if isinstance(a, tuple | list) else (a,) for a in axes)
        left = tuple(operator.index(a) % rank_x for a in given[0])
        right = tuple(operator.index(a) % rank_y for a in given[1])
    else:
        n = operator.index(axes)
        left, right = tuple(range(rank_x - n, rank_x)), tuple(range(n))
    if len(left) != len(right):
        fail("tensordot: as many axes of one as of the other are to be summed")
    order_x = (*(d for d in range(rank_x) if d not in left), *left)
    order_y = (*right, *(d for d in range(rank_y) if d not in right))
    return left, right, order_x, order_y
