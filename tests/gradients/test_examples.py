"""The derivatives of the benchmark programs, against differences of what plain Python computes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from benchmarks.gradients import ba, hand, kmeans
from benchmarks.gradients.program import load_examples

EXAMPLES = load_examples()
GRADIENTS = {
    "gmm": (0,), "d-lstm": (0, 1), "kmeans sparse": (3,), "lstm": (0,), "lbm": (0,),
    "rsbench": (0, 1), "xsbench": (0, 1),
}  # fmt: skip
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # of eighth order


def slope(f, step=1e-4):
    """f'(0)"""
    return sum(w * (f(k * step) - f(-k * step)) for k, w in WEIGHTS.items()) / step


def leaves(tree):
    """The arrays of a tree of dicts."""
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in leaves(part)]
    return [tree]


def moved(tree, along, step):
    if isinstance(tree, dict):
        return {name: moved(part, along[name], step) for name, part in tree.items()}
    return tree + step * along


def direction(rng, tree):
    if isinstance(tree, dict):
        return {name: direction(rng, part) for name, part in tree.items()}
    return rng.standard_normal(np.shape(tree))


def test_every_program_is_here():
    assert {*GRADIENTS, "ba", "hand", "hand complicated", "kmeans"} == set(EXAMPLES)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient(name):
    example, picks = EXAMPLES[name], GRADIENTS[name]
    args = example.data(example.small)
    found = example.derivative(*args)
    found = found if len(picks) > 1 else (found,)
    rng = np.random.default_rng(1)
    for argument, gradient in zip(picks, found, strict=True):
        along = direction(rng, args[argument])

        def line(step, argument=argument, along=along):
            new = list(args)
            new[argument] = moved(args[argument], along, step)
            return example.primal(*new)

        parts = zip(leaves(gradient), leaves(along), strict=True)
        product = sum(np.sum(g * d) for g, d in parts)
        assert product == pytest.approx(slope(line), rel=1e-8)


def test_ba():
    """The rows of the matrix are two an observation, then one a weight."""
    (example,) = ba.EXAMPLES
    *parts, feats = example.data(example.small)
    starts, columns, values = example.derivative(*parts, feats)
    rng = np.random.default_rng(2)
    along = [rng.standard_normal(part.shape) for part in parts]

    def line(step):
        new = [part + step * d for part, d in zip(parts, along, strict=True)]
        return np.concatenate([e.ravel() for e in example.primal(*new, feats)])

    flat = np.concatenate([d.ravel() for d in along])
    matrix = scipy.sparse.csr_array((values, columns, starts), shape=(3 * len(feats), flat.size))
    np.testing.assert_allclose(matrix @ flat, slope(line), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("example", hand.EXAMPLES, ids=lambda e: e.name)
def test_hand(example):
    theta, us, *rest = example.data(example.small)
    matrix = example.derivative(theta, us, *rest)
    rng = np.random.default_rng(3)
    by_theta, by_us = rng.standard_normal(26), rng.standard_normal(2 if len(us) else 0)

    def line(step):
        return example.primal(theta + step * by_theta, us + (step * by_us if len(us) else 0), *rest)

    product = matrix @ np.concatenate([by_us, by_theta])
    np.testing.assert_allclose(product, slope(line), rtol=1e-8, atol=1e-9)


def test_kmeans():
    """The mean of a centre's points, less the centre, is a step of Newton's method."""
    (example,) = kmeans.EXAMPLES
    points, centres = example.data(example.small)
    owner = np.argmin(((points[:, None] - centres) ** 2).sum(axis=2), axis=1)
    means = np.array([points[owner == j].mean(axis=0) for j in range(len(centres))])
    found = example.derivative(points, centres)
    np.testing.assert_allclose(found, centres - means, rtol=1e-11, atol=1e-13)
