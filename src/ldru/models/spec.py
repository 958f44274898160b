"""The base class of the settings of every architecture."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ldru.base.json import check_kinds, to_json

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """Settings of an architecture: a frozen dataclass that can build its model.

    module: what is built, with the settings as its arguments; or override `build`.

    >>> ldru.MODELS["rnn"]().dim
    256
    """

    module: ClassVar[Callable[..., Any]]

    def __post_init__(self) -> None:
        check_kinds(self)

    def build(self, *, vocab_size: int, num_classes: int) -> "nn.Module":
        """A model of these settings: `model(tokens, lengths=None)` scores the classes."""
        return type(self).module(vocab_size=vocab_size, num_classes=num_classes, **vars(self))

    def is_like(self, other: "ModelSpec") -> bool:
        """Whether both describe one architecture: all but dropout is the same."""
        ours, theirs = to_json(self), to_json(other)
        for settings in (ours, theirs):
            settings.pop("dropout", None)
        return type(self) is type(other) and ours == theirs
