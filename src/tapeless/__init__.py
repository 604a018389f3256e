"""Ordinary numeric Python functions, compiled to native code. No tape."""

import importlib
import types

from tapeless import errors
from tapeless.api.check_grads import check_grads
from tapeless.api.custom import custom_jvp, custom_vjp, stop_gradient
from tapeless.api.derivatives import (
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    value_and_grad,
    vmap,
)  # fmt: skip
from tapeless.api.functional import functional
from tapeless.api.inspection import cost, source
from tapeless.api.jit import jit
from tapeless.api.pullbacks import linearize, vjp
from tapeless.api.runtime import clear_cache, set_num_threads
from tapeless.api.settings import disable_jit
from tapeless.explain import explain
from tapeless.forms import (
    each,
    iverson,
    loop,
    map,
    random,
    reduce,
    reduce_by_index,
    scan,
    scatter,
)  # fmt: skip
from tapeless.forms.elements import (
    bool_,
    complex64,
    complex128,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)  # fmt: skip

__version__ = "0.1.0.dev0"

__all__ = [
    "bool_", "check_grads", "clear_cache", "complex64", "complex128", "cost", "custom_jvp",
    "custom_vjp", "disable_jit", "each", "errors", "explain", "f32", "f64", "functional",
    "grad", "hessian", "hvp", "i8", "i16", "i32", "i64", "iverson", "jacfwd", "jacobian",
    "jacrev", "jit", "jvp", "linearize", "loop", "map", "random", "reduce", "reduce_by_index",
    "scan", "scatter", "set_num_threads", "source", "stop_gradient", "u8", "u16", "u32", "u64",
    "value_and_grad", "vjp", "vmap",
]  # fmt: skip


def __getattr__(name: str) -> types.ModuleType:
    """`jax`, `scipy` and `torch` are loaded when they are asked for."""
    if name in ("jax", "scipy", "torch"):
        return importlib.import_module(f"tapeless.{name}")
    remedy = f": {INSTEAD[name]}" if name in INSTEAD else ""
    raise AttributeError(f"module 'tapeless' has no attribute {name!r}{remedy}")


INSTEAD = {  # of what other systems need
    "numpy": "functions of NumPy itself are compiled",
    "lax": "write Python's loops and branches",
    "checkpoint": "for t in tp.loop(n, reverse='checkpoint')",
    "pmap": "maps run on threads as they are",
}
