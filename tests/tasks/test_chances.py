import itertools

import numpy as np
import pytest
import torch
from scipy import stats

import ldru
from ldru.tasks.chances import possible_words, walk_chances, word_chances
from ldru.tasks.walk import Walk, quantiles


def exact(parts, machine, length):
    """The chance of every word, symbol by symbol."""
    words = np.array(list(itertools.product(range(machine.num_symbols), repeat=length)))
    total = np.zeros(len(words))
    for weight, chances in parts:
        for index, word in enumerate(words):
            chance, state = weight, machine.start
            for place, token in enumerate(word):
                chance *= chances[place, state if chances.shape[1] > 1 else 0, token]
                state = machine.delta[state, token]
            total[index] += chance
    return total


CASES = {
    "dyck_2": ("train", 8, 256),  # noise
    "dyck_6": ("train", 7, 64),  # forced at the end, odd
    "dyck_3": ("test", 8, 256),
    "tomita_3": ("train", 6, 32),
    "tomita_5": ("train", 4, 8),  # so few candidates that shortfalls count
    "tomita_7": ("test", 6, 64),
    "modular_arithmetic": ("train", 4, 16),  # length 3
    "cycle_navigation": ("train", 3, 16),
    "(01)*": ("train", 6, 16),
}


@pytest.mark.parametrize("name", CASES)
def test_words_fall_as_the_chances_say(name):
    split, length, batch_size = CASES[name]
    task = ldru.task(name) if name in ldru.TASKS else ldru.task(regex=name)
    seeds = torch.arange(60_000 // batch_size, dtype=torch.int32)
    keys = torch.stack([seeds, torch.full_like(seeds, 7)], dim=-1)
    words = task.draw(keys, batch_size=batch_size, length=length, split=split).tokens
    words = words.flatten(0, 1).numpy()
    length = words.shape[1]
    numbers = words @ task.vocab_size ** np.arange(length - 1, -1, -1)
    counts = np.bincount(numbers, minlength=task.vocab_size**length)
    parts = word_chances(task, length=length, split=split, batch_size=batch_size)
    chances = exact(parts, task.machine, length)
    assert chances.sum() == pytest.approx(1)
    assert not counts[chances == 0].any()
    # The labels of a batch are fixed where they can be: counts vary less than independent ones.
    expected = len(words) * chances
    often = expected > 5
    statistic = ((counts - expected)[often] ** 2 / expected[often]).sum()
    assert stats.chi2.sf(statistic, often.sum() - 1) > 1e-3
    possible = exact(possible_words(task, length=length, split=split), task.machine, length)
    np.testing.assert_array_equal(possible > 0, chances > 0)


def test_noise_is_averaged_over_all_its_levels():
    cuts = np.array([[0, 5], [2**29, 2**32 - 2**28], [2**31, 2**32]])[:, None]
    deviation = np.array([[2**30], [2**28], [0]])
    walk = Walk(cuts=lambda length: cuts, noise=lambda length: deviation)
    levels = quantiles(torch.device("cpu")).numpy()
    jitter = deviation * levels >> 24  # as drawing does it
    means = (cuts[:, 0, :, None] + jitter[:, None]).clip(0, 2**32).mean(axis=-1) / 2**32
    expected = np.stack([means[:, 0], means[:, 1] - means[:, 0], 1 - means[:, 1]], axis=-1)
    np.testing.assert_allclose(walk_chances(walk, length=3)[:, 0], expected, atol=1e-15)
    assert expected[0, 0] > 0.05
