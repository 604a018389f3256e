"""A program gives the same code in every process: nothing follows the addresses of objects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def digests(seed: int) -> dict[str, str]:
    environment = os.environ | {
        "PYTHONHASHSEED": str(seed), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "tests.conformance.texts", str(seed)],
        capture_output=True, text=True, check=True, env=environment, cwd=ROOT,
    )  # fmt: skip
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
def test_two_processes_make_the_same_code():
    one, two = digests(1), digests(2)
    assert len(one) > 200
    assert [name for name in one if one[name] != two[name]] == []
