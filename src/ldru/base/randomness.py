"""Random bits as a function of what they are for, the same on every device.

A key names a purpose: it starts from a seed and is folded with a stream, a step, a row. The bits
of a key are a hash of their index, so nothing has to be remembered between draws: a member of a
fleet does not depend on its neighbours, a resumed run needs only its step number, and a captured
CUDA graph holds no generator state.

A key is an int32 tensor [..., 2]; leading axes are independent keys. Two words are kept because
one would make the bit sequences of two keys shifted copies of each other. All arithmetic is
modulo 2**32 on int32, where PyTorch has no unsigned multiply.
"""

from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache

import torch
from torch import Tensor

WORD = 2**32


class Stream(IntEnum):
    """The purpose of a key. Its numbers are part of every run's data: append, never renumber."""

    WEIGHTS = 0
    TOKENS = 1
    DROPOUT = 2
    LENGTH = 3
    VALIDATION = 4
    TEST = 5
    USER = 6
    ORDER = 7
    TREES = 8
    HARD = 9
    COMPOSED = 10


def seed_key(seeds: int | Sequence[int], *, device: torch.device | str = "cpu") -> Tensor:
    """The root key of a seed, or of several: [2] or [seeds, 2]."""
    words = torch.as_tensor(seeds, dtype=torch.int64, device=device)
    root = torch.tensor([0x243F6A88, 0x13198A2E], dtype=torch.int32, device=device)
    return fold(fold(root.expand(*words.shape, 2), words), words >> 32)


def fold(key: Tensor, word: int | Tensor) -> Tensor:
    """The key for one part of a key's purpose: [..., 2], word [...] -> [..., 2]."""
    offsets = _offsets(key.device)
    if isinstance(word, Tensor):
        return _mix(key ^ _mix(word.to(torch.int32)[..., None] + offsets))  # keeps the low bits
    return _mix(key ^ _mix(offsets + signed(word)))


def bits(key: Tensor, count: int, *, begin: int = 0) -> Tensor:
    """`count` words of a key from a place on: [..., 2] -> int32 [..., count], any value alike."""
    index = torch.arange(begin, begin + count, dtype=torch.int32, device=key.device)
    # An odd multiplier of the key's own, so that no two keys walk the same sequence.
    return _mix(index * (key[..., 1:] | 1) + key[..., :1])


def beginning_at(key: Tensor, place: Tensor) -> Tensor:
    """The key whose bits are those of another from a place on: [..., 2], [...] -> [..., 2]."""
    first, second = key.unbind(dim=-1)
    first = first + place.to(torch.int32) * (second | 1)
    return torch.stack([first, second.expand_as(first)], dim=-1)


def words(key: Tensor, shape: Sequence[int]) -> Tensor:
    """Uniform integers in [0, 2**32): key [..., 2] -> int64 [..., *shape]."""
    count = 1
    for size in shape:
        count *= size
    return (bits(key, count).to(torch.int64) & (WORD - 1)).reshape(*key.shape[:-1], *shape)


def below(key: Tensor, limit: int, shape: Sequence[int]) -> Tensor:
    """Uniform integers in [0, limit): key [..., 2] -> int64 [..., *shape]; limit below 2**31."""
    return (words(key, shape) * limit) >> 32


def signed(word: int) -> int:
    """The int32 value with the same 32 bits."""
    return (word + 2**31) % WORD - 2**31


@lru_cache(maxsize=8)
def _offsets(device: torch.device) -> Tensor:
    """Offsets that set the two words of a key apart."""
    pair = [signed(0x9E3779B9), signed(0x7F4A7C15)]
    return torch.tensor(pair, dtype=torch.int32, device=device)


def _mix(x: Tensor) -> Tensor:
    """Scramble 32-bit words: two rounds of xor-shift and multiply, each input bit reaches all."""
    x = (x ^ ((x >> 16) & 0xFFFF)) * signed(0x7FEB352D)
    x = (x ^ ((x >> 15) & 0x1FFFF)) * signed(0x846CA68B)
    return x ^ ((x >> 16) & 0xFFFF)
