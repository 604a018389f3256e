"""The square of a number, and its derivative."""

from __future__ import annotations

from tapeless.api.derivatives import grad
from tapeless.api.jit import jit
from tapeless.gradbench.question import Module, Question


def square(x: float) -> float:
    return x * x


MODULE = Module(
    arguments=lambda x: (float(x),),
    questions={"square": Question(jit(square)), "double": Question(grad(square))},
)
