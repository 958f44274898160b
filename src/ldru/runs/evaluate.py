"""Evaluate several runs at once: on a GPU, models of one architecture answer as a fleet."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch

from ldru.base.files import check_writable
from ldru.base.progress import counting
from ldru.base.randomness import Stream
from ldru.evaluation.accuracy import Evaluation, PartResult, count_answers
from ldru.evaluation.answers import answers_and_labels
from ldru.evaluation.lengths import WORDS
from ldru.runs.folder import RunFolder
from ldru.runs.run import Run
from ldru.runs.spec import RunSpec
from ldru.tasks.batch import PaddedBatch
from ldru.tasks.kinds import split_part
from ldru.tasks.regular_task import RegularTask
from ldru.tasks.task import Part
from ldru.tasks.text.sets import TEXT_SETS
from ldru.training.draws.fused import make_regular_draws
from ldru.training.fleet import Fleet
from ldru.training.member import Member
from ldru.training.spec import conflicts

PARTS_AT_ONCE = {"cpu": 20, "cuda": 500}
"""How many lengths or test sets are evaluated before they are kept; a GPU takes seconds for all."""


def evaluate_runs(
    runs: Sequence[Run],
    parts: Iterable[Part],
    *,
    words: int = WORDS,
    seed: int = 0,
    on_part: Callable[[Part], None] | None = None,
) -> list[Evaluation]:
    """Counts by length or test set of every run, as `Run.compute_evaluation` gives them one by one.

    on_part: called with each length, once for every group of `together`.
    """
    for run in runs:
        run.check_store()
    chosen = list(parts)
    evaluations: dict[int, Evaluation] = {}
    for group in together(runs):
        some = [runs[index] for index in group]
        if len(group) == 1 or any(map(split_part, chosen)):
            found = [
                run.compute_evaluation(chosen, words=words, seed=seed, on_part=on_part)
                for run in some
            ]
        else:
            found = _evaluate_fleet(some, chosen, words=words, seed=seed, on_part=on_part)
        evaluations.update(zip(group, found, strict=True))
    return [evaluations[index] for index in range(len(runs))]


def evaluate_and_keep(
    runs: Sequence[Run], parts: Sequence[Part], *, words: int, seed: int
) -> list[Evaluation]:
    """`evaluate_missing` with a progress bar on standard error."""
    missing = _missing(runs, parts, words=words, seed=seed)
    total = sum(len(lacks) * len(together(_some(runs, rows))) for lacks, rows in missing.items())
    name = runs[0].spec.name if len(runs) == 1 else f"{len(runs)} runs"
    with counting(f"evaluating {name}", total=total) as advance:
        return evaluate_missing(runs, parts, words=words, seed=seed, on_part=advance)


def evaluate_prefixes(
    runs: Sequence[Run], parts: Sequence[Part], *, words: int, seed: int
) -> list[Evaluation]:
    """Answers of runs at every position, with a progress bar; no record keeps them."""
    with counting("evaluating every position", total=len(runs) * len(parts)) as advance:
        return [
            run.compute_evaluation(
                parts, words=words, seed=seed, on_part=advance, labels="prefixes"
            )
            for run in runs
        ]


def evaluate_missing(
    runs: Sequence[Run],
    parts: Sequence[Part],
    *,
    words: int = WORDS,
    seed: int = 0,
    on_part: Callable[[Part], None] | None = None,
) -> list[Evaluation]:
    """Evaluations of runs, of which only what their records lack is computed.

    For seed 0 it is kept in the records as it comes, some lengths at a time, so that an end on the
    way costs little.
    """
    for run in runs:
        if run.folder is not None and seed == 0:
            check_writable(run.folder)
            RunFolder(run.folder).sweep()  # where nothing is missing, nobody writes the record
    results = [dict(_known(run, seed=seed)) for run in runs]
    for lacks, rows in _missing(runs, parts, words=words, seed=seed).items():
        some = _some(runs, rows)
        size = PARTS_AT_ONCE.get(some[0].device.type, 20)
        for begin in range(0, len(lacks), size):
            piece = lacks[begin : begin + size]
            found = evaluate_runs(some, piece, words=words, seed=seed, on_part=on_part)
            for row, evaluation in zip(rows, found, strict=True):
                results[row] |= evaluation.by_part
                if seed == 0:
                    runs[row].with_evaluation(evaluation)
    return [Evaluation(by_part={part: found[part] for part in parts}) for found in results]


def _missing(
    runs: Sequence[Run], parts: Sequence[Part], *, words: int, seed: int
) -> dict[tuple[Part, ...], list[int]]:
    """The numbers of runs by the parts that their records lack, where they lack any."""
    missing: dict[tuple[Part, ...], list[int]] = {}
    for row, run in enumerate(runs):
        known = _known(run, seed=seed)
        lacks = tuple(
            part
            for part in parts
            if part not in known or (isinstance(part, int) and known[part].words != words)
        )
        if lacks:
            missing.setdefault(lacks, []).append(row)
    return missing


def _known(run: Run, *, seed: int) -> Mapping[Part, PartResult]:
    """The results that a record holds; of other seeds than 0 it holds none."""
    evaluation = run.record.evaluation
    return {} if evaluation is None or seed else evaluation.by_part


def _some(runs: Sequence[Run], rows: Sequence[int]) -> list[Run]:
    return [runs[row] for row in rows]


def together(runs: Sequence[Run]) -> list[list[int]]:
    """Which runs answer together: on a GPU those that could have trained as one fleet."""
    groups: list[list[int]] = []
    for index, run in enumerate(runs):
        is_cuda = run.device.type == "cuda"
        group = next((g for g in groups if is_cuda and _answer_together(runs[g[0]], run)), None)
        if group is None:
            groups.append([index])
        else:
            group.append(index)
    return groups


def _answer_together(first: Run, second: Run) -> bool:
    """Whether two runs can be evaluated as a fleet; data sets have to be the same."""
    is_same = first.task.spec == second.task.spec or first.task.is_drawn
    return is_same and are_alike(first.spec, second.spec)


def are_alike(first: RunSpec, second: RunSpec) -> bool:
    """Whether two runs could be members of one fleet.

    Data sets of texts have lengths of their own, and would be padded to the longest.
    """
    if first.task != second.task and first.task.name in TEXT_SETS:
        return False
    return first.model.is_like(second.model) and not conflicts(first.train, second.train)


def _evaluate_fleet(
    runs: Sequence[Run],
    parts: Sequence[Part],
    *,
    words: int,
    seed: int,
    on_part: Callable[[Part], None] | None,
) -> list[Evaluation]:
    """Runs of one architecture on one device; runs of one task see the same words."""
    members = [
        Member(
            name=str(index),
            task=run.task,
            build=run.spec.model.build,
            seed=run.spec.seed,
            settings=replace(run.spec.train, hard_words=0.0, compositions=0.0, labels="words"),
            initial=run.model.state_dict(),
        )
        for index, run in enumerate(runs)
    ]
    fleet = Fleet(members, device=runs[0].device)
    by_part: list[dict[Part, PartResult]] = [{} for _ in runs]
    for part in runs[0].task.check_parts(parts):
        batches = _fleet_words(fleet, part, words=words, seed=seed)
        answers, labels = answers_and_labels(
            fleet.scores, batches, precision=fleet.settings.precision
        )
        for run, results, own, right in zip(runs, by_part, answers, labels, strict=True):
            results[part] = count_answers(own, right, run.task.num_classes)
        if on_part is not None:
            on_part(part)
    return [Evaluation(by_part=results) for results in by_part]


def _fleet_words(fleet: Fleet, part: Part, *, words: int, seed: int) -> Iterator[PaddedBatch]:
    """The test words of every member: tokens [members, words, length].

    Those of `RegularTask.draw_test`, drawn by one kernel for all. Draws keep the tables of every
    length they were asked for, so each length gets some of its own.
    """
    count, device = len(fleet.members), fleet.device
    regular = {m.task.spec: m.task for m in fleet.members if isinstance(m.task, RegularTask)}
    if not regular:  # members share a data set
        task = fleet.members[0].task
        for batch in task.test_words(part, words=words, seed=seed, device=device):
            assert batch.lengths is not None
            yield PaddedBatch(
                batch.tokens.expand(count, -1, -1),
                batch.labels.expand(count, -1),
                batch.lengths.expand(count, -1),
            )
        return
    assert isinstance(part, int)
    draws = make_regular_draws(list(regular.values()), [seed] * len(regular), device=device)
    step = torch.tensor(part, device=device)
    batch = draws.words(Stream.TEST, step, batch_size=words, length=part, split="test")
    rows = [list(regular).index(member.task.spec) for member in fleet.members]
    lengths = None if batch.lengths is None else batch.lengths[rows]
    yield PaddedBatch(batch.tokens[rows], batch.labels[rows], lengths)
