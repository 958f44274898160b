"""Machines learned from algebras, against the machines that the algebras were made of."""

import numpy as np
import pytest
from hypothesis import given, settings

import ldru
from ldru.automata.machine import UNLABELLED
from tests.analysis.test_extraction import machines


def algebra_of(machine):
    """The monoid's own table: a node is the class of its word."""
    monoid = ldru.monoid(machine)
    return ldru.Algebra(
        leaf=monoid.step[0],
        pair=monoid.table,
        carry=np.arange(monoid.size),
        answer=monoid.output,
    )


def all_words(symbols, longest):
    for length in range(1, longest + 1):
        yield np.stack(np.unravel_index(np.arange(symbols**length), (symbols,) * length), axis=1)


@settings(max_examples=40, deadline=None)
@given(machine=machines())
def test_the_machine_of_a_monoid_is_the_machine(machine):
    found = ldru.machine_of(algebra_of(machine), alphabet=machine.alphabet)
    for words in all_words(machine.num_symbols, 6):
        assert (found.run(words) == machine.run(words)).all()
    # Only the empty word can need a state of its own, since the algebra does not know its label.
    assert found.num_states <= machine.num_states + 1
    assert found.num_states == found.minimal().num_states


@pytest.mark.parametrize("name", ["parity_check", "dyck_3", "tomita_5", "cycle_navigation"])
def test_known_languages_are_found_whole(name):
    machine = ldru.as_machine(name).minimal()
    found = ldru.machine_of(algebra_of(machine), alphabet=machine.alphabet)
    assert found.num_states == machine.num_states
    assert (found.delta == machine.delta).all()
    assert (found.output == machine.output).all()


@pytest.mark.usefixtures("few_words")
def test_an_extraction_becomes_a_machine_and_a_task():
    run = ldru.Run.open("parity_check")
    found = run.exact()
    assert ldru.as_machine(found).num_states == 2
    assert ldru.monoid(found).size == 2
    again = ldru.task(machine=found)
    assert int(again.machine.run("0110")) == run.predict(["0110"])[0].expected


def test_a_language_that_no_machine_has_meets_the_bound():
    """A node that was joined at every level stays 0: a word of 2^k symbols; others are 1."""
    powers = ldru.Algebra(leaf=[0], pair=[[0, 1], [1, 1]], carry=[1, 1], answer=[1, 0])
    lengths = [n for n in range(1, 40) if powers.run([0] * n) == 1]
    assert lengths == [1, 2, 4, 8, 16, 32]
    with pytest.raises(ldru.LdruError, match=r"more than 30 states .* raise max_states"):
        ldru.machine_of(powers, alphabet="a", max_states=30)


def test_the_empty_word_has_no_label_where_nothing_is_like_it():
    """The first symbol decides: no state that a word leads to leaves both open."""
    first = ldru.Algebra(leaf=[0, 1], pair=[[0, 0], [1, 1]], carry=[0, 1], answer=[0, 1])
    found = ldru.machine_of(first, alphabet="ab")
    assert found.num_states == 3
    assert found.output[found.start] == UNLABELLED


def test_an_alphabet_of_another_size_is_an_error():
    first = ldru.Algebra(leaf=[0, 1], pair=[[0, 0], [1, 1]], carry=[0, 1], answer=[0, 1])
    with pytest.raises(ldru.LdruError, match="2 symbols, got an alphabet of 3"):
        ldru.machine_of(first, alphabet="abc")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"pair": [[0, 0]]}, r"pair \[2, 2\]; got int64 \[1, 2\]"),
        ({"carry": [0.5, 1.0]}, r"whole numbers, carry \[2\]; got float64"),
        ({"leaf": [0, 2]}, "numbered from 0 to 1, -1 stands for none; leaf has 0 to 2"),
    ],
)
def test_tables_that_do_not_fit_are_one_clear_error(tables, message):
    good = {"leaf": [0, 1], "pair": [[0, 0], [1, 1]], "carry": [0, 1], "answer": [0, 1]}
    with pytest.raises(ldru.LdruError, match=message):
        ldru.Algebra(**{**good, **tables})
