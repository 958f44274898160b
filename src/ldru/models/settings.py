"""The settings of every architecture. They are data: PyTorch is imported when a model is built."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ldru.base.json import LATER, added
from ldru.models.spec import ModelSpec

if TYPE_CHECKING:
    from torch import nn

    from ldru.models.ldru import LDRUClassifier
    from ldru.models.transformer import TransformerClassifier


@dataclass(frozen=True, kw_only=True)
class LDRUSpec(ModelSpec):
    """Settings of the LDRU classifier; the defaults are the paper's for regular tasks.

    Args:
        dim: width of a state.
        operator: mlp, grc, gated_sum, linear or element_sum.
        dropout: rate after each level; None leaves it to who trains the model, else it is 0.1.
        activation: relu or silu, in the residual block and the MLP operator's gates.
        gates: of the MLP operator, centred (around zero, the paper's) or open (around one) at the
            start.
        embedding_std: deviation of the embeddings at the start.
        leaf_block: one more residual block on the embeddings.
        backend: fused (Triton kernels), batched, reference, or auto for the fastest that can run.
    """

    dim: int = 64
    operator: str = "mlp"
    dropout: float | None = None
    activation: str = "relu"
    gates: str = field(default="centred", metadata=LATER)
    embedding_std: float = field(default=0.02, metadata=LATER)
    leaf_block: bool = False
    backend: str = "auto"

    def build(self, *, vocab_size: int, num_classes: int) -> "LDRUClassifier":
        from ldru.models.ldru import LDRUClassifier

        return LDRUClassifier(
            vocab_size=vocab_size,
            num_classes=num_classes,
            dim=self.dim,
            operator=self.operator,
            dropout=0.1 if self.dropout is None else self.dropout,
            activation=self.activation,
            gates=self.gates,
            embedding_std=self.embedding_std,
            leaf_block=self.leaf_block,
            backend=self.backend,
        )


@dataclass(frozen=True, kw_only=True)
class RNNSpec(ModelSpec):
    """Settings of the plain recurrent network; the defaults are the paper's for regular tasks.

    Args:
        dim: width of the state.
    """

    dim: int = 256

    def build(self, *, vocab_size: int, num_classes: int) -> "nn.Module":
        from ldru.models.rnn import RNNClassifier

        return RNNClassifier(vocab_size=vocab_size, num_classes=num_classes, **vars(self))


@dataclass(frozen=True, kw_only=True)
class LSTMSpec(ModelSpec):
    """Settings of the LSTM; the defaults are the paper's for regular tasks.

    Args:
        dim: width of the output and of the cell.
    """

    dim: int = 256

    def build(self, *, vocab_size: int, num_classes: int) -> "nn.Module":
        from ldru.models.lstm import LSTMClassifier

        return LSTMClassifier(vocab_size=vocab_size, num_classes=num_classes, **vars(self))


@dataclass(frozen=True, kw_only=True)
class GatedDeltaNetSpec(ModelSpec):
    """Settings of Gated DeltaNet; the defaults are the paper's for regular tasks.

    The paper's table gives 128 as the residual dimension; its total is that of a SwiGLU width of
    256.

    Args:
        dim: width of the features.
        num_layers: how many blocks.
        num_heads: memories per block.
        head_dim: width of a head's queries and keys.
        value_expansion: how many times wider a head's values are.
        conv_width: places that the convolutions see.
        hidden: width of the SwiGLU layer.
    """

    dim: int = 64
    num_layers: int = 3
    num_heads: int = 4
    head_dim: int = 12
    value_expansion: int = 2
    conv_width: int = 4
    hidden: int = 256

    def build(self, *, vocab_size: int, num_classes: int) -> "nn.Module":
        from ldru.models.gated_deltanet import GatedDeltaNetClassifier

        return GatedDeltaNetClassifier(vocab_size=vocab_size, num_classes=num_classes, **vars(self))


@dataclass(frozen=True, kw_only=True)
class TransformerSpec(ModelSpec):
    """Settings of a transformer; the defaults are the paper's for regular tasks.

    Each position encoding has its own class of settings below.

    positions: a name of `ldru.models.positions.POSITIONS`.

    Args:
        dim: width of a token's state.
        num_heads: heads of attention; they share the width.
        num_blocks: attention and FFN, one after the other.
        dropout: rate on the outputs of attention and FFN. On regular tasks the paper lists dropout
            for the LDRU alone; the benchmark's own code has 0.1.
    """

    positions: ClassVar[str]

    dim: int = 64
    num_heads: int = 8
    num_blocks: int = 5
    dropout: float = 0.0

    def build(self, *, vocab_size: int, num_classes: int) -> "TransformerClassifier":
        from ldru.models.positions import POSITIONS
        from ldru.models.transformer import TransformerClassifier

        return TransformerClassifier(
            vocab_size=vocab_size,
            num_classes=num_classes,
            dim=self.dim,
            num_heads=self.num_heads,
            num_blocks=self.num_blocks,
            dropout=self.dropout,
            positions=POSITIONS[self.positions],
            variant=getattr(self, "variant", "benchmark"),
        )


@dataclass(frozen=True, kw_only=True)
class TransformerNopeSpec(TransformerSpec):
    """Settings of the transformer without position encoding."""

    positions: ClassVar[str] = "nope"


@dataclass(frozen=True, kw_only=True)
class TransformerAlibiSpec(TransformerSpec):
    """Settings of the transformer whose attention falls with the distance.

    Args:
        variant: benchmark (tokens on the left are half a place nearer) or original.
    """

    positions: ClassVar[str] = "alibi"
    variant: str = field(default="benchmark", metadata=added(before="original"))


@dataclass(frozen=True, kw_only=True)
class TransformerRopeSpec(TransformerSpec):
    """Settings of the transformer that turns queries and keys by random positions."""

    positions: ClassVar[str] = "rope"


@dataclass(frozen=True, kw_only=True)
class TransformerSinusoidalSpec(TransformerSpec):
    """Settings of the transformer that adds waves of the place to the embeddings.

    Args:
        variant: benchmark (places are counted down, dropout on the sum) or original.
    """

    positions: ClassVar[str] = "sinusoidal"
    variant: str = field(default="benchmark", metadata=added(before="original"))


@dataclass(frozen=True, kw_only=True)
class S5Spec(ModelSpec):
    """Settings of S5; the defaults are the paper's for regular tasks.

    Args:
        dim: width of the features.
        state_dim: width of the real state, twice the number of complex ones.
        num_layers: how many S5 blocks.
        num_blocks: how many HiPPO matrices the state starts from.
    """

    dim: int = 256
    state_dim: int = 256
    num_layers: int = 2
    num_blocks: int = 8

    def build(self, *, vocab_size: int, num_classes: int) -> "nn.Module":
        from ldru.models.s5 import S5Classifier

        return S5Classifier(vocab_size=vocab_size, num_classes=num_classes, **vars(self))


@dataclass(frozen=True, kw_only=True)
class SDSSMSpec(ModelSpec):
    """Settings of the selective dense SSM; the defaults are the paper's for regular tasks.

    Args:
        dim: width of the state.
        num_transitions: how many matrices a symbol's transition is mixed from.
        norm_order: p of the L_p norm that the columns of a transition are scaled to.
    """

    dim: int = 256
    num_transitions: int = 8
    norm_order: float = 1.2

    def build(self, *, vocab_size: int, num_classes: int) -> "nn.Module":
        from ldru.models.sd_ssm import SDSSMClassifier

        return SDSSMClassifier(vocab_size=vocab_size, num_classes=num_classes, **vars(self))


@dataclass(frozen=True, kw_only=True)
class RegularGPTSpec(ModelSpec):
    """Settings of RegularGPT; the defaults are the paper's for regular tasks.

    Args:
        dim: width of a state; the FFN has four times as much.
        num_heads: heads of attention; they share the width.
        chunk_size: how many states of a level become one of the next.
        dropout: rate after each level; none came out best in the paper's sweep.
        thickness: layers within a level, each with weights of its own that all levels share.
    """

    dim: int = 256
    num_heads: int = 8
    chunk_size: int = 2
    dropout: float = 0.0
    thickness: int = field(default=1, metadata=LATER)

    def build(self, *, vocab_size: int, num_classes: int) -> "nn.Module":
        from ldru.models.regular_gpt import RegularGPTClassifier

        return RegularGPTClassifier(vocab_size=vocab_size, num_classes=num_classes, **vars(self))


@dataclass(frozen=True, kw_only=True)
class BBTGRCSpec(ModelSpec):
    """Settings of BBT-GRC; the defaults are the paper's for regular tasks.

    Args:
        embedding_dim: width of a token's embedding.
        dim: width of a state.
        dropout: rate on the embeddings and in the classifier. On regular tasks the paper lists
            dropout for the LDRU alone.
        cell_dropout: rate inside every composition, as in the published code.
    """

    embedding_dim: int = 64
    dim: int = 96
    dropout: float = 0.0
    cell_dropout: float = field(default=0.1, metadata=added(before=0.0))

    def build(self, *, vocab_size: int, num_classes: int) -> "nn.Module":
        from ldru.models.bbt_grc import BBTGRCClassifier

        return BBTGRCClassifier(vocab_size=vocab_size, num_classes=num_classes, **vars(self))


@dataclass(frozen=True, kw_only=True)
class RIRGRCSpec(ModelSpec):
    """Settings of RIR-GRC; the defaults are the paper's for ListOps, its only ones.

    Args:
        dim: width of an embedding and of a state.
        chunk_size: how many states one inner recursion reads.
        dropout: rate on the embeddings and in the classifier.
        cell_dropout: rate inside every composition, as in the published code.
    """

    dim: int = 128
    chunk_size: int = 12
    dropout: float = 0.1
    cell_dropout: float = field(default=0.1, metadata=added(before=0.0))

    def build(self, *, vocab_size: int, num_classes: int) -> "nn.Module":
        from ldru.models.rir_grc import RIRGRCClassifier

        return RIRGRCClassifier(vocab_size=vocab_size, num_classes=num_classes, **vars(self))
