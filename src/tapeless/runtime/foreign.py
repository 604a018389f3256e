"""The C functions behind `Call`: BLAS and LAPACK as SciPy brings them.

SciPy's Cython modules publish the addresses; `native/blas.py` and `native/lapack.py` have the
adaptors, compiled on the first use on a machine and read from the disk cache afterwards.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
from pathlib import Path
from typing import Any

from tapeless.core.lazy import Lazy
from tapeless.runtime import cache, codegen, machine, wordcode
from tapeless.runtime.native import blas, lapack, matrices

blas_names = Lazy("scipy.linalg.cython_blas")
lapack_names = Lazy("scipy.linalg.cython_lapack")

ADAPTORS = (matrices, blas, lapack)
ROUTINES = {
    matrices.COPY: "copy", matrices.GEMM: "gemm", matrices.TRSM: "trsm", matrices.POTRF: "potrf",
    matrices.GESV: "gesv", matrices.GETRF: "getrf", matrices.SYEVD: "syevd",
    matrices.GESDD: "gesdd", matrices.GEQRF: "geqrf", matrices.ORGQR: "orgqr",
}  # fmt: skip
BLAS = {"copy", "gemm", "trsm"}
FUNCTIONS = tuple(
    prefix + name
    for prefix in "ds"
    for name in (
        "gemm", "trsm_lower", "trsm_lower_unit", "trsm_upper", "trsm_upper_unit", "potrf", "gesv",
        "getrf", "syevd", "gesdd", "gesdd_full", "qr",
    )
)  # fmt: skip


def address(name: str) -> int:
    """Where the function `name` of `ir.callees` is: `i64 f(ptr slots)`, valid for this process."""
    return _loaded().address(name)


@functools.cache
def _loaded() -> machine.Loaded:
    loaded = machine.load(_code())
    words = ctypes.c_int64 * (2 * matrices.SINGLE)
    start = ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.address("lapack_table"))
    table = words.from_address(start())
    for number, name in ROUTINES.items():
        table[number] = _pointer("d" + name)
        table[number + matrices.SINGLE] = _pointer("s" + name)
    return loaded


def _code() -> bytes:
    sources = [Path(str(module.__file__)) for module in (*ADAPTORS, wordcode)]
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    key = cache.key_of("lapack", machine.host().key, digest)
    stored = cache.read(key)
    if stored is not None:
        return stored[1]
    text = wordcode.translate(ADAPTORS, ("lapack_table", *FUNCTIONS))
    data = codegen.compile_object(text, level=0, codegen=1)
    cache.write(key, None, data)
    return data


def _pointer(name: str) -> int:
    """The address of a routine that SciPy's Cython modules publish."""
    module: Any = blas_names if name[1:] in BLAS else lapack_names
    capsule = module.__pyx_capi__[name]
    api = ctypes.pythonapi
    get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    return int(get_pointer(capsule, get_name(capsule)))
