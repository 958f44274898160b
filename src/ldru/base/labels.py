"""Labels of whole words, or of every prefix of them."""

from typing import Literal, get_args

from ldru.base.errors import LdruError

Labels = Literal["words", "prefixes"]
TaughtLabels = Literal["words", "prefixes", "factors", "classes"]
"""What a training can be told: also the labels of stretches anywhere in its words, and what they
mean, by a head of their own: their classes in the monoid of the language."""


def check_labels(labels: str) -> None:
    """Raise unless it is one of them."""
    if labels not in get_args(Labels):
        raise LdruError(f"labels is one of {', '.join(get_args(Labels))}, got {labels!r}")
