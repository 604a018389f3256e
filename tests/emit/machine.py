"""Runs emitted kernels: compiles their text and calls it with a context made by hand."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass, field
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from tapeless.emit.kernel import emit, symbol
from tapeless.emit.target import Target
from tapeless.loop.syntax import Proc

SLOTS = 21
GROW = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
POLL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
REGION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
PARALLEL = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int32)
THREAD_NUM = ctypes.CFUNCTYPE(ctypes.c_int32)
KERNEL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
ARENA = 1 << 16


def machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )


def optimise(module: Any, target: Any) -> None:
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(2))
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)


def aligned(count: int) -> np.ndarray:
    """Memory for `count` bytes that begins at a multiple of 64."""
    raw = np.full(count + 64, 0xA5, np.uint8)
    skip = -raw.ctypes.data % 64
    return raw[skip : skip + count]


class Failure(Exception):
    """What a kernel recorded: the site, and its argument slots."""

    def __init__(self, site: int, args: np.ndarray) -> None:
        super().__init__(site)
        self.site = site
        self.ints = args.view(np.int64)
        self.floats = args.view(np.float64)


@dataclass
class Machine:
    """A runtime by hand: `polls` counts looks for signals, `interrupt_at` makes one fail."""

    threads: int = 1
    interrupt_at: int = 0
    polls: int = 0
    most_memory: int = 1 << 40
    grown: list[int] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    local: Any = field(default_factory=threading.local)
    arena: int = ARENA

    def context(self) -> np.ndarray:
        ctx = np.zeros(SLOTS, np.int64)
        chunk = aligned(self.arena)
        ctx[0], ctx[1] = chunk.ctypes.data, chunk.ctypes.data + self.arena
        ctx[12], ctx[13] = 1, self.threads
        callbacks = [GROW(self.grow), GROW(self.alloc), POLL(self.poll)]
        for slot, callback in zip((14, 15, 16), callbacks, strict=True):
            ctx[slot] = ctypes.cast(callback, ctypes.c_void_p).value
        self.kept += [ctx, chunk, callbacks]
        return ctx

    def main_context(self) -> np.ndarray:
        ctx = self.context()
        if self.threads > 1:
            callbacks = [PARALLEL(self.parallel), THREAD_NUM(lambda: self.local.number)]
            ctx[17], ctx[18] = (ctypes.cast(c, ctypes.c_void_p).value for c in callbacks)
            own = [ctx, *(self.context() for _ in range(self.threads - 1))]
            arenas = np.array([c.ctypes.data for c in own], np.int64)
            ctx[19] = arenas.ctypes.data
            self.kept += [callbacks, arenas]
        return ctx

    def grow(self, ctx: int, size: int) -> int | None:
        if not 0 <= size <= self.most_memory:
            return None
        self.grown.append(size)
        return self.alloc(ctx, size)

    def alloc(self, ctx: int, size: int) -> int | None:
        if not 0 <= size <= self.most_memory:
            return None
        memory = aligned(max(size, 1))
        self.kept.append(memory)
        return int(memory.ctypes.data)

    def poll(self, ctx: int) -> int:
        self.polls += 1
        (ctypes.c_int64 * SLOTS).from_address(ctx)[12] = 1
        return int(self.polls == self.interrupt_at)

    def parallel(self, ctx: int, function: int, data: int, threads: int) -> None:
        def work(number: int) -> None:
            self.local.number = number
            REGION(function)(data)

        workers = [threading.Thread(target=work, args=(k,)) for k in range(1, threads)]
        for w in workers:
            w.start()
        work(0)
        for w in workers:
            w.join()


class Compiled:
    """A kernel as a function of scalars and arrays, in the order of the program's parameters."""

    def __init__(self, proc: Proc, target: Target | None = None) -> None:
        self.proc = proc
        self.text = emit(proc, target or HOST)
        module = llvm.parse_assembly(self.text)
        module.verify()
        self.machine = machine()
        optimise(module, self.machine)
        self.module = module
        self.engine = llvm.create_mcjit_compiler(module, self.machine)
        self.function = KERNEL(self.engine.get_function_address(symbol(proc)))

    @property
    def assembly(self) -> str:
        return str(self.machine.emit_assembly(self.module))

    def run(self, runtime: Machine, *args: Any, foreign: tuple[Any, ...] = ()) -> np.ndarray:
        """The result slots after one call."""
        slots = np.zeros(max(len(args), 1), np.int64)
        for k, arg in enumerate(args):
            if isinstance(arg, np.ndarray):
                slots[k] = arg.ctypes.data
            elif isinstance(arg, np.float32):
                slots[k : k + 1].view(np.float32)[0] = arg
            elif isinstance(arg, float):
                slots[k : k + 1].view(np.float64)[0] = arg
            else:
                slots[k] = int(arg)
        ctx, results = runtime.main_context(), np.zeros(32, np.int64)
        table = np.array([ctypes.cast(f, ctypes.c_void_p).value for f in foreign] or [0], np.int64)
        ctx[20] = table.ctypes.data
        if self.function(ctx.ctypes.data, slots.ctypes.data, results.ctypes.data):
            raise Failure(int(ctx[3]), ctx[4:12].copy())
        return results

    def __call__(self, *args: Any) -> np.ndarray:
        return self.run(Machine(), *args)


def array_at(results: np.ndarray, slot: int, rank: int, dtype: Any = np.float64) -> np.ndarray:
    """A copy of a result array: its address in one slot, its sizes in the next ones."""
    shape = tuple(int(n) for n in results[slot + 1 : slot + 1 + rank])
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    buffer = (ctypes.c_char * size).from_address(int(results[slot]))
    return np.frombuffer(bytes(buffer), dtype).reshape(shape)


HOST = Target(vector_bits=512, registers=32)
SCALAR = Target(width=1)
