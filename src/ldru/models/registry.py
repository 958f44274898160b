"""Every architecture by name, and building a model from its settings."""

from dataclasses import is_dataclass
from typing import TYPE_CHECKING

from ldru.base.errors import LdruError, unknown_name
from ldru.models.settings import (
    BBTGRCSpec,
    GatedDeltaNetSpec,
    LDRUSpec,
    LSTMSpec,
    RegularGPTSpec,
    RIRGRCSpec,
    RNNSpec,
    S5Spec,
    SDSSMSpec,
    TransformerAlibiSpec,
    TransformerNopeSpec,
    TransformerRopeSpec,
    TransformerSinusoidalSpec,
)
from ldru.models.spec import ModelSpec

if TYPE_CHECKING:
    from torch import Generator, nn

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

    >>> @dataclass(frozen=True, kw_only=True)
    ... class MeanSpec(ldru.ModelSpec):
    ...     def build(self, *, vocab_size, num_classes):
    ...         return nn.Sequential(nn.Embedding(vocab_size, num_classes), nn.AdaptiveAvgPool2d(1))
    >>> ldru.register("mean_of_tokens", MeanSpec)
    >>> "mean_of_tokens" in ldru.MODELS
    True
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
    if isinstance(model, ModelSpec):
        return model
    if not isinstance(model, str):
        raise LdruError(
            f"a model is a name such as 'ldru', or settings such as ldru.LDRUSpec(), got {model!r}"
        )
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
    generator: "Generator | None" = None,
) -> "nn.Module":
    """A model by name with the paper's settings, or by its own settings.

    generator: decides the weights; None draws them from PyTorch's default one.

    >>> model = ldru.build("lstm", vocab_size=2, num_classes=2)
    >>> model(torch.tensor([[0, 1, 1]])).shape
    torch.Size([1, 2])
    """
    from ldru.models.shapes import model_shapes  # which asks for names here

    spec = model_spec(model)
    model_shapes(spec, vocab_size=vocab_size, num_classes=num_classes)  # before memory is taken
    if generator is None:
        return spec.build(vocab_size=vocab_size, num_classes=num_classes)
    import torch

    from ldru.layers.seeded import drawn

    seed = int(torch.randint(2**31, (), generator=generator, device=generator.device))
    return drawn(lambda: spec.build(vocab_size=vocab_size, num_classes=num_classes), seed=seed)
