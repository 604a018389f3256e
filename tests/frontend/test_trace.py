"""The corpus of kernels, traced: what the interpreter makes of the program is what Python makes."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from tests.conformance.kernels import KERNELS, Kernel
from tests.frontend.harness import check


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_kernel(kernel: Kernel):
    seed = zlib.crc32(kernel.name.encode())
    args = kernel.data(np.random.default_rng(seed), 5)
    check(kernel.function, *args, tol=max(kernel.tol, 1e-11))
