"""Evaluate several runs at once: on a GPU, models of one architecture answer as a fleet."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import torch

from ldru.evaluation import Evaluation, LengthResult, count_answers
from ldru.experiments.run import Run
from ldru.experiments.spec import RunSpec
from ldru.randomness import Stream
from ldru.training.fleet import Fleet, Member
from ldru.training.fused_sampling import make_sampler
from ldru.training.spec import products_in


def evaluate_runs(
    runs: Sequence[Run],
    lengths: Iterable[int],
    *,
    words: int = 512,
    seed: int = 0,
    on_length: Callable[[int], None] | None = None,
) -> list[Evaluation]:
    """Counts by length of every run, as `Run.evaluation` gives them one by one.

    on_length: called with each length, once for every group of `together`.
    """
    chosen = sorted(set(lengths))
    evaluations: dict[int, Evaluation] = {}
    for group in together(runs):
        if len(group) == 1:
            found = [runs[group[0]].evaluation(chosen, words=words, seed=seed, on_length=on_length)]
        else:
            some = [runs[index] for index in group]
            found = _evaluate_fleet(some, chosen, words=words, seed=seed, on_length=on_length)
        evaluations.update(zip(group, found, strict=True))
    return [evaluations[index] for index in range(len(runs))]


def together(runs: Sequence[Run]) -> list[list[int]]:
    """Which runs answer together: on a GPU those that could have trained as one fleet."""
    groups: list[list[int]] = []
    for index, run in enumerate(runs):
        is_cuda = next(run.model.parameters()).is_cuda
        mates = (group for group in groups if is_cuda and are_alike(runs[group[0]].spec, run.spec))
        group = next(mates, None)
        if group is None:
            groups.append([index])
        else:
            group.append(index)
    return groups


def are_alike(first: RunSpec, second: RunSpec) -> bool:
    """Whether two runs could be members of one fleet."""
    ours, theirs = (replace(s.train, steps=None, learning_rate=None) for s in (first, second))
    return first.model.is_like(second.model) and ours == theirs


@torch.no_grad()
def _evaluate_fleet(
    runs: Sequence[Run],
    lengths: Sequence[int],
    *,
    words: int,
    seed: int,
    on_length: Callable[[int], None] | None,
) -> list[Evaluation]:
    """Runs of one architecture on one device; runs of one task see the same words."""
    device = next(runs[0].model.parameters()).device
    members = [
        Member(
            name=str(index),
            task=run.task,
            build=run.spec.model.build,
            seed=run.spec.seed,
            settings=run.spec.train,
            initial=run.model.state_dict(),
        )
        for index, run in enumerate(runs)
    ]
    fleet = Fleet(members, device=device)
    tasks = {run.task.spec: run.task for run in runs}
    rows = torch.tensor([list(tasks).index(run.task.spec) for run in runs], device=device)
    by_length: list[dict[int, LengthResult]] = [{} for _ in runs]
    with products_in(runs[0].spec.train.precision, device=device):
        for length in lengths:
            # The words of `draw_test_words`, whose key is folded with the length. A sampler keeps
            # the tables of every length it was asked for, so each length gets one of its own.
            sampler = make_sampler(list(tasks.values()), [seed] * len(tasks), device=device)
            batch = sampler.words(
                Stream.TEST,
                torch.tensor(length, device=device),
                batch_size=words,
                length=length,
                split="test",
            )
            word_lengths = None if batch.lengths is None else batch.lengths[rows]
            answers = fleet.scores(batch.tokens[rows], word_lengths).argmax(dim=-1)
            for run, results, own, labels in zip(
                runs, by_length, answers, batch.labels[rows], strict=True
            ):
                results[length] = count_answers(own, labels, run.task.num_classes)
            if on_length is not None:
                on_length(length)
    return [Evaluation(by_length=results) for results in by_length]
