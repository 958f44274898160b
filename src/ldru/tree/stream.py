"""Reduce words while they come: a stream holds one node for each one in the binary number of t.

After t elements, the nodes of the balanced tree that no later element can change are the full ones,
and the largest of them stand one after the other as the ones of t do in binary. A new element is a
node of height 0. Two neighbours of one height become a node of the next: adding one with carry.
The value of the word is what the tree makes of these nodes, from the last to the first.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from ldru.base.errors import LdruError
from ldru.tree.reduce import check_functions
from ldru.tree.reference import Combine, Finish

Rise = Callable[[Tensor], Tensor]


class TreeStream:
    """Words of a batch that grow, and their reductions at any time.

    `push` takes elements one at a time or in chunks, `value` is what `tree_reduce` gives for all
    elements so far. Rows may be of different lengths. About log2 of the length states are held for
    each, and nothing for a backward pass.

    >>> stream = ldru.TreeStream(torch.add)
    >>> stream.push(torch.tensor([[1.0]])).push(torch.tensor([[[2.0], [3.0]]])).value().tolist()
    [[6.0]]
    >>> stream.lengths
    [3]
    """

    def __init__(
        self,
        combine: Combine,
        finish: Finish | None = None,
        *,
        batch: int = 1,
        rise: Rise | None = None,
        state: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Begin with empty words, or go on from a state.

        combine, finish: as for `tree_reduce`.
        rise: what happens to a node that rises alone, if that is not `finish`.
        state: as `state` gave it.
        """
        check_functions(combine, finish)
        if type(batch) is not int or batch < 1:
            raise LdruError(f"a stream has at least one word, got a batch of {batch!r}")
        self._combine, self._finish = combine, finish
        self._rise = finish if rise is None else rise
        self.lengths = [0] * batch
        self._nodes: list[Tensor] = []  # by height [batch, dim]; a row has one where its bit is set
        if state is not None:
            self._restore(state)

    @torch.no_grad()
    def push(self, elements: Tensor, lengths: Tensor | Sequence[int] | None = None) -> "TreeStream":
        """Append elements to the words: one each [batch, dim], or a chunk [batch, count, dim].

        lengths: how many of the chunk belong to each row [batch]; none is allowed here.
        """
        elements = self._chunk(elements)
        counts = self._counts(lengths, most=elements.shape[1])
        self.push_nodes(elements[:, : max(counts)], counts, height=0)
        return self

    @torch.no_grad()
    def value(self) -> Tensor:
        """The reduction of each word so far: [batch, dim]."""
        if not all(self.lengths):
            raise LdruError(
                "the empty word has no reduction: push at least one element to every row first "
                f"(lengths are {_shown(self.lengths)})"
            )
        if len(set(self.lengths)) == 1:
            return self._value_of_equal()
        return self._value_of_unequal()

    def state(self) -> dict[str, Tensor]:
        """All that a stream holds, as tensors: `state=` of a new stream goes on from here."""
        if not self._nodes:
            return {"lengths": torch.tensor(self.lengths)}
        return {"lengths": torch.tensor(self.lengths), "nodes": torch.stack(self._nodes)}

    def push_nodes(self, nodes: Tensor, counts: list[int], *, height: int) -> None:
        """Append nodes that are that high already; the words' lengths must be multiples of that.

        nodes: [batch, most, dim], of which each row has its count.
        """
        before = self.lengths
        assert not any(length % 2**height for length in before)
        self.lengths = [
            length + (count << height) for length, count in zip(before, counts, strict=True)
        ]
        is_equal = len(set(before)) == 1 and len(set(counts)) == 1
        while any(counts):
            waiting = [length >> height & 1 for length in before]
            while len(self._nodes) <= height:
                self._nodes.append(torch.zeros_like(nodes[:, 0]))
            if is_equal:
                nodes = self._up_equal(nodes, waiting[0], height)
            else:
                nodes = self._up_unequal(nodes, counts, waiting, height)
            counts = [(bit + count) // 2 for bit, count in zip(waiting, counts, strict=True)]
            height += 1

    def _up_equal(self, nodes: Tensor, waiting: int, height: int) -> Tensor:
        """Pair what waits at a height and what comes; an odd one waits on."""
        if waiting:
            nodes = torch.cat([self._nodes[height][:, None], nodes], dim=1)
        pairs = nodes.shape[1] // 2
        if nodes.shape[1] % 2:
            self._nodes[height] = nodes[:, -1].clone()  # not a view of the whole chunk
        return self._merged(nodes[:, 0 : 2 * pairs : 2], nodes[:, 1 : 2 * pairs : 2])

    def _up_unequal(
        self, nodes: Tensor, counts: list[int], waiting: list[int], height: int
    ) -> Tensor:
        device, most = nodes.device, max(counts)
        has = torch.tensor(waiting, device=device)
        total = has + torch.tensor(counts, device=device)
        every = torch.cat([self._nodes[height].to(nodes.dtype)[:, None], nodes[:, :most]], dim=1)
        # A row in which nothing waits begins with what comes. Behind its end stands its last.
        place = torch.arange(most + most % 2 + 1, device=device) + (1 - has)[:, None]
        last = (total - has)[:, None]
        every = every.take_along_dim(place.minimum(last)[..., None], dim=1)
        odd = (total % 2 == 1)[:, None]
        end = (total - 1).clamp(min=0)[:, None, None]
        self._nodes[height] = torch.where(
            odd, every.take_along_dim(end, dim=1)[:, 0], self._nodes[height].to(nodes.dtype)
        )
        pairs = int(total.max()) // 2
        return self._merged(every[:, 0 : 2 * pairs : 2], every[:, 1 : 2 * pairs : 2])

    def _merged(self, left: Tensor, right: Tensor) -> Tensor:
        if left.shape[1] == 0:
            return left
        if left.shape[1] == 1:  # layers are quicker on two axes
            return self._merged_rows(left[:, 0], right[:, 0])[:, None]
        return self._merged_rows(left, right)

    def _merged_rows(self, left: Tensor, right: Tensor) -> Tensor:
        merged = self._combine(left, right)
        return merged if self._finish is None else self._finish(merged)

    def _value_of_equal(self) -> Tensor:
        length = self.lengths[0]
        depth = (length - 1).bit_length()
        if length == 2**depth:
            return self._nodes[depth]
        tail: Tensor | None = None
        for height in range(depth):
            if length >> height & 1:
                if tail is not None:
                    tail = self._merged(self._nodes[height][:, None], tail)
                    continue
                tail = self._nodes[height][:, None]
            if tail is not None and self._rise is not None:
                tail = self._rise(tail)
        assert tail is not None
        return tail[:, 0]

    def _value_of_unequal(self) -> Tensor:
        """Every row goes by its own bits."""
        lengths = torch.tensor(self.lengths, device=self._nodes[0].device)[:, None, None]
        tail = self._nodes[0][:, None]
        has_tail = torch.zeros_like(lengths, dtype=torch.bool)
        for height, nodes in enumerate(self._nodes):
            node = nodes[:, None]
            bit = (lengths >> height) % 2 == 1
            alone = torch.where(bit & ~has_tail, node, tail)
            risen = alone if self._rise is None else self._rise(alone)
            # A word that this height is enough for has its root.
            risen = torch.where(lengths > 2**height, risen, alone)
            tail = torch.where(bit & has_tail, self._merged(node, tail), risen)
            has_tail = has_tail | bit
        return tail[:, 0]

    def _chunk(self, elements: Tensor) -> Tensor:
        """Elements as [batch, count, dim], or an error that says what was expected."""
        batch = len(self.lengths)
        chunk = elements[:, None] if elements.ndim == 2 else elements
        if chunk.ndim != 3 or len(chunk) != batch:
            raise LdruError(
                f"a stream of {batch} words takes [{batch}, dim] or [{batch}, count, dim], got "
                f"{list(elements.shape)}"
            )
        if self._nodes and chunk.shape[2] != self._nodes[0].shape[1]:
            raise LdruError(
                f"the elements of this stream have width {self._nodes[0].shape[1]}, got "
                f"{chunk.shape[2]}"
            )
        return chunk

    def _counts(self, lengths: Tensor | Sequence[int] | None, *, most: int) -> list[int]:
        batch = len(self.lengths)
        if lengths is None:
            return [most] * batch
        counts = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
        if len(counts) != batch or not all(
            isinstance(count, int) and 0 <= count <= most for count in counts
        ):
            raise LdruError(
                f"lengths of a chunk are {batch} whole numbers from 0 to {most}, got {counts}"
            )
        return counts

    def _restore(self, state: Mapping[str, Tensor]) -> None:
        lengths = state["lengths"].tolist() if "lengths" in state else []
        heights = max(lengths, default=0).bit_length()
        nodes = state["nodes"] if heights and "nodes" in state else torch.zeros(0, len(lengths), 0)
        if not lengths or min(lengths) < 0 or nodes.shape[:2] != (heights, len(lengths)):
            given = {name: list(part.shape) for name, part in state.items()}
            raise LdruError(
                "the state of a stream has 'lengths' [batch] and 'nodes' [heights, batch, dim] "
                f"that belong together, got {given}"
            )
        self.lengths, self._nodes = lengths, list(nodes)


def _shown(lengths: list[int]) -> str:
    return str(lengths) if len(lengths) <= 8 else f"{str(lengths[:8])[:-1]}, ...]"
