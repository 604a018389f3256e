"""Derivatives of the benchmark programs, beside those of the same programs in JAX and PyTorch,
which were written apart."""

from __future__ import annotations

import pytest

from benchmarks.gradients.peer import SYSTEMS, difference, load_system
from benchmarks.gradients.program import load_examples

EXAMPLES = load_examples()


@pytest.fixture(scope="module", params=SYSTEMS)
def peers(request):
    return load_system(SYSTEMS[request.param])


def test_every_program_is_there(peers):
    assert peers.keys() == EXAMPLES.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_derivatives_agree(peers, name):
    example = EXAMPLES[name]
    args = example.data(example.small)
    peer = peers[name](*args)
    assert difference(example.derivative(*args), peer.tell(peer.derivative())) < 1e-12
