import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import ldru


def combine(left, right):
    return torch.tanh(0.7 * left - 1.3 * right + 0.2 * left * right)


def finish(nodes):
    return torch.cos(nodes) + 0.1


def product(left, right):
    """Matrices of 2 x 2: associative, not commutative."""
    return (left.unflatten(-1, (2, 2)) @ right.unflatten(-1, (2, 2))).flatten(-2)


def elements(count, seed, dim=4):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, dim, dtype=torch.double, generator=generator) / 1.2


class EditsOfATree(RuleBasedStateMachine):
    """Whatever is edited, the value is that of the whole word from scratch."""

    def __init__(self):
        super().__init__()
        self.list = elements(5, seed=0)
        self.word = ldru.TreeWord(combine, self.list, finish)

    @rule(place=st.integers(0, 10**6), seed=st.integers(0, 99))
    def set(self, place, seed):
        place %= len(self.list)
        new = elements(1, seed)[0]
        self.list = self.list.clone()
        self.list[place] = new
        self.word.set(place, new)

    @rule(count=st.integers(0, 20), seed=st.integers(0, 99))
    def append(self, count, seed):
        new = elements(count, seed)
        self.list = torch.cat([self.list, new])
        self.word.append(new)

    @rule(count=st.integers(0, 10**6))
    def pop(self, count):
        count %= len(self.list)
        self.list = self.list[: len(self.list) - count]
        self.word.pop(count)

    @rule(start=st.integers(0, 10**6), count=st.integers(0, 10**6), seed=st.integers(0, 99))
    def replace(self, start, count, seed):
        start %= len(self.list)
        count %= len(self.list) - start + 1
        new = elements(count, seed)
        self.list = torch.cat([self.list[:start], new, self.list[start + count :]])
        self.word.replace(start, new)

    @invariant()
    def the_value_is_that_of_the_whole_word(self):
        want = ldru.tree_reduce(combine, self.list[None], finish=finish)[0]
        torch.testing.assert_close(self.word.value(), want, rtol=0, atol=1e-12)
        assert torch.equal(self.word.elements(), self.list)


class EditsOfARope(RuleBasedStateMachine):
    """The same for an associative operator; and the tree stays balanced."""

    def __init__(self):
        super().__init__()
        self.list = elements(3, seed=0)
        self.rope = ldru.Rope(product, self.list)

    @rule(place=st.integers(0, 10**6), count=st.integers(0, 20), seed=st.integers(0, 99))
    def insert(self, place, count, seed):
        place %= len(self.list) + 1
        new = elements(count, seed)
        self.list = torch.cat([self.list[:place], new, self.list[place:]])
        self.rope.insert(place, new)

    @precondition(lambda self: len(self.list) > 1)
    @rule(start=st.integers(0, 10**6), count=st.integers(0, 10**6))
    def delete(self, start, count):
        start %= len(self.list)
        count %= min(len(self.list) - start + 1, len(self.list))
        self.list = torch.cat([self.list[:start], self.list[start + count :]])
        self.rope.delete(start, start + count)

    @rule(place=st.integers(0, 10**6), seed=st.integers(0, 99))
    def set(self, place, seed):
        place %= len(self.list)
        new = elements(1, seed)[0]
        self.list = self.list.clone()
        self.list[place] = new
        self.rope.set(place, new)

    @invariant()
    def the_value_is_that_of_the_whole_word(self):
        assert torch.equal(self.rope.elements(), self.list)
        want = ldru.tree_reduce(product, self.list[None])[0]
        torch.testing.assert_close(self.rope.value(), want, rtol=1e-9, atol=1e-12)

    @invariant()
    def the_tree_is_balanced(self):
        waiting = [self.rope._root]
        while waiting:
            node = waiting.pop()
            if node.children:
                left, right = node.children
                assert abs(left.height - right.height) <= 1
                waiting += node.children


FEW = settings(max_examples=25, stateful_step_count=12, deadline=None)
TestTreeWord = EditsOfATree.TestCase
TestTreeWord.settings = FEW
TestRope = EditsOfARope.TestCase
TestRope.settings = FEW


@pytest.mark.parametrize("length", [1000, 1024, 1025])
def test_an_edit_computes_logarithmically_many_nodes(length):
    merges = []

    def counting(left, right):
        merges.append(len(left))
        return left + right

    word, rope = (kind(counting, elements(length, seed=0)) for kind in (ldru.TreeWord, ldru.Rope))
    rope.value()
    for edit, bound in (
        (lambda: word.set(length // 2, elements(1, seed=1)[0]), 11),
        (lambda: word.append(elements(1, seed=1)), 11),
        (lambda: word.pop(), 11),
        (lambda: word.replace(100, elements(64, seed=1)), 64 + 2 * 11),
        (lambda: rope.insert(length // 3, elements(1, seed=1)), 4 * 11),
        (lambda: rope.delete(10, 500), 6 * 11),
    ):
        merges.clear()
        edit()
        rope.value()
        assert sum(merges) <= bound


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda word, _: word.set(3, torch.zeros(4)), "no place 3"),
        (lambda word, _: word.set(-4, torch.zeros(4)), "no place -4"),
        (lambda word, _: word.replace(2, torch.zeros(2, 4)), "no places 2 to 3"),
        (lambda word, _: word.append(torch.zeros(1, 5)), r"\[count, 4\], got \[1, 5\]"),
        (lambda word, _: word.pop(3), "0 to 2 can be deleted, got 3"),
        (lambda _, rope: rope.insert(4, torch.zeros(1, 4)), "no place 4"),
        (lambda _, rope: rope.delete(0, 3), "one element must stay"),
        (lambda _, rope: rope.delete(2, 4), "no places 2 to 3"),
        (lambda _, rope: rope.set(3, torch.zeros(4)), "no place 3"),
        (lambda *_: ldru.TreeWord(torch.add, torch.zeros(0, 4)), "at least 1"),
        (lambda *_: ldru.Rope(torch.add, torch.zeros(2, 3, 4)), r"one word \[length, dim\]"),
    ],
)
def test_bad_edits_are_one_clear_error(edit, message):
    word, rope = (kind(torch.add, torch.zeros(3, 4)) for kind in (ldru.TreeWord, ldru.Rope))
    with pytest.raises(ldru.LdruError, match=message):
        edit(word, rope)
    assert len(word) == len(rope) == 3
