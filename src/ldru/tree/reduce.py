"""The entrance to the balanced reduction: checks its input and picks a backend."""

from collections.abc import Iterator
from types import ModuleType

import torch
from torch import Tensor

from ldru.base.errors import LdruError, unknown_name
from ldru.tree import batched, reference
from ldru.tree.batched import Level
from ldru.tree.random_trees import Trees
from ldru.tree.reference import Combine, Finish

# In order of preference.
BACKENDS: dict[str, ModuleType] = {"batched": batched, "reference": reference}


def tree_reduce(
    combine: Combine,
    x: Tensor,
    lengths: Tensor | None = None,
    finish: Finish | None = None,
    *,
    trees: Trees | None = None,
    backend: str = "auto",
) -> Tensor:
    """Reduce each word of a batch in a balanced binary tree: [batch, length, dim] -> [batch, dim].

    The pairing rule: neighbours (1, 2), (3, 4), ... become one node each by `combine`, until one
    is left, after ceil(log2 length) levels; an unpaired last element rises unchanged. `finish` then
    acts on every node of the new level, risen ones too. A word of one element takes no step, the
    empty word is an error.

    The law of padding: with `lengths` [batch], row i is the reduction of its first lengths[i]
    elements alone, whatever stands behind them, gradients included.

    combine: any callable [..., dim], [..., dim] -> [..., dim].
    trees: reduce along these instead, each word along its own; `finish` then acts on merged nodes
        alone.
    backend: a name of `BACKENDS`, or "auto" for the first that can run this call.

    >>> words = torch.tensor([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [float("nan")]]])
    >>> ldru.tree_reduce(torch.add, words, lengths=torch.tensor([3, 2])).tolist()
    [[6.0], [9.0]]
    """
    check_words(x, combine, finish)
    check_lengths(lengths, batch=x.shape[0], length=x.shape[1])
    chosen = _backend(backend, combine, x)
    if trees is None:
        return chosen.reduce(combine, x, lengths, finish)
    if not isinstance(trees, Trees):
        raise LdruError(f"trees are what ldru.draw_trees makes, got {type(trees).__name__}")
    if all(map(has_values, trees.levels)) and (lengths is None or has_values(lengths)):
        trees.check(batch=x.shape[0], length=x.shape[1], lengths=lengths)
    return chosen.reduce_along(combine, x, trees, lengths, finish)


def tree_levels(
    combine: Combine, x: Tensor, lengths: Tensor | None = None, finish: Finish | None = None
) -> Iterator[Level]:
    """Every level of the same reduction, leaves first.

    >>> [level.nodes.shape[1] for level in ldru.tree_levels(torch.add, torch.ones(1, 5, 1))]
    [5, 3, 2, 1]
    """
    check_words(x, combine, finish)
    check_lengths(lengths, batch=x.shape[0], length=x.shape[1])
    return batched.levels(combine, x, lengths, finish)


def check_lengths(lengths: Tensor | None, *, batch: int, length: int) -> None:
    """Raise unless `lengths` [batch] holds whole numbers from 1 to `length`."""
    if lengths is None:
        return
    if not isinstance(lengths, Tensor):
        raise LdruError(f"lengths must be a tensor [{batch}], got {type(lengths).__name__}")
    if lengths.is_floating_point() or lengths.shape != (batch,):
        raise LdruError(
            f"lengths must be whole numbers [{batch}], one per word, "
            f"got {lengths.dtype} {list(lengths.shape)}"
        )
    if not has_values(lengths):
        return
    low, high = int(lengths.min()), int(lengths.max())
    if low < 1 or high > length:
        raise LdruError(
            f"lengths must lie between 1 and the padded length {length}, got {low} to {high}; "
            "the empty word has no reduction"
        )


def has_values(tensor: Tensor) -> bool:
    """Whether the host may read a tensor: not while tracing, mapping or capturing."""
    if torch.compiler.is_compiling() or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return False
    return not (tensor.is_cuda and torch.cuda.is_current_stream_capturing())


def check_words(x: Tensor, combine: Combine, finish: Finish | None) -> None:
    """Raise unless words are [batch, length, dim], of at least one element, to be combined."""
    check_functions(combine, finish)
    if not isinstance(x, Tensor):
        raise LdruError(f"expected words as a tensor [batch, length, dim], got {type(x).__name__}")
    if x.ndim != 3 or x.shape[1] == 0:
        raise LdruError(
            f"expected words [batch, length, dim] with a length of at least 1, got {list(x.shape)}"
        )


def check_functions(combine: Combine, finish: Finish | None) -> None:
    """Raise unless nodes can be combined, and finished."""
    if not callable(combine):
        raise LdruError(f"neighbours are combined by a function such as torch.add, got {combine!r}")
    if finish is not None and not callable(finish):
        raise LdruError(
            f"nodes are finished by a function such as torch.tanh, or by None, got {finish!r}"
        )


def _backend(name: str, combine: Combine, x: Tensor) -> ModuleType:
    if name == "auto":
        return next(module for module in BACKENDS.values() if not module.why_not(combine, x))
    if not isinstance(name, str) or name not in BACKENDS:
        raise unknown_name("backend", name, ["auto", *BACKENDS])
    reason = BACKENDS[name].why_not(combine, x)
    if reason:
        raise LdruError(f"backend {name!r} cannot run this call: {reason}")
    return BACKENDS[name]
