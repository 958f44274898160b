"""Networks that are taught tables: they learn these tables, whatever they are."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

import ldru
from ldru.analysis.algebra import UNMET
from ldru.analysis.points import points_of
from ldru.analysis.teaching import Teaching, algebra_of, teach_products, usual_steps
from ldru.automata.machine import UNLABELLED

LANGUAGES = ("parity_check", "dyck_2", "tomita_3", "prefix_2_2", "mod_arithmetic_2", "(ab|b)*")
SMALL = ldru.LDRUSpec(dim=16)


def machine_of(language):
    return (ldru.task(regex=language) if "(" in language else ldru.task(language)).machine.minimal()


def classes_of(machine):
    """A shortest word of each class, by where it leads from each state, symbol by symbol."""
    found = {tuple(range(machine.num_states)): ()}
    rows = list(found.items())
    for states, word in rows:
        for symbol in range(machine.num_symbols):
            longer = tuple(machine.delta[list(states), symbol])
            # The empty word is no node; its class has another word, or none.
            if longer not in found or not found[longer]:
                found[longer] = (*word, symbol)
                rows.append((longer, found[longer]))
    return {states: word for states, word in found.items() if word}


def reached(machine, state):
    """All states that some word leads to from one."""
    found = [state]
    for here in found:
        found += sorted({*machine.delta[here].tolist()} - {*found})
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_algebra_has_the_classes_of_all_that_words_are_made_of(language):
    machine = machine_of(language)
    tables = algebra_of(machine)
    leads = [
        (machine.output[reached(machine, q)] != UNLABELLED).any() for q in range(len(machine.delta))
    ]
    states = []
    for ends, word in classes_of(machine).items():
        state = tables.leaf[word[0]]
        for symbol in word[1:]:
            state = UNMET if state == UNMET else tables.pair[state, tables.leaf[symbol]]
        # Some word leads to a state, from which this one leads to where a word may still end.
        is_needed = any(leads[ends[before]] for before in reached(machine, machine.start))
        assert (state != UNMET) == is_needed
        states += [state] * is_needed
    assert sorted(states) == list(range(tables.num_states))
    assert tables.carry.tolist() == list(range(tables.num_states))
    for length in range(1, 7 if machine.num_symbols < 4 else 5):
        words = np.array(list(itertools.product(range(machine.num_symbols), repeat=length)))
        labels = machine.run(words)
        is_told = labels != UNLABELLED
        assert (tables.run(words[is_told]) == labels[is_told]).all()


def begin(tables, *, seed, model=SMALL, steps=100):
    generator = torch.Generator().manual_seed(seed)
    network = ldru.build(model, vocab_size=2, num_classes=2, generator=generator).eval()
    return Teaching(network, tables, steps=steps, generator=generator)


def test_points_are_moved_as_far_as_the_noise_says():
    """In any direction, and towards other points: of parity, there is one."""
    teaching = begin(algebra_of(machine_of("parity_check")), seed=0)
    states = torch.zeros(2000, dtype=torch.long)
    point, other = teaching.points.detach()
    towards = 0.06 * (other - point).norm() / point.norm()
    for progress in (0.0, 0.4):
        away = (teaching._near(states, progress) - point).norm(dim=1) / point.norm()
        assert away.max() <= progress * (0.15 + towards) + 1e-6
        assert away.max() >= 0.9 * progress * 0.15
    moved = (teaching._near(states, 0.4) - point).detach()
    along = moved @ (other - point) / (other - point).norm() ** 2
    # Half of them are moved towards the point itself, and the others by half of the way on average.
    assert float(along.mean()) == pytest.approx(0.4 * 0.06 / 4, rel=0.2)


def test_in_the_second_half_half_of_the_points_are_as_far_off_as_nodes_were():
    teaching = begin(algebra_of(machine_of("parity_check")), seed=0)
    states = torch.tensor([1, 0, 1, 1])
    off = torch.arange(4.0)[:, None].expand(4, 16) * 100
    for _ in range(100):  # until each place of state 1 had its turn
        teaching._remember(off, states, torch.tensor([True, True, True, False]))
    assert set(teaching.off[1].flatten().tolist()) == {0, 200}  # the last was not told rightly
    assert set(teaching.off[0].flatten().tolist()) == {100}
    moved = teaching._near(torch.zeros(2000, dtype=torch.long), 0.5) - teaching.points[0]
    is_far = moved.mean(dim=1) > 50
    assert is_far.double().mean() == pytest.approx(0.5, abs=0.05)
    assert not (teaching._near(states, 0.49) - teaching.points[states] > 50).any()


@pytest.fixture(scope="module")
def taught_or():
    """A network of two symbols that was taught: is a one among them?"""
    tables = ldru.Algebra(leaf=[0, 1], pair=[[0, 1], [1, 1]], carry=[0, 1], answer=[0, 1])
    generator = torch.Generator().manual_seed(0)
    network = ldru.build(SMALL, vocab_size=2, num_classes=2, generator=generator).eval()
    points = teach_products(network, tables, steps=400, generator=generator)
    return network, tables, points


def test_a_network_learns_the_tables_that_it_is_taught(taught_or):
    network, tables, _ = taught_or
    right = ldru.extract(network, ldru.task(regex="(0|1)*1(0|1)*"))
    assert right.is_correct
    assert right.algebra.num_states == tables.num_states
    parity = ldru.task(regex="(0*10*1)*0*10*")
    wrong = ldru.extract(network, parity)
    assert not wrong.is_correct
    assert wrong.wrong == (1, 1)  # the shortest word on which the two differ


@torch.no_grad()
def test_nodes_gather_around_points_that_lie_far_apart(taught_or):
    network, tables, points = taught_or
    encoder, moves = network.encoder, tables.moves
    length = points.norm(dim=1).max()
    made = encoder.block(encoder.operator(points[moves.left], points[moves.right]))
    assert (made - points[moves.joined]).norm(dim=1).max() < 0.1 * length
    assert (encoder.block(points) - points).norm(dim=1).max() < 0.1 * length
    assert (network.symbol_leaves() - points[tables.leaf]).norm(dim=1).max() < 0.1 * length
    assert (points[0] - points[1]).norm() > 0.5 * length
    assert (network.head(points).argmax(dim=1).numpy() == tables.answer).all()


def test_the_network_itself_shows_where_it_has_each_state(taught_or):
    network, tables, points = taught_or
    found = points_of(network, tables)
    assert (torch.cdist(found, points).argmin(dim=1) == torch.arange(2)).all()


@torch.no_grad()
def test_states_are_found_by_joins_and_rises_literally():
    """Numbers modulo 4 of one symbol: 1 is the leaf, 2 = 1 + 1, 3 rises from 1, 0 = 1 + 3."""
    sums = np.add.outer(np.arange(4), np.arange(4)) % 4
    tables = ldru.Algebra(leaf=[1], pair=sums, carry=[0, 3, 2, 3], answer=[0, 1, 1, 1])
    generator = torch.Generator().manual_seed(0)
    network = ldru.build(SMALL, vocab_size=1, num_classes=2, generator=generator).eval()
    join, rise = network.encoder.operator, network.encoder.block
    (one,) = network.symbol_leaves()
    two, three = rise(join(one, one)), rise(one)
    expected = torch.stack([rise(join(one, three)), one, two, three])
    torch.testing.assert_close(points_of(network, tables), expected)


def test_the_same_seed_gives_the_same_network():
    def weights(seed):
        teaching = begin(algebra_of(machine_of("dyck_2")), seed=seed, model=replace(SMALL, dim=4))
        for number in range(5):
            teaching.step(number / 5)
        return torch.cat([weight.detach().flatten() for weight in teaching.model.parameters()])

    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


def test_what_no_word_needs_and_no_label_is_told_is_left_out():
    """Of arithmetic, `3+` has no label, and `++` stands in no word."""
    tables = algebra_of(machine_of("mod_arithmetic_2"))
    assert (tables.pair == UNMET).any()
    assert (tables.answer == UNLABELLED).any()
    generator = torch.Generator().manual_seed(0)
    network = ldru.build(SMALL, vocab_size=len(tables.leaf), num_classes=2, generator=generator)
    teach_products(network, tables, steps=2, generator=generator)
    assert all(weight.isfinite().all() for weight in network.parameters())


def test_large_tables_are_taught_longer():
    assert usual_steps(algebra_of(machine_of("parity_check"))) == 2000
    dyck = algebra_of(machine_of("dyck_8"))
    assert usual_steps(dyck) == 32 * dyck.num_states > 2000
