"""Checks that every classifier of token sequences makes, and masks of words."""

import torch
from torch import Tensor
from torch.nn import functional

from ldru.base.errors import LdruError
from ldru.tree import check_lengths


def check_words(tokens: Tensor, lengths: Tensor | None) -> Tensor:
    """The tokens with their padding set to 0: [batch, length] -> [batch, length].

    Raises unless every word has at least one token. Padding may hold any number, also one that is
    not in the vocabulary.
    """
    if tokens.ndim != 2 or tokens.shape[1] == 0:
        raise LdruError(
            f"expected tokens [batch, length] with a length of at least 1, got {list(tokens.shape)}"
        )
    if lengths is None:
        return tokens
    check_lengths(lengths, batch=tokens.shape[0], length=tokens.shape[1])
    return torch.where(is_word(lengths, length=tokens.shape[1]), tokens, 0)


def is_word(lengths: Tensor, *, length: int) -> Tensor:
    """Whether a place belongs to the word: [batch] -> [batch, length]."""
    return torch.arange(length, device=lengths.device) < lengths[:, None]


def align_right(tokens: Tensor, lengths: Tensor | None, *, before: int = 0) -> Tensor:
    """Move every word to the right edge, and set what is left of it: [batch, length] -> same."""
    if lengths is None:
        return tokens
    length = tokens.shape[1]
    source = torch.arange(length, device=tokens.device) - (length - lengths[:, None])
    aligned = tokens.take_along_dim(source.clamp(min=0), dim=1)
    return torch.where(source >= 0, aligned, before)


def carry_finished(new: Tensor, old: Tensor, lengths: Tensor | None, *, place: int) -> Tensor:
    """New states for words that have a symbol at that place, old ones for words that ended."""
    return new if lengths is None else torch.where((place < lengths)[:, None], new, old)


def with_empty(tokens: Tensor, *, symbol: int) -> Tensor:
    """The empty input behind every word, by its number: [batch, length] -> [batch, length + 1]."""
    return functional.pad(tokens, (0, 1), value=symbol)


def last_of(x: Tensor, count: int) -> Tensor:
    """The last places of words: [batch, length, ...] -> [batch, count, ...]."""
    # A slice of everything would cost its gradient a copy.
    return x if count == x.shape[1] else x[:, -count:]
