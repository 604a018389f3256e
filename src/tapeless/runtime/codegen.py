"""LLVM text to object code for this machine."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tapeless.core.lazy import Lazy
from tapeless.runtime import machine, parts

llvm = Lazy("llvmlite.binding")


def compile_object(
    text: str, *, level: int = 0, codegen: int = 1, vectorize: bool = False, unroll: bool = False
) -> bytes:
    """Object code for the host from an LLVM module.

    `level` 0 runs the few passes that structured code needs; 1 to 3 are LLVM's own pipelines,
    `vectorize` and `unroll` switch their loop passes on. `codegen`: 0 fastest to compile to 3."""
    machine.start()
    texts = parts.split(text) if level == 0 else [text]  # LLVM's pipelines want to see all of it
    jobs = [functools.partial(_compile, t, level, codegen, vectorize, unroll) for t in texts]
    return parts.bundle(side_by_side(jobs))


def side_by_side(jobs: Sequence[Callable[[], bytes]]) -> list[bytes]:
    """What each of the jobs gives, run on a thread of its own; the first one on this."""
    results: list[Any] = [None] * len(jobs)

    def run(k: int) -> None:
        try:
            results[k] = jobs[k]()
        except BaseException as e:  # noqa: BLE001  # raised again below
            results[k] = e

    threads = [threading.Thread(target=run, args=(k,)) for k in range(1, len(jobs))]
    for thread in threads:
        thread.start()
    run(0)
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def _compile(text: str, level: int, codegen: int, vectorize: bool, unroll: bool) -> bytes:
    target = machine.target_machine(codegen)
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = target.triple
    module.data_layout = str(target.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=max(level, 1))
    options.loop_vectorization = options.slp_vectorization = vectorize
    options.loop_interleaving = vectorize
    options.loop_unrolling = unroll
    builder = llvm.create_pass_builder(target, options)
    if level == 0:
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    else:
        passes = builder.getModulePassManager()
    _unlocked("LLVMPY_RunNewModulePassManager")(passes, module, builder)
    return _emit(target, module)


def _emit(target: Any, module: Any) -> bytes:
    with llvm.ffi.OutputString() as problem:
        buffer = _unlocked("LLVMPY_TargetMachineEmitToMemory")(target, module, 1, problem)
        if not buffer:
            raise RuntimeError(str(problem))
    library = llvm.ffi.lib
    try:
        start = library.LLVMPY_GetBufferStart(buffer)
        return ctypes.string_at(start, library.LLVMPY_GetBufferSize(buffer))
    finally:
        library.LLVMPY_DisposeMemoryBuffer(buffer)


@functools.cache
def _unlocked(name: str) -> Any:
    """A C function of llvmlite without the one lock that it holds through all its calls, which
    would let only one module be compiled at a time. Modules in contexts of their own, each with a
    target machine of its own, share nothing."""
    library = llvm.ffi.lib
    locked = getattr(library, name)
    function = ctypes.CDLL(library._name, handle=library._handle)[name]
    function.argtypes, function.restype = locked.argtypes, locked.restype
    return function
