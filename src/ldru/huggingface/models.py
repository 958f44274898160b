"""Settings and models for transformers, registered with its Auto classes."""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.base.errors import LdruError, MissingExtraError
from ldru.base.limits import check_sizes
from ldru.layers.embedding import Embedding
from ldru.layers.linear import Linear
from ldru.models.ldru import LDRU
from ldru.tasks.text.wordpiece import VOCAB_SIZE

try:
    from transformers import (
        AutoConfig,
        AutoModel,
        AutoModelForSequenceClassification,
        PretrainedConfig,
        PreTrainedModel,
    )
    from transformers.modeling_outputs import BaseModelOutputWithPooling, SequenceClassifierOutput
except ImportError as problem:
    raise MissingExtraError(package="transformers", extra="text") from problem

SINGLE_LABEL = "single_label_classification"


class LDRUConfig(PretrainedConfig):
    """Settings of an LDRU; see `LDRUSpec`.

    associativity: weight of the associativity loss, added to the loss in training.
    """

    model_type = "ldru"
    attribute_map: ClassVar[dict[str, str]] = {"hidden_size": "dim"}

    def __init__(
        self,
        *,
        vocab_size: int = VOCAB_SIZE,
        dim: int = 256,
        operator: str = "mlp",
        dropout: float = 0.01,
        activation: str = "silu",
        gates: str = "centred",
        embedding_std: float = 0.02,
        leaf_block: bool = False,
        backend: str = "auto",
        associativity: float = 0.0,
        pad_token_id: int | None = 0,
        **others: object,
    ) -> None:
        self.vocab_size, self.dim, self.operator = vocab_size, dim, operator
        self.dropout, self.activation, self.leaf_block = dropout, activation, leaf_block
        self.gates, self.embedding_std = gates, embedding_std
        self.backend, self.associativity = backend, associativity
        super().__init__(pad_token_id=pad_token_id, **others)


class LDRUPreTrainedModel(PreTrainedModel):
    """The base of both models: their settings, and weights drawn as the paper draws them."""

    config_class = LDRUConfig
    base_model_prefix = "ldru"
    supports_gradient_checkpointing = True

    def _init_weights(self, module: nn.Module) -> None:
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()  # type: ignore[operator]


class LDRUModel(LDRUPreTrainedModel):
    """Embeddings and the encoder: token numbers [batch, length] -> `pooler_output` [batch, dim]."""

    def __init__(self, config: LDRUConfig) -> None:
        super().__init__(config)
        check_sizes(vocab_size=config.vocab_size)
        if not config.associativity >= 0:
            raise LdruError(f"associativity must not be negative, got {config.associativity}")
        self.embedding: nn.Module = Embedding(
            config.vocab_size, config.dim, std=config.embedding_std
        )
        self.encoder = LDRU(
            dim=config.dim,
            operator=config.operator,
            dropout=config.dropout,
            activation=config.activation,
            gates=config.gates,
            leaf_block=config.leaf_block,
            backend=config.backend,
        )
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.embedding = value

    def embed(
        self,
        input_ids: Tensor | None,
        attention_mask: Tensor | None,
        inputs_embeds: Tensor | None,
    ) -> tuple[Tensor, Tensor | None]:
        """Vectors of words for the encoder [batch, length, dim], and their lengths [batch].

        By the law of padding a state is that of the tokens under the mask alone, wherever they
        stand.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise LdruError("give input_ids or inputs_embeds, one of them")
        lengths = None
        given = inputs_embeds if input_ids is None else input_ids
        assert given is not None
        if attention_mask is not None:
            if attention_mask.shape != given.shape[:2]:
                raise LdruError(
                    f"the attention mask says of each token whether it counts: expected "
                    f"{list(given.shape[:2])}, got {list(attention_mask.shape)}"
                )
            order, lengths = tokens_first(attention_mask)
            if input_ids is not None:
                input_ids = input_ids.gather(1, order)
                is_token = torch.arange(order.shape[1], device=order.device) < lengths[:, None]
                input_ids = torch.where(is_token, input_ids, 0)
            else:
                assert inputs_embeds is not None
                inputs_embeds = inputs_embeds.take_along_dim(order[..., None], dim=1)
        x = self.embedding(input_ids) if inputs_embeds is None else inputs_embeds
        return x, lengths

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> BaseModelOutputWithPooling | tuple[Tensor, Tensor]:
        """Encode words; `last_hidden_state` is the one state that is left [batch, 1, dim].

        token_type_ids: taken, since tokenisers give them, and not used.
        """
        check_outputs(output_attentions, output_hidden_states)
        root = self.encoder(*self.embed(input_ids, attention_mask, inputs_embeds))
        if return_dict is False:
            return root[:, None], root
        return BaseModelOutputWithPooling(last_hidden_state=root[:, None], pooler_output=root)


class LDRUForSequenceClassification(LDRUPreTrainedModel):
    """The encoder with a linear head; `config.num_labels` classes."""

    def __init__(self, config: LDRUConfig) -> None:
        super().__init__(config)
        if config.num_labels < 2 or config.problem_type not in (None, SINGLE_LABEL):
            raise LdruError(
                f"this head tells two or more classes apart, one label a text; got num_labels "
                f"{config.num_labels} and problem_type {config.problem_type!r}"
            )
        self.num_labels = config.num_labels
        self.ldru = LDRUModel(config)
        self.head = Linear(config.dim, config.num_labels)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> SequenceClassifierOutput | tuple[Tensor, ...]:
        """Score the classes: [batch, length] -> `logits` [batch, classes], `loss` with labels.

        token_type_ids: taken, since tokenisers give them, and not used.
        """
        check_outputs(output_attentions, output_hidden_states)
        is_weighed = labels is not None and self.training and self.config.associativity > 0
        words = self.ldru.embed(input_ids, attention_mask, inputs_embeds)
        if is_weighed:
            root, lost = self.ldru.encoder.forward_with_associativity(*words)
        else:
            root, lost = self.ldru.encoder(*words), None
        logits = self.head(root)
        loss = None
        if labels is not None:
            loss = functional.cross_entropy(logits, labels)
            if lost is not None:
                loss = loss + self.config.associativity * lost.mean()
        if return_dict is False:
            return (logits,) if loss is None else (loss, logits)
        return SequenceClassifierOutput(loss=loss, logits=logits)


AutoConfig.register("ldru", LDRUConfig)
AutoModel.register(LDRUConfig, LDRUModel)
AutoModelForSequenceClassification.register(LDRUConfig, LDRUForSequenceClassification)


def check_outputs(attentions: bool | None, hidden_states: bool | None) -> None:
    """Raise where more is asked for than an LDRU has."""
    if attentions or hidden_states:
        raise LdruError(
            "an LDRU has no attentions, and no state of every token; the nodes of its tree are "
            "what `model.ldru.encoder.levels(x, lengths)` gives"
        )


def tokens_first(mask: Tensor) -> tuple[Tensor, Tensor]:
    """The order that puts the tokens under a mask first, and how many: [batch, length], [batch]."""
    is_padding = mask == 0
    return is_padding.to(torch.int8).argsort(dim=1, stable=True), (~is_padding).sum(dim=1)
