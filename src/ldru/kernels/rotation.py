"""Turn queries and keys by the angles of their places in one launch: rotary positions.

Written with PyTorch's own functions, a turn passes some ten times over queries and keys, and these
lie apart from the values. Here they stay side by side, as `ldru.kernels.attention` takes them, and
each number is read and written once. The plain code is `ldru.models.positions.rotate`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

NUMBERS = 2048  # of a program, about


@triton.jit
def turn_kernel(
    packed_ptr, cosine_ptr, sine_ptr, out_ptr, rows, length, words_alike,
    DIM: tl.constexpr, WIDTH: tl.constexpr, PAIRS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Some rows: query, key and value of one place. Neighbouring channels are a pair."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]).to(tl.int64)
    pair = tl.arange(0, PAIRS)[None, :]
    is_there = (row < rows) & (2 * pair < 3 * DIM)
    place = row // length // words_alike * length + row % length
    angle = place * (WIDTH // 2) + pair % (WIDTH // 2)
    is_turned = is_there & (2 * pair < 2 * DIM)  # values stay as they are
    cosine = tl.load(cosine_ptr + angle, mask=is_turned, other=1.0)
    sine = tl.load(sine_ptr + angle, mask=is_turned, other=0.0)
    channel = row * (3 * DIM) + 2 * pair
    first = tl.load(packed_ptr + channel, mask=is_there)
    second = tl.load(packed_ptr + channel + 1, mask=is_there)
    tl.store(out_ptr + channel, first * cosine - second * sine, mask=is_there)
    tl.store(out_ptr + channel + 1, first * sine + second * cosine, mask=is_there)


def turn(packed: Tensor, angles: Tensor) -> Tensor:
    """Queries and keys turned, values as they are: [words, length, 3, heads, width] -> the same.

    angles: [some, length, width / 2]; as many words in a row share the first angles, the second...
    """
    packed = packed.contiguous()
    words, length, _, heads, width = packed.shape
    out = torch.empty_like(packed)
    cosine, sine = (part.to(packed.dtype).contiguous() for part in (angles.cos(), angles.sin()))
    rows, pairs = words * length, triton.next_power_of_2(3 * heads * width // 2)
    block = max(1, NUMBERS // (2 * pairs))
    turn_kernel[(triton.cdiv(rows, block),)](
        packed, cosine, sine, out, rows, length, words // len(angles),
        DIM=heads * width, WIDTH=width, PAIRS=pairs, ROWS=block,
    )  # fmt: skip
    return out
