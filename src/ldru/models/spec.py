"""What the settings of every architecture have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

from torch import nn

from ldru.config import to_json


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """Settings of an architecture: a frozen dataclass that can build its model.

    module: what is built, with the settings as its arguments.
    learning_rate: the paper's for this architecture on regular tasks, where it is not the task's.
    paper_parameters: the total that the paper prints.
    note: why ours is another, where it is.
    """

    module: ClassVar[Callable[..., nn.Module]]
    learning_rate: ClassVar[float | None] = None
    paper_parameters: ClassVar[int | None] = None
    note: ClassVar[str] = ""

    def build(self, *, vocab_size: int, num_classes: int) -> nn.Module:
        """A model of these settings: `model(tokens, lengths=None)` scores the classes."""
        return type(self).module(vocab_size=vocab_size, num_classes=num_classes, **vars(self))

    def is_like(self, other: "ModelSpec") -> bool:
        """Whether both describe one architecture: all but dropout is the same."""
        ours, theirs = to_json(self), to_json(other)
        for settings in (ours, theirs):
            settings.pop("dropout", None)
        return type(self) is type(other) and ours == theirs

    def resolved(self, *, dropout: float) -> Self:
        """The same with the task's dropout rate, where the architecture takes it from the task."""
        return self
