"""Settings of training. They know no task, no model and no PyTorch: they are data."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ldru.base.errors import LdruError
from ldru.base.json import LATER, check_kinds
from ldru.base.labels import TaughtLabels
from ldru.base.limits import check_limit
from ldru.base.precision import Precision

if TYPE_CHECKING:
    import torch

POOL_SIZE = 256
"""Words of one length that a member keeps beside its task's own."""

LARGEST = 1e30
"""Of a weight of the loss: far within float32, which steps are taken in."""

OptimizerName = Literal["amsgrad", "adam", "muon"]
Decay = Literal["none", "cosine", "linear"]
Kept = Literal["last", "average"]


@dataclass(frozen=True, kw_only=True)
class TrainSpec:
    """How a model is trained.

    Args:
        steps: training steps; by default what the paper gives for the task and model.
        learning_rate: after the warm-up; by default what the paper gives for them.
        batch_size: words per step.
        max_length: the longest training word; each batch has one length, uniform on 1..max_length.
            A data set has the words it has.
        optimizer: AMSGrad as optax has it, Adam, or Muon: for the matrices of hidden layers, with
            AMSGrad for all else, at the same rate.
        warmup: share of the steps over which the learning rate rises from 1e-8.
        l2: multiple of every parameter added to its gradient.
        clip: largest norm of a model's whole gradient.
        centralise: subtract from each matrix's gradient its mean over outputs.
        validate_every: steps between two validations.
        validation_words: words of a validation.
        validation_length: their length, where the task draws them.
        precision: tf32 is float32 with products in TF32 on a GPU, as the paper's; float32 and
            float64 are full everywhere.
        weight_decay: share of every parameter, times the learning rate, taken off at each step; it
            does not enter the gradient (as in AdamW).
        associativity: weight of the associativity loss of the model's operator; 0 is none.
        random_trees: share of the steps that reduce every word along a random tree of its own. In
            these steps there is no associativity loss.
        merge_share: share of a level's nodes that such a tree merges in pairs.
        hard_words: share of each batch that are words which the model answers worst (see
            `ldru.training.hard_words`); for tasks that label any word.
        compositions: share of each batch that are words of two stretches whose classes in the
            monoid are any two (see `ldru.tasks.compositions`); with labels of factors or classes,
            since such words need have no label of their own.
        dropout_rise: share of the steps over which dropout rises from 0 to the model's rate.
        decay: of the learning rate after the warm-up, to zero at the last step.
        average: share of the steps over which weights are averaged; 0 keeps no average.
        keep: which weights a run has in the end, and is validated with.
        labels: what a model is told: the labels of words, also those of all their prefixes
            ("prefixes", in steps along the balanced tree), or those of all stretches of words that
            the tree has a node for ("factors"; of ListOps, completed), and by a second head their
            classes in the monoid ("classes"; of ListOps the second head is told the values of
            stretches, and the first those of words alone).
    """

    steps: int | None = None
    learning_rate: float | None = None
    batch_size: int = 256
    max_length: int = 40
    optimizer: OptimizerName = "amsgrad"
    warmup: float = 0.2
    l2: float = 5e-4
    clip: float = 1.0
    centralise: bool = True
    validate_every: int = 1000
    validation_words: int = 1024
    validation_length: int = 500
    precision: Precision = "tf32"
    weight_decay: float = field(default=0.0, metadata=LATER)
    associativity: float = field(default=0.0, metadata=LATER)
    random_trees: float = field(default=0.0, metadata=LATER)
    merge_share: float = field(default=0.3, metadata=LATER)
    hard_words: float = field(default=0.0, metadata=LATER)
    dropout_rise: float = field(default=0.0, metadata=LATER)
    decay: Decay = field(default="none", metadata=LATER)
    average: float = field(default=0.0, metadata=LATER)
    keep: Kept = field(default="last", metadata=LATER)
    labels: TaughtLabels = field(default="words", metadata=LATER)
    compositions: float = field(default=0.0, metadata=LATER)

    def check(self) -> None:
        """Raise on values that no training can use."""
        check_kinds(self)
        sizes = ("batch_size", "max_length", "validate_every")
        for name in (*sizes, "validation_words", "validation_length"):
            if getattr(self, name) < 1:
                raise LdruError(f"{name} must be at least 1, got {getattr(self, name)}")
        self._check_sizes()
        if self.steps is not None and self.steps < 1:
            raise LdruError(f"steps must be at least 1, got {self.steps}")
        if self.learning_rate is not None and not self.learning_rate > 0:
            raise LdruError(f"learning_rate must be positive, got {self.learning_rate}")
        if not 0 <= self.warmup <= 1:
            raise LdruError(f"warmup is a share of the steps in [0, 1], got {self.warmup}")
        for name in ("l2", "weight_decay", "associativity"):
            if not 0 <= getattr(self, name) <= LARGEST:
                raise LdruError(
                    f"{name} must not be negative, nor beyond {LARGEST:g}, got "
                    f"{getattr(self, name)}"
                )
        for name in ("random_trees", "average", "dropout_rise"):
            if not 0 <= getattr(self, name) <= 1:
                raise LdruError(
                    f"{name} is a share of the steps in [0, 1], got {getattr(self, name)}"
                )
        for name in ("hard_words", "compositions"):
            if not 0 <= getattr(self, name) <= 1:
                raise LdruError(
                    f"{name} is a share of each batch in [0, 1], got {getattr(self, name)}"
                )
        if self.hard_words + self.compositions > 1:
            raise LdruError(
                f"hard_words and compositions are shares of one batch, got {self.hard_words} and "
                f"{self.compositions}: give at most 1 together"
            )
        if self.compositions and self.labels not in ("factors", "classes"):
            raise LdruError(
                f"compositions need have no label of their own, so that labels={self.labels!r} has "
                "nothing to tell of them: give labels='factors' or 'classes' too"
            )
        if not 0 < self.merge_share <= 1:
            raise LdruError(
                f"merge_share is a share of the nodes in (0, 1], got {self.merge_share}"
            )
        if self.keep == "average" and not self.average:
            raise LdruError("keep='average' needs an average: give average a share of the steps")
        if self.labels != "words" and self.associativity:
            raise LdruError(
                f"labels={self.labels!r} goes with no associativity loss: give one of them"
            )
        if self.optimizer == "muon" and self.l2:
            raise LdruError(
                f"l2 is no part of a gradient for muon, got {self.l2}: give l2=0, or weight_decay"
            )
        if not self.clip > 0:
            raise LdruError(f"clip must be positive, got {self.clip}")

    def _check_sizes(self) -> None:
        """Raise where a step, or a validation, would take more memory than is meant."""
        for name in ("max_length", "validation_length"):
            check_limit("length", getattr(self, name), name)
        tokens = self.batch_size * self.max_length
        check_limit("batch_tokens", tokens, f"a batch of {self.batch_size:,} words")
        tokens = self.validation_words * self.validation_length
        check_limit("tokens", tokens, f"a validation with {self.validation_words:,} words")
        if self.hard_words or self.compositions:
            tokens = POOL_SIZE * self.max_length**2
            kept = "hard words" if self.hard_words else "compositions"
            check_limit("tokens", tokens, f"keeping {kept} up to {self.max_length:,} symbols")

    @property
    def dtype(self) -> "torch.dtype":
        """The type of weights and activations."""
        from ldru.base.precision import dtype_of

        return dtype_of(self.precision)


def conflicts(first: TrainSpec, second: TrainSpec) -> list[str]:
    """Settings that members of one fleet share, and these two do not.

    Free are steps, learning rate, and how much associativity weighs, if it weighs in both.
    """
    free = {"steps", "learning_rate"}
    if first.associativity and second.associativity:
        free.add("associativity")
    ours, theirs = vars(first), vars(second)
    return [name for name in ours if name not in free and ours[name] != theirs[name]]
