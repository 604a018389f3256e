"""The same programs through Numba and C."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.program import Function, Program

HEAD = "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
COMMON = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC")
# With -ffast-math gcc vectorises exp, log and their kin by calling glibc's vector library.
FLAVOURS = {"c": (*COMMON, "-ffast-math"), "scalar c": COMMON}


def numba_versions(program: Program) -> Iterator[tuple[str, Function]]:
    """Every version that Numba compiles and that gives the right result."""
    import numba  # noqa: PLC0415  # a peer that may be missing

    for function in program.numba:
        for fastmath, parallel in itertools.product((False, True), repeat=2):
            flags = "+".join(n for n, on in (("fast", fastmath), ("parallel", parallel)) if on)
            yield (
                f"{function.__name__}[{flags}]",
                numba.njit(function, fastmath=fastmath, parallel=parallel),
            )


class Compiled:
    """`kernel` of a program's C text as a function of NumPy arrays."""

    def __init__(self, program: Program, flags: tuple[str, ...]) -> None:
        text = HEAD + program.c
        name = hashlib.sha256(repr((text, flags)).encode()).hexdigest()[:16]
        folder = Path(tempfile.mkdtemp(prefix="tapeless-bench-"))
        source, library = folder / f"{name}.c", folder / f"{name}.so"
        source.write_text(text)
        subprocess.run(["gcc", *flags, str(source), "-o", str(library), "-lm"], check=True)
        self.program = program
        self.kernel = ctypes.CDLL(str(library)).kernel
        self.kernel.restype = ctypes.c_double if "double kernel" in program.c else None

    def bind(self, args: tuple[Any, ...]) -> Callable[[], Any]:
        """A call on `args` with everything ready, the outputs too, as C's callers have it."""
        outputs = self.program.outputs(*args)
        slots = [_slot(a) for a in (*args, *self.program.dims(*args), *outputs)]
        result = outputs[0] if len(outputs) == 1 else outputs

        def call(keep: tuple[Any, ...] = args) -> Any:
            number = self.kernel(*slots)
            return result if outputs else number

        return call

    def __call__(self, *args: Any) -> Any:
        return self.bind(args)()


def c_versions(program: Program) -> Iterator[tuple[str, Compiled]]:
    """The program's C text as gcc compiles it; nothing without gcc."""
    if shutil.which("gcc"):
        for name, flags in FLAVOURS.items():
            yield name, Compiled(program, flags)


def _slot(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)
