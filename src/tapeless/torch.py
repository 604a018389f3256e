"""Functions of the language in PyTorch: `wrap(f)` takes and gives tensors, and has derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

try:
    import torch
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "tapeless.torch needs PyTorch: pip install 'tapeless[torch]'"
    ) from error

from tapeless.api.bridge import called, in_order, names_of, pulled, pushed
from tapeless.api.derivatives import vmap
from tapeless.api.functional import functional
from tapeless.api.pullbacks import at_points
from tapeless.api.trees import leaves_of, tree_map
from tapeless.errors import CompileError

Tensor = torch.Tensor
TENSOR = object()  # stands where a tree of results has a tensor
TYPES = frozenset({
    torch.float32, torch.float64, torch.complex64, torch.complex128, torch.bool,
    torch.int8, torch.int16, torch.int32, torch.int64,
    torch.uint8, torch.uint16, torch.uint32, torch.uint64,
})  # fmt: skip


def wrap(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` as a function of PyTorch: tensors among its arguments, trees too, share their memory with
    the arrays that `f` sees; arrays and NumPy's numbers among its results are tensors. What is no
    tensor is a constant. Backward, backward of backward, forward mode and `torch.func` work.

    `f` never writes the tensors that it is given."""

    ways = Ways(f)

    @torch.compiler.disable  # type: ignore[untyped-decorator, unused-ignore]  # as PyTorch has it
    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        call = Call(ways, *in_order(f, args, kwargs))
        found = iter(Bridge.apply(call, *call.tensors))
        return tree_map(lambda leaf: next(found) if leaf is TENSOR else leaf, call.results)

    return wrapped  # type: ignore[no-any-return, unused-ignore]


class Ways:
    """A function, and what is made of it for many calls."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self.pure = functional(f)
        self.made: dict[tuple[str, tuple[int, ...]], Callable[..., Any]] = {}

    def kept(self, picks: tuple[int, ...]) -> Callable[..., tuple[Any, Any]]:
        return self.once("kept", picks, lambda: at_points(self.f, "pull", picks))

    def pulled(self, picks: tuple[int, ...]) -> Callable[..., Any]:
        return self.once("pulled", picks, lambda: wrap(pulled(self.f, picks)))

    def pushed(self, picks: tuple[int, ...]) -> Callable[..., Any]:
        return self.once("pushed", picks, lambda: wrap(pushed(self.f, picks)))

    def once(
        self, what: str, picks: tuple[int, ...], make: Callable[[], Callable[..., Any]]
    ) -> Callable[..., Any]:
        if (what, picks) not in self.made:
            self.made[what, picks] = make()
        return self.made[what, picks]


class Call:
    """One call: its arguments, and what is known of its results once it has run."""

    def __init__(self, ways: Ways, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.ways, self.args, self.kwargs = ways, args, kwargs
        f = ways.f
        self.results: Any = None
        self.pullback: Callable[[Any], tuple[Any, ...]] | None = None
        for name, leaf in leaves_of(kwargs):
            if isinstance(leaf, Tensor):
                raise TypeError(f"{called(f)}: {name} is a tensor: pass it by position")
        self.tensors: list[Any] = []
        picks = []
        for k, (name, arg) in enumerate(zip(names_of(f, len(args)), args, strict=True)):
            found = [checked(t, f, at) for at, t in leaves_of(arg, name) if isinstance(t, Tensor)]
            self.tensors += found
            if any(is_active(t) for t in found):
                picks.append(k)
        self.picks = tuple(picks)

    def with_tensors(self, values: Iterable[Any]) -> tuple[Any, ...]:
        """The arguments with `values` in place of their tensors."""
        rest = iter(values)
        made = tree_map(lambda leaf: next(rest) if isinstance(leaf, Tensor) else leaf, self.args)
        return tuple(made)

    def run(self, tensors: Iterable[Any]) -> tuple[Any, ...]:
        """The tensors among the results."""
        args = self.with_tensors(map(array, tensors))
        if self.picks:
            try:
                out, self.pullback = self.ways.kept(self.picks)(*args, **self.kwargs)
                return self.split(tree_map(tensor, out))
            except CompileError:
                found = self.split(tree_map(tensor, self.ways.pure(*args, **self.kwargs)[0]))
                if any(map(is_float, found)):
                    raise
                return found  # nothing that has a derivative, as PyTorch's own argmax
        return self.split(tree_map(tensor, self.ways.pure(*args, **self.kwargs)[0]))

    def split(self, out: Any) -> tuple[Any, ...]:
        """The tensors of a result; where they stood is noted."""
        self.results = tree_map(lambda leaf: TENSOR if isinstance(leaf, Tensor) else leaf, out)
        return tuple(leaf for _, leaf in leaves_of(out) if isinstance(leaf, Tensor))

    def seed(self, bars: Iterable[Any]) -> Any:
        """The cotangent of the result: None where there is none."""
        rest = iter(bars)
        return tree_map(lambda leaf: next(rest) if leaf is TENSOR else None, self.results)

    def grads(self, found: tuple[Any, ...]) -> Iterator[Any]:
        """A gradient for every tensor of the arguments, from those of the arguments `picks`."""
        by_arg = dict(zip(self.picks, found, strict=True))
        for k, arg in enumerate(self.args):
            leaves = [leaf for _, leaf in leaves_of(arg)]
            grads = (
                [grad for _, grad in leaves_of(by_arg[k])]
                if k in by_arg else [None] * len(leaves)
            )  # fmt: skip
            for leaf, grad in zip(leaves, grads, strict=True):
                if isinstance(leaf, Tensor):
                    yield None if grad is None else tensor(grad)


class Bridge(torch.autograd.Function):
    """A call in PyTorch's graph. Derivatives that are differentiated in turn are calls again."""

    @staticmethod
    def forward(call: Call, *tensors: Any) -> tuple[Any, ...]:
        return call.run(tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        ctx.call, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.mark_non_differentiable(*(t for t in output if not is_float(t)))
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> tuple[Any, ...]:
        call: Call = ctx.call
        bars = tuple(bar if bar is None or is_float(bar) else None for bar in bars)
        if all(bar is None for bar in bars):
            return (None,) * (1 + len(call.tensors))
        if torch.is_grad_enabled() or call.pullback is None:
            args = call.with_tensors(ctx.saved_tensors)
            found = call.ways.pulled(call.picks)(call.seed(bars), *args, **call.kwargs)
        else:
            seeds = (None if bar is None else array(bar) for bar in bars)
            found = call.pullback(call.seed(seeds))
        return (None, *call.grads(found))

    @staticmethod
    def jvp(ctx: Any, _: None, *dots: Any) -> tuple[Any, ...]:
        call: Call = ctx.call
        picks, tangents, rest = [], [], iter(dots)
        for k, arg in enumerate(call.args):
            row = tree_map(lambda leaf: next(rest) if isinstance(leaf, Tensor) else None, arg)
            if any(leaf is not None for _, leaf in leaves_of(row)):
                picks.append(k)
                tangents.append(row)
        args = call.with_tensors(ctx.saved_tensors)
        found = call.ways.pushed(tuple(picks))(tuple(tangents), *args, **call.kwargs)
        flags = [leaf is TENSOR for _, leaf in leaves_of(call.results)]
        leaves = [leaf for _, leaf in leaves_of(found)]
        return tuple(leaf for leaf, flag in zip(leaves, flags, strict=True) if flag)

    @staticmethod
    def vmap(info: Any, in_dims: Any, call: Call, *tensors: Any) -> tuple[Any, Any]:
        rest = iter(in_dims[1:])
        axes = tree_map(lambda leaf: next(rest) if isinstance(leaf, Tensor) else None, call.args)
        f = functools.partial(call.ways.f, **call.kwargs) if call.kwargs else call.ways.f
        made = wrap(vmap(f, tuple(axes)))(*call.with_tensors(tensors))
        found = call.split(made)
        return found, (0,) * len(found)


def is_float(t: Any) -> bool:
    return bool(t.is_floating_point() or t.is_complex())


def is_active(t: Any) -> bool:
    """Whether backward may ask for the gradient by this tensor; of tensors that `torch.func` wraps
    it cannot be told beforehand."""
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor(t)
    return is_float(t) and torch.is_grad_enabled() and bool(t.requires_grad or wrapped)


def checked(t: Any, f: Callable[..., Any], name: str) -> Any:
    """The tensor, if its memory can be read here."""
    if t.device.type != "cpu":
        what, remedy = f"is on {t.device}", "pass it with .cpu()"
    elif t.layout is not torch.strided:
        what, remedy = f"is laid out as {t.layout}", "pass it with .to_dense()"
    elif t.dtype not in TYPES:
        what, remedy = f"holds {t.dtype}", "pass it with .float() or .double()"
    else:
        return t
    raise TypeError(f"{called(f)}: the tensor {name} {what}\n  Remedy: {remedy}")


def array(t: Any) -> Any:
    """The memory of a tensor as an array, or what it holds as a number if it has no axes."""
    return t.detach().resolve_conj().resolve_neg().numpy()[()]


def tensor(leaf: Any) -> Any:
    """Arrays, and numbers with a type of NumPy's, as tensors; all else as it is."""
    if isinstance(leaf, np.ndarray):
        return torch.from_numpy(leaf)
    return torch.from_numpy(np.asarray(leaf)) if isinstance(leaf, np.generic) else leaf
