"""A random program as text, with the arguments that it is called with."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from tests.conformance.fuzz.extras import Extras
from tests.conformance.fuzz.maker import RETURN, Function, Maker, Name, leaf, snapshot
from tests.conformance.fuzz.quality import LEAF, Exact, add, mul
from tests.conformance.fuzz.statements import INDENT

SIZES = ({"n": 5, "m": 3, "k": 7}, {"n": 4, "m": 6, "k": 2}, {"n": 0, "m": 2, "k": 3},
         {"n": 2, "m": 1, "k": 9}, {"n": 1, "m": 3, "k": 1})  # fmt: skip
LARGE = ({"n": 1500, "m": 3, "k": 70}, {"n": 1500, "m": 3, "k": 70}, {"n": 130, "m": 35, "k": 19},
         {"n": 21, "m": 17, "k": 19})  # fmt: skip
SPARSE = 64  # of so many elements of large arrays one is not zero: sums stay exact
REPEATS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)
INT_TYPES = ("i4", "i2", "u1", "i1", "u4", "u8", "u2")


@dataclass(frozen=True)
class Parameter:
    name: str
    dtype: str
    dims: tuple[str, ...]  # an array over these sizes; () and `scalar` a number
    scalar: bool = False

    def value(self, rng: np.random.Generator, sizes: dict[str, int]) -> Any:
        shape = tuple(sizes[d] for d in self.dims)
        if self.dtype == "size":
            return sizes[self.dims[0]]
        if self.dtype == "b1":
            values = rng.random(shape) < 0.5
        elif self.dtype.startswith("f"):
            values = rng.integers(-16, 17, shape) / 4
        else:
            values = rng.integers(0 if self.dtype[0] == "u" else -6, 10, shape)
        if self.scalar and self.dtype in ("f8", "i8", "b1"):
            return np.asarray(values).item()
        return np.asarray(values).astype(self.dtype)[()]


@dataclass(frozen=True)
class Program:
    """`source` defines `f`; `rough` says that floats agree to rounding only."""

    seed: int
    source: str
    parameters: tuple[Parameter, ...]
    single: bool

    def arguments(self, sizes: dict[str, int], every: int = 1) -> tuple[Any, ...]:
        """Arguments of these sizes; only one in `every` elements is not zero."""
        rng = np.random.default_rng(self.seed)
        values = [p.value(rng, sizes) for p in self.parameters]
        for v in values if every > 1 else ():
            if isinstance(v, np.ndarray):
                v[rng.random(v.shape) > 1 / every] = 0
        return tuple(values)

    @property
    def large(self) -> dict[str, int]:
        """Sizes for which threads, lanes and their tails matter, by how deep the loops are."""
        return LARGE[min(nesting(ast.parse(self.source)), 3)]


def nesting(node: ast.AST) -> int:
    """How many loops are around the innermost expression."""
    inner = max(map(nesting, ast.iter_child_nodes(node)), default=0)
    more = len(node.generators) if isinstance(node, ast.ListComp | ast.GeneratorExp) else 1
    return inner + more * isinstance(node, REPEATS)


def make(seed: int, statements: int = 6) -> Program:
    """The program of a seed."""
    rng = Random(seed)
    m = Maker(rng, single=rng.random() < 0.25)
    parameters = _parameters(m)
    values = np.random.default_rng(seed)
    written = []
    for p in parameters:
        m.space[p.name] = p.value(values, SIZES[0])
        kind = "b" if p.dtype == "b1" else "f" if p.dtype.startswith("f") else "i"
        if p.dtype == "size":
            m.sizes[p.dims[0]] = p.name
            m.bind(Name(p.name, "scalar", "i", Exact(0, 4), fixed=True))
        elif p.scalar:
            m.bind(Name(p.name, "scalar", kind, leaf(kind), fixed=True))
        else:
            write = kind in "if" and rng.random() < 0.3 and bool(p.dims) and p.dtype != "u8"
            m.bind(Name(p.name, "array", kind, leaf(kind), p.dims, fixed=True, readonly=not write))
            written += [p.name] * write
    m.space = snapshot(m.space)
    heads = _helpers(m)
    s = Extras(m)
    for first in (s.new_scalar, s.new_array, s.new_array)[: rng.randint(0, 3)]:
        s.attempt(first)
    s.some(rng.randint(2, statements))
    results = _results(m)
    body = [t.replace(RETURN, f"return {results}") for t in (*m.lines, RETURN)]
    lines = [f"def f({', '.join(p.name for p in parameters)}):", *(INDENT + t for t in body)]
    return Program(seed, "\n".join([*heads, *lines]) + "\n", tuple(parameters), m.single)


def _parameters(m: Maker) -> list[Parameter]:
    rng = m.rng
    floats = "f4" if m.single else "f8"
    out = [Parameter("x", floats, ("n",)), Parameter("A", floats, ("m", "n"))]
    pool = [
        Parameter("y", floats, ("n",)),
        Parameter("p", "i8", ("n",)),
        Parameter("B", floats, ("n", "m")),
        Parameter("z", floats, ("k",)),
        Parameter("C", floats, ("m", "n", "k")),
        Parameter("q", rng.choice(INT_TYPES), ("k",)),
        Parameter("mask", "b1", ("n",)),
        Parameter("t", "f8", (), True),
        Parameter("c", "i8", (), True),
        Parameter("flag", "b1", (), True),
        Parameter("N", "size", ("n",), True),
        Parameter("M", "size", ("m",), True),
        Parameter("h", floats, (), True),
        Parameter("P", "i8", ("m", "n")),
        Parameter("u", rng.choice(INT_TYPES), ("n",)),
    ]
    out += rng.sample(pool, rng.randint(1, 4))
    if rng.random() < 0.3:
        out.pop(1)
    return out


def _helpers(m: Maker) -> list[str]:
    """Functions that the program calls: plain ones and lambdas."""
    heads: list[str] = []
    if m.chance(0.25):
        heads += [
            "def g(a, b):",
            INDENT + m.pick(["return a * b + 1.0", "c = a + b\n    return c * 0.5"]),
            "",
        ]
        m.functions.append(Function("g", 2, lambda a, b: add(mul(a, b), Exact(1, 1))))
    if m.chance(0.15):
        heads += ["h1 = lambda a: a - 0.25", ""]
        m.functions.append(Function("h1", 1, lambda a: add(a, Exact(2, 1))))
    if m.chance(0.1):
        heads += ["def pick(a, b):", INDENT + "if a > 0:", INDENT * 2 + "return a",
                  INDENT + "return b", ""]  # fmt: skip
    space: dict[str, Any] = {}
    exec("\n".join(heads), m.globals() | {"pick": None}, space)
    m.space.update(space)
    return heads


def _results(m: Maker) -> str:
    """What is returned: mostly what was made last."""
    if m.result:
        return ", ".join(m.result)
    names = [n.text for n in m.names.values() if n.role in ("scalar", "array", "view")]
    made = [t for t in names if any(c.isdigit() for c in t)] or names
    chosen = made[-3:] + ([m.rng.choice(names)] if m.chance(0.3) else [])
    return ", ".join(dict.fromkeys(chosen))


__all__ = ["LEAF", "SIZES", "SPARSE", "Parameter", "Program", "make"]
