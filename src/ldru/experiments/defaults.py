"""The paper's settings of a model and its training, by task."""

from dataclasses import replace

from ldru.models import ModelSpec, model_name, model_spec
from ldru.tasks import AnyTask
from ldru.tasks.listops import listops_task
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


def default_model(task: AnyTask, model: str | ModelSpec) -> ModelSpec:
    """A model by name with the paper's settings for a task, or as given."""
    spec = model_spec(model)
    if not isinstance(model, str) or not _is_listops(task):
        return spec
    return getattr(type(spec), "listops", type(spec))()


def default_training(task: AnyTask, model: ModelSpec) -> TrainSpec:
    """How the paper trains a model on a task."""
    if not _is_listops(task):
        return REGULAR
    return LISTOPS_BY_MODEL.get(model_name(model), LISTOPS)


def _is_listops(task: AnyTask) -> bool:
    return listops_task(task.name) is not None
