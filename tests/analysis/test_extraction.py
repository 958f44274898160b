"""Extraction from networks that are exact by construction."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ldru
from ldru.analysis import extraction
from ldru.analysis.extraction import extract_algebra
from ldru.analysis.reach import wrong_by_height
from ldru.analysis.snapping import Network, SnappedNetwork


def extracted(*arguments, **options):
    return extract_algebra(*arguments, generator=np.random.default_rng(0), **options)


def exact_network(monoid, *, noise=0.0):
    """A state is the one-hot vector of its class, plus noise that depends on the halves."""
    one_hot = torch.eye(monoid.size, dtype=torch.double)
    table = torch.from_numpy(monoid.table)

    def combine(left, right):
        product = one_hot[table[left.argmax(-1), right.argmax(-1)]]
        return product + noise * torch.sin(37 * (left + 2 * right))

    labels = torch.nn.functional.one_hot(torch.from_numpy(monoid.output.clip(0))).double()
    return Network(
        leaves=one_hot[torch.from_numpy(monoid.step[0])],
        combine=combine,
        finish=lambda state: state,
        score=lambda state: labels[state.argmax(-1)],
    )


@st.composite
def machines(draw):
    states, symbols = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    state, label = st.integers(0, states - 1), st.integers(0, 2)
    return ldru.MooreMachine(
        alphabet="abc"[:symbols],
        delta=[[draw(state) for _ in range(symbols)] for _ in range(states)],
        output=[draw(label) for _ in range(states)],
    ).minimal()


@settings(max_examples=40, deadline=None)
@given(machine=machines())
def test_an_exact_operator_gives_back_its_monoid(machine):
    monoid = ldru.monoid(machine)
    rng = np.random.default_rng(0)
    words = [rng.integers(machine.num_symbols, size=(8, length)) for length in (1, 2, 3, 7, 50)]
    found = extracted(exact_network(monoid), monoid, words, tolerances=[0.5])
    assert found.is_correct
    assert found.is_onto_monoid
    # The empty word has no leaf, so the identity is there only if some other word is like it.
    classes = {kind for (kind,) in found.classes.values()}
    assert classes == set(monoid.step.ravel().tolist())
    assert found.algebra.num_states == len(classes)
    kind = np.array([kinds[0] for kinds in found.classes.values()])
    met = found.algebra.pair >= 0
    assert (kind[found.algebra.pair] == monoid.table[kind[:, None], kind])[met].all()
    assert (found.algebra.answer == monoid.output[kind]).all()
    assert (found.algebra.run(words[-1]) == machine.run(words[-1])).all()
    assert found.nodes.nearest == 1
    assert found.chosen.disagreements == 0


def sampled(machine, *, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(machine.num_symbols, size=(20, length)) for length in (1, 2, 3, 7, 50)]


def test_noise_is_merged_away_above_its_size_and_seen_below():
    monoid = ldru.monoid(ldru.task("cycle_navigation").machine.minimal())
    network = exact_network(monoid, noise=0.02)
    found = extracted(network, monoid, sampled(monoid.machine), tolerances=[1.0, 0.5, 0.01])
    coarse, middle, fine = found.trials
    assert coarse.num_states == middle.num_states == monoid.size
    assert found.chosen is coarse
    assert fine.num_states > monoid.size
    assert 0 < middle.spread < 0.2
    assert middle.gap > 1
    assert found.nodes.farthest < 0.2


def test_states_that_are_merged_wrongly_are_not_taken(monkeypatch):
    """At a tolerance above the distance of one-hot vectors all states are one."""
    monkeypatch.setattr(extraction, "MOST_SPLITS", 0)
    monoid = ldru.monoid(ldru.task("parity_check").machine.minimal())
    network = exact_network(monoid)
    words = sampled(monoid.machine)
    found = extracted(network, monoid, words, tolerances=[1.9, 0.5])
    assert found.trials[0].num_states == 1
    assert found.trials[0].is_confirmed is False
    assert found.chosen is found.trials[1]
    alone = extracted(network, monoid, words, tolerances=[1.9])
    assert alone.chosen is None
    assert "no finite algebra stands for the network" in alone.summary
    with pytest.raises(ldru.LdruError, match="no exact machine"):
        alone.predict(["01"])


@pytest.mark.parametrize("name", ["parity_check", "cycle_navigation", "dyck_3"])
def test_states_that_are_merged_wrongly_are_told_apart(name):
    """All classes are one at this tolerance; wrong words of the tables tell where they differ."""
    monoid = ldru.monoid(ldru.task(name).machine.minimal())
    network = exact_network(monoid, noise=0.02)
    found = extracted(network, monoid, sampled(monoid.machine), tolerances=[1.9])
    assert found.is_correct
    assert found.chosen.disagreements == 0
    assert found.chosen.splits > 0


def test_the_culprit_is_the_state_whose_merging_turns_the_answer():
    """Every state is merged into one of two, and on one word that matters at one place alone."""
    monoid = ldru.monoid(ldru.task("parity_check").machine.minimal())
    network = exact_network(monoid)
    snapped = SnappedNetwork(network, tolerance=1.9, max_states=5)
    for length in range(1, 20):
        word = np.zeros(length, dtype=np.int64)
        word[length // 3] = 1
        snapped.join(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
        other = int(network.answer(np.zeros((1, length), dtype=np.int64))[0])
        assert int(network.answer(word[None])[0]) != other
        torch.testing.assert_close(snapped.culprit(word), network.leaves[1])


def rarely_wrong_network(monoid):
    """Exact, but blocks of ones leave a trace, and the trace of eight turns the label round."""
    exact = exact_network(monoid)
    trace = torch.tensor([[0.0], [0.1]], dtype=torch.double)

    def combine(left, right):
        traces = left[..., -1:], right[..., -1:]
        grown = torch.where(traces[0] == traces[1], (traces[0] * 2).clamp(max=0.8), 0)
        return torch.cat([exact.combine(left[..., :-1], right[..., :-1]), grown], dim=-1)

    def score(state):
        scores = exact.score(state[..., :-1])
        return torch.where(state[..., -1:] > 0.7, scores.flip(-1), scores)

    return Network(
        leaves=torch.cat([exact.leaves, trace], dim=1),
        combine=combine,
        finish=exact.finish,
        score=score,
    )


def test_a_fine_tolerance_finds_the_words_on_which_the_network_is_not_its_algebra():
    monoid = ldru.monoid(ldru.task("parity_check").machine.minimal())
    network = rarely_wrong_network(monoid)
    found = extracted(network, monoid, sampled(monoid.machine), tolerances=[0.9, 0.05])
    assert found.is_correct
    assert found.algebra.num_states == 2
    assert found.wrong == (1,) * 8
    assert "once merged, but the network is wrong on 11111111 (length 8)" in found.summary
    fine = found.trials[1]
    assert fine.is_confirmed
    assert fine.algebra.run(found.wrong) == network.answer(np.array([found.wrong]))


def test_a_network_that_counts_is_no_finite_algebra():
    """The state is the length of the word: the states never end."""
    monoid = ldru.monoid(ldru.task("parity_check").machine.minimal())
    counter = Network(
        leaves=torch.ones(2, 1),
        combine=lambda left, right: left + right,
        finish=lambda state: state,
        score=lambda state: torch.cat([state, state], dim=-1),
    )
    found = extracted(
        counter, monoid, sampled(monoid.machine), tolerances=[0.1, 0.01], max_states=20
    )
    assert found.chosen is None
    assert not found.is_correct
    assert "no finite algebra at any of 2 tolerances" in found.summary
    assert found.wrong is not None
    assert counter.answer(np.array([found.wrong])) != monoid.machine.run([found.wrong])


def test_reach_is_where_the_network_itself_begins_to_err():
    """Exact, but that a node forgets its class when it rises alone for the tenth time in a row."""
    monoid = ldru.monoid(ldru.task("cycle_navigation").machine.minimal())
    exact = exact_network(monoid)
    joined = torch.ones(1, dtype=torch.double)

    def count(state):
        return state[..., -1:]

    def combine(left, right):
        together = exact.combine(left[..., :-1], right[..., :-1])
        lost = torch.where(count(right) >= 10, left[..., :-1], together)
        return torch.cat([lost, -joined.expand_as(count(left))], dim=-1)

    tired = Network(
        leaves=torch.nn.functional.pad(exact.leaves, (0, 1)),
        combine=combine,
        finish=lambda state: torch.cat([state[..., :-1], count(state) + 1], dim=-1),
        score=lambda state: exact.score(state[..., :-1]),
    )
    shares = wrong_by_height(tired, monoid, generator=np.random.default_rng(0), heights=14)
    assert [height for height, share in shares.items() if share] == [11, 12, 13, 14]
    right = wrong_by_height(exact, monoid, generator=np.random.default_rng(0))
    assert set(right.values()) == {0}
    assert max(right) == 40


def test_reach_judges_words_of_the_domain_alone():
    monoid = ldru.monoid(ldru.task("modular_arithmetic").machine.minimal())
    shares = wrong_by_height(exact_network(monoid), monoid, generator=np.random.default_rng(0))
    assert set(shares.values()) == {0}
    assert set(shares) == set(range(2, 41))  # no expression has two symbols


def test_states_are_numbered_by_the_nearest_within_the_tolerance():
    leaves = torch.tensor([[1.0, 0.0], [1.05, 0.0], [0.0, 1.0], [1.3, 0.0]])
    network = Network(
        leaves=leaves,
        combine=torch.add,
        finish=lambda state: state,
        score=lambda state: state,
    )
    assert SnappedNetwork(network, tolerance=0.1, max_states=9).leaf.tolist() == [0, 0, 1, 2]
    assert SnappedNetwork(network, tolerance=0.25, max_states=9).leaf.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("tolerances", [[], [0.0], [-1.0], [0.5, 2.0], [float("nan")]])
def test_tolerances_must_be_usable(tolerances):
    monoid = ldru.monoid(ldru.task("parity_check").machine)
    with pytest.raises(ldru.LdruError, match="above 0 and below 2"):
        extracted(exact_network(monoid), monoid, [], tolerances=tolerances)
