"""A process that measures: its number of threads is set before anything in it is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC",
)  # fmt: skip


def rows_of(module: str, threads: int, extra: list[str]) -> Iterator[dict[str, Any]]:
    """What `python -m module --threads … extra…` prints, a JSON object a line."""
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    command = [sys.executable, "-m", module, "--threads", str(threads), *extra]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        raise SystemExit(f"the measuring process ended with {process.returncode}")
