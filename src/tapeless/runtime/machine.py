"""This machine: what it is, how LLVM text becomes object code for it, how object code is loaded."""

from __future__ import annotations

import functools
import itertools
import logging
import os
import platform
import sys
import threading
from dataclasses import asdict, dataclass
from typing import Any

import llvmlite

from tapeless.core.lazy import Lazy
from tapeless.runtime import cache, image

LOG = logging.getLogger("tapeless")

LLVMLITE = llvmlite.__version__
llvm = Lazy("llvmlite.binding")
_starting = threading.Lock()
_names = itertools.count()


@dataclass(frozen=True, slots=True)
class Host:
    """What the processor is: LLVM's names for it, the width and number of its vector registers."""

    triple: str
    cpu: str
    features: str
    vector_bits: int
    registers: int

    @property
    def key(self) -> str:
        """All that object code for this machine depends on."""
        return f"{self.triple} {self.cpu} {self.features} {LLVMLITE}"


class Loaded:
    """Machine code in memory: it stays as long as this object."""

    def __init__(self, code: image.Image | None, data: bytes) -> None:
        self._code = code
        self._data = data
        self._libraries: list[Any] = []

    def address(self, symbol: str) -> int:
        if self._code is not None:
            return self._code.address(symbol)
        library = llvm.JITLibraryBuilder().add_object_img(self._data).add_current_process()
        library = library.export_symbol(symbol).link(_jit(), f"tapeless.{next(_names)}")
        self._libraries.append(library)
        return int(library[symbol])


@functools.cache
def host() -> Host:
    """This machine. Found by LLVM once, then read from the disk cache, which is much faster.

    `TAPELESS_CPU_NAME` replaces the processor by another one of LLVM's names."""
    chosen = os.environ.get("TAPELESS_CPU_NAME", "")
    key = cache.key_of("host", chosen, LLVMLITE, sys.platform, *_processor())
    stored = cache.read(key)
    if stored is not None:
        return Host(**stored[0])
    _start()
    triple = llvm.get_process_triple()
    features = "" if chosen else llvm.get_host_cpu_features().flatten()
    found = Host(triple, chosen or llvm.get_host_cpu_name(), features, *_vectors(triple, features))
    cache.write(key, asdict(found), b"")
    return found


def compile_object(
    text: str, *, level: int = 0, codegen: int = 1, vectorize: bool = False, unroll: bool = False
) -> bytes:
    """Object code for the host from an LLVM module.

    `level` 0 runs the few passes that structured code needs; 1 to 3 are LLVM's own pipelines,
    `vectorize` and `unroll` switch their loop passes on. `codegen`: 0 fastest to compile to 3."""
    _start()
    module = llvm.parse_assembly(text)
    machine = _target_machine(codegen)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=max(level, 1))
    options.loop_vectorization = options.slp_vectorization = vectorize
    options.loop_interleaving = vectorize
    options.loop_unrolling = unroll
    builder = llvm.create_pass_builder(machine, options)
    if level == 0:
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    else:
        passes = builder.getModulePassManager()
    passes.run(module, builder)
    return bytes(machine.emit_object(module))


def load(data: bytes) -> Loaded:
    """Object code into memory: by our own linker where it can, else by LLVM's."""
    if image.SUPPORTED:
        try:
            return Loaded(image.Image(data), data)
        except image.ImageError as e:
            LOG.debug("linked by LLVM: %s", e)
    _start()
    return Loaded(None, data)


def _vectors(triple: str, features: str) -> tuple[int, int]:
    """Bits of a vector register, and how many there are."""
    present = set(features.split(","))
    if {"+avx512f", "+avx512dq", "+avx512vl"} <= present:
        return 512, 32
    if triple.startswith(("aarch64", "arm64")):
        return 128, 32
    return (256 if "+avx2" in present else 128), 16


def _processor() -> list[str]:
    """What tells one processor from another without asking LLVM."""
    described = [platform.machine()]
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            first = file.read(1 << 13).split("\n\n")[0]
    except OSError:
        return [*described, platform.processor(), platform.node()]
    telling = ("model", "flags", "vendor_id", "cpu family", "stepping", "Features", "CPU ")
    return described + [line for line in first.splitlines() if line.startswith(telling)]


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # for inline assembly


def _start() -> None:
    with _starting:
        _initialize()


@functools.cache
def _target_machine(codegen: int) -> Any:
    here = host()
    target = llvm.Target.from_triple(here.triple)
    return target.create_target_machine(
        cpu=here.cpu, features=here.features, opt=codegen, reloc="pic", codemodel="small", jit=True
    )


@functools.cache
def _jit() -> Any:
    return llvm.create_lljit_compiler(_target_machine(2))
