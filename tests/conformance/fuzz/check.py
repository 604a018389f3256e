"""One random program: run by every road, judged, and reported."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tapeless.errors import CompileError
from tapeless.ir.parse import parse
from tapeless.ir.print import show
from tests.conformance import roads
from tests.conformance.fuzz.maker import NAMES
from tests.conformance.fuzz.program import SIZES, SPARSE, Program

TOLERANCE = 1e-8
TOLERANCE_SINGLE = 2e-3
UNCACHED = {"cache": False}  # nobody asks for these programs again


@dataclass(frozen=True)
class Verdict:
    """`kind`: ok, refused (a CompileError), wrong (other numbers), crash (any other exception)."""

    kind: str
    road: str = ""
    problem: str = ""

    @property
    def failed(self) -> bool:
        return self.kind in ("wrong", "crash")

    def like(self, other: Verdict) -> bool:
        """Whether both are the same failure, as far as shrinking is concerned."""
        return (self.kind, self.road, self.sort) == (other.kind, other.road, other.sort)

    @property
    def sort(self) -> str:
        """The problem without the names and numbers in it."""
        text = self.problem.split(":")[0] if self.kind == "crash" else self.problem
        text = re.sub(r"'[^']*'|<[^>]*>|array\(.*|\[[^]]*\]|[-\d.e]+", "", text, flags=re.S)
        return text[:60]


def load(source: str, seed: int) -> Callable[..., Any]:
    return roads.define(source, "f", NAMES, f"program {seed}")


def changes_types(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether plain Python has other types for these sizes: np.array([]) holds floats. It found
    none that do not fit when the program was made."""
    return roads.call(function, args).error is TypeError


def check(
    program: Program, source: str = "", *, core: bool = True, machine: bool = True,
    every: bool = True, sizes: int = 2,
) -> Verdict:  # fmt: skip
    """Run a program (or `source` in its place) on arguments of several sizes; `every`: after every
    pass of the compiler, and not only after all of them."""
    function = load(source or program.source, program.seed)
    chosen = [SIZES[0], *SIZES[1 + program.seed % 4 :][: sizes - 1]]
    calls = [a for a in map(program.arguments, chosen) if not changes_types(function, a)]
    large = program.seed % 3 == 0 and not program.single
    tol = TOLERANCE_SINGLE if program.single else TOLERANCE
    try:
        if core and every:
            program_text(function, calls[0])
        found = roads.compare(function, calls, tol, core=core, machine=machine, every=every,
                              options=UNCACHED)  # fmt: skip
        if found is None and machine and large:
            calls = [program.arguments(program.large, SPARSE)]
            found = roads.compare(function, calls, tol, core=False, options=UNCACHED)
    except CompileError as error:
        return Verdict("refused", "compiler", error.message)
    except Exception as error:  # noqa: BLE001  # a crash of the compiler is a finding
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{frame.filename.rsplit('/tapeless/', 1)[-1]}:{frame.lineno}"
        return Verdict("crash", place, f"{type(error).__name__}: {str(error)[:600]}")
    return Verdict("ok") if found is None else Verdict("wrong", found.road, found.problem[:600])


def program_text(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """The traced program's text reads back as itself."""
    text = show(roads.traced(function, args).fun)
    again = show(parse(text))
    assert again == text, f"printed and read back:\n{text}\n{again}"
