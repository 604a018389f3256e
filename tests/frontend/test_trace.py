"""The corpus of kernels, traced: what the interpreter makes of the program is what Python makes."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "conformance")]

from harness import check
from kernels import KERNELS, Kernel


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_kernel(kernel: Kernel):
    seed = zlib.crc32(kernel.name.encode())
    args = kernel.data(np.random.default_rng(seed), 5)
    check(kernel.function, *args, tol=max(kernel.tol, 1e-11))
