"""The gated recursive cell, literally: one pair of vectors at a time."""

import torch


def linear(w, name, x):
    return w[f"{name}.weight"] @ x + w[f"{name}.bias"]


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / 2**0.5))


def layer_norm(w, name, x):
    x = (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt()
    return x * w[f"{name}.weight"] + w[f"{name}.bias"]


def cell(w, left, right):
    z = linear(w, "cell.gates", gelu(linear(w, "cell.expand", torch.cat([left, right]))))
    a, b, c, u = z.split(len(left))
    mixed = left / (1 + (-a).exp()) + right / (1 + (-b).exp()) + u / (1 + (-c).exp())
    return layer_norm(w, "cell.norm", mixed)
