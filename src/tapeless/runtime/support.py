"""The native part of the runtime, loaded once per process, and the state that it works on.

It is translated and compiled on the first use on a machine and read from the disk cache afterwards.
Code and state are never freed: arrays outlive every module at the interpreter's end.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # no stubs

from tapeless.core.lazy import Lazy
from tapeless.runtime import cache, codegen, layout, machine

build = Lazy("tapeless.runtime.native.build")
_EXPORTS = (
    "acquire", "finish", "adopt", "fail", "entry", "trim", "free_contexts", "region",
)  # fmt: skip
_making = threading.Lock()

Native = Callable[..., Any]
_W = ctypes.c_int64


class Support:
    """Native functions callable from Python, and the state's words."""

    def __init__(self) -> None:
        self._loaded = loaded = _code()
        self.words = (_W * layout.STATE_WORDS)()
        self.state = ctypes.addressof(self.words)
        self.acquire: Native = ctypes.CFUNCTYPE(_W, _W, _W)(loaded.address("acquire"))
        self.finish: Native = ctypes.CFUNCTYPE(None, _W)(loaded.address("finish"))
        self.trim: Native = ctypes.CFUNCTYPE(None, _W, _W)(loaded.address("trim"))
        self.free_contexts: Native = ctypes.CFUNCTYPE(None, _W)(loaded.address("free_contexts"))
        self.adopt: Native = ctypes.PYFUNCTYPE(ctypes.py_object, _W, _W, _W, _W, _W)(
            loaded.address("adopt")
        )
        self.fail: Native = ctypes.PYFUNCTYPE(ctypes.py_object, _W, ctypes.py_object)(
            loaded.address("fail")
        )
        self.entry: int = loaded.address("entry")
        self._fill()

    def address(self, name: str) -> int:
        return self._loaded.address(name)

    def _fill(self) -> None:
        """What native code must know of Python, NumPy and the system."""
        api = _numpy_api()
        for slot, value in (
            (layout.ARRAY_TYPE, id(np.ndarray)),
            (layout.NEW_ARRAY, api[94]),
            (layout.SET_BASE, api[282]),
            (layout.NEW_SCALAR, api[60]),
            (layout.READ_SCALAR, api[62]),
            (layout.FLOAT_TYPE, id(float)),
            (layout.INT_TYPE, id(int)),
            (layout.BOOL_TYPE, id(bool)),
            (layout.COMPLEX_TYPE, id(complex)),
            (layout.TRUE, id(True)),
            (layout.MAX_THREADS, 1),
            (layout.CACHE_LIMIT, _kept_bytes()),
            (layout.HUGE_PAGES, 14 if sys.platform == "linux" else 0),
        ):
            self.words[slot] = value


_MADE: list[Support] = []  # one, never freed


def support() -> Support:
    """The native part of the runtime; made when it is first asked for."""
    if not _MADE:
        with _making:
            if not _MADE:
                _MADE.append(Support())
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(_MADE[0]))
    return _MADE[0]


def is_made() -> bool:
    return bool(_MADE)


def fetch() -> None:
    """Make the native part in a thread, beside other work: it may have to be compiled."""
    if not _MADE:
        threading.Thread(target=support, name="tapeless.support").start()


if hasattr(os, "register_at_fork"):  # a fork waits until no thread is at it
    os.register_at_fork(
        before=_making.acquire, after_in_parent=_making.release, after_in_child=_making.release
    )


def trim_memory() -> None:
    """Give the memory kept for later calls back to the system."""
    native = support()
    native.free_contexts(native.state)
    native.trim(native.state, layout.CLASSES)


def lent_bytes() -> int:
    """Bytes of buffers in use: results that are alive and arenas."""
    return support().words[layout.LENT]


def _code() -> machine.Loaded:
    here = machine.host()
    here_is = Path(__file__).parent
    files = [
        here_is / f"{name}.py" for name in ("layout", "support", "words", "wordcode", "wordops")
    ]
    files += sorted((here_is / "native").glob("*.py"))
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
    key = cache.key_of("support", here.key, digest, layout.HEAD)
    stored = cache.read(key)
    if stored is not None:
        return machine.load(stored[1])
    data = codegen.compile_object(build.text(_EXPORTS), level=0, codegen=1)
    cache.write(key, None, data)
    return machine.load(data)


def _numpy_api() -> Any:
    """NumPy's table of C functions."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(pointer(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(_W))


def _kept_bytes() -> int:
    """How much freed memory may be kept: an eighth of the machine's, at most 1 GiB."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        total = 8 << 30
    return min(total // 8, 1 << 30)
