"""Timings of a training step and a test word of every architecture, beside the LDRU's."""

from collections.abc import Sequence

import torch

from ldru.base.json import Json
from ldru.base.precision import products_in
from ldru.base.randomness import Stream
from ldru.bench.timing import parity_fleet, seconds_per_call, time_steps
from ldru.kernels.support import without_layer_kernels
from ldru.models.registry import MODELS, model_spec
from ldru.training.draws.regular import RegularDraws
from ldru.training.fleet import Fleet

TRAINED_LENGTH = 40
TESTED_LENGTH = 500
SIZES = {"cuda": (3, 256, 512, 20), "cpu": (1, 32, 32, 3)}
"""Members, batch size, words and steps."""


def bench_models(
    *,
    names: Sequence[str] = tuple(MODELS),
    members: int | None = None,
    batch_size: int | None = None,
    words: int | None = None,
    steps: int | None = None,
    device: torch.device,
) -> list[dict[str, Json]]:
    """Steps of a fleet at length 40 and answers at length 500, at the paper's settings.

    On a GPU the step is a captured graph, and is also timed without the kernels of single layers
    (plain_ms). Times are of the whole fleet; the ratios are to the LDRU. What is not given is the
    paper's on a GPU (3 members, batch 256, 512 words) and less on a CPU.
    """
    usual = dict(zip(("members", "batch_size", "words", "steps"), SIZES[device.type], strict=True))
    members, batch_size = members or usual["members"], batch_size or usual["batch_size"]
    words, steps = words or usual["words"], steps or usual["steps"]
    sizes: dict[str, Json] = {"members": members, "batch_size": batch_size, "words": words}
    rows: list[dict[str, Json]] = []
    for name in dict.fromkeys(["ldru", *names]):
        fleet = parity_fleet(model_spec(name), members, batch_size=batch_size, device=device)
        lengths = [TRAINED_LENGTH] * steps
        step = time_steps(fleet, lengths, is_captured=True)
        answer = _time_answers(fleet, words=words)
        costs: dict[str, Json] = {"step_ms": 1e3 * step, "word_us": 1e6 * answer / words}
        if device.type == "cuda":
            with without_layer_kernels():
                costs["plain_ms"] = 1e3 * time_steps(fleet, lengths, is_captured=True)
        rows.append({"model": name, **sizes, **costs})
        del fleet
        if device.type == "cuda":
            torch.cuda.empty_cache()
    for row in rows:
        for field in ("step_ms", "word_us"):
            row[field.split("_")[0] + "_ratio"] = row[field] / rows[0][field]  # type: ignore
    return rows


def _time_answers(fleet: Fleet, *, words: int) -> float:
    """Seconds to answer so many test words of each member."""
    assert isinstance(fleet.draws, RegularDraws)
    batch = fleet.draws.words(
        Stream.TEST, None, batch_size=words, length=TESTED_LENGTH, split="test"
    )

    def answer() -> None:
        with products_in(fleet.settings.precision, device=fleet.device):
            fleet.scores(batch.tokens, batch.lengths)

    return seconds_per_call(answer, calls=1, device=fleet.device)
