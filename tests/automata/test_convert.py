"""Machines from automata of others and from functions."""

import itertools
import re

import pytest
from automata.fa.dfa import DFA
from automata.fa.gnfa import GNFA
from automata.fa.nfa import NFA

import ldru


def words(alphabet, longest):
    for length in range(longest + 1):
        yield from map("".join, itertools.product(alphabet, repeat=length))


def answers(machine, word):
    return bool(machine.run(machine.encode(word))) if word else None


@pytest.mark.parametrize("regex", ["(ab)*", "a*b|ba", "(a|b)*abb", "((a|b)(a|b))*"])
def test_automata_answer_as_they_did(regex):
    nfa = NFA.from_regex(regex, input_symbols={"a", "b"})
    dfa = DFA.from_nfa(nfa, minify=False)
    for automaton in (nfa, dfa, dfa.to_partial(), GNFA.from_nfa(nfa)):
        machine = ldru.as_machine(automaton)
        assert list(machine.alphabet) == ["a", "b"]
        for word in words("ab", 6):
            if word:
                assert answers(machine, word) == bool(re.fullmatch(regex, word))


def test_tasks_and_monoids_take_them():
    nfa = NFA.from_regex("(01)*")
    task = ldru.task("mine", machine=nfa)
    assert task.name == "mine"
    assert ldru.monoid(nfa).size == ldru.monoid(task).size == ldru.monoid(task.machine).size
    assert ldru.monoid("dyck_2").size == 15


@pytest.mark.parametrize(
    ("decide", "states"),
    [
        (lambda word: word.count("1") % 4 == 1, 4),
        (lambda word: "0110" in word, 5),
        (lambda word: len(word) > 1 and word[-2] == "1", 4),
        (lambda word: True, 1),
    ],
)
def test_a_function_is_learned_exactly_from_its_number_of_states_on(decide, states):
    for bound in (states, states + 3):
        machine = ldru.from_predicate(decide, alphabet="01", states=bound)
        assert machine.num_states == states
        for word in words("01", 10):
            if word:
                assert answers(machine, word) == decide(word)


def test_what_cannot_be_a_machine():
    with pytest.raises(ldru.LdruError, match="more than 3 states: '111' leads to another one"):
        ldru.from_predicate(lambda word: word.count("1") % 4 == 3, alphabet="01", states=3)
    with pytest.raises(ldru.LdruError, match="would ask the function"):
        ldru.from_predicate(len, alphabet="01", states=40)
    with pytest.raises(ldru.LdruError, match="names each symbol once"):
        ldru.from_predicate(len, alphabet="00", states=4)
    with pytest.raises(ldru.LdruError, match=r"unknown language 'dick_3' .*'dyck_3'.*from_regex"):
        ldru.monoid("dick_3")
    with pytest.raises(ldru.LdruError, match=r"got int; see also ldru.from_regex"):
        ldru.task("mine", machine=3)
    silent = DFA(
        states={"a"},
        input_symbols=set(),
        transitions={"a": {}},
        initial_state="a",
        final_states=set(),
    )
    with pytest.raises(ldru.LdruError, match="the DFA has no symbols"):
        ldru.as_machine(silent)
