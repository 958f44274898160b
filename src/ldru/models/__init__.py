"""Architectures with one call: `model(tokens, lengths=None) -> [batch, classes]`."""

from ldru.models.backends import describe_backend
from ldru.models.ldru import LDRU, LDRUClassifier
from ldru.models.spec import MODELS, LDRUSpec, ModelSpec, build, model_name, model_spec

__all__ = [
    "LDRU",
    "MODELS",
    "LDRUClassifier",
    "LDRUSpec",
    "ModelSpec",
    "build",
    "describe_backend",
    "model_name",
    "model_spec",
]
