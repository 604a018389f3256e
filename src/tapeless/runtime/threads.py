"""How many threads parallel loops use, and the OpenMP runtime that runs them.

`TAPELESS_NUM_THREADS`, else `OMP_NUM_THREADS`, else the processors this process may use. An OpenMP
runtime that the process already has is taken, else one that the system or another package brings
(`TAPELESS_OPENMP` names a file; "none": no threads); without one, loops run serially. After a fork
the child is serial: an OpenMP runtime does not survive it.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import sys
from collections.abc import Iterator

from tapeless.runtime import layout
from tapeless.runtime.support import is_made, support

_SYSTEM = ("libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so", "libomp.dylib")
_BUNDLED = (
    "scikit_learn.libs/libgomp*", "torch/lib/libgomp*", "torch.libs/libgomp*",
    "sklearn/.dylibs/libomp*", "torch/lib/libomp*", "functorch/.dylibs/libomp*",
)  # fmt: skip


class _Choice:
    """What was asked for; None: the environment's number."""

    threads: int | None = None
    forked = False


def openmp_library() -> str | None:
    """The OpenMP runtime in use, or None."""
    found = _openmp()
    return None if found is None else found[0]


def default_threads() -> int:
    for name in ("TAPELESS_NUM_THREADS", "OMP_NUM_THREADS"):
        first = os.environ.get(name, "").split(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            return int(first)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def get_num_threads() -> int:
    """How many threads parallel loops use at most."""
    if _Choice.forked or openmp_library() is None:
        return 1
    return default_threads() if _Choice.threads is None else _Choice.threads


def set_num_threads(threads: int | None) -> None:
    """How many threads parallel loops may use; None: what the environment says."""
    if threads is not None and threads < 1:
        raise ValueError(f"the number of threads must be at least 1, not {threads}")
    _Choice.threads = threads
    apply()


@functools.cache
def prepare() -> None:
    """Before the first kernel."""
    apply()


def apply() -> None:
    """Tell native code what was chosen."""
    words = support().words
    threads = get_num_threads()
    words[layout.ALONE] = words[layout.STALLS] = 0
    found = _openmp()
    if threads == 1 or found is None:
        words[layout.REGION] = words[layout.REGION_THREAD] = 0
        words[layout.MAX_THREADS] = 1
        return
    _, region, thread_num = found
    words[layout.MAX_THREADS] = threads
    words[layout.REGION_THREAD] = thread_num
    words[layout.REGION] = region


@functools.cache
def _openmp() -> tuple[str, int, int] | None:
    """An OpenMP runtime: its file, our region function bound to it, its thread number function."""
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
            run = ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value
            number = ctypes.cast(library.omp_get_thread_num, ctypes.c_void_p).value
        except (OSError, AttributeError):
            continue
        if run and number:
            native = support()
            entries = (ctypes.c_int64 * 3).from_address(native.address("gomp"))
            entries[:] = [run, *_kept_team(library)]
            return path, native.address("region"), number
    return None


def _kept_team(library: ctypes.CDLL) -> tuple[int, int]:
    """The functions that begin and end a region around what its caller does; 0: there are none."""
    try:
        begin, end = library.GOMP_parallel_start, library.GOMP_parallel_end
    except AttributeError:
        return 0, 0
    first, last = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (begin, end))
    return first, last


def _candidates() -> Iterator[str]:
    chosen = os.environ.get("TAPELESS_OPENMP")
    if chosen:
        yield from () if chosen == "none" else (chosen,)
        return
    yield from _loaded()
    yield from _SYSTEM
    for folder in sys.path:
        for pattern in _BUNDLED:
            yield from sorted(glob.glob(os.path.join(folder or ".", pattern)))


def _loaded() -> Iterator[str]:
    """OpenMP runtimes that are in this process already."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as file:
            paths = {line.split(maxsplit=5)[-1].strip() for line in file if "omp" in line}
    except OSError:
        return
    for path in sorted(paths):
        if os.path.basename(path).startswith(("libgomp", "libomp", "libiomp")):
            yield path


def _after_fork() -> None:
    """In the child: no team of threads, and no lock that another thread held."""
    _Choice.forked = True
    if is_made():
        words = support().words
        words[layout.REGION] = words[layout.REGION_THREAD] = 0
        words[layout.MAX_THREADS] = 1
        if words[layout.LOCK]:
            words[layout.IDLE] = words[layout.CACHED] = 0
            for index in range(layout.FREE_LISTS, layout.STATE_WORDS):
                words[index] = 0
            words[layout.LOCK] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
