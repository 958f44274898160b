"""The check that a model is an LDRU, whose states can be looked at."""

from torch import nn

from ldru.base.errors import LdruError
from ldru.models.ldru import LDRUClassifier


def check_ldru(model: nn.Module) -> LDRUClassifier:
    """The model, which must be an LDRU."""
    if not isinstance(model, LDRUClassifier):
        raise LdruError(f"only an LDRU has states that meet in a tree; got {type(model).__name__}")
    return model
