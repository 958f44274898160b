import math
from typing import ClassVar

import pytest
import torch
from torch import nn

import ldru
from ldru.tree import BACKENDS, tree_levels, tree_reduce
from ldru.tree.reference import reduce_word


def concatenate(left, right):
    """Words as decimal digits: associative, and it shows the order. Zero is the empty word."""
    width = torch.floor(torch.log10(right.clamp(min=1))) + 1
    return left * 10**width + right


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 9])
def test_an_associative_operator_reads_the_word_in_order(backend, length):
    digits = torch.arange(1, length + 1, dtype=torch.double)[None, :, None]
    result = tree_reduce(concatenate, digits, backend=backend)
    assert int(result) == int("".join(str(d) for d in range(1, length + 1)))


def bracket(left, right):
    """The tree itself, as a label in a table."""
    return BracketTable.join(left, right)


class BracketTable:
    """Numbers for bracketed words, to see which pairs were combined."""

    names: ClassVar[list[str]] = []

    @classmethod
    def join(cls, left, right):
        out = torch.empty_like(left)
        for index in range(left.numel()):
            a, b = int(left.view(-1)[index]), int(right.view(-1)[index])
            cls.names.append(f"({cls.names[a]}{cls.names[b]})")
            out.view(-1)[index] = len(cls.names) - 1
        return out


@pytest.mark.parametrize(
    ("length", "tree"),
    [
        (1, "a"),
        (2, "(ab)"),
        (3, "((ab)c)"),
        (5, "(((ab)(cd))e)"),
        (6, "(((ab)(cd))(ef))"),
        (7, "(((ab)(cd))((ef)g))"),
    ],
)
def test_pairing_rule(length, tree):
    BracketTable.names = list("abcdefg")
    word = torch.arange(length, dtype=torch.double)[None, :, None]

    def combine(left, right):
        return bracket(left.contiguous(), right.contiguous())

    root = int(tree_reduce(combine, word))
    assert BracketTable.names[root] == tree


@pytest.mark.parametrize("length", range(1, 34))
def test_depth_is_the_logarithm(length):
    levels = list(tree_levels(torch.add, torch.zeros(1, length, 1)))
    assert len(levels) - 1 == math.ceil(math.log2(length))


def test_finish_acts_on_risen_nodes_too():
    def finish(nodes):
        return nodes + 100

    word = torch.tensor([1.0, 2.0, 3.0])[None, :, None]
    # (1 + 2 + 100) + (3 + 100) + 100
    assert float(tree_reduce(torch.add, word, finish=finish)) == 306.0
    assert float(reduce_word(torch.add, word[0], finish)) == 306.0


class Shaky(nn.Module):
    """An operator without a finite derivative at zero."""

    def forward(self, left, right):
        return (left.abs().sqrt() + right.abs().sqrt()) * 0.5 + 1


@pytest.mark.parametrize("garbage", [0.0, float("nan"), float("inf"), 1e30])
def test_padding_never_leaks(garbage):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(6, 9, 3, dtype=torch.double, generator=generator) + 0.5
    lengths = torch.tensor([1, 2, 3, 5, 8, 9])
    padded = x.clone()
    for row, length in enumerate(lengths):
        padded[row, length:] = garbage
    padded.requires_grad_()
    x.requires_grad_()
    got = tree_reduce(Shaky(), padded, lengths, finish=torch.tanh)
    want = tree_reduce(Shaky(), x, lengths, finish=torch.tanh, backend="reference")
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)
    (got_grad,) = torch.autograd.grad(got.square().sum(), padded)
    (want_grad,) = torch.autograd.grad(want.square().sum(), x)
    torch.testing.assert_close(got_grad, want_grad, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("x", "lengths", "message"),
    [
        (torch.zeros(2, 0, 3), None, "at least 1"),
        (torch.zeros(2, 3), None, "batch, length, dim"),
        (torch.zeros(2, 3, 4), torch.tensor([0, 3]), "between 1 and the padded length 3, got 0"),
        (torch.zeros(2, 3, 4), torch.tensor([1, 4]), "got 1 to 4"),
        (torch.zeros(2, 3, 4), torch.tensor([1, 2, 3]), r"\[2\]"),
        (torch.zeros(2, 3, 4), torch.tensor([1.0, 2.0]), "whole numbers"),
    ],
)
def test_bad_words_are_one_clear_error(x, lengths, message):
    with pytest.raises(ldru.LdruError, match=message):
        tree_reduce(torch.add, x, lengths)


def test_unknown_backend_lists_the_known():
    with pytest.raises(ldru.LdruError, match=r"unknown backend 'fast'.*auto, batched, reference"):
        tree_reduce(torch.add, torch.zeros(1, 2, 3), backend="fast")
