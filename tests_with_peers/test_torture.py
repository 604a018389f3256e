"""The verdicts on JAX and PyTorch in docs/torture.md are what they give."""

from __future__ import annotations

import json

from tests.ad.torture import all_programs
from tests_with_peers.torture import in_jax, in_torch
from tests_with_peers.torture.verdicts import FILE, verdicts, versions


def test_the_same_programs_in_both():
    assert versions(in_jax) == versions(in_torch)
    assert len(versions(in_jax)) >= 40
    assert versions(in_jax) <= {case.run.__name__ for case in all_programs()}


def test_verdicts_are_up_to_date():
    found = verdicts()
    assert json.loads(FILE.read_text()) == found, "run make docs-peers"
    assert not {"each", "folded"} & found.keys()
