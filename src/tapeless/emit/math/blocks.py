"""Calls between functions of different widths: lanes in blocks, or repeated to fill a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

Write = Callable[[str], str]  # an instruction -> the name of its value
Call = Callable[..., str]  # operands -> the name of the result


def spread(
    write: Write, call: Call, scalar: str, args: Sequence[str], width: int, inner: int
) -> str:
    """The result, `width` lanes of `scalar`, of a `call` that takes and gives `inner` lanes."""
    if width == inner:
        return call(*args)
    if width < inner:
        filled = [_repeat(write, scalar, arg, width, inner) for arg in args]
        return _first(write, scalar, call(*filled), width, inner)
    assert width % inner == 0, f"{width} lanes are not blocks of {inner}"
    parts = [
        call(*(_pick(write, scalar, arg, width, range(at, at + inner)) for arg in args))
        for at in range(0, width, inner)
    ]
    while len(parts) > 1:
        parts = [_join(write, scalar, *pair, inner) for pair in _pairs(parts)]
        inner *= 2
    return parts[0]


def _pairs(parts: Sequence[str]) -> Iterable[tuple[str, str]]:
    return zip(parts[::2], parts[1::2], strict=True)


def _pick(write: Write, scalar: str, x: str, width: int, lanes: Iterable[int]) -> str:
    kind = f"<{width} x {scalar}>"
    return write(f"shufflevector {kind} {x}, {kind} poison, {_indices(lanes)}")


def _join(write: Write, scalar: str, x: str, y: str, width: int) -> str:
    kind = f"<{width} x {scalar}>"
    return write(f"shufflevector {kind} {x}, {kind} {y}, {_indices(range(2 * width))}")


def _repeat(write: Write, scalar: str, x: str, width: int, inner: int) -> str:
    """`inner` lanes that hold the `width` lanes of x again and again."""
    if width == 1:
        x = write(f"insertelement <1 x {scalar}> poison, {scalar} {x}, i64 0")
    return _pick(write, scalar, x, width, (k % width for k in range(inner)))


def _first(write: Write, scalar: str, x: str, width: int, inner: int) -> str:
    """The first `width` of `inner` lanes."""
    if width == 1:
        return write(f"extractelement <{inner} x {scalar}> {x}, i64 0")
    return _pick(write, scalar, x, inner, range(width))


def _indices(lanes: Iterable[int]) -> str:
    numbers = [f"i32 {k}" for k in lanes]
    return f"<{len(numbers)} x i32> <{', '.join(numbers)}>"
