"""Evaluate several runs at once: on a GPU, models of one architecture answer as a fleet."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from ldru.evaluation import Evaluation, LengthResult, Part, check_parts, count_answers
from ldru.experiments.observers import counting
from ldru.experiments.run import Run
from ldru.experiments.spec import RunSpec
from ldru.files import check_writable
from ldru.randomness import Stream
from ldru.tasks import DataTask, Task
from ldru.tasks.padded import batches_by_length
from ldru.tasks.text import TEXT_SETS
from ldru.training.fleet import Fleet, Member
from ldru.training.fused_sampling import make_sampler
from ldru.training.spec import conflicts, products_in

SET_TOKENS = 2**18
"""Tokens of a batch of a test set: large enough to fill a GPU, of like lengths still."""


def evaluate_runs(
    runs: Sequence[Run],
    lengths: Iterable[Part],
    *,
    words: int = 512,
    seed: int = 0,
    on_length: Callable[[Part], None] | None = None,
) -> list[Evaluation]:
    """Counts by length or test set of every run, as `Run.evaluation` gives them one by one.

    on_length: called with each length, once for every group of `together`.
    """
    for run in runs:
        run.check_store()
    chosen = list(lengths)
    evaluations: dict[int, Evaluation] = {}
    for group in together(runs):
        if len(group) == 1:
            found = [runs[group[0]].evaluation(chosen, words=words, seed=seed, on_length=on_length)]
        else:
            some = [runs[index] for index in group]
            found = _evaluate_fleet(some, chosen, words=words, seed=seed, on_length=on_length)
        evaluations.update(zip(group, found, strict=True))
    return [evaluations[index] for index in range(len(runs))]


def evaluate_and_keep(
    runs: Sequence[Run], lengths: Sequence[Part], *, words: int, seed: int
) -> list[Evaluation]:
    """Evaluations with a progress bar on standard error, kept in the records for seed 0.

    What a record holds already is not computed again.
    """
    known: list[dict[Part, LengthResult]] = [
        run.record.evaluation.by_length if run.record.evaluation and seed == 0 else {}
        for run in runs
    ]
    for run in runs:
        if run.folder is not None and seed == 0:
            check_writable(run.folder)
    missing: dict[tuple[Part, ...], list[int]] = {}
    for index, results in enumerate(known):
        lacks = tuple(
            n
            for n in lengths
            if n not in results or (isinstance(n, int) and results[n].words != words)
        )
        missing.setdefault(lacks, []).append(index)
    fresh: list[dict[Part, LengthResult]] = [{} for _ in runs]
    for lacks, indices in missing.items():
        if not lacks:
            continue
        some = [runs[index] for index in indices]
        name = some[0].spec.name if len(some) == 1 else f"{len(some)} runs"
        with counting(f"evaluating {name}", total=len(lacks) * len(together(some))) as advance:
            found = evaluate_runs(some, lacks, words=words, seed=seed, on_length=advance)
        for index, evaluation in zip(indices, found, strict=True):
            fresh[index] = evaluation.by_length
            if seed == 0:
                runs[index].with_evaluation(evaluation)
    return [
        Evaluation(by_length={n: new[n] if n in new else old[n] for n in lengths})
        for new, old in zip(fresh, known, strict=True)
    ]


def together(runs: Sequence[Run]) -> list[list[int]]:
    """Which runs answer together: on a GPU those that could have trained as one fleet."""
    groups: list[list[int]] = []
    for index, run in enumerate(runs):
        is_cuda = next(run.model.parameters()).is_cuda
        group = next((g for g in groups if is_cuda and _answer_together(runs[g[0]], run)), None)
        if group is None:
            groups.append([index])
        else:
            group.append(index)
    return groups


def _answer_together(first: Run, second: Run) -> bool:
    """Whether two runs can be evaluated as a fleet; data sets have to be the same."""
    is_same = first.task.spec == second.task.spec or not isinstance(first.task, DataTask)
    return is_same and are_alike(first.spec, second.spec)


def are_alike(first: RunSpec, second: RunSpec) -> bool:
    """Whether two runs could be members of one fleet.

    Data sets of texts have lengths of their own, and would be padded to the longest.
    """
    if first.task != second.task and first.task.name in TEXT_SETS:
        return False
    return first.model.is_like(second.model) and not conflicts(first.train, second.train)


@torch.no_grad()
def _evaluate_fleet(
    runs: Sequence[Run],
    lengths: Sequence[Part],
    *,
    words: int,
    seed: int,
    on_length: Callable[[Part], None] | None,
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
    by_part: list[dict[Part, LengthResult]] = [{} for _ in runs]
    with products_in(runs[0].spec.train.precision, device=device):
        for part in check_parts(runs[0].task, lengths):
            if isinstance(part, int):
                answers, labels = _answer_length(fleet, part, words=words, seed=seed)
            else:
                answers, labels = _answer_set(fleet, part)
            for run, results, own, right in zip(runs, by_part, answers, labels, strict=True):
                results[part] = count_answers(own, right, run.task.num_classes)
            if on_length is not None:
                on_length(part)
    return [Evaluation(by_length=results) for results in by_part]


def _answer_length(fleet: Fleet, length: int, *, words: int, seed: int) -> tuple[Tensor, Tensor]:
    """Answers and labels of test words of a length: [members, words] each.

    The words of `draw_test_words`, whose key is folded with the length. A sampler keeps the tables
    of every length it was asked for, so each length gets one of its own.
    """
    tasks = {m.task.spec: m.task for m in fleet.members if isinstance(m.task, Task)}
    rows = [list(tasks).index(member.task.spec) for member in fleet.members]
    sampler = make_sampler(list(tasks.values()), [seed] * len(tasks), device=fleet.device)
    batch = sampler.words(
        Stream.TEST,
        torch.tensor(length, device=fleet.device),
        batch_size=words,
        length=length,
        split="test",
    )
    lengths = None if batch.lengths is None else batch.lengths[rows]
    return fleet.scores(batch.tokens[rows], lengths).argmax(dim=-1), batch.labels[rows]


def _answer_set(fleet: Fleet, name: str) -> tuple[Tensor, Tensor]:
    """Answers and labels of a set of words that the members share: [members, words] each."""
    task, count = fleet.members[0].task, len(fleet.members)
    assert isinstance(task, DataTask)
    answers, labels = [], []
    for batch in batches_by_length(task.words(name), tokens=SET_TOKENS, device=fleet.device):
        tokens = batch.tokens.expand(count, -1, -1)
        lengths = batch.lengths.expand(count, -1)
        answers.append(fleet.scores(tokens, lengths).argmax(dim=-1))
        labels.append(batch.labels.expand(count, -1))
    return torch.cat(answers, dim=1), torch.cat(labels, dim=1)
