import itertools

import numpy as np
import pytest
import torch
from torch import nn

import ldru
from ldru.analysis.associators import associators, random_bracketing, reduce_bracketed

TASK = ldru.task("dyck_2")
MONOID = ldru.monoid(TASK.machine)


def exact(left, right):
    """The monoid's product on one-hot states: associative."""
    products = torch.tensor(MONOID.table)[left.argmax(-1), right.argmax(-1)]
    return nn.functional.one_hot(products, MONOID.size).to(left.dtype)


def mean_of(left, right):
    """Far from associative."""
    return (left + right) / 2


def some_words(length, count=4):
    tokens = np.random.default_rng(length).integers(0, 2, (count, length))
    return tokens, nn.functional.one_hot(torch.tensor(MONOID.step[0][tokens]), MONOID.size).double()


@pytest.mark.parametrize("with_block", [False, True])
def test_an_associative_operator_has_no_associator(with_block):
    tokens, x = some_words(11)
    found = associators(exact, x, tokens, MONOID, finish=lambda h: 2 * h, with_block=with_block)
    assert set(found) == {0, 1, 2}  # 11, 6 and 3 nodes
    for level, triples in found.items():
        assert triples.cosine.abs().max() < 1e-12
        assert (triples.relative == 0).all()
        # Classes are those of the symbols under the three nodes.
        for row, first in itertools.product(range(4), range(triples.classes.shape[1])):
            part = tokens[row, first * 2**level : (first + 3) * 2**level]
            assert triples.classes[row, first] == MONOID.classify(part)


def test_associators_by_a_literal_loop():
    tokens, x = some_words(9)
    x = torch.randn(x.shape, generator=torch.Generator().manual_seed(0), dtype=torch.double)

    def finish(h):
        return torch.tanh(h) + 1

    nodes = [list(word) for word in x]
    for level in range(3):
        for with_block in (False, True):
            f = finish if with_block else (lambda h: h)
            found = associators(mean_of, x, tokens, MONOID, finish=finish, with_block=with_block)
            for row, word in enumerate(nodes):
                for i in range(len(word) - 2):
                    a, b, c = word[i : i + 3]
                    left = f(mean_of(f(mean_of(a, b)), f(c)))
                    right = f(mean_of(f(a), f(mean_of(b, c))))
                    cosine = 1 - left @ right / left.norm() / right.norm()
                    relative = (left - right).norm() / ((left.norm() + right.norm()) / 2)
                    assert found[level].cosine[row, i] == pytest.approx(float(cosine), abs=1e-9)
                    assert found[level].relative[row, i] == pytest.approx(float(relative))
        nodes = [
            [finish(mean_of(a, b)) for a, b in zip(word[::2], word[1::2], strict=False)]
            + ([finish(word[-1])] if len(word) % 2 else [])
            for word in nodes
        ]


def test_every_tree_over_four_leaves_comes_out():
    generator = np.random.default_rng(0)

    def tree(bracketing, length):
        nodes = [str(i) for i in range(length)]
        for lefts in bracketing:
            assert all(b - a > 1 for a, b in itertools.pairwise(lefts))
            for place in reversed(lefts):
                nodes[place : place + 2] = [f"({nodes[place]}{nodes[place + 1]})"]
        assert len(nodes) == 1
        return nodes[0]

    trees = {tree(random_bracketing(4, generator=generator), 4) for _ in range(500)}
    assert len(trees) == 5
    assert random_bracketing(1, generator=generator) == []


@pytest.mark.parametrize("length", [1, 2, 3, 8, 33])
def test_an_associative_operator_does_not_mind_brackets(length):
    tokens, x = some_words(length)
    generator = np.random.default_rng(1)
    for _ in range(5):
        root = reduce_bracketed(exact, x, random_bracketing(length, generator=generator))
        assert root.argmax(-1).tolist() == MONOID.classify(tokens).tolist()


@pytest.mark.parametrize("length", [1, 2, 5, 8, 13])
def test_the_balanced_bracketing_is_the_tree_itself(length):
    encoder = ldru.LDRU(dim=4, dropout=0.0).double().eval()
    x = torch.randn(3, length, 4, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    balanced = random_bracketing(length, generator=np.random.default_rng(0), balanced=4)
    root = reduce_bracketed(encoder.operator, x, balanced, encoder.block)
    torch.testing.assert_close(root, encoder(x))


def test_a_bracketing_of_another_length():
    with pytest.raises(ldru.LdruError, match="leaves 2 nodes"):
        reduce_bracketed(exact, some_words(3)[1], [[0]])
