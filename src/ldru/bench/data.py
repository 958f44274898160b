"""Timings of a training step on a data set: our fleets beside a plain PyTorch loop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ldru.base.json import Json
from ldru.base.precision import products_in
from ldru.bench.timing import seconds_per_call, time_steps
from ldru.models.settings import LDRUSpec
from ldru.paper.settings import completed, default_model
from ldru.tasks.data_task import DataTask
from ldru.tasks.find import task
from ldru.tasks.task import Task
from ldru.tasks.word_set import WordSet
from ldru.training.fleet import Fleet
from ldru.training.member import Member
from ldru.training.spec import TrainSpec


@dataclass(frozen=True, kw_only=True)
class Case:
    """Words of one length, and the weight of the associativity loss (None: the paper's)."""

    batch_size: int
    length: int
    associativity: float | None = None


@dataclass(frozen=True, kw_only=True)
class Study:
    """The cases that are timed of a study: words like those of a task, fleets of some sizes."""

    task: str
    cases: tuple[Case, ...]
    members: tuple[int, ...]


STUDIES = {
    "text": Study(
        task="sst2",
        cases=tuple(
            Case(batch_size=batch_size, length=length)
            for batch_size, length in (
                *((128, 16), (128, 32), (128, 64)),
                *((32, 64), (32, 128), (32, 256)),
            )
        ),
        members=(1, 5),
    ),
    "listops": Study(
        task="listops",
        cases=tuple(
            Case(batch_size=128, length=length, associativity=weight)
            for weight in (1.0, 0.0)
            for length in (8, 16, 40)
        ),
        members=(1, 3),
    ),
}


def bench_data(
    study: str,
    *,
    cases: Sequence[Case] | None = None,
    members: Sequence[int] | None = None,
    dim: int = 256,
    steps: int = 20,
    device: torch.device,
) -> list[dict[str, Json]]:
    """Steps of LDRUs at the paper's settings for a study, on random words of its vocabulary.

    Ours is a fleet, on a GPU as a captured graph. Plain is one model in an ordinary training loop:
    eager PyTorch, `torch.optim.AdamW`, gradients clipped; the ratio is per model.
    """
    data = task(STUDIES[study].task)
    spec = replace(default_model(data.spec, "ldru"), dim=dim)  # type: ignore[call-arg]
    assert isinstance(spec, LDRUSpec)
    rows: list[dict[str, Json]] = []
    for case in cases or STUDIES[study].cases:
        settings = replace(completed(data, spec, None)[1], steps=10_000, batch_size=case.batch_size)
        if case.associativity is not None:
            settings = replace(settings, associativity=case.associativity)
        words = random_words(data, count=4 * case.batch_size, length=case.length)
        plain = 1e3 * seconds_per_call(
            plain_step(spec, settings, words, device=device), calls=steps, device=device
        )
        for count in members or STUDIES[study].members:
            fleet = Fleet(
                [
                    Member(name=f"seed{n}", task=words, build=spec.build, seed=n, settings=settings)
                    for n in range(count)
                ],
                device=device,
            )
            fleet.plan(0, 64)
            ours = 1e3 * time_steps(fleet, [case.length] * steps, is_captured=True)
            rows.append(
                {
                    "members": count,
                    "batch_size": case.batch_size,
                    "length": case.length,
                    "associativity": settings.associativity,
                    "step_ms": ours,
                    "plain_ms": plain,
                    "ratio": count * plain / ours,
                }
            )
            del fleet
            if device.type == "cuda":
                torch.cuda.empty_cache()
    return rows


def random_words(like: Task, *, count: int, length: int) -> DataTask:
    """A data set of words of one length in a task's vocabulary, with its classes."""
    random = np.random.default_rng(0)
    words = WordSet(
        tokens=random.integers(like.vocab_size, size=count * length).astype(np.uint16),
        offsets=np.arange(count + 1) * length,
        labels=random.integers(like.num_classes, size=count).astype(np.uint8),
    )
    whole = DataTask.of(f"random_{length}", {"train": words, "validation": words})
    return replace(whole, vocab_size=like.vocab_size, num_classes=like.num_classes)


def plain_step(
    spec: LDRUSpec, settings: TrainSpec, data: DataTask, *, device: torch.device
) -> Callable[[], None]:
    """A training step as one would write it with PyTorch's own parts."""
    words = data.words("train")
    shape = (settings.batch_size, int(words.lengths[0]))
    count = settings.batch_size * shape[1]
    tokens = torch.from_numpy(words.tokens[:count].astype(np.int64)).reshape(shape).to(device)
    labels = torch.from_numpy(words.labels[: shape[0]].astype(np.int64)).to(device)
    lengths = torch.full((shape[0],), shape[1], device=device)
    with torch.random.fork_rng(devices=[]):
        model = replace(spec, backend="batched").build(
            vocab_size=data.vocab_size, num_classes=data.num_classes
        )
    model = model.to(device).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate or 0.0, weight_decay=settings.weight_decay
    )

    def step() -> None:
        with products_in(settings.precision, device=device):
            if settings.associativity:
                scores, lost = model.forward_with_associativity(tokens, lengths)
                extra = settings.associativity * lost.mean()
            else:
                scores, extra = model(tokens, lengths), tokens.new_zeros(())
            loss = functional.cross_entropy(scores, labels) + extra
            optimizer.zero_grad()
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()

    return step
