"""Words that hold their trees: after an edit only the nodes above it are computed again.

`TreeWord` keeps the balanced tree of `tree_reduce`. There, an insertion in the middle moves every
pair behind it. `Rope` allows it: its tree is a search tree that rotates, so that the brackets
depend on the edits that were made.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from ldru.base.errors import LdruError
from ldru.tree.reduce import check_words
from ldru.tree.reference import Combine, Finish


class TreeWord:
    """A word that can be edited, and its value in the balanced tree: [length, dim] -> [dim].

    The value is always that of `tree_reduce` for the whole word. An edit of k elements computes
    about 2 k + log2(length) nodes. Nothing is kept for a backward pass.

    >>> word = ldru.TreeWord(torch.add, torch.tensor([[1.0], [2.0], [4.0]]))
    >>> word.set(1, torch.tensor([30.0]))
    >>> word.append(torch.tensor([[100.0], [200.0]]))
    >>> word.value(), word.pop(3), word.value()
    (tensor([335.]), None, tensor([31.]))
    """

    def __init__(self, combine: Combine, x: Tensor, finish: Finish | None = None) -> None:
        _check_elements(combine, x, finish)
        self._combine, self._finish = combine, finish
        self._length = len(x)
        self._levels = [x.detach().clone()]  # each with room to grow
        self._climb(0, len(x))

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"TreeWord(length={len(self)}, dim={self._levels[0].shape[1]})"

    def value(self) -> Tensor:
        """The reduction of the whole word: [dim]."""
        return self._levels[(self._length - 1).bit_length()][0].clone()

    def elements(self) -> Tensor:
        """The word: [length, dim]."""
        return self._levels[0][: self._length].clone()

    def set(self, index: int, element: Tensor) -> None:
        """Put another element [dim] at a place; negative places count from the end."""
        place = index + self._length if index < 0 else index
        if not 0 <= place < self._length:
            raise LdruError(f"the word has {self._length} elements, there is no place {index}")
        self.replace(place, element[None])

    def replace(self, start: int, elements: Tensor) -> None:
        """Put others [count, dim] for the elements from a place on."""
        stop = start + len(elements)
        if not 0 <= start <= stop <= self._length:
            raise LdruError(
                f"the word has {self._length} elements, there are no places {start} to {stop - 1}"
            )
        self._write(start, elements)

    def append(self, elements: Tensor) -> None:
        """Insert elements [count, dim] at the end."""
        self._write(self._length, elements)

    def pop(self, count: int = 1) -> None:
        """Delete elements at the end; one must stay."""
        if not 0 <= count < self._length:
            raise LdruError(
                f"of {self._length} elements 0 to {self._length - 1} can be deleted, got {count}; "
                "the empty word has no reduction"
            )
        self._length -= count
        self._climb(self._length - 1, self._length)

    def _write(self, start: int, elements: Tensor) -> None:
        width = self._levels[0].shape[1]
        if elements.ndim != 2 or elements.shape[1] != width:
            raise LdruError(f"expected elements [count, {width}], got {list(elements.shape)}")
        stop = start + len(elements)
        self._put(0, start, elements.detach())
        self._length = max(self._length, stop)
        self._climb(start, stop)

    @torch.no_grad()
    def _climb(self, start: int, stop: int) -> None:
        """Compute all nodes above the leaves of a range, and above the word's end within it."""
        count, height = self._length, 0
        while count > 1 and start < stop:
            nodes, pairs = self._levels[height], count // 2
            start, stop = start // 2, (stop + 1) // 2
            paired = min(stop, pairs)
            if start < paired:
                left, right = nodes[2 * start : 2 * paired].unflatten(0, (-1, 2)).unbind(dim=1)
                merged = self._combine(left, right)
                self._put(height + 1, start, self._finished(merged))
            if stop > pairs:  # the last one rises
                self._put(height + 1, pairs, self._finished(nodes[2 * pairs : count]))
            count, height = (count + 1) // 2, height + 1

    def _finished(self, nodes: Tensor) -> Tensor:
        return nodes if self._finish is None else self._finish(nodes)

    def _put(self, height: int, start: int, nodes: Tensor) -> None:
        """Write nodes of a level; a level that is full gets twice the room."""
        stop = start + len(nodes)
        if height == len(self._levels):
            self._levels.append(nodes.new_empty(stop, nodes.shape[1]))
        level = self._levels[height]
        if stop > len(level):
            room = level.new_empty(max(stop, 2 * len(level)), level.shape[1])
            room[: len(level)] = level
            self._levels[height] = level = room
        level[start:stop] = nodes


class Rope:
    """A word that can be edited anywhere, and its value along a balanced search tree.

    The tree is as deep as the logarithm, but its brackets are not those of `tree_reduce`, and
    `finish` acts on merged nodes alone: the values are equal only if `combine` is associative and
    nothing finishes. An edit computes about log2(length) nodes, and all of its elements'.

    >>> rope = ldru.Rope(torch.add, torch.tensor([[1.0], [2.0], [4.0]]))
    >>> rope.insert(1, torch.tensor([[10.0], [20.0]]))
    >>> rope.delete(0, 2)
    >>> rope.elements().flatten().tolist(), rope.value()
    ([20.0, 2.0, 4.0], tensor([26.]))
    """

    def __init__(self, combine: Combine, x: Tensor, finish: Finish | None = None) -> None:
        _check_elements(combine, x, finish)
        self._combine, self._finish = combine, finish
        self._width = x.shape[1]
        self._root = _tree_of(x.detach())

    def __len__(self) -> int:
        return self._root.size

    def __repr__(self) -> str:
        return f"Rope(length={len(self)}, dim={self._width}, height={self.height})"

    @property
    def height(self) -> int:
        """How many merges lie between the value and the deepest element."""
        return self._root.height

    def value(self) -> Tensor:
        """The reduction of the whole word: [dim]."""
        self._compute()
        assert self._root.value is not None
        return self._root.value.clone()

    def elements(self) -> Tensor:
        """The word: [length, dim]."""
        return torch.stack([leaf.value for leaf in self._root.leaves() if leaf.value is not None])

    def insert(self, index: int, elements: Tensor) -> None:
        """Insert elements [count, dim] before a place."""
        if elements.ndim != 2 or elements.shape[1] != self._width:
            raise LdruError(f"expected elements [count, {self._width}], got {list(elements.shape)}")
        if not 0 <= index <= len(self):
            raise LdruError(f"the word has {len(self)} elements, there is no place {index}")
        if len(elements):
            before, behind = _split(self._root, index)
            self._root = _joined(_joined(before, _tree_of(elements.detach())), behind)

    def delete(self, start: int, stop: int) -> None:
        """Delete the elements from one place to before another; one must stay."""
        if not 0 <= start <= stop <= len(self):
            raise LdruError(
                f"the word has {len(self)} elements, there are no places {start} to {stop - 1}"
            )
        if stop - start == len(self):
            raise LdruError("the empty word has no reduction: one element must stay")
        before, rest = _split(self._root, start)
        _, behind = _split(rest, stop - start)
        self._root = _joined(before, behind)

    def set(self, index: int, element: Tensor) -> None:
        """Put another element [dim] at a place."""
        if not 0 <= index < len(self):
            raise LdruError(f"the word has {len(self)} elements, there is no place {index}")
        before, rest = _split(self._root, index)
        _, behind = _split(rest, 1)
        self._root = _joined(_joined(before, _tree_of(element.detach()[None])), behind)

    @torch.no_grad()
    def _compute(self) -> None:
        """The values that are missing, all of one height at once."""
        missing: dict[int, list[_Node]] = {}
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            if node.value is None:
                missing.setdefault(node.height, []).append(node)
                waiting += node.children
        for _, nodes in sorted(missing.items()):
            left, right = (
                torch.stack([_value(node.children[side]) for node in nodes]) for side in (0, 1)
            )
            merged = self._combine(left, right)
            values = merged if self._finish is None else self._finish(merged)
            for node, value in zip(nodes, values, strict=True):
                node.value = value


class _Node:
    """A leaf with its value, or two children that differ in height by at most one.

    Its shape never changes, so that trees can share it; its value is computed when it is needed.
    """

    __slots__ = ("children", "height", "size", "value")

    def __init__(self, *children: "_Node", value: Tensor | None = None) -> None:
        self.children, self.value = children, value
        self.size: int = sum(child.size for child in children) or 1
        self.height: int = 1 + max((child.height for child in children), default=-1)

    def leaves(self) -> Iterator["_Node"]:
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if not node.children:
                yield node
            waiting += reversed(node.children)


def _value(node: _Node) -> Tensor:
    assert node.value is not None
    return node.value


def _tree_of(elements: Tensor) -> _Node:
    """A balanced tree of new leaves."""
    nodes = [_Node(value=element) for element in elements]
    while len(nodes) > 1:
        pairs = [_joined(a, b) for a, b in zip(nodes[0::2], nodes[1::2], strict=False)]
        if len(nodes) % 2:
            # An odd last one would fall behind in height.
            pairs[-1:] = [_joined(pairs[-1], nodes[-1])]
        nodes = pairs
    return nodes[0]


def _joined(left: _Node | None, right: _Node | None) -> _Node:
    """One tree after the other."""
    if left is None or right is None:
        found = left or right
        assert found is not None
        return found
    if left.height > right.height + 1:
        outer, inner = left.children
        return _balanced(outer, _joined(inner, right))
    if right.height > left.height + 1:
        inner, outer = right.children
        return _balanced(_joined(left, inner), outer)
    return _Node(left, right)


def _balanced(left: _Node, right: _Node) -> _Node:
    """Two trees that differ in height by at most two, rotated until it is at most one."""
    if left.height > right.height + 1:
        outer, inner = left.children
        if outer.height >= inner.height:
            return _Node(outer, _Node(inner, right))
        return _Node(_Node(outer, inner.children[0]), _Node(inner.children[1], right))
    if right.height > left.height + 1:
        inner, outer = right.children
        if outer.height >= inner.height:
            return _Node(_Node(left, inner), outer)
        return _Node(_Node(left, inner.children[0]), _Node(inner.children[1], outer))
    return _Node(left, right)


def _split(node: _Node | None, index: int) -> tuple[_Node | None, _Node | None]:
    """The first elements, and the others."""
    if node is None or index <= 0:
        return None, node
    if index >= node.size:
        return node, None
    left, right = node.children
    if index <= left.size:
        before, behind = _split(left, index)
        return before, _joined(behind, right)
    before, behind = _split(right, index - left.size)
    return _joined(left, before), behind


def _check_elements(combine: Combine, x: Tensor, finish: Finish | None) -> None:
    if isinstance(x, Tensor) and x.ndim != 2:
        raise LdruError(f"expected the elements of one word [length, dim], got {list(x.shape)}")
    check_words(x[None] if isinstance(x, Tensor) else x, combine, finish)
