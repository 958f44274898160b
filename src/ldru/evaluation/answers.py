"""The one loop that asks a model for scores: in bounded memory, in a given precision."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext

import torch
from torch import Tensor

from ldru.base.precision import Precision, products_in
from ldru.tasks.batch import PaddedBatch

Score = Callable[..., Tensor]
"""Tokens [..., batch, length] -> scores [..., batch, classes]; takes lengths [..., batch] too where
words are padded. Leading axes are the members of a fleet."""

TOKENS_AT_ONCE = {"cpu": 2**16, "cuda": 2**22}
"""How many tokens are scored at once, which bounds the memory; all members count."""


def answers_and_labels(
    score: Score, batches: Iterable[PaddedBatch], *, precision: Precision | None = None
) -> tuple[Tensor, Tensor]:
    """Answers to all words of some batches, beside their labels: [..., words] each."""
    answers, labels = [], []
    for batch in batches:
        answers.append(ask(score, batch, precision=precision).argmax(dim=-1))
        labels.append(batch.labels)
    return torch.cat(answers, dim=-1), torch.cat(labels, dim=-1)


@torch.no_grad()
def ask(score: Score, batch: PaddedBatch, *, precision: Precision | None = None) -> Tensor:
    """Score words, some at a time: tokens [..., batch, length] -> [..., batch, classes].

    A function that scores every position gives [..., batch, length, classes].

    precision: of products on a GPU; None leaves it as it is.
    """
    tokens, _, lengths = batch
    per_row = tokens.numel() // tokens.shape[-2]
    rows = max(1, TOKENS_AT_ONCE.get(tokens.device.type, 2**16) // per_row)
    scored = []
    with nullcontext() if precision is None else products_in(precision, device=tokens.device):
        for begin in range(0, tokens.shape[-2], rows):
            some = slice(begin, begin + rows)
            if lengths is None:
                scored.append(score(tokens[..., some, :]))
            else:
                scored.append(score(tokens[..., some, :], lengths[..., some]))
    return torch.cat(scored, dim=tokens.ndim - 2)
