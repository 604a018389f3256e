"""When two results of an expression are the same: structure, shapes, element types, values."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_same(got: Any, want: Any, where: str) -> None:
    """Equal trees; floats to rounding (of single precision where that is the type)."""
    if isinstance(want, tuple | list):
        assert isinstance(got, tuple | list), f"{where}: {type(got)} is no sequence"
        assert len(got) == len(want), f"{where}: {len(got)} results, not {len(want)}"
        for k, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_same(g, w, f"{where}[{k}]")
        return
    a, b = np.asarray(got), np.asarray(want)
    assert a.shape == b.shape, f"{where}: shape {a.shape}, not {b.shape}"
    assert a.dtype == b.dtype, f"{where}: {a.dtype}, not {b.dtype}"
    single = b.dtype in (np.float32, np.complex64)
    rtol, atol = (3e-5, 3e-6) if single else (2e-12, 1e-13)
    np.testing.assert_allclose(a, b, rtol, atol, err_msg=where)
