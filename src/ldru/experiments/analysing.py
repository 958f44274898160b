"""What a trained LDRU made of its task: associativity, and states by class."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ldru.analysis.associativity import (
    Associators,
    associators,
    random_bracketing,
    reduce_bracketed,
)
from ldru.analysis.embeddings import ClusterScore, all_words, cluster_scores, plane
from ldru.automata.machine import IntArray
from ldru.automata.monoid import Monoid, monoid
from ldru.config import Json
from ldru.errors import LdruError
from ldru.experiments.run import Run
from ldru.models import LDRUClassifier

CLUSTERS_AROUND, CLUSTERS_STEP = 20, 4
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
    """How far a run's operator is from being associative, and what that does to its answers."""

    by_level: list[LevelAssociativity]
    by_class: list[ClassAssociativity]
    agreement: list[Agreement]


@dataclass(frozen=True, kw_only=True, eq=False)
class Embeddings:
    """States of all words up to a length.

    states: [words, dim]; classes: of the words, in the syntactic monoid [words].
    scores: number of clusters -> how well k-means finds the classes.
    plane: t-SNE of the states [words, 2].
    """

    monoid: Monoid
    max_length: int
    states: NDArray[np.float32]
    classes: IntArray
    scores: dict[int, ClusterScore]
    plane: NDArray[np.float32]


@torch.no_grad()
def analyse_associativity(
    run: Run,
    lengths: Sequence[int] = (40, 500),
    *,
    words: int = 64,
    bracketings: int = 16,
    seed: int = 0,
) -> Associativity:
    """Measure a run on test words of some lengths."""
    if words < 1 or bracketings < 1:
        raise LdruError(f"at least one word and bracketing, got {words} and {bracketings}")
    if not lengths or min(lengths) < 3:
        raise LdruError(f"associativity is about words of at least three symbols, got {lengths}")
    model = _ldru(run)
    combine, finish = model.encoder.operator, model.encoder.block
    classes = monoid(run.language.machine.minimal())
    device = next(model.parameters()).device
    draws, numbers = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    by_level, agreement = [], []
    triples: list[Associators] = []
    for length in lengths:
        batch = run.language.sample(batch_size=words, length=length, split="test", generator=draws)
        tokens, labels = batch.tokens, batch.labels.to(device)
        length = tokens.shape[1]  # the nearest one that has words
        leaves = model.leaves()[tokens.to(device)]
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


@torch.no_grad()
def analyse_embeddings(
    run: Run, *, max_length: int = 12, counts: Iterable[int] | None = None, seed: int = 0
) -> Embeddings:
    """Gather the states of all words up to a length, outside the task's domain too.

    counts: numbers of clusters; by default some around the size of the monoid.
    """
    model = _ldru(run)
    classes = monoid(run.language.machine.minimal())
    words = all_words(run.task.vocab_size, max_length=max_length)
    device = next(model.parameters()).device
    tokens = [torch.from_numpy(part).to(device) for part in words]
    states = torch.cat([model.encoder(model.embedding(part)) for part in tokens])
    points = states.float().cpu().numpy()
    known = np.concatenate([np.asarray(classes.classify(part)) for part in words])
    if counts is None:
        around = range(-CLUSTERS_AROUND, CLUSTERS_AROUND + 1, CLUSTERS_STEP)
        counts = [classes.size + more for more in around if 2 <= classes.size + more < len(points)]
    return Embeddings(
        monoid=classes,
        max_length=max_length,
        states=points,
        classes=known,
        scores=cluster_scores(points, known, counts, seed=seed),
        plane=plane(points, seed=seed),
    )


def _ldru(run: Run) -> LDRUClassifier:
    if not isinstance(run.model, LDRUClassifier):
        raise LdruError(
            f"this looks at the states of an LDRU; {run.spec.name} is another model, give the "
            "folder of an `ldru` run"
        )
    return run.model


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


def embeddings_json(found: Embeddings) -> dict[str, Json]:
    """The numbers of an analysis, without the states."""
    return {
        "words": len(found.states),
        "max_length": found.max_length,
        "classes": found.monoid.size,
        "classes_met": len(np.unique(found.classes)),
        "scores": {
            str(count): {"ari": score.ari, "silhouette": score.silhouette}
            for count, score in found.scores.items()
        },
    }
