"""What the emitted code is for: a processor, its registers, and how floats may be treated."""

from __future__ import annotations

from dataclasses import dataclass

HOST_PARALLEL = 64  # chunks of a parallel loop: independent of the thread count, so bits are too


@dataclass(frozen=True, slots=True)
class Target:
    """A processor and the options of code generation.

    `vector_bits` is the width of one register; `width` forces the lanes of every simd loop
    (None: chosen per loop; 1: no lanes). `parallel=False` runs threads loops in order.
    """

    triple: str = ""
    cpu: str = ""
    features: str = ""
    vector_bits: int = 128
    registers: int = 16
    fastmath: bool = False
    parallel: bool = True
    width: int | None = None
    strip: int = 1 << 16

    def lanes(self, bits: int) -> int:
        """How many values of `bits` bits fill one register."""
        return max(self.vector_bits // bits, 1)

    @property
    def key(self) -> tuple[object, ...]:
        """All that the emitted code depends on."""
        return (
            self.triple, self.cpu, self.features, self.vector_bits, self.registers,
            self.fastmath, self.parallel, self.width, self.strip,
        )  # fmt: skip
