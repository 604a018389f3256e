"""The same programs through Numba and C."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.program import Function, Program

HEAD = "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC")


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


def compile_c(program: Program) -> Function | None:
    """`kernel` of the program's C text as a function of NumPy arrays, or None without gcc."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return None
    text = HEAD + program.c
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    folder = Path(tempfile.mkdtemp(prefix="tapeless-bench-"))
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    subprocess.run([gcc, *FLAGS, str(source), "-o", str(library), "-lm"], check=True)
    kernel = ctypes.CDLL(str(library)).kernel
    kernel.restype = ctypes.c_double if "double kernel" in program.c else None
    return lambda *args: call_c(program, kernel, args)


def call_c(program: Program, kernel: Any, args: tuple[Any, ...]) -> Any:
    outputs = program.outputs(*args)
    slots = [_slot(a) for a in (*args, *program.dims(*args), *outputs)]
    result = kernel(*slots)
    if not outputs:
        return result
    return outputs[0] if len(outputs) == 1 else outputs


def _slot(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)
