"""`python -m tools.space_time`: time and memory of a loop's strategies in reverse, as a figure."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np

import tapeless as tp

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "space-time.svg"
CELLS, STEPS, ROUNDS = 20_000, 400, 8
STRATEGIES: list[tuple[str, dict[str, object]]] = [
    ("store", {"reverse": "store"}),
    *((f"{s} slots", {"reverse": "checkpoint", "slots": s}) for s in (100, 30, 10, 6, 3)),
    *((f"{k} levels", {"reverse": "checkpoint", "levels": k}) for k in (2, 3)),
    ("invert", {"reverse": "invert"}),
]


def leapfrog(**strategy: object) -> object:
    """A chain of pendulums: every step can be undone."""

    def energy(q, p, steps):
        for _ in tp.loop(steps, **strategy):
            p[1:-1] += 0.01 * (q[2:] - 2.0 * q[1:-1] + q[:-2] - np.sin(q[1:-1]))
            q += 0.01 * p
        return np.sum(q * q) + np.sum(p * p)

    return tp.grad(energy)


def measured() -> list[tuple[str, float, float]]:
    """Per strategy: its name, seconds, bytes at once."""
    tp.set_num_threads(1)
    q, p = np.linspace(0.0, 1.0, CELLS), np.zeros(CELLS)
    rows = []
    for name, strategy in STRATEGIES:
        gradient = leapfrog(**strategy)
        gradient(q, p, 2)
        best = math.inf
        for _ in range(ROUNDS):
            start = time.perf_counter()
            gradient(q, p, STEPS)
            best = min(best, time.perf_counter() - start)
        small = tp.cost(gradient, q[:50], p[:50], STEPS).peak_bytes
        rows.append((name, best, small * CELLS / 50))
        print(f"{name:12}{best * 1e3:10.1f} ms{rows[-1][2] / 1e6:10.1f} MB", flush=True)
    return rows


def figure(rows: list[tuple[str, float, float]]) -> str:
    """Memory to the right, time upwards, both on logarithmic scales."""
    width, height, left, bottom = 720, 400, 70, 60
    across = [math.log10(r[2] / 1e6) for r in rows]
    up = [math.log10(r[1] * 1e3) for r in rows]

    def x(value: float) -> float:
        low, high = min(across) - 0.2, max(across) + 0.3
        return left + (value - low) / (high - low) * (width - left - 40)

    def y(value: float) -> float:
        low, high = min(up) - 0.1, max(up) + 0.1
        return height - bottom - (value - low) / (high - low) * (height - bottom - 30)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        "<title>Time and memory of a loop's strategies in reverse</title>",
        "<style>text{font:13px sans-serif;fill:#222}.small{font-size:11px;fill:#666}</style>",
        f'<path d="M{left} 20V{height - bottom}H{width - 20}" stroke="#888" fill="none"/>',
        f'<text x="{width / 2 - 40}" y="{height - 12}">memory, MB</text>',
        f'<text transform="translate(18 {height / 2 + 20}) rotate(-90)">time, ms</text>',
    ]
    for tick in (1, 2, 5, 10, 20, 50):
        at = x(math.log10(tick))
        out.append(f'<text class="small" x="{at:.0f}" y="{height - bottom + 18}">{tick}</text>')
    for tick in (20, 30, 40, 50, 70, 100):
        if min(up) - 0.1 < math.log10(tick) < max(up) + 0.1:
            at = y(math.log10(tick)) + 4
            out.append(f'<text class="small" x="{left - 28}" y="{at:.0f}">{tick}</text>')
    curve = sorted((x(a), y(u)) for (n, *_), a, u in zip(rows, across, up, strict=True)
                   if "slots" in n or n == "store")  # fmt: skip
    line = " ".join(f"{a:.1f},{u:.1f}" for a, u in curve)
    out.append(f'<polyline points="{line}" fill="none" stroke="#b0c4de" stroke-width="2"/>')
    for (name, *_), a, u in zip(rows, across, up, strict=True):
        colour = {"i": "#b06", "l": "#282"}.get(name[0], "#246")
        out.append(f'<circle cx="{x(a):.1f}" cy="{y(u):.1f}" r="4" fill="{colour}"/>')
        below = 18 if "levels" in name else -8
        out.append(f'<text x="{x(a) - 14:.1f}" y="{y(u) + below:.1f}">{name}</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    FIGURE.write_text(figure(measured()))
