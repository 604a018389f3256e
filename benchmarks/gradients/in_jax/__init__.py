"""The programs in JAX, written apart: whole arrays, `scan`, `vmap`, and the fastest of the ways to
write each that were tried. Arguments are put on the device, and what depends on sizes only is
computed, before the clock starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from benchmarks.gradients.peer import Peer

jax.config.update("jax_enable_x64", True)


def device(tree: Any) -> Any:
    """Arrays and numbers of a tree as JAX's."""
    return jax.tree.map(jax.numpy.asarray, tree)


def host(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)


def compiled(
    primal: Callable[..., Any], derivative: Callable[..., Any], args: tuple[Any, ...],
    tell: Callable[[Any], Any] = host,
) -> Peer:  # fmt: skip
    """Both compiled by `jit`, with arguments that are on the device, and waited for."""
    here, calls = device(args), (jax.jit(primal), jax.jit(derivative))
    return Peer(
        *(lambda call=call: jax.block_until_ready(call(*here)) for call in calls), tell
    )  # fmt: skip
