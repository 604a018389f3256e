"""Philox against its published vectors; uniform and normal against their distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tapeless.forms.random import bits, normal, philox, uniform

ONES = 0xFFFFFFFF
PUBLISHED = [  # the known-answer test of the authors' library: counter, key, output
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
     (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]  # fmt: skip


@pytest.mark.parametrize(("counter", "key", "output"), PUBLISHED)
def test_published_vectors(counter, key, output):
    assert philox(*counter, *key) == output
    assert philox(*map(np.uint64, counter + key)) == output


def test_a_draw_depends_on_every_counter_and_their_number():
    counters = [(), (0,), (1,), (-1,), (0, 0), (0, 1), (0, 0, 0), (0, 0, 1), (0, 0, 0, 0)]
    draws = {int(bits(s, *c)) for s in (0, 1, -1, 2**63) for c in counters}
    assert len(draws) == 4 * 9


def test_integer_types_do_not_matter():
    assert bits(7, 3) == bits(np.int32(7), np.uint8(3)) == bits(7 + 2**64, 3)
    assert type(bits(7, 3)) is np.uint64
    assert uniform(7, 3) == int(bits(7, 3) >> 11) * 2.0**-53


def test_distributions():
    u = np.array([uniform(5, i) for i in range(3000)])
    z = np.array([normal(5, i) for i in range(3000)])
    assert stats.kstest(u, "uniform").pvalue > 0.01
    assert stats.kstest(z, "norm").pvalue > 0.01
    assert abs(np.corrcoef(u, z)[0, 1]) < 0.06
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.06


def test_floats_are_not_counters():
    with pytest.raises(TypeError):
        uniform(1, 0.5)
    with pytest.raises(TypeError):
        normal(1.0)
