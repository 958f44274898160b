"""The run of a network that was trained on tables, not on words."""

import torch
from torch.nn import functional

from ldru.models.backends import describe_backend
from ldru.models.ldru import LDRUClassifier
from ldru.runs.record import make_record
from ldru.runs.run import Run
from ldru.runs.spec import RunSpec
from ldru.tasks.regular_task import RegularTask
from ldru.training.log import LogEntry


@torch.no_grad()
def run_without_words(
    spec: RunSpec, task: RegularTask, model: LDRUClassifier, *, step: int, seconds: float
) -> Run:
    """A run whose only validation is now; its weights are those after a step."""
    settings, device = spec.train, model.head.weight.device
    batch = task.draw_test(settings.validation_length, words=settings.validation_words, seed=1)
    scores, labels = model(batch.tokens.to(device)), batch.labels.to(device)
    entry = LogEntry(
        step=step,
        loss=0.0,
        validation_loss=float(functional.cross_entropy(scores, labels)),
        validation_accuracy=float((scores.argmax(dim=-1) == labels).double().mean()),
        learning_rate=0.0,
        seconds=seconds,
    )
    backend = describe_backend(model, device=device, dtype=settings.dtype)
    record = make_record(digest=spec.digest, log=[entry], backend=backend, device=device)
    return Run(spec=spec, task=task, model=model, record=record, log=[])
