"""A language model of diagonal LSTM layers: a Python loop over the characters."""

import torch

from benchmarks.gradients.in_torch import eager, gradient


def objective(main, extra, state, sequence):
    layers = len(main) // 2
    gates = main.reshape(layers, 2, 4, -1).unbind()
    hiddens, cells = list(state[0::2]), list(state[1::2])
    outputs = []
    for now in sequence[:-1] * extra[0]:
        x = now
        for k, (weight, bias) in enumerate(gates):
            below = torch.stack([x, hiddens[k], x, hiddens[k]]) * weight + bias
            forget, let, out = torch.sigmoid(below[:3])
            cells[k] = cells[k] * forget + let * torch.tanh(below[3])
            hiddens[k] = x = out * torch.tanh(cells[k])
        outputs.append(x)
    y = torch.stack(outputs) * extra[1] + extra[2]
    odds = y - torch.log(2.0 + torch.sum(torch.exp(y), dim=1, keepdim=True))
    return -torch.sum(sequence[1:] * odds) / sequence[1:].numel()


def dlstm(*args):
    return eager(objective, gradient(objective, (0, 1)), args)


PEERS = {"d-lstm": dlstm}
