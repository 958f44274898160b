# %% [markdown]
# # An encoder of your own
#
# An LDRU is an ordinary PyTorch module: vectors `[batch, length, dim]` in, one vector `[batch,
# dim]` for each sequence out. This tutorial takes the tree apart, puts an encoder into a network
# of our own, and trains that with a loop of our own: no language, no recipe, nothing of this
# library but the module.

# %%
# %matplotlib inline
import math
import os

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

import ldru

QUICK = "LDRU_QUICK" in os.environ  # the tests train for a few steps only
_ = torch.manual_seed(0)

# %% [markdown]
# ## The tree without a network
#
# `ldru.tree_reduce` combines neighbours in pairs until one is left. It takes any operation on
# vectors. With an associative one it makes no difference that it works in a tree:

# %%
x = torch.randn(2, 1000, 8)
total = ldru.tree_reduce(torch.add, x)
largest = ldru.tree_reduce(torch.maximum, x)
print(torch.allclose(total, x.sum(dim=1), atol=1e-4), torch.equal(largest, x.amax(dim=1)))

# %% [markdown]
# Order is kept: left stays left. So it also multiplies matrices. Here each "vector" is a rotation
# of the plane, flattened to four numbers, and a thousand of them are multiplied in ten levels:


# %%
def multiply(left: Tensor, right: Tensor) -> Tensor:
    """The product of two matrices, each as four numbers."""
    return (left.unflatten(-1, (2, 2)) @ right.unflatten(-1, (2, 2))).flatten(-2)


angles = torch.rand(1, 1000) * math.tau
turns = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], dim=-1)
product = ldru.tree_reduce(multiply, turns)
print(product[0, 0].item(), angles.sum().cos().item())

# %% [markdown]
# ## The encoder
#
# `ldru.LDRU` has a learned operation in place of these, and a residual block on every node.
# Padded batches take `lengths`. The law of padding: a row is exactly what its sequence alone
# would give, whatever the padding holds.

# %%
encoder = ldru.LDRU(dim=16, dropout=0.0)
x, lengths = torch.randn(3, 50, 16), torch.tensor([50, 7, 23])
codes = encoder(x, lengths)
alone = encoder(x[1:2, :7])
print(codes.shape, torch.allclose(codes[1], alone[0], atol=1e-5))

# %% [markdown]
# ## A problem with real numbers
#
# A lamp hears four signals: *on*, *off*, *toggle*, and *nothing*. They do not arrive as symbols
# but as points in the plane, with noise. Is the lamp lit after the last one? An answer may depend
# on a signal at the very beginning, and on every toggle since.

# %%
CENTRES = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
ON, OFF, TOGGLE, NOTHING = range(4)


def draw(words: int, longest: int) -> tuple[Tensor, Tensor, Tensor]:
    """Signals [words, longest, 2], their lengths, and whether the lamp is lit."""
    lengths = torch.randint(longest // 2, longest + 1, (words,)).clamp(min=1)
    is_rare = torch.rand(words, longest) < 2 / longest
    rare = torch.randint(ON, TOGGLE, (words, longest))
    common = torch.randint(TOGGLE, NOTHING + 1, (words, longest))
    kinds = torch.where(is_rare, rare, common)
    is_lit = torch.zeros(words, dtype=torch.long)
    for place, kind in enumerate(kinds.T):
        new = torch.where(kind == TOGGLE, 1 - is_lit, is_lit)
        new = torch.where(kind == ON, 1, torch.where(kind == OFF, 0, new))
        is_lit = torch.where(place < lengths, new, is_lit)
    return CENTRES[kinds] + 0.1 * torch.randn(words, longest, 2), lengths, is_lit


# %% [markdown]
# The network has a linear layer before the encoder and one behind it. `leaf_block=True` puts one
# more residual block on the inputs, which helps wherever they are small or far from normed.


# %%
class Lamp(nn.Module):
    """Whether the lamp is lit after a sequence of signals."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.read = nn.Linear(2, dim)
        self.encoder = ldru.LDRU(dim, dropout=0.1, leaf_block=True)
        self.head = nn.Linear(dim, 2)

    def forward(self, signals: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Scores of dark and lit: [batch, length, 2] -> [batch, 2]."""
        return self.head(self.encoder(self.read(signals), lengths))


print(sum(weights.numel() for weights in Lamp(dim=24).parameters()), "parameters")

# %% [markdown]
# ## A loop of our own
#
# Nothing special: Adam, cross entropy, clipped gradients, sequences of at most 20 signals. With
# one exception: some steps may reduce every sequence along a *random tree* of its own instead of
# the balanced one.


# %%
def train(*, share: float, steps: int) -> Lamp:
    """Train a network; share: of the steps that go along random trees."""
    torch.manual_seed(0)
    network = Lamp(dim=24)
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        longest = int(torch.randint(1, 21, ()))
        signals, lengths, is_lit = draw(64, longest)
        if torch.rand(()) < share:
            keys = torch.randint(2**31 - 1, (64, 2), dtype=torch.int32)
            trees = ldru.draw_trees(keys, length=longest, lengths=lengths)
            codes = network.encoder.forward_along(network.read(signals), trees, lengths)
            scores = network.head(codes)
        else:
            scores = network(signals, lengths)
        loss = nn.functional.cross_entropy(scores, is_lit)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    print(f"share {share:.1f}: the last loss is {loss.item():.4f}")
    return network.eval()


steps = 4 if QUICK else 800
networks = {
    "balanced trees": train(share=0.0, steps=steps),
    "half random trees": train(share=0.5, steps=steps),
}

# %% [markdown]
# ## Longer sequences
#
# Both have learned their training lengths. Now up to fifty times as many signals:


# %%
def accuracy(network: Lamp, longest: int) -> float:
    """The share of right answers at sequences of up to so many signals."""
    torch.manual_seed(1)
    signals, lengths, is_lit = draw(256, longest)
    with torch.no_grad():
        return (network(signals, lengths).argmax(dim=-1) == is_lit).float().mean().item()


LENGTHS = (10, 20, 40) if QUICK else (10, 20, 50, 100, 200, 500, 1000)
figure = Figure(figsize=(6.5, 3), layout="constrained")
axes = figure.subplots()
axes.axvspan(10, 20, color="0.92")
for name, network in networks.items():
    found = {longest: accuracy(network, longest) for longest in LENGTHS}
    print(f"{name}: {found[LENGTHS[-1]]:.1%} at {LENGTHS[-1]}")
    axes.plot(list(found), [100 * share for share in found.values()], marker="o", label=name)
axes.set(xlabel="signals, at most", ylabel="accuracy, %", xscale="log", ylim=(45, 102))
axes.legend()
figure

# %% [markdown]
# A balanced tree over 20 signals has five levels, one over 1,000 has ten. Random trees are
# deeper, so the network meets deep nodes while it trains. [Why random
# trees](../explanation/random_trees.md) has the whole story.

# %% [markdown]
# ## Answers on the way
#
# The same weights answer after every signal. `scan` gives the code of every prefix, in log n
# levels; `stream` takes signals as they come and holds no more than log n vectors.

# %%
network = networks["half random trees"]
with torch.no_grad():
    signals, _, _ = draw(1, 200)
    codes = network.encoder.scan(network.read(signals))  # [1, 200, 24]
    lit = network.head(codes).argmax(dim=-1)[0]
    stream = network.encoder.stream()
    for part in network.read(signals).split(30, dim=1):
        stream.push(part)
    same = torch.allclose(stream.code(), codes[:, -1], atol=1e-4)
print("lit after the first signals:", lit[:12].tolist(), "- the stream agrees:", same)

# %% [markdown]
# ## An operator of your own
#
# The operator is a module too: two vectors in, one out. The tree, the padding, the scan and the
# stream work with any.


# %%
class Rotation(nn.Module):
    """Turn the left state by angles that are read from the right one, and add the right one."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.angles = nn.Linear(dim, dim // 2)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        angle = self.angles(right)
        x, y = left.chunk(2, dim=-1)
        turned = [x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()]
        return torch.cat(turned, dim=-1) + right


encoder = ldru.LDRU(dim=16, operator=Rotation(16))
encoder(torch.randn(4, 33, 16)).shape

# %% [markdown]
# ## Next
#
# - With a name (`ldru.register_operator`) it trains from the command line:
#   [models](../models.md).
# - Compilers and ONNX: `ldru.FixedLength` has one shape for all lengths up to a bound, see [the
#   reference](../reference.md).
# - Sequences that never end, edits in the middle, several devices: [prefixes](../prefixes.md).
