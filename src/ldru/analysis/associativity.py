"""How far from associative a trained LDRU is, and what that does to its answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ldru.analysis.associators import (
    Associators,
    associators,
    random_bracketing,
    reduce_bracketed,
)
from ldru.analysis.trained_ldru import check_ldru
from ldru.automata.monoid import Monoid, monoid
from ldru.base.errors import LdruError
from ldru.tasks.find import as_language
from ldru.tasks.regular_task import RegularTask

BALANCED_LEVELS = 5


@dataclass(frozen=True, kw_only=True)
class LevelAssociativity:
    """Mean associators of the triples on one level of words of one length.

    cosine, relative: of the bare operator; block_*: of whole levels, with the residual block.
    """

    length: int
    level: int
    triples: int
    cosine: float
    relative: float
    block_cosine: float
    block_relative: float


@dataclass(frozen=True, kw_only=True)
class ClassAssociativity:
    """Mean associators of the bare operator over triples whose product is in one class.

    word: the first shortest word of the class.
    """

    number: int
    word: str
    triples: int
    cosine: float
    relative: float


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Answers under random bracketings, for words of one length.

    balanced: how many levels are as in the balanced tree below the random ones. Training shows no
        parts of odd length but the last, so brackets around single symbols are new to a model.
    agreement: share of words and bracketings whose answer is that of the balanced tree.
    accuracy, bracketed_accuracy: of the balanced tree, and of the random ones.
    """

    length: int
    balanced: int
    words: int
    bracketings: int
    agreement: float
    accuracy: float
    bracketed_accuracy: float


@dataclass(frozen=True, kw_only=True)
class Associativity:
    """Associators of a model's operator, and its answers under random bracketings."""

    by_level: list[LevelAssociativity]
    by_class: list[ClassAssociativity]
    agreement: list[Agreement]


@torch.no_grad()
def analyse_associativity(
    model: nn.Module,
    task: str | RegularTask,
    lengths: Sequence[int] = (40, 500),
    *,
    words: int = 64,
    bracketings: int = 16,
    seed: int = 0,
) -> Associativity:
    """Measure a trained LDRU on test words of some lengths.

    >>> run = ldru.Run.open("parity_check")
    >>> found = ldru.analyse_associativity(run.model, run.task, [16], words=4, bracketings=1)
    >>> [row.level for row in found.by_level]
    [0, 1, 2]
    """
    task = as_language(task)
    if words < 1 or bracketings < 1:
        raise LdruError(f"at least one word and bracketing, got {words} and {bracketings}")
    if not lengths or min(lengths) < 3:
        raise LdruError(f"associativity is about words of at least three symbols, got {lengths}")
    model = check_ldru(model)
    combine, finish = model.encoder.operator, model.encoder.block
    classes = monoid(task.machine.minimal())
    device = next(model.parameters()).device
    draws, numbers = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    by_level, agreement = [], []
    triples: list[Associators] = []
    for length in lengths:
        batch = task.sample(batch_size=words, length=length, split="test", generator=draws)
        tokens, labels = batch.tokens, batch.labels.to(device)
        length = tokens.shape[1]  # the nearest one that has words
        leaves = model.symbol_leaves()[tokens.to(device)]
        bare, whole = (
            associators(
                combine, leaves, tokens.numpy(), classes, finish=finish, with_block=with_block
            )
            for with_block in (False, True)
        )
        by_level += [
            LevelAssociativity(
                length=length,
                level=level,
                triples=bare[level].cosine.numel(),
                cosine=float(bare[level].cosine.mean()),
                relative=float(bare[level].relative.mean()),
                block_cosine=float(whole[level].cosine.mean()),
                block_relative=float(whole[level].relative.mean()),
            )
            for level in bare
        ]
        triples += bare.values()
        answer = model(tokens.to(device)).argmax(dim=-1)
        for balanced in range(min(BALANCED_LEVELS, (length - 1).bit_length())):
            trees = [
                random_bracketing(length, generator=numbers, balanced=balanced)
                for _ in range(bracketings)
            ]
            roots = [reduce_bracketed(combine, leaves, tree, finish) for tree in trees]
            answers = model.head(torch.stack(roots)).argmax(dim=-1)
            agreement.append(
                Agreement(
                    length=length,
                    balanced=balanced,
                    words=words,
                    bracketings=bracketings,
                    agreement=_share(answers == answer),
                    accuracy=_share(answer == labels),
                    bracketed_accuracy=_share(answers == labels),
                )
            )
    return Associativity(
        by_level=by_level, by_class=_by_class(triples, classes), agreement=agreement
    )


def _by_class(triples: Sequence[Associators], classes: Monoid) -> list[ClassAssociativity]:
    number = np.concatenate([found.classes.ravel() for found in triples])
    cosine = torch.cat([found.cosine.flatten() for found in triples]).cpu().numpy()
    relative = torch.cat([found.relative.flatten() for found in triples]).cpu().numpy()
    return [
        ClassAssociativity(
            number=int(one),
            word=classes.machine.decode(classes.representatives[one]),
            triples=int((number == one).sum()),
            cosine=float(cosine[number == one].mean()),
            relative=float(relative[number == one].mean()),
        )
        for one in np.unique(number)
    ]


def _share(is_so: Tensor) -> float:
    return float(is_so.double().mean())
