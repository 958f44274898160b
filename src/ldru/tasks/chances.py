"""The exact distribution of the words that a task draws: chances of symbols, place by place."""

import math

import numpy as np
import torch
from numpy.typing import NDArray

from ldru.automata.coverage import FloatArray, WordChances
from ldru.automata.machine import IntArray, MooreMachine
from ldru.base.randomness import WORD
from ldru.tasks.regular_task import RegularTask, Split
from ldru.tasks.walk import Share, Walk, quantiles


def word_chances(
    task: RegularTask, *, length: int, split: Split = "train", batch_size: int = 256
) -> list[WordChances]:
    """The words of one length as a mixture of walks; weights add up to 1.

    Every sampler is a walk on the states of the task's machine. Noise is drawn afresh at every
    place, so its mean over the cuts is again a walk. A share that draws more candidates than it
    keeps is a mixture of two: words with the wanted label, and the rest that fills a shortfall.
    """
    length = task.word_length(length)
    parts = []
    for share, count in task.shares(batch_size, length, split):
        for weight, chances in _share_chances(share, task.machine, count=count, length=length):
            parts.append(WordChances(weight * count / batch_size, chances))
    return parts


def possible_words(task: RegularTask, *, length: int, split: Split = "train") -> list[WordChances]:
    """Walks that together draw the same words, each with some chance; weights mean nothing.

    Whatever share of its candidates a batch keeps, any of them may be kept.
    """
    length = task.word_length(length)
    return [
        WordChances(1.0, walk_chances(share.walk, length=length))
        for share in getattr(task, split)
        if share.walk.is_possible(length)
    ]


def walk_chances(walk: Walk, *, length: int) -> FloatArray:
    """Chances of the symbols of a walk [length, states or 1, symbols]."""
    cuts = walk.cuts(length)
    mean = cuts.astype(np.float64)
    if walk.noise is not None:
        mean = _mean_cuts(cuts, np.broadcast_to(walk.noise(length)[..., None], cuts.shape))
    edges = np.concatenate(
        [np.zeros_like(mean[..., :1]), mean, np.full_like(mean[..., :1], WORD)], axis=-1
    )
    chances = np.diff(edges, axis=-1) / WORD
    return np.concatenate([chances, np.repeat(chances[-1:], length - len(chances), axis=0)])


def _share_chances(
    share: Share, machine: MooreMachine, *, count: int, length: int
) -> list[WordChances]:
    chances = walk_chances(share.walk, length=length)
    candidates = math.ceil(share.oversample * count)
    if share.wanted is None or candidates == count:
        return [WordChances(1.0, chances)]
    is_wanted = machine.output == share.wanted
    wanted, chance = _conditioned(chances, machine, is_wanted)
    if chance in (0.0, 1.0):
        return [WordChances(1.0, chances)]
    others, _ = _conditioned(chances, machine, ~is_wanted)
    kept = _expected_minimum(candidates, chance, count) / count
    return [WordChances(kept, wanted), WordChances(1 - kept, others)]


def _conditioned(
    chances: FloatArray, machine: MooreMachine, is_wanted: NDArray[np.bool_]
) -> tuple[FloatArray, float]:
    """The walk given that it ends in a wanted state, and the chance that it does."""
    length, _, symbols = chances.shape
    result = np.empty((length, machine.num_states, symbols))
    after = is_wanted.astype(np.float64)  # the chance to end well, by state
    for place in range(length - 1, -1, -1):
        good = chances[place] * after[machine.delta]
        before = good.sum(axis=-1)
        result[place] = good / np.where(before > 0, before, 1)[:, None]
        after = before
    return result, float(after[machine.start])


def _expected_minimum(trials: int, chance: float, limit: int) -> float:
    """The mean of min(W, limit) for W successes in so many trials."""
    number = np.arange(trials + 1)
    logs = np.array([math.lgamma(k + 1) for k in range(trials + 1)])
    log_pmf = logs[-1] - logs - logs[::-1]
    log_pmf += number * math.log(chance) + (trials - number) * math.log1p(-chance)
    return float(np.exp(log_pmf) @ np.minimum(number, limit))


def _mean_cuts(cuts: IntArray, deviations: IntArray) -> FloatArray:
    """Cuts in [0, WORD] with noise added, averaged over all its levels."""
    levels = quantiles(torch.device("cpu")).numpy()
    means = np.empty(cuts.shape)
    for deviation in np.unique(deviations):
        here = deviations == deviation
        shifts = deviation * levels >> 24  # ascending, as the levels are
        sums = np.concatenate([[0], shifts.cumsum()])
        cut = cuts[here]
        low = np.searchsorted(shifts, -cut)  # below, the cut is 0
        high = np.searchsorted(shifts, WORD - cut)  # from there on, it is WORD
        inside = (high - low) * cut + sums[high] - sums[low]
        means[here] = (inside + (len(levels) - high) * WORD) / len(levels)
    return means
