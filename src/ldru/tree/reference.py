"""The reduction of one word by its recursive definition: the specification of every backend."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ldru.tree.random_trees import Trees

Combine = Callable[[Tensor, Tensor], Tensor]
Finish = Callable[[Tensor], Tensor]


def reduce(
    combine: Combine, x: Tensor, lengths: Tensor | None = None, finish: Finish | None = None
) -> Tensor:
    """Every word alone: [batch, length, dim] -> [batch, dim]."""
    counts = [x.shape[1]] * len(x) if lengths is None else lengths.tolist()
    return torch.stack(
        [reduce_word(combine, word[:count], finish) for word, count in zip(x, counts, strict=True)]
    )


def reduce_word(combine: Combine, word: Tensor, finish: Finish | None = None) -> Tensor:
    """One word: [length, dim] -> [dim]."""
    depth = (len(word) - 1).bit_length()
    return _node(combine, finish, word, depth)


def reduce_along(
    combine: Combine,
    x: Tensor,
    trees: Trees,
    lengths: Tensor | None = None,
    finish: Finish | None = None,
) -> Tensor:
    """Every word alone along its tree: [batch, length, dim] -> [batch, dim]."""
    counts = [x.shape[1]] * len(x) if lengths is None else lengths.tolist()
    return torch.stack(
        [
            reduce_word_along(combine, word[:count], [level[row] for level in trees.levels], finish)
            for row, (word, count) in enumerate(zip(x, counts, strict=True))
        ]
    )


def reduce_word_along(
    combine: Combine, word: Tensor, levels: Sequence[Tensor], finish: Finish | None = None
) -> Tensor:
    """One word along a tree, given by the choices of its levels: [length, dim] -> [dim]."""
    nodes = list(word)
    for choices in levels:
        waiting, nodes = iter(nodes), []
        for takes_two in choices.tolist():
            first = next(waiting, None)
            if first is None:
                break  # padding
            if takes_two:
                merged = combine(first, next(waiting))
                first = merged if finish is None else finish(merged)
            nodes.append(first)
    (root,) = nodes
    return root


def why_not(combine: Combine, x: Tensor) -> str | None:
    """The reference can always run."""
    return None


def _node(combine: Combine, finish: Finish | None, word: Tensor, height: int) -> Tensor:
    """The node of that height over at most 2**height leaves."""
    if height == 0:
        return word[0]
    half = 2 ** (height - 1)
    state = _node(combine, finish, word[:half], height - 1)
    if len(word) > half:
        state = combine(state, _node(combine, finish, word[half:], height - 1))
    return state if finish is None else finish(state)
