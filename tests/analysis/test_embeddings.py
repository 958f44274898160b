import itertools

import numpy as np
import pytest

import ldru
from ldru.analysis.embeddings import all_words, cluster_scores, plane


def test_all_words_are_all_words():
    words = [tuple(word) for part in all_words(3, max_length=4) for word in part.tolist()]
    expected = [w for n in range(1, 5) for w in itertools.product(range(3), repeat=n)]
    assert words == expected


@pytest.mark.parametrize("length", [0, 17])
def test_too_few_or_too_many_words(length):
    with pytest.raises(ldru.LdruError, match="choose another length"):
        all_words(2, max_length=length)


def test_separate_classes_are_found():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 6, 300)
    points = 10 * np.eye(6)[classes] + rng.normal(0, 0.1, (300, 6))
    scores = cluster_scores(points, classes, [3, 6, 9])
    assert scores[6].ari == 1
    assert max(scores, key=lambda k: scores[k].silhouette) == 6
    chance = cluster_scores(points, rng.permutation(classes), [6])
    assert abs(chance[6].ari) < 0.1
    flat = plane(points)
    assert flat.shape == (300, 2)
    centres = np.stack([flat[classes == c].mean(axis=0) for c in range(6)])
    nearest = ((flat[:, None] - centres) ** 2).sum(-1).argmin(1)
    assert (nearest == classes).mean() > 0.95


def test_too_few_points_for_a_plane_and_too_many_words_are_one_clear_error():
    run = ldru.Run.open("parity_check")
    with pytest.raises(ldru.LdruError, match="t-SNE needs more than 30 words, got 6"):
        ldru.analyse_embeddings(run.model, run.task, max_length=2, counts=[2])
    with pytest.raises(ldru.LdruError, match="2 to 5 clusters, asked for are 9"):
        ldru.analyse_embeddings(run.model, run.task, max_length=2, counts=[9])
    for length in (0, -3, 10**9):
        with pytest.raises(ldru.LdruError, match="choose another length"):
            ldru.analyse_embeddings(run.model, run.task, max_length=length)
