"""Functions of the language in JAX: `wrap(f)` works under `jit`, `grad` and `vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("tapeless.jax needs JAX: pip install 'tapeless[jax]'") from error

from tapeless.api.bridge import called, in_order, names_of, pulled
from tapeless.api.derivatives import vmap
from tapeless.api.directions import Shape
from tapeless.api.functional import functional
from tapeless.api.outline import Outlines, ValuesNeededError
from tapeless.api.trees import leaves_of, structure, tree_map

ARRAYS = (jax.Array, np.ndarray)
TYPES = frozenset(
    "float32 float64 complex64 complex128 bool int8 int16 int32 int64 uint8 uint16 uint32 uint64"
    .split()
)  # fmt: skip
MAX_CALLS = 64  # kinds of calls that a function remembers


def wrap(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` as a function of JAX: arrays among its arguments, trees too, are JAX's, and so are arrays
    and numbers among its results. What is no array is a constant. It runs on the CPU, by a callback
    of compiled code; reverse mode of any order and `vmap` are `f`'s own.

    The shapes of the results have to follow from those of the arguments. `f` never writes the
    arrays that it is given."""
    ways = Ways(f)

    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return ways(*in_order(f, args, kwargs), {})

    return wrapped


class Ways:
    """A function, and what is made of it for many calls."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self.outlines = Outlines(f)
        self.calls: dict[Any, Call] = {}
        self.maps: dict[str, Callable[..., Any]] = {}
        self.pulls: dict[tuple[int, ...], Ways] = {}

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], types: dict[int, Any]) -> Any:
        """A call. `types`: by the number of an array, the type in which `f` wants it."""
        for name, leaf in leaves_of(kwargs):
            if isinstance(leaf, ARRAYS):
                raise TypeError(f"{called(self.f)}: {name} is an array: pass it by position")
        arrays = list(self.arrays(args))
        wanted = [types.get(k, np.dtype(a.dtype)) for k, a in enumerate(arrays)]
        pairs = zip(arrays, wanted, strict=True)
        given = Given(put(args, (Shape(a.shape, t, is_array=True) for a, t in pairs)), kwargs)
        call = self.known(given, self.outline(given))
        found = iter(bridge(call, *arrays))
        return tree_map(lambda leaf: next(found) if isinstance(leaf, Shape) else leaf, call.outline)

    def arrays(self, args: tuple[Any, ...]) -> Iterator[Any]:
        for arg, name in zip(args, names_of(self.f, len(args)), strict=True):
            for at, leaf in leaves_of(arg, name):
                if isinstance(leaf, ARRAYS):
                    yield checked(jnp.asarray(leaf), self.f, at)

    def outline(self, given: Given) -> Any:
        unknown = given.stand_ins()
        try:
            return self.outlines.of(given.filled(unknown), given.kwargs, unknown)
        except ValuesNeededError as error:
            raise TypeError(
                f"{called(self.f)}: {error}, and JAX has to know it beforehand\n"
                "  Remedy: fill an array whose size follows from the sizes of the arguments"
            ) from None

    def known(self, given: Given, outline: Any) -> Call:
        """The same object for calls of one kind, so that JAX compiles once."""
        key = (structure(given.args), structure(given.kwargs), structure(outline))
        try:
            call = self.calls.get(key)
        except TypeError:  # something in it cannot be hashed
            return Call(self, given, outline)
        if call is None:
            if len(self.calls) >= MAX_CALLS:
                del self.calls[next(iter(self.calls))]
            call = self.calls[key] = Call(self, given, outline)
        return call

    def mapped(self, axes: list[Any]) -> Callable[..., Any]:
        """`f` over axes in front: `axes` for every level of mapping, the outermost first."""
        key = repr(axes)
        if key not in self.maps:
            f = self.f
            for level in reversed(axes):
                f = vmap(f, level)
            self.maps[key] = functional(f)
        return self.maps[key]

    def pulled(self, picks: tuple[int, ...]) -> Ways:
        if picks not in self.pulls:
            self.pulls[picks] = Ways(pulled(self.f, picks))
        return self.pulls[picks]


class Given:
    """The arguments of a call, a `Shape` for each array."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs
        self.shapes = [leaf for _, leaf in leaves_of(args) if isinstance(leaf, Shape)]

    def filled(self, values: Iterable[Any], other: Callable[[Any], Any] = lambda x: x) -> Any:
        """The arguments with `values` in place of their arrays, `other` of all else."""
        rest = iter(values)
        return tree_map(
            lambda leaf: next(rest) if isinstance(leaf, Shape) else other(leaf), self.args
        )

    def stand_ins(self) -> list[Any]:
        """For each array one of its shape, whatever it holds; a number for one without axes."""
        zeros = (np.zeros((), s.dtype) for s in self.shapes)
        return [np.broadcast_to(z, s.shape)[()] for z, s in zip(zeros, self.shapes, strict=True)]


class Call:
    """A kind of call: what it is given, and what it gives."""

    def __init__(self, ways: Ways, given: Given, outline: Any) -> None:
        self.ways, self.given, self.outline = ways, given, outline
        self.results = tuple(
            jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype))
            for _, leaf in leaves_of(outline) if isinstance(leaf, Shape)
        )  # fmt: skip

    def here(self, *arrays: Any) -> tuple[Any, ...]:
        """Called back with the arrays. Where they are mapped over they have more axes in front, of
        size 1 if they are the same for all."""
        shapes = self.given.shapes
        values: list[Any] = [np.asarray(a, s.dtype) for a, s in zip(arrays, shapes, strict=True)]
        levels = values[0].ndim - len(shapes[0].shape) if values else 0
        axes: list[list[int | None]] = []
        for level in range(levels):
            size = max(a.shape[level] for a in values)
            axes.append([0 if a.shape[level] == size else None for a in values])
        for k, a in enumerate(values):
            same = tuple(j for j, level in enumerate(axes) if level[k] is None)
            values[k] = a.squeeze(same)[()]  # a number if it has no axes
        f = self.ways.mapped([self.given.filled(level, lambda _: None) for level in axes])
        out, _ = f(*self.given.filled(values), **self.given.kwargs)
        pairs = zip(leaves_of(out), leaves_of(self.outline), strict=True)
        leaves = [leaf for (_, leaf), (_, like) in pairs if isinstance(like, Shape)]
        return tuple(np.asarray(a, r.dtype) for a, r in zip(leaves, self.results, strict=True))

    def seed(self, bars: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The cotangent of the result, None where there is none, and the types of its arrays."""
        rest, types = iter(bars), []

        def leaf(like: Any) -> Any:
            bar = next(rest) if isinstance(like, Shape) else None
            if bar is None or like.dtype.kind not in "fc":
                return None
            types.append(like.dtype)
            return jnp.conj(bar)

        return tree_map(leaf, self.outline), types

    def grads(self, found: tuple[Any, ...], picks: tuple[int, ...]) -> Iterator[Any]:
        """A gradient for every array of the arguments, from those of the arguments `picks`."""
        by_arg = dict(zip(picks, found, strict=True))
        for k, arg in enumerate(self.given.args):
            leaves = [leaf for _, leaf in leaves_of(arg)]
            grads = [g for _, g in leaves_of(by_arg[k])] if k in by_arg else [None] * len(leaves)
            for leaf, grad in zip(leaves, grads, strict=True):
                if isinstance(leaf, Shape):
                    yield None if grad is None else jnp.conj(grad)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def bridge(call: Call, *arrays: Any) -> tuple[Any, ...]:
    """The results of a call, which are computed when JAX asks for them."""
    return tuple(
        jax.pure_callback(call.here, call.results, *arrays, vmap_method="expand_dims")
    )  # fmt: skip


def forward(call: Call, *arrays: Any) -> tuple[Any, Any]:
    return bridge(call, *arrays), arrays


def backward(call: Call, arrays: Sequence[Any], bars: Sequence[Any]) -> tuple[Any, ...]:
    """JAX's cotangent of a complex number is the conjugate of ours."""
    seed, types = call.seed(bars)
    picks = tuple(
        k for k, arg in enumerate(call.given.args)
        if any(isinstance(x, Shape) and x.dtype.kind in "fc" for _, x in leaves_of(arg))
    )  # fmt: skip
    if not types or not picks:
        return (None,) * len(arrays)
    wanted = dict(enumerate([*types, *(s.dtype for s in call.given.shapes)]))
    args = (seed, *call.given.filled(arrays))
    return tuple(call.grads(call.ways.pulled(picks)(args, call.given.kwargs, wanted), picks))


bridge.defvjp(forward, backward)


def put(args: tuple[Any, ...], values: Iterable[Any]) -> Any:
    """The arguments with `values` in place of their arrays."""
    rest = iter(values)
    return tree_map(lambda leaf: next(rest) if isinstance(leaf, ARRAYS) else leaf, args)


def checked(a: Any, f: Callable[..., Any], name: str) -> Any:
    """The array, if its type is one of ours."""
    if str(a.dtype) in TYPES:
        return a
    raise TypeError(
        f"{called(f)}: the array {name} holds {a.dtype}\n  Remedy: pass it as float32 or float64"
    )
