"""Sets of words as padded batches on a device."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from ldru.tasks.batch import PaddedBatch
from ldru.tasks.word_set import WordSet

FINENESS = 16

BATCH_TOKENS = {"cpu": 2**14, "cuda": 2**18}
"""Tokens of a batch, padding included: enough to keep a device busy, of like lengths still."""


class DeviceWords:
    """The words of several sets on a device, numbered through.

    first: the number of each set's first word.
    """

    def __init__(self, sets: Sequence[WordSet], *, device: torch.device | str) -> None:
        sizes = [len(words.tokens) for words in sets]
        begins = [words.offsets[:-1] + sum(sizes[:i]) for i, words in enumerate(sets)]
        counts = [len(words) for words in sets]
        self.first = [sum(counts[:i]) for i in range(len(sets))]
        tokens = np.concatenate([words.tokens for words in sets])
        if tokens.dtype != np.uint8:  # PyTorch indexes no wider unsigned numbers
            tokens = tokens.astype(np.int16 if tokens.max() < 2**15 else np.int32)
        labels = np.concatenate([words.labels for words in sets]).astype(np.int64)
        self.tokens = torch.from_numpy(tokens).to(device)
        self.begins = torch.from_numpy(np.concatenate(begins)).to(device)
        self.lengths = torch.from_numpy(np.concatenate([w.lengths for w in sets])).to(device)
        self.labels = torch.from_numpy(labels).to(device)

    def padded(self, numbers: Tensor, *, length: int) -> PaddedBatch:
        """Words by number, none of which is longer than `length`: [...] -> [..., length]."""
        lengths = self.lengths[numbers]
        place = torch.arange(length, device=numbers.device)
        places = (self.begins[numbers][..., None] + place).clamp(max=len(self.tokens) - 1)
        tokens = self.tokens[places].long()
        tokens = torch.where(place < lengths[..., None], tokens, 0)
        return PaddedBatch(tokens, self.labels[numbers], lengths)


def padded_length(length: int) -> int:
    """The length that words of up to a length are padded to: one of a few, not much longer.

    A captured training step is made for each. Up to 32 it is the length itself, above a multiple of
    a sixteenth of the power of two below, so that less than a sixteenth is added.
    """
    step = max(1, 2 ** (length.bit_length() - 1) // FINENESS)
    return -(-length // step) * step


def batches_by_length(words: WordSet, *, device: torch.device | str) -> Iterator[PaddedBatch]:
    """All words of a set, short ones first, in batches of like lengths."""
    tokens = BATCH_TOKENS.get(torch.device(device).type, BATCH_TOKENS["cpu"])
    on_device = DeviceWords([words], device=device)
    order = np.argsort(words.lengths, kind="stable")
    lengths = words.lengths[order]
    begin = 0
    while begin < len(order):
        end = begin + 1
        while end < len(order) and int(lengths[end]) * (end - begin + 1) <= tokens:
            end += 1
        rows = torch.from_numpy(order[begin:end]).to(device)
        yield on_device.padded(rows, length=int(lengths[end - 1]))
        begin = end
