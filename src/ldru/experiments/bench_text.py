"""What a training step on texts costs: fleets as we train them, beside a plain PyTorch loop."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ldru.config import Json
from ldru.experiments.benchmarks import seconds_per_call, time_steps
from ldru.experiments.defaults import default_model, default_training
from ldru.models import LDRUSpec
from ldru.tasks import DataTask, TaskSpec, WordSet, task
from ldru.tasks.text.wordpiece import VOCAB_SIZE
from ldru.training.fleet import Fleet, Member
from ldru.training.spec import TrainSpec, products_in

CASES = ((128, 16), (128, 32), (128, 64), (32, 64), (32, 128), (32, 256))
"""Batch size and length of the words."""


def bench_text(
    *,
    members: Sequence[int] = (1, 5),
    cases: Sequence[tuple[int, int]] = CASES,
    dim: int = 256,
    steps: int = 20,
    device: torch.device,
) -> list[dict[str, Json]]:
    """Steps of LDRUs at the paper's settings for texts, associativity loss and all.

    Ours is a fleet, on a GPU as a captured graph. Plain is one model in an ordinary training loop:
    eager PyTorch, `torch.optim.AdamW`, gradients clipped; the ratio is per model.
    """
    sst2 = task("sst2")
    spec = replace(default_model(sst2, "ldru"), dim=dim)  # type: ignore[call-arg]
    assert isinstance(spec, LDRUSpec)
    rows: list[dict[str, Json]] = []
    for batch_size, length in cases:
        settings = replace(default_training(sst2, spec), steps=10_000, batch_size=batch_size)
        settings = settings.resolved(sst2)
        words = random_words(count=4 * batch_size, length=length)
        plain = 1e3 * seconds_per_call(
            plain_step(spec, settings, words, device=device), calls=steps, device=device
        )
        for count in members:
            fleet = Fleet(
                [
                    Member(name=f"seed{n}", task=words, build=spec.build, seed=n, settings=settings)
                    for n in range(count)
                ],
                device=device,
            )
            fleet.plan(0, 64)
            ours = 1e3 * time_steps(fleet, [length] * steps, is_captured=True)
            rows.append(
                {
                    "members": count,
                    "batch_size": batch_size,
                    "length": length,
                    "step_ms": ours,
                    "plain_ms": plain,
                    "ratio": count * plain / ours,
                }
            )
            del fleet
            if device.type == "cuda":
                torch.cuda.empty_cache()
    return rows


def random_words(*, count: int, length: int) -> DataTask:
    """A data set of words of one length in BERT's vocabulary, two classes."""
    random = np.random.default_rng(0)
    words = WordSet(
        tokens=random.integers(VOCAB_SIZE, size=count * length).astype(np.uint16),
        offsets=np.arange(count + 1) * length,
        labels=random.integers(2, size=count).astype(np.uint8),
    )
    return DataTask(
        spec=TaskSpec(name=f"random_{length}"),
        vocab_size=VOCAB_SIZE,
        num_classes=2,
        tests=(),
        open_set=lambda name: words,
        encode=lambda text: np.array([int(number) for number in text.split()]),
    )


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
        model = replace(spec, backend="batched").build(vocab_size=VOCAB_SIZE, num_classes=2)
    model = model.to(device).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate or 0.0, weight_decay=settings.weight_decay
    )

    def step() -> None:
        with products_in(settings.precision, device=device):
            scores, lost = model(tokens, lengths, return_associativity=True)
            loss = functional.cross_entropy(scores, labels) + settings.associativity * lost.mean()
            optimizer.zero_grad()
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()

    return step
