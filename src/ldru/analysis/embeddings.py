"""Whether states of words gather by the classes of the monoid."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from ldru.analysis.trained_ldru import check_ldru
from ldru.automata.machine import IntArray
from ldru.automata.monoid import Monoid, monoid
from ldru.base.errors import LdruError, MissingExtraError
from ldru.base.json import Json
from ldru.tasks.find import as_language
from ldru.tasks.regular_task import RegularTask

CLUSTERS_AROUND, CLUSTERS_STEP = 20, 4
PERPLEXITY = 30
"""Of t-SNE: about so many neighbours has a word in the plane."""

MAX_WORDS = 2**16


@dataclass(frozen=True, kw_only=True)
class ClusterScore:
    """Of one k-means clustering.

    ari: adjusted Rand index against the classes, 1 for the same partition, 0 for chance.
    silhouette: separation of the clusters, at most 1.
    """

    ari: float
    silhouette: float


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
def analyse_embeddings(
    model: nn.Module,
    task: str | RegularTask,
    *,
    max_length: int = 12,
    counts: Iterable[int] | None = None,
    seed: int = 0,
) -> Embeddings:
    """Gather the states of all words up to a length, outside the task's domain too.

    counts: numbers of clusters; by default some around the size of the monoid.

    >>> run = ldru.Run.open("parity_check")
    >>> found = ldru.analyse_embeddings(run.model, run.task, max_length=5, counts=[2])
    >>> found.states.shape
    (62, 64)
    """
    task = as_language(task)
    model = check_ldru(model)
    classes = monoid(task.machine.minimal())
    words = all_words(task.vocab_size, max_length=max_length)
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


def all_words(num_symbols: int, *, max_length: int) -> list[IntArray]:
    """All words of every length from 1: a list of [words, length]."""
    total = 0
    for length in range(1, max_length + 1):
        total += num_symbols**length
        if total > MAX_WORDS:
            break
    if not 1 <= total <= MAX_WORDS:
        raise LdruError(
            f"{num_symbols} symbols have {'no' if not total else f'more than {MAX_WORDS:,}'} words "
            f"up to length {max_length}; between 1 and {MAX_WORDS:,} are embedded, choose another "
            "length"
        )
    return [
        np.arange(num_symbols**length)[:, None]
        // num_symbols ** np.arange(length - 1, -1, -1)
        % num_symbols
        for length in range(1, max_length + 1)
    ]


def cluster_scores(
    embeddings: ArrayLike, classes: ArrayLike, counts: Iterable[int], *, seed: int = 0
) -> dict[int, ClusterScore]:
    """k-means of embeddings [words, dim] for several numbers of clusters, held against classes."""
    try:
        from sklearn.cluster import KMeans
        from sklearn.metrics import adjusted_rand_score, silhouette_score
    except ImportError as problem:
        raise MissingExtraError(package="scikit-learn", extra="") from problem
    points = np.asarray(embeddings)
    scores = {}
    for count in counts:
        if not 2 <= count < len(points):
            raise LdruError(
                f"{len(points)} words make 2 to {len(points) - 1} clusters, asked for are {count}"
            )
        found = KMeans(count, n_init=4, random_state=seed).fit_predict(points)
        scores[count] = ClusterScore(
            ari=float(adjusted_rand_score(classes, found)),
            silhouette=float(silhouette_score(points, found)),
        )
    return scores


def plane(embeddings: ArrayLike, *, seed: int = 0) -> NDArray[np.float32]:
    """t-SNE: [words, dim] -> [words, 2]."""
    try:
        from sklearn.manifold import TSNE
    except ImportError as problem:
        raise MissingExtraError(package="scikit-learn", extra="") from problem
    points = np.asarray(embeddings)
    if len(points) <= PERPLEXITY:
        raise LdruError(
            f"t-SNE needs more than {PERPLEXITY} words, got {len(points)}; take longer words too"
        )
    shown = TSNE(init="pca", random_state=seed, perplexity=PERPLEXITY)
    return shown.fit_transform(points)
