"""The arguments that the expressions of the table name."""

from __future__ import annotations

from typing import Any

import numpy as np


def pool() -> dict[str, Any]:
    """Fresh inputs, always the same: capitals are matrices, small letters vectors and numbers."""
    r = np.random.default_rng(7)
    A = r.normal(size=(3, 4))
    with_nan = r.normal(size=(3, 4))
    with_nan[0, 1] = with_nan[2, 3] = np.nan
    square = r.normal(size=(4, 4))
    big = r.normal(size=(40, 40))
    return {
        # by element type, 3 × 4
        "A": A, "S": A.astype("f4"), "I": r.integers(-5, 6, (3, 4)),
        "J": r.integers(-5, 6, (3, 4)).astype("i4"), "U": r.integers(0, 9, (3, 4)).astype("u1"),
        "B": r.random((3, 4)) > 0.5, "Z": A + 1j * r.normal(size=(3, 4)),
        "Y": (A + 1j * r.normal(size=(3, 4))).astype("c8"),
        # more matrices
        "P": r.random((3, 4)) + 0.1, "Q": r.normal(size=(4, 5)), "M": square,
        "D": square @ square.T + 4 * np.eye(4), "N": with_nan, "E": np.zeros((0, 4)),
        "T": r.normal(size=(2, 3, 4)), "R": r.normal(size=(2, 4, 3)),
        "C": square + 1j * r.normal(size=(4, 4)), "L": np.tril(square) + 3 * np.eye(4),
        # vectors
        "G": big @ big.T + 40 * np.eye(40), "X": big, "K": big[:, :30],
        "v": r.normal(size=6), "w": r.normal(size=6), "p": r.random(6) * 0.8 + 0.1,
        "s": np.sort(r.normal(size=6)), "f": r.normal(size=6).astype("f4"),
        "i": r.integers(0, 5, 6), "j": r.integers(-5, 6, 6), "k": r.integers(0, 4, 6).astype("i4"),
        "b": r.random(6) > 0.4, "z": r.normal(size=6) + 1j * r.normal(size=6), "e": np.zeros(0),
        "u": r.normal(size=4), "t": r.normal(size=3), "h": np.array([1, 2, 2, 3, 5, 5]),
        "g": np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]), "q": r.normal(size=8),
        # numbers
        "x": 0.7, "y": -1.3, "n": 5, "m": 3, "c": 0.4 - 1.2j, "F": np.float32(0.3),
    }  # fmt: skip
