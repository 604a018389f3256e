"""Functions of the language in PyTorch's graphs, against the same functions in PyTorch."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import tapeless as tp
import tapeless.torch

DOUBLE = {"dtype": torch.float64}
W = torch.linspace(-1.0, 2.0, 5, **DOUBLE)
X = torch.linspace(0.5, 1.5, 5, **DOUBLE) ** 2
B = torch.tensor(0.7, **DOUBLE)


def model(w, x, p, mode="plain", n=3):
    residual = np.sin(w) * x - p["b"]
    extra = {"squares": residual * residual, "n": n, "mode": mode, "best": np.argmax(residual)}
    return np.sum(residual**2) * n, extra


def reference(w, x, p, n=3):
    residual = torch.sin(w) * x - p["b"]
    return torch.sum(residual**2) * n, residual * residual


wrapped = tapeless.torch.wrap(model)


def parts(w, x, b):
    value, extra = wrapped(w, x, {"b": b})
    return value, extra["squares"]


def fresh(*tensors):
    return [t.clone().requires_grad_() for t in tensors]


def test_values_and_what_is_no_tensor():
    value, extra = wrapped(W, X, {"b": B}, n=2)
    expected, squares = reference(W, X, {"b": B}, n=2)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(extra["squares"], squares)
    assert (extra["n"], extra["mode"]) == (2, "plain")
    assert extra["best"].dtype == torch.int64
    assert not value.requires_grad


def test_backward_by_what_requires_it():
    w, b = fresh(W, B)
    value, extra = wrapped(w, X, {"b": b})
    assert extra["squares"].requires_grad and not extra["best"].requires_grad
    (value + extra["squares"].sum()).backward()
    v, c = fresh(W, B)
    expected, squares = reference(v, X, {"b": c})
    (expected + squares.sum()).backward()
    torch.testing.assert_close(w.grad, v.grad)
    torch.testing.assert_close(b.grad, c.grad)
    assert X.grad is None


def test_one_of_several_results():
    (w,) = fresh(W)
    wrapped(w, X, {"b": B})[1]["squares"][2].backward()
    (v,) = fresh(W)
    reference(v, X, {"b": B})[1][2].backward()
    torch.testing.assert_close(w.grad, v.grad)


def test_pytorchs_own_checks_of_both_modes_and_orders():
    inputs = fresh(W, X, B)
    assert torch.autograd.gradcheck(parts, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(parts, inputs)


def test_third_derivative():
    cube = tapeless.torch.wrap(lambda x: x**4)
    (x,) = fresh(torch.tensor(2.0, **DOUBLE))
    slope = cube(x)
    for expected in (32.0, 48.0, 48.0):
        (slope,) = torch.autograd.grad(slope, x, create_graph=True)
        assert slope.item() == expected


def test_graphs_may_be_used_again():
    (w,) = fresh(W)
    value, _ = wrapped(w, X, {"b": B})
    (one,) = torch.autograd.grad(value, w, retain_graph=True)
    (two,) = torch.autograd.grad(value, w)
    torch.testing.assert_close(one, two)


def test_functional_transforms():
    def ours(w):
        return parts(w, X, B)[0]

    def theirs(w):
        return reference(w, X, {"b": B})[0]

    for transform in (
        torch.func.grad, torch.func.hessian, torch.func.jacfwd,
        lambda f: torch.func.jacrev(torch.func.grad(f)),
    ):  # fmt: skip
        torch.testing.assert_close(transform(ours)(W), transform(theirs)(W))


@pytest.mark.parametrize("axes", [(0, None), (1, 0), (None, 0)])
def test_vmap(axes):
    many = torch.stack([W, 2 * W, -W], dim=axes[0] or 0) if axes[0] is not None else W
    biases = torch.stack([B, 2 * B, 0 * B]) if axes[1] is not None else B

    def ours(w, b):
        return parts(w, X, b)

    def theirs(w, b):
        return reference(w, X, {"b": b})

    for transform in (
        lambda f: f, lambda f: torch.func.grad(lambda *a: f(*a)[0], argnums=(0, 1))
    ):  # fmt: skip
        found = torch.func.vmap(transform(ours), axes)(many, biases)
        torch.testing.assert_close(found, torch.func.vmap(transform(theirs), axes)(many, biases))


def test_complex_numbers():
    def f(z):
        return np.sum(np.abs(z * z * np.sin(z)))

    z = torch.complex(W, X).requires_grad_()
    v = torch.complex(W, X).requires_grad_()
    tapeless.torch.wrap(f)(z).backward()
    torch.sum(torch.abs(v * v * torch.sin(v))).backward()
    torch.testing.assert_close(z.grad, v.grad)


def test_conjugates_and_strides():
    f = tapeless.torch.wrap(lambda z: z * 2)
    z = torch.complex(W, X)
    torch.testing.assert_close(f(z.conj()), z.conj() * 2)
    matrix = torch.arange(12.0).reshape(3, 4)
    torch.testing.assert_close(f(matrix.T[1:, ::2]), matrix.T[1:, ::2] * 2)


def test_memory_is_shared():
    assert tapeless.torch.array(W[1:]).ctypes.data == W[1:].data_ptr()
    made = np.arange(3.0)
    assert tapeless.torch.tensor(made).data_ptr() == made.ctypes.data


def test_arguments_are_not_written():
    def doubled(x):
        x *= 2.0
        return np.sum(x * x)

    x = W.clone()
    (y,) = fresh(W)
    f = tapeless.torch.wrap(doubled)
    torch.testing.assert_close(f(x), torch.sum(4 * W * W))
    f(y).backward()
    torch.testing.assert_close(x, W)
    torch.testing.assert_close(y.grad, 8 * W)


@dataclasses.dataclass
class State:
    place: object
    label: str = "here"


def test_objects_and_lists():
    f = tapeless.torch.wrap(lambda s, rows: State(s.place * rows[0] + rows[1], s.label))
    (w,) = fresh(W)
    found = f(State(w), [X, 2.0])
    assert found.label == "here"
    found.place.sum().backward()
    torch.testing.assert_close(w.grad, X)


def test_single_precision_stays():
    (w,) = fresh(W.float())
    value = tapeless.torch.wrap(lambda w: np.sum(w * w))(w)
    value.backward()
    assert value.dtype == w.grad.dtype == torch.float32


def test_integers():
    (w,) = fresh(W)
    index = torch.tensor([0, 2, 2])
    found = tapeless.torch.wrap(lambda w, i: np.sum(w[i] ** 2))(w, index)
    found.backward()
    torch.testing.assert_close(w.grad, W * torch.tensor([2.0, 0.0, 4.0, 0.0, 0.0], **DOUBLE))
    greatest = tapeless.torch.wrap(lambda w: np.argmax(w * 2))(w)
    assert not greatest.requires_grad and greatest.item() == 4


def test_a_step_of_an_optimiser():
    weights = torch.nn.Parameter(W.clone())
    optimiser = torch.optim.SGD([weights], lr=0.1)
    before = wrapped(weights, X, {"b": B})[0]
    before.backward()
    optimiser.step()
    assert wrapped(weights, X, {"b": B})[0] < before


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (W.half(), "the tensor w holds torch.float16"), (W.to("meta"), "the tensor w is on meta"),
        (W.to_sparse(), "the tensor w is laid out as torch.sparse_coo"),
    ],
)  # fmt: skip
def test_refused(tensor, words):
    with pytest.raises(TypeError, match=words):
        wrapped(tensor, X, {"b": B})
    with pytest.raises(TypeError, match=words.replace(" w ", r" p\['b'\] ")):
        wrapped(W, X, {"b": tensor})


def test_tensors_by_keyword_only_are_refused():
    def f(x, *, scale):
        return x * scale

    torch.testing.assert_close(tapeless.torch.wrap(f)(W, scale=2.0), W * 2)
    with pytest.raises(TypeError, match=r"scale.* is a tensor: pass it by position"):
        tapeless.torch.wrap(f)(W, scale=B)


def test_errors_name_the_users_line():
    (w,) = fresh(W)
    with pytest.raises(IndexError, match=r"index 9 is out of bounds(.|\n)*test_torch"):
        tapeless.torch.wrap(lambda w: w[9])(w)
    with pytest.raises(tp.errors.CompileError, match=r"print(.|\n)*test_torch"):
        tapeless.torch.wrap(lambda w: print(w * 2))(w)


def test_captured_tensors():
    """One that requires a gradient would get none."""
    scale = W.clone()
    torch.testing.assert_close(tapeless.torch.wrap(lambda x: x * scale)(X), X * W)
    scale.requires_grad_()
    with pytest.raises(tp.errors.CompileError, match=r"gradient(.|\n)*pass it as an argument to"):
        tapeless.torch.wrap(lambda x: x * scale)(X)
