"""The paper's settings of a model and its training, by task."""

from dataclasses import replace

from ldru.models import ModelSpec, model_name, model_spec
from ldru.tasks import AnyTask
from ldru.tasks import task as find_task
from ldru.tasks.listops import listops_task
from ldru.tasks.text import TEXT_SETS
from ldru.training.spec import TrainSpec

REGULAR = TrainSpec()
LISTOPS = TrainSpec(
    batch_size=128, optimizer="adam", l2=0.0, centralise=False, validation_words=2048
)

_GRC = replace(LISTOPS, learning_rate=1e-3, weight_decay=1e-2)  # of the published code
_TRANSFORMER = replace(LISTOPS, learning_rate=5e-5)
LISTOPS_BY_MODEL = {
    "ldru": replace(LISTOPS, learning_rate=2.5e-4, associativity=1.0),
    "lstm": replace(LISTOPS, learning_rate=1e-4),
    "transformer_nope": _TRANSFORMER,
    "transformer_alibi": _TRANSFORMER,
    "transformer_sinusoidal": _TRANSFORMER,
    "bbt_grc": _GRC,
    "rir_grc": _GRC,
}

TEXT = TrainSpec(
    optimizer="adam", l2=0.0, centralise=False, weight_decay=1e-5, validation_words=8192
)
TEXT_ASSOCIATIVITY = 0.1  # of the LDRU


def default_model(task: AnyTask, model: str | ModelSpec) -> ModelSpec:
    """A model by name with the paper's settings for a task, or as given."""
    spec = model_spec(model)
    study = _study(task)
    if not isinstance(model, str) or study is None:
        return spec
    return getattr(type(spec), study, type(spec))()


def default_training(task: str | AnyTask, model: str | ModelSpec) -> TrainSpec:
    """How the paper trains a model on a task."""
    task = find_task(task) if isinstance(task, str) else task
    study, name = _study(task), model_name(model_spec(model))
    if study == "listops":
        return LISTOPS_BY_MODEL.get(name, LISTOPS)
    if study == "text":
        return replace(
            TEXT,
            batch_size=task.recommended.batch_size or TEXT.batch_size,
            associativity=TEXT_ASSOCIATIVITY if name == "ldru" else 0.0,
        )
    return REGULAR


def _study(task: AnyTask) -> str | None:
    """Of which study of data sets a task is; a class of settings has a method of that name."""
    if task.name in TEXT_SETS:
        return "text"
    return None if listops_task(task.name) is None else "listops"
