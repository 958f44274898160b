"""Settings of every architecture, and building a model from them."""

from dataclasses import dataclass

from torch import Generator, nn

from ldru.errors import unknown_name
from ldru.layers import drawn
from ldru.models.ldru import LDRUClassifier


@dataclass(frozen=True, kw_only=True)
class LDRUSpec:
    """Settings of the LDRU classifier; the defaults are the paper's for regular tasks.

    Args:
        dim: width of a state.
        operator: mlp, grc, gated_sum, linear or element_sum.
        dropout: rate after each level; by default the task's, 0.1 where it has none.
        activation: relu or silu, in the residual block and the MLP operator's gates.
        leaf_block: one more residual block on the embeddings.
        backend: fused (Triton kernels), batched, reference, or auto for the fastest that can run.
    """

    dim: int = 64
    operator: str = "mlp"
    dropout: float | None = None
    activation: str = "relu"
    leaf_block: bool = False
    backend: str = "auto"

    def build(self, *, vocab_size: int, num_classes: int) -> nn.Module:
        """A model of these settings."""
        return LDRUClassifier(
            vocab_size=vocab_size,
            num_classes=num_classes,
            dim=self.dim,
            operator=self.operator,
            dropout=0.1 if self.dropout is None else self.dropout,
            activation=self.activation,
            leaf_block=self.leaf_block,
            backend=self.backend,
        )


ModelSpec = LDRUSpec
"""Any architecture's settings."""

MODELS: dict[str, type[ModelSpec]] = {"ldru": LDRUSpec}


def model_spec(model: str | ModelSpec) -> ModelSpec:
    """The settings of an architecture by name, or as given."""
    if not isinstance(model, str):
        return model
    if model not in MODELS:
        raise unknown_name("model", model, MODELS)
    return MODELS[model]()


def model_name(spec: ModelSpec) -> str:
    """The name of the architecture that these settings belong to."""
    return next(name for name, kind in MODELS.items() if isinstance(spec, kind))


def build(
    model: str | ModelSpec,
    *,
    vocab_size: int,
    num_classes: int,
    generator: Generator | None = None,
) -> nn.Module:
    """A model by name with the paper's settings, or by its own settings.

    generator: a CPU generator to draw the weights from; None uses PyTorch's default one.
    """
    spec = model_spec(model)
    if generator is None:
        return spec.build(vocab_size=vocab_size, num_classes=num_classes)
    return drawn(lambda: spec.build(vocab_size=vocab_size, num_classes=num_classes), generator)
