"""Reductions along given and random trees, against a literal loop and enumeration."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

import ldru
from ldru.base.randomness import Stream, fold, seed_key
from ldru.operators import OPERATORS, build_operator
from ldru.tree.random_trees import RandomTrees, draw_trees, num_merges


def keys(count, *, seed=0, step=0):
    key = fold(fold(seed_key(seed), Stream.TREES), step)
    return fold(key, torch.arange(count))


def matrix_product(left, right):
    """An exactly associative operator: 2 x 2 matrices of small whole numbers."""
    shape = (*left.shape[:-1], 2, 2)
    return (left.reshape(shape) @ right.reshape(shape)).flatten(start_dim=-2)


@pytest.mark.parametrize("share", [0.2, 0.3, 0.5, 1.0])
def test_an_associative_operator_gives_the_balanced_result(share):
    """For every length, padded and not; whole numbers modulo 7, so nothing is rounded."""

    def combine(left, right):
        return matrix_product(left, right) % 7

    generator = torch.Generator().manual_seed(0)
    for length in range(1, 65):
        x = torch.randint(7, (6, length, 4), generator=generator).double()
        trees = draw_trees(keys(6, step=length), length=length, share=share)
        balanced = ldru.tree_reduce(combine, x)
        assert torch.equal(ldru.tree_reduce(combine, x, trees=trees), balanced)
        lengths = torch.randint(1, length + 1, (6,), generator=generator)
        trees = draw_trees(keys(6, step=length), length=length, lengths=lengths, share=share)
        padded = x.clone()
        padded[torch.arange(length) >= lengths[:, None]] = torch.nan
        found = ldru.tree_reduce(combine, padded, lengths, trees=trees)
        assert torch.equal(found, ldru.tree_reduce(combine, x, lengths))


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 33])
def test_batched_agrees_with_the_literal_loop(operator, length):
    """Values and gradients, with padding that holds anything."""
    torch.manual_seed(0)
    combine = build_operator(operator, dim=4, activation="relu").double()
    block = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4)).double()
    x = torch.randn(5, length, 4, dtype=torch.double)
    lengths = torch.randint(1, length + 1, (5,))
    x[torch.arange(length) >= lengths[:, None]] = torch.inf
    x.requires_grad_()
    trees = draw_trees(keys(5), length=length, lengths=lengths)
    found = [
        ldru.tree_reduce(combine, x, lengths, block, trees=trees, backend=backend)
        for backend in ("batched", "reference")
    ]
    torch.testing.assert_close(*found, rtol=1e-12, atol=1e-12)
    parameters = [x, *combine.parameters(), *block.parameters()]
    gradients = [
        torch.autograd.grad(y.square().sum(), parameters, materialize_grads=True) for y in found
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("share", [0.2, 0.3, 0.45, 1.0])
def test_a_words_tree_does_not_depend_on_its_padding(share):
    lengths = torch.tensor([1, 2, 5, 9, 23])
    together = draw_trees(keys(5), length=40, lengths=lengths, share=share)
    for row, length in enumerate(lengths.tolist()):
        alone = draw_trees(keys(5)[row : row + 1], length=length, share=share)
        for number, level in enumerate(together.levels):
            own = alone.levels[number][0] if number < len(alone.levels) else level.new_zeros(1)
            assert torch.equal(level[row, : len(own)], own.bool())
            assert not level[row, len(own) :].any()


@pytest.mark.parametrize(("nodes", "share"), [(2, 0.3), (4, 0.3), (5, 0.4), (6, 0.3), (6, 0.5)])
def test_the_choices_of_a_level_are_uniform(nodes, share):
    merges = num_merges(nodes, share=share)
    after = nodes - merges
    possible = [
        tuple(place in chosen for place in range(after))
        for chosen in itertools.combinations(range(after), merges)
    ]
    level = draw_trees(keys(20_000, seed=3), length=nodes, share=share).levels[0]
    rows, counts = np.unique(level.numpy(), axis=0, return_counts=True)
    assert {tuple(row) for row in rows.tolist()} == set(possible)
    if len(possible) > 1:
        assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("share", [0.2, 0.3, 1.0])
def test_trees_that_are_not_drawn_yet_say_how_many_pairs_they_merge(share):
    for length in range(1, 50):
        trees = RandomTrees(keys(2), length, None, share)
        drawn = trees.draw()
        assert tuple(trees.merges) == drawn.merges
        counts = [int(level[0].sum()) for level in drawn.levels]
        assert counts == trees.merges
        assert trees.pairs[:2] == [0, 0]
        assert len(trees.pairs) == length + 1


def test_trees_of_members_are_those_of_each_alone():
    both = torch.stack([keys(4, seed=0), keys(4, seed=1)])
    together = draw_trees(both, length=17)
    for member in range(2):
        alone = draw_trees(both[member], length=17)
        for ours, theirs in zip(together.levels, alone.levels, strict=True):
            assert torch.equal(ours[member], theirs)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([[[True, True]]], "after 1 levels a word has 2 nodes"),
        ([[[True, False, True]], [[True]]], "do not fit words of length 4"),
        ([[[True, True]], [[True], [True]]], "of 2 words, there are 1"),
        ([[[1, 0]]], r"bool \[batch, nodes\], got torch.int64"),
    ],
)
def test_trees_that_do_not_fit_are_one_clear_error(levels, message):
    with pytest.raises(ldru.LdruError, match=message):
        ldru.tree_reduce(torch.add, torch.ones(1, 4, 1), trees=ldru.Trees.of(levels))


@pytest.mark.parametrize("share", [0.0, -0.1, 1.5, float("nan")])
def test_a_share_that_merges_nothing_is_an_error(share):
    with pytest.raises(ldru.LdruError, match=r"share of the nodes in \(0, 1\]"):
        draw_trees(keys(1), length=4, share=share)


def test_a_share_too_small_for_a_length_is_an_error():
    draw_trees(keys(1), length=120, share=0.001)  # one pair a level
    with pytest.raises(ldru.LdruError, match=r"length 500 have 499 levels, and at most 127"):
        draw_trees(keys(1), length=500, share=0.001)
