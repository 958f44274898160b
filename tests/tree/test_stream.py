import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import ldru

ROWS = 3


def combine(left, right):
    return torch.tanh(0.7 * left - 1.3 * right + 0.2 * left * right)


def finish(nodes):
    return torch.cos(nodes) + 0.1


def elements(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, 4, dtype=torch.double, generator=generator)


class Growing(RuleBasedStateMachine):
    """However elements come, the values are those of the whole words."""

    def __init__(self):
        super().__init__()
        self.words = [elements(0, seed=0) for _ in range(ROWS)]
        self.stream = ldru.TreeStream(combine, finish, batch=ROWS)

    def _append(self, chunk, counts):
        self.words = [
            torch.cat([word, row[:count]])
            for word, row, count in zip(self.words, chunk, counts, strict=True)
        ]

    @rule(seed=st.integers(0, 99))
    def push_one(self, seed):
        vectors = elements(ROWS, seed=seed)
        self.stream.push(vectors)
        self._append(vectors[:, None], [1] * ROWS)

    @rule(count=st.integers(0, 20), seed=st.integers(0, 99))
    def push_a_chunk(self, count, seed):
        chunk = elements(ROWS, count, seed=seed)
        self.stream.push(chunk)
        self._append(chunk, [count] * ROWS)

    @rule(counts=st.tuples(*[st.integers(0, 9)] * ROWS), seed=st.integers(0, 99))
    def push_unequally(self, counts, seed):
        chunk = elements(ROWS, 9, seed=seed)
        padded = chunk.clone()
        for row, count in enumerate(counts):
            padded[row, count:] = torch.nan
        self.stream.push(padded, torch.tensor(counts) if seed % 2 else counts)
        self._append(chunk, counts)

    @rule()
    def save_and_restore(self):
        self.stream = ldru.TreeStream(combine, finish, state=self.stream.state())

    @invariant()
    def values_are_those_of_whole_words(self):
        assert self.stream.lengths == list(map(len, self.words))
        if not all(self.stream.lengths):
            with pytest.raises(ldru.LdruError, match="the empty word has no reduction"):
                self.stream.value()
            return
        want = torch.stack(
            [ldru.tree_reduce(combine, word[None], finish=finish)[0] for word in self.words]
        )
        torch.testing.assert_close(self.stream.value(), want, rtol=0, atol=1e-12)
        assert len(self.stream.state()["nodes"]) == max(self.stream.lengths).bit_length()


TestTreeStream = Growing.TestCase
TestTreeStream.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)


def test_one_at_a_time_merges_once_for_each_element():
    merges = []

    def counting(left, right):
        merges.append(left.numel() // left.shape[-1])
        return left + right

    stream = ldru.TreeStream(counting)
    for seed in range(1000):
        stream.push(elements(1, seed=seed))
    assert sum(merges) == 1000 - bin(1000).count("1")


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda s: s.push(torch.zeros(3, 4)), r"\[2, dim\] or \[2, count, dim\], got \[3, 4\]"),
        (lambda s: s.push(torch.zeros(2, 5)), "width 4, got 5"),
        (lambda s: s.push(torch.zeros(2, 3, 4), [1, 4]), r"2 whole numbers from 0 to 3"),
        (lambda s: s.push(torch.zeros(2, 3, 4), [1]), r"2 whole numbers from 0 to 3"),
        (lambda s: ldru.TreeStream(torch.add, batch=0), "at least one word"),
        (
            lambda s: ldru.TreeStream(torch.add, state={"lengths": torch.tensor([3])}),
            "belong together",
        ),
    ],
)
def test_bad_pushes_are_one_clear_error(act, message):
    stream = ldru.TreeStream(torch.add, batch=2).push(torch.zeros(2, 4))
    with pytest.raises(ldru.LdruError, match=message):
        act(stream)
    assert stream.lengths == [1, 1]
