"""Programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys


def start(program: str, **environment: str) -> subprocess.Popen[str]:
    """A Python process that sees the same modules as this one."""
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, **path, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def output(program: str, **environment: str) -> str:
    """What the program prints; it must end well."""
    process = start(program, **environment)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return out.strip()
