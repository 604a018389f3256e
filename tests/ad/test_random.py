"""Derivatives of random programs: forward against differences, reverse against forward, second
derivatives against each other, machine code against the interpreter."""

from __future__ import annotations

import pytest

from tests.ad.fuzz.judge import judge

FIRST, ALL, CHUNK = 120, 2000, 20


@pytest.mark.parametrize("source", ["core", "python"])
@pytest.mark.parametrize("seed", range(FIRST))
def test_derivatives_agree(source: str, seed: int):
    verdict = judge(source, seed, machine=seed % 10 == 0)
    assert not verdict.failed, verdict


@pytest.mark.slow
@pytest.mark.parametrize("source", ["core", "python"])
@pytest.mark.parametrize("start", range(FIRST, ALL, CHUNK))
def test_more_programs(source: str, start: int):
    found = {seed: judge(source, seed) for seed in range(start, start + CHUNK)}
    assert not {seed: v for seed, v in found.items() if v.failed}
