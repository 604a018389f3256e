"""Random programs of the language: plain Python, the interpreter and machine code agree.

More of them: `python -m tests.conformance.fuzz` (docs/testing.md)."""

from __future__ import annotations

import warnings

import pytest

from tests.conformance.fuzz.check import check
from tests.conformance.fuzz.program import make

CHUNK = 25


def check_chunk(chunk: int) -> None:
    """Programs are refused only for a reason, and that seldom; nothing else goes wrong."""
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
            program = make(seed)
            verdict = check(program)
            refused += verdict.kind == "refused"
            assert not verdict.failed, f"{verdict}\nseed {seed}\n{program.source}"
    assert refused <= CHUNK // 5


@pytest.mark.parametrize("chunk", range(3))
def test_random_programs(chunk: int):
    check_chunk(chunk)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(3, 64))
def test_more_random_programs(chunk: int):
    check_chunk(chunk)
