"""The programs in PyTorch, eager, as its users write them: whole tensors, Python loops over time,
`torch.func` for Jacobians. Tensors share the memory of the arrays and are made before the clock
starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from benchmarks.gradients.peer import Peer

torch.set_default_dtype(torch.float64)


def tensors(tree: Any) -> Any:
    return pytree.tree_map(
        lambda leaf: torch.from_numpy(leaf) if isinstance(leaf, np.ndarray) else leaf, tree
    )


def host(tree: Any) -> Any:
    return pytree.tree_map(lambda leaf: leaf.detach().numpy(), tree)


def eager(
    primal: Callable[..., Any], derivative: Callable[..., Any], args: tuple[Any, ...],
    tell: Callable[[Any], Any] = host,
) -> Peer:  # fmt: skip
    here = tensors(args)
    return Peer(lambda: primal(*here), lambda: derivative(*here), tell)


def gradient(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The gradient of `f` by trees of tensors, by a tape and one run back along it."""
    picks = argnums if isinstance(argnums, tuple) else (argnums,)

    def slopes(*args: Any) -> Any:
        fresh = list(args)
        for k in picks:
            fresh[k] = pytree.tree_map(lambda t: t.detach().requires_grad_(), args[k])
        leaves, shape = pytree.tree_flatten(tuple(fresh[k] for k in picks))
        found = pytree.tree_unflatten(list(torch.autograd.grad(f(*fresh), leaves)), shape)
        return found if isinstance(argnums, tuple) else found[0]

    return slopes
