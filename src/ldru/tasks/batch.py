"""Words with their labels, as tensors."""

from typing import NamedTuple

from torch import Tensor


class Batch(NamedTuple):
    """Words of one length with their labels: [batch, length], [batch].

    Where every prefix is labelled, labels are [batch, length].

    >>> draws = torch.Generator().manual_seed(0)
    >>> tokens, labels = ldru.task("dyck_2").sample(batch_size=4, length=6, generator=draws)
    >>> tokens.shape, labels.shape
    (torch.Size([4, 6]), torch.Size([4]))
    """

    tokens: Tensor
    labels: Tensor


class PaddedBatch(NamedTuple):
    """Words that may differ in length: tokens [..., batch, length], labels [..., batch].

    lengths: [..., batch] where words are padded, None where all are of one length. Leading axes are
        the members of a fleet.
    """

    tokens: Tensor
    labels: Tensor
    lengths: Tensor | None
