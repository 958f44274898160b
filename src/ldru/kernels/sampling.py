"""The words of a whole fleet in one launch, and so the labels of stretches, and the keys of layers.

The plain code they must agree with, to the bit, is `ldru.tasks.walk`, `ldru.base.randomness` and,
for labels, `ldru.training.draws.regular`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels.elements import mix

FIELDS = tl.constexpr(19)
BLOCK = 256  # rows per program of the second kernel


@triton.jit
def _fold(first, second, word):
    """Both words of a key folded with a word, as `ldru.base.randomness.fold`: uint32 -> uint32."""
    return mix(first ^ mix(word + 0x9E3779B9)), mix(second ^ mix(word + 0x7F4A7C15))


@triton.jit
def _load_key(keys_ptr, member, step_ptr, HAS_STEP: tl.constexpr):
    """A member's key, folded with the step if there is one."""
    first = tl.load(keys_ptr + 2 * member).to(tl.uint32, bitcast=True)
    second = tl.load(keys_ptr + 2 * member + 1).to(tl.uint32, bitcast=True)
    if HAS_STEP:
        first, second = _fold(first, second, tl.load(step_ptr).to(tl.uint32))
    return first, second


@triton.jit
def _bits(first, second, index):
    """Words of a key, as `ldru.base.randomness.words`: int32 [...] -> int64 [...]."""
    return mix(index.to(tl.uint32) * (second | 1) + first).to(tl.int64)


@triton.jit
def draw_kernel(
    keys_ptr, step_ptr, plan_ptr, numbers_ptr, quantiles_ptr, scratch_ptr, tokens_ptr, labels_ptr,
    batch, longest,
    HAS_STEP: tl.constexpr, CANDIDATES: tl.constexpr,
):  # fmt: skip
    """One share of one member's batch: all its candidates walk side by side. Grid (shares,).

    plan [shares, FIELDS] says what to draw, in the order in which it is read here; offsets lead
    into `numbers`. Then the wanted candidates go to tokens [M, B, longest] and labels [M, B] first.
    """
    plan = plan_ptr + tl.program_id(0) * FIELDS
    member = tl.load(plan)
    share = tl.load(plan + 1)
    candidates = tl.load(plan + 2)
    count = tl.load(plan + 3)
    begin = tl.load(plan + 4)
    wanted = tl.load(plan + 5)  # a label, or -1 to take them as they come
    length = tl.load(plan + 6)
    symbols = tl.load(plan + 7)
    start = tl.load(plan + 8)
    delta = numbers_ptr + tl.load(plan + 9)
    output = numbers_ptr + tl.load(plan + 10)
    cuts = numbers_ptr + tl.load(plan + 11)
    last_cut_row = tl.load(plan + 12)
    cut_row = tl.load(plan + 13)  # numbers of a row, and of a state in it
    cut_state = tl.load(plan + 14)
    noise = tl.load(plan + 15)  # -1: none
    last_noise_row = tl.load(plan + 16)
    noise_row = tl.load(plan + 17)
    noise_state = tl.load(plan + 18)

    first, second = _load_key(keys_ptr, member, step_ptr, HAS_STEP)
    first, second = _fold(first, second, share.to(tl.uint32))
    uniform_first, uniform_second = _fold(first, second, tl.full((), 0, tl.uint32))
    noise_first, noise_second = _fold(first, second, tl.full((), 1, tl.uint32))
    candidate = tl.arange(0, CANDIDATES)
    there = candidate < candidates
    scratch = scratch_ptr + tl.program_id(0).to(tl.int64) * longest * CANDIDATES + candidate
    state = tl.zeros((CANDIDATES,), dtype=tl.int64) + start
    for place in range(0, length):
        index = place * candidates + candidate
        uniform = _bits(uniform_first, uniform_second, index)
        here = cuts + tl.minimum(place, last_cut_row) * cut_row + state * cut_state
        jitter = tl.zeros((CANDIDATES,), dtype=tl.int64)
        if noise >= 0:
            level = _bits(noise_first, noise_second, index) >> 16
            deviation = tl.load(
                numbers_ptr + noise + tl.minimum(place, last_noise_row) * noise_row
                + state * noise_state
            )  # fmt: skip
            jitter = deviation * tl.load(quantiles_ptr + level) >> 24
        token = tl.zeros((CANDIDATES,), dtype=tl.int64)
        for number in range(0, symbols - 1):
            cut = tl.load(here + number) + jitter
            if noise >= 0:
                cut = tl.minimum(tl.maximum(cut, 0), 4294967296)
            token += (uniform >= cut).to(tl.int64)
        tl.store(scratch + place * CANDIDATES, token.to(tl.int32))
        state = tl.load(delta + state * symbols + token)

    label = tl.load(output + state)
    rank = candidate
    if wanted >= 0:
        is_wanted = (there & (label == wanted)).to(tl.int32)
        is_other = (there & (label != wanted)).to(tl.int32)
        wanted_rank = tl.cumsum(is_wanted, axis=0) - 1
        other_rank = tl.sum(is_wanted, axis=0) + tl.cumsum(is_other, axis=0) - 1
        rank = tl.where(is_wanted != 0, wanted_rank, other_rank)
    kept = there & (rank < count)
    row = member * batch + begin + rank
    tl.store(labels_ptr + row, label, mask=kept)
    for place in range(0, length):
        token = tl.load(scratch + place * CANDIDATES)
        tl.store(tokens_ptr + row * longest + place, token.to(tl.int64), mask=kept)
    for place in range(length, longest):
        tl.store(tokens_ptr + row * longest + place, tl.zeros_like(label), mask=kept)


@triton.jit
def row_keys_kernel(keys_ptr, step_ptr, out_ptr, batch, BLOCK: tl.constexpr):
    """A key for each row of each random layer: [M, 2] -> [layers, M, B, 2].

    Grid (blocks of rows, layers, M).
    """
    member = tl.program_id(2)
    layer = tl.program_id(1)
    first, second = _load_key(keys_ptr, member, step_ptr, True)
    first, second = _fold(first, second, layer.to(tl.uint32))
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first, second = _fold(first, second, row.to(tl.uint32))
    out = out_ptr + ((layer * tl.num_programs(2) + member) * batch + row) * 2
    tl.store(out, first.to(tl.int32, bitcast=True), mask=row < batch)
    tl.store(out + 1, second.to(tl.int32, bitcast=True), mask=row < batch)


def draw(
    keys: Tensor, step: Tensor | None, plan: Tensor, numbers: Tensor, quantiles: Tensor, *,
    batch_size: int, longest: int, most_candidates: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Words and labels of every member: keys [M, 2] -> [M, B, longest], [M, B]."""
    candidates = triton.next_power_of_2(most_candidates)
    tokens = torch.empty(len(keys), batch_size, longest, dtype=torch.int64, device=keys.device)
    labels = torch.empty(len(keys), batch_size, dtype=torch.int64, device=keys.device)
    scratch = torch.empty(len(plan) * longest * candidates, dtype=torch.int32, device=keys.device)
    warps = min(8, max(1, candidates // 64))
    draw_kernel[(len(plan),)](
        keys, keys if step is None else step, plan, numbers, quantiles, scratch, tokens, labels,
        batch_size, longest,
        HAS_STEP=step is not None, CANDIDATES=candidates, num_warps=warps,
    )  # fmt: skip
    return tokens, labels


def row_keys(keys: Tensor, step: Tensor, *, num_layers: int, batch_size: int) -> Tensor:
    """A key for each row of each random layer at a step: [M, 2] -> [layers, M, B, 2]."""
    shape = (num_layers, len(keys), batch_size, 2)
    out = torch.empty(shape, dtype=torch.int32, device=keys.device)
    row_keys_kernel[(triton.cdiv(batch_size, BLOCK), num_layers, len(keys))](
        keys, step, out, batch_size, BLOCK=BLOCK
    )
    return out


@triton.jit
def label_kernel(
    tokens_ptr, begin_ptr, end_ptr, starts_ptr, ways_ptr, labels_ptr, found_ptr,
    symbols, longest, rows,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Run each member's machine over stretches of its words. Grid (row tiles, M).

    tokens [M, symbols]; begin, end, found [M, rows]. The machines are `RegularDraws._machines`.
    """
    member = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = row < rows
    begin = tl.load(begin_ptr + member * rows + row, mask=there, other=0)
    end = tl.load(end_ptr + member * rows + row, mask=there, other=0)
    tokens_ptr += member * symbols
    place = tl.zeros((BLOCK,), dtype=tl.int64) + tl.load(starts_ptr + member)
    for offset in range(0, longest):
        inside = begin + offset < end
        token = tl.load(tokens_ptr + begin + offset, mask=inside, other=0)
        place = tl.where(inside, tl.load(ways_ptr + place + token, mask=inside, other=0), place)
    label = tl.where(begin < end, tl.load(labels_ptr + place), -1)
    tl.store(found_ptr + member * rows + row, label, mask=there)


def label_factors(
    tokens: Tensor, begin: Tensor, end: Tensor, starts: Tensor, ways: Tensor, labels: Tensor
) -> Tensor:
    """As `RegularDraws.label_factors`: [M, B, n], [M, rows] twice, machines -> [M, rows]."""
    (members, rows), longest = begin.shape, tokens.shape[2]
    tokens = tokens.contiguous().flatten(1)
    found = torch.empty(members, rows, dtype=torch.int64, device=tokens.device)
    label_kernel[(triton.cdiv(rows, BLOCK), members)](
        tokens, begin.contiguous(), end.contiguous(), starts, ways, labels, found,
        tokens.shape[1], longest, rows, BLOCK=BLOCK,
    )  # fmt: skip
    return found
