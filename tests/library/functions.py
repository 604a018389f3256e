"""Expressions of the table as functions of the language, with source."""

from __future__ import annotations

import ast
import cmath
import functools
import linecache
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, special

from tests.library.inputs import pool

PLAIN: dict[str, Any] = {
    "np": np, "math": math, "cmath": cmath, "special": special, "linalg": linalg,
}  # fmt: skip
NAMES = frozenset(pool())


def arguments_of(expression: str) -> list[str]:
    """The inputs that an expression names, in order; bound names inside it are its own."""
    tree = ast.parse(expression, mode="eval")
    own = {a.arg for node in ast.walk(tree) if isinstance(node, ast.Lambda) for a in node.args.args}
    found = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return [name for name in dict.fromkeys(found) if name in NAMES and name not in own]


@functools.cache
def function_of(expression: str) -> Callable[..., Any]:
    """`def f(inputs…): return expression`, whose source can be had."""
    names = ", ".join(arguments_of(expression))
    text = f"def f({names}):\n    return {expression}\n"
    file = f"<table: {expression}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = dict(PLAIN)
    exec(compile(text, file, "exec"), scope)
    function = scope["f"]
    assert isinstance(function, types.FunctionType)
    return function
