"""This machine: what it is, and how object code for it is loaded."""

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
from tapeless.runtime import cache, image, parts

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
        library = llvm.JITLibraryBuilder().add_current_process()
        for data in parts.unbundle(self._data):
            library = library.add_object_img(data)
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
    start()
    triple = llvm.get_process_triple()
    features = "" if chosen else llvm.get_host_cpu_features().flatten()
    found = Host(triple, chosen or llvm.get_host_cpu_name(), features, *_vectors(triple, features))
    cache.write(key, asdict(found), b"")
    return found


def load(data: bytes) -> Loaded:
    """Object code into memory: by our own linker where it can, else by LLVM's."""
    if image.SUPPORTED:
        try:
            return Loaded(image.Image(data), data)
        except image.ImageError as e:
            LOG.debug("linked by LLVM: %s", e)
    start()
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


def start() -> None:
    """LLVM is ready for use."""
    with _starting:
        _initialize()


def target_machine(codegen: int) -> Any:
    """LLVM's code generator for this machine; no two threads may use one at a time."""
    here = host()
    target = llvm.Target.from_triple(here.triple)
    return target.create_target_machine(
        cpu=here.cpu, features=here.features, opt=codegen, reloc="pic", codemodel="small", jit=True
    )


@functools.cache
def _jit() -> Any:
    return llvm.create_lljit_compiler(target_machine(2))
