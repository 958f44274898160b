"""Dropout by keys for a whole fleet, in one launch each way.

The plain code it must agree with is `ldru.layers.dropout.Dropout`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels.elements import mix

ELEMENTS = 1024  # of a program


@triton.jit
def dropout_kernel(
    x_ptr, keys_ptr, cut_ptr, scale_ptr, out_ptr, words, count, begin, ELEMENTS: tl.constexpr
):
    """x [M, words, count], keys [M, words, 2], cut [M], scale [M] -> [M, words, count].

    begin: the place of a word's first element in the bits of its key. Grid (M words, blocks).
    """
    word = tl.program_id(0).to(tl.int64)
    member = word // words
    element = tl.program_id(1) * ELEMENTS + tl.arange(0, ELEMENTS)
    there = element < count
    first = tl.load(keys_ptr + 2 * word).to(tl.uint32, bitcast=True)
    second = tl.load(keys_ptr + 2 * word + 1).to(tl.uint32, bitcast=True)
    index = (begin + element).to(tl.uint32, bitcast=True)
    bits = mix(index * (second | 1) + first).to(tl.int32, bitcast=True)
    factor = tl.where(bits >= tl.load(cut_ptr + member), tl.load(scale_ptr + member), 0.0)
    x = tl.load(x_ptr + word * count + element, mask=there, other=0.0)
    tl.store(out_ptr + word * count + element, x * factor, mask=there)


def drop(x: Tensor, keys: Tensor, cut: Tensor, scale: Tensor, *, begin: int) -> Tensor:
    """[M, words, count], [M, words, 2], [M], [M] -> [M, words, count]."""
    members, words, count = x.shape
    x, out = x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format)
    dropout_kernel[(members * words, triton.cdiv(count, ELEMENTS))](
        x, keys.contiguous(), cut, scale, out, words, count, begin, ELEMENTS=ELEMENTS
    )
    return out
