"""Whether states of words gather by the classes of the monoid."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldru.automata.machine import IntArray
from ldru.errors import LdruError, MissingExtraError

MAX_WORDS = 2**16


@dataclass(frozen=True, kw_only=True)
class ClusterScore:
    """Of one k-means clustering.

    ari: adjusted Rand index against the classes, 1 for the same partition, 0 for chance.
    silhouette: separation of the clusters, at most 1.
    """

    ari: float
    silhouette: float


def all_words(num_symbols: int, *, max_length: int) -> list[IntArray]:
    """All words of every length from 1: a list of [words, length]."""
    total = sum(num_symbols**length for length in range(1, max_length + 1))
    if max_length < 1 or total > MAX_WORDS:
        raise LdruError(
            f"{num_symbols} symbols have {total:,} words up to length {max_length}; "
            f"between 1 and {MAX_WORDS:,} are embedded, choose another length"
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
    return TSNE(init="pca", random_state=seed).fit_transform(np.asarray(embeddings))
