"""Every architecture by name, and building a model from its settings."""

from dataclasses import is_dataclass

import torch
from torch import Generator, nn

from ldru.errors import LdruError, unknown_name
from ldru.layers import drawn
from ldru.models.bbt_grc import BBTGRCSpec
from ldru.models.gated_deltanet import GatedDeltaNetSpec
from ldru.models.ldru import LDRUSpec
from ldru.models.lstm import LSTMSpec
from ldru.models.regular_gpt import RegularGPTSpec
from ldru.models.rir_grc import RIRGRCSpec
from ldru.models.rnn import RNNSpec
from ldru.models.s5 import S5Spec
from ldru.models.sd_ssm import SDSSMSpec
from ldru.models.spec import ModelSpec
from ldru.models.transformer import (
    TransformerAlibiSpec,
    TransformerNopeSpec,
    TransformerRopeSpec,
    TransformerSinusoidalSpec,
)

MODELS: dict[str, type[ModelSpec]] = {
    "ldru": LDRUSpec,
    "rnn": RNNSpec,
    "lstm": LSTMSpec,
    "gated_deltanet": GatedDeltaNetSpec,
    "transformer_nope": TransformerNopeSpec,
    "transformer_alibi": TransformerAlibiSpec,
    "transformer_rope": TransformerRopeSpec,
    "transformer_sinusoidal": TransformerSinusoidalSpec,
    "s5": S5Spec,
    "sd_ssm": SDSSMSpec,
    "regular_gpt": RegularGPTSpec,
    "bbt_grc": BBTGRCSpec,
    "rir_grc": RIRGRCSpec,
}


def register(name: str, spec: type[ModelSpec]) -> None:
    """Make an architecture of your own known by a name, to training, tables and run folders.

    spec: a frozen dataclass derived from `ModelSpec`, with a default for every setting. A program
        that opens runs of it has to register it too, before.
    """
    if name in MODELS and MODELS[name] is not spec:
        raise LdruError(f"there is already a model {name!r}; choose another name")
    if not name.isidentifier():
        raise LdruError(f"a model's name is letters, digits and underscores, got {name!r}")
    if not (isinstance(spec, type) and issubclass(spec, ModelSpec) and is_dataclass(spec)):
        raise LdruError(f"register takes a dataclass derived from ModelSpec, got {spec!r}")
    MODELS[name] = spec


def model_spec(model: str | ModelSpec) -> ModelSpec:
    """The settings of an architecture by name, or as given."""
    if not isinstance(model, str):
        return model
    if model not in MODELS:
        raise unknown_name("model", model, MODELS)
    return MODELS[model]()


def model_name(spec: ModelSpec) -> str:
    """The name of the architecture that these settings belong to."""
    for name, kind in MODELS.items():
        if type(spec) is kind:
            return name
    raise LdruError(f"{type(spec).__name__} is no known model's settings; see ldru.register")


def build(
    model: str | ModelSpec,
    *,
    vocab_size: int,
    num_classes: int,
    generator: Generator | None = None,
) -> nn.Module:
    """A model by name with the paper's settings, or by its own settings.

    generator: decides the weights; None draws them from PyTorch's default one.
    """
    spec = model_spec(model)
    if generator is None:
        return spec.build(vocab_size=vocab_size, num_classes=num_classes)
    seed = int(torch.randint(2**31, (), generator=generator, device=generator.device))
    return drawn(lambda: spec.build(vocab_size=vocab_size, num_classes=num_classes), seed=seed)
