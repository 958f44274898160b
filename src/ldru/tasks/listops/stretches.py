"""Values of stretches of ListOps expressions: what a node of a tree stands for, completed.

Most stretches of an expression are none: `9 3 ] [MAX 2` closes a list that it did not open, and
opens one that it does not close. Completed it is one: lists that are left open end with it, and
what stands loose, or in a list that began before, is summed up (SM). A list without arguments
counts for nothing. So a whole expression has its own value.
"""

import torch
from torch import Tensor

from ldru.tasks.listops.expressions import END, FIRST_OPERATOR, OPERATORS

SUM = OPERATORS.index("[SM")
NOTHING = -1
"""A token behind the end of a stretch, and the value of one without digits."""


def stretch_values(tokens: Tensor, begin: Tensor, end: Tensor, *, most_open: int) -> Tensor:
    """The values of stretches of padded words, -1 where there is none: [..., rows].

    All of them are read one token further at a time. A stretch keeps, for each list that is open,
    its operator and how often it has seen each digit; the outermost "list" has what stands loose.

    tokens: [..., batch, length]; begin, end: places among all tokens [..., rows], the same where
        there is no stretch.
    most_open: how many lists may be open at once; deeper ones are not read.

    >>> tokens = torch.tensor([[10, 2, 9, 11, 4, 7, 14, 14]])  # [MAX 2 9 [MIN 4 7 ] ]
    >>> stretch_values(tokens, torch.tensor([0, 1, 3]), torch.tensor([8, 5, 8]), most_open=2)
    tensor([9, 5, 4])
    """
    flat, begin, end = tokens.flatten(-2), begin.long(), end.long()
    frames = torch.arange(most_open + 1, device=tokens.device)
    digits = torch.arange(10, device=tokens.device)
    depth = torch.zeros_like(begin)
    operators = torch.full((*begin.shape, most_open + 1), SUM, device=tokens.device)
    counts = torch.zeros(*begin.shape, most_open + 1, 10, device=tokens.device)
    for offset in range(tokens.shape[-1]):
        place = begin + offset
        token = flat.gather(-1, place.clamp(max=flat.shape[-1] - 1))
        token = torch.where(place < end, token, NOTHING)
        opens, closes = (token >= FIRST_OPERATOR) & (token < END), token == END
        here = (frames == depth[..., None]).to(counts.dtype)
        closed = (counts * here[..., None]).sum(dim=-2)
        value = _values((operators * here).sum(dim=-1), closed)
        counts = counts * (1 - here * closes[..., None])[..., None]
        depth = (depth + opens.long() - closes.long()).clamp(min=0)
        is_here = frames == depth[..., None]
        operator = (token - FIRST_OPERATOR)[..., None]
        operators = torch.where(is_here & opens[..., None], operator, operators)
        value = torch.where(closes, value, torch.where(token < FIRST_OPERATOR, token, NOTHING))
        counts = counts + is_here[..., None] * (digits == value[..., None])[..., None, :]
    for frame in range(most_open, 0, -1):  # what is left open ends, innermost lists first
        value = _values(operators[..., frame], counts[..., frame, :])
        outer = counts[..., frame - 1, :] + (digits == value[..., None])
        counts = torch.cat([counts[..., : frame - 1, :], outer[..., None, :]], dim=-2)
    return _values(torch.full_like(begin, SUM), counts[..., 0, :])


def _values(operators: Tensor, counts: Tensor) -> Tensor:
    """The values of lists, from how often each digit stands in them; -1 of an empty one.

    operators: [...], counts: [..., 10].
    """
    digits = torch.arange(10, device=counts.device, dtype=counts.dtype)
    total = counts.sum(dim=-1, keepdim=True)
    up_to = counts.cumsum(dim=-1)

    def at(rank: Tensor) -> Tensor:
        """The digit of a rank, counted from 0."""
        return (up_to <= rank).sum(dim=-1)

    largest, smallest = at(total - 1), at(torch.zeros_like(total))
    median = (at((total - 1).div(2, rounding_mode="floor")) + at((total / 2).floor())) // 2
    sums = (counts * digits).sum(dim=-1).remainder(10).long()
    found = torch.stack([largest, smallest, median, sums], dim=-1)
    value = found.gather(-1, operators.long()[..., None])[..., 0]
    return torch.where(total[..., 0] > 0, value, NOTHING)
