"""An LSTM with full matrices: a loop over the steps, the four gates by one product."""

import torch

from benchmarks.gradients.in_torch import eager, gradient


def loss(weights, inputs, target):
    h = target.shape[1]
    wide = {name: torch.moveaxis(weights[name], 0, 1) for name in ("input", "hidden")}
    wide = {name: w.reshape(w.shape[0], 4 * h) for name, w in wide.items()}
    fed = inputs @ wide["input"] + weights["bias"].reshape(4 * h)
    hidden, cell = torch.zeros_like(target), torch.zeros_like(target)
    for x in fed:
        forget, let, new, out = torch.split(x + hidden @ wide["hidden"], h, dim=1)
        cell = cell * torch.sigmoid(forget) + torch.sigmoid(let) * torch.tanh(new)
        hidden = torch.sigmoid(out) * torch.tanh(cell)
    return torch.mean((hidden - target) ** 2)


def lstm(*args):
    return eager(loss, gradient(loss), args)


PEERS = {"lstm": lstm}
