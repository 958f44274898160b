"""Entries of tables come as often as they are to, and each parameter is left to its optimiser."""

import math
from collections import Counter

import torch
from scipy.stats import chisquare

import ldru
from ldru.analysis.table_training import EntryDraws, TableOptimizer
from ldru.analysis.teaching import algebra_of
from tests.training.test_muon import literal


def test_half_of_the_entries_are_any_and_half_by_the_state_they_give():
    tables = algebra_of(ldru.task("dyck_2").machine)
    given = tables.moves.joined
    draws = EntryDraws(torch.from_numpy(given), generator=torch.Generator().manual_seed(0))
    entries, states = Counter(), Counter()
    for _ in range(60):
        drawn = draws.draw(385)
        assert drawn.shape == (385,)
        entries.update(drawn[:193].tolist())
        states.update(given[drawn[193:]].tolist())
    assert set(entries) == set(range(len(given)))
    assert set(states) == set(given)
    for counts in (entries, states):
        assert chisquare(list(counts.values())).pvalue > 1e-4


def test_entries_that_give_one_state_are_alike():
    draws = EntryDraws(torch.tensor([7, 2, 7, 7]), generator=torch.Generator().manual_seed(0))
    entries = Counter(draws.draw(8000)[4000:].tolist())
    assert chisquare([entries[0], entries[2], entries[3]]).pvalue > 1e-4
    assert chisquare([entries[1], 4000 - entries[1]]).pvalue > 1e-4


def test_matrices_of_the_encoder_step_by_muon_and_all_else_by_adam():
    """Two steps, literally; rates rise over a twentieth of the steps and fall along a cosine."""
    sizes = {"vocab_size": 3, "num_classes": 2, "generator": torch.Generator().manual_seed(0)}
    model = ldru.build(ldru.LDRUSpec(dim=4, leaf_block=True), **sizes).double()
    own = torch.ones(5, dtype=torch.float64, requires_grad=True)
    optimizer = TableOptimizer(model, steps=40, matrix_rate=0.3, rate=0.02, others={0.1: [own]})
    named = {**dict(model.named_parameters()), "own": own}
    by_muon = {name for name, weight in named.items() if name[:8] == "encoder." and weight.ndim > 1}
    assert {"encoder.operator.out.weight", "encoder.leaf_block.up.weight"} < by_muon
    before = {name: weight.detach().clone() for name, weight in named.items()}
    torch.manual_seed(0)
    slopes = {name: 0.5 + torch.rand_like(weight) for name, weight in before.items()}
    slopes = {name: slope * torch.randn_like(slope).sign() for name, slope in slopes.items()}
    for _ in range(2):  # the rate of the first is zero
        optimizer.step(sum((slopes[name] * weight).sum() for name, weight in named.items()))
    share = 0.5 * (1 + math.cos(math.pi / 40)) / 2
    for name, weight in named.items():
        if name in by_muon:
            momentum = (1 - 0.95**2) * slopes[name]
            ahead = 0.05 * slopes[name] + 0.95 * momentum
            size = 0.3 * 0.2 * max(weight.shape) ** 0.5
            moved = size * torch.from_numpy(literal(ahead.numpy()))
        else:  # as the gradient stays the same, Adam's step is one rate along its sign
            moved = (0.1 if name == "own" else 0.02) * slopes[name].sign()
        torch.testing.assert_close(weight.detach(), before[name] - share * moved, rtol=0, atol=1e-7)
