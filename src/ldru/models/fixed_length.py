"""An LDRU in one shape for words of all lengths, for compilers and runtimes of other makers."""

import torch
from torch import Tensor, nn

from ldru.base.errors import LdruError
from ldru.models.ldru import LDRU, LDRUClassifier


class FixedLength(nn.Module):
    """Pads words to one length, so that their trees have one shape: the model's answers, unchanged.

    A tree has a shape for every length, so `torch.compile` compiles a model for each, and an ONNX
    file has one. Of this module one compilation, and one file, serve all lengths up to the largest
    and all batches. The price is the work of the largest for every word.

    model: an `LDRU` [batch, length, dim] -> [batch, dim], or an `LDRUClassifier` [batch, length] ->
        [batch, classes].

    >>> model = ldru.LDRU(dim=8).eval()
    >>> fixed, x = ldru.FixedLength(model, max_length=50), torch.randn(3, 17, 8)
    >>> torch.allclose(fixed(x), model(x), atol=1e-6)
    True
    """

    def __init__(self, model: LDRU | LDRUClassifier, *, max_length: int) -> None:
        super().__init__()
        if not isinstance(model, LDRU | LDRUClassifier):
            raise LdruError(
                f"only the tree of an LDRU has a shape to fix, got {type(model).__name__}; other "
                "models take words of any length as they are"
            )
        if max_length < 1:
            raise LdruError(f"max_length must be at least 1, got {max_length}")
        self.model, self.max_length = model, max_length

    def forward(self, words: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The model's answer: [batch, length, ...] -> [batch, ...]."""
        length = words.shape[1]
        if length > self.max_length:
            raise LdruError(
                f"words have at most {self.max_length} places here, got {length}; the bound is "
                "FixedLength's max_length"
            )
        if lengths is None:
            lengths = torch.full((words.shape[0],), length, device=words.device)
        # The last place again and again: to pad by nothing would be a case of its own.
        places = torch.arange(self.max_length, device=words.device).clamp(max=length - 1)
        return self.model(words.index_select(1, places), lengths)
