"""Machines from what people have: tasks, names, automata of automata-lib, Python functions."""

import itertools
from collections.abc import Callable
from typing import Any

from ldru.automata.explore import explored
from ldru.automata.machine import MooreMachine
from ldru.automata.named import NAMES, named_machine
from ldru.base.errors import LdruError, unknown_name
from ldru.base.imports import extra_module

MAX_CALLS = 2_000_000
"""How often a predicate is asked, at most."""


def as_machine(language: object) -> MooreMachine:
    """A language as a machine.

    language: a machine; a regular task; the name of one that comes with the library; a DFA, NFA or
        GNFA of automata-lib; or a Dfa or MooreMachine of AALpy. Their symbols are sorted.

    >>> from automata.fa.dfa import DFA
    >>> odd = DFA(
    ...     states={"even", "odd"},
    ...     input_symbols={"a", "b"},
    ...     transitions={"even": {"a": "odd", "b": "even"}, "odd": {"a": "even", "b": "odd"}},
    ...     initial_state="even",
    ...     final_states={"odd"},
    ... )
    >>> ldru.as_machine(odd).num_states, ldru.monoid(odd).size
    (2, 2)
    >>> ldru.as_machine("dyck_3").num_states
    5
    """
    if isinstance(language, MooreMachine):
        return language
    if isinstance(language, str):
        named = named_machine(language)
        if named is None:
            problem = unknown_name("language", language, NAMES)
            raise LdruError(f"{problem}; an expression goes through ldru.from_regex")
        return named
    if isinstance(inner := getattr(language, "machine", None), MooreMachine):
        return inner
    if type(language).__module__.startswith("automata.fa."):
        return _from_automaton(language)
    if type(language).__module__.startswith("aalpy."):
        return _from_aalpy(language)
    raise LdruError(
        f"a machine is a MooreMachine, a regular task, its name or an automaton of automata-lib or "
        f"AALpy, got {type(language).__name__}; see also ldru.from_regex and ldru.from_predicate"
    )


def _from_automaton(automaton: Any) -> MooreMachine:
    from automata.fa.dfa import DFA
    from automata.fa.gnfa import GNFA
    from automata.fa.nfa import NFA

    if isinstance(automaton, GNFA):
        automaton = NFA.from_regex(automaton.to_regex(), input_symbols=automaton.input_symbols)
    nfa = NFA.from_dfa(automaton) if isinstance(automaton, DFA) else automaton
    symbols = sorted(automaton.input_symbols)
    plain = nfa.eliminate_lambda()

    def follow(states: frozenset, symbol: str) -> frozenset:
        moves = (plain.transitions.get(state, {}).get(symbol, ()) for state in states)
        return frozenset(itertools.chain(*moves))

    return explored(
        frozenset([plain.initial_state]),
        follow,
        lambda states: not states.isdisjoint(plain.final_states),
        symbols,
        name=f"the {type(automaton).__name__}",
    )


def _from_aalpy(automaton: Any) -> MooreMachine:
    """A Dfa or a Moore machine whose outputs are whole numbers or truth values."""
    kind = type(automaton).__name__
    if kind not in ("Dfa", "MooreMachine"):
        raise LdruError(f"of AALpy's automata Dfa and MooreMachine are machines here, not {kind}")
    symbols = sorted({symbol for state in automaton.states for symbol in state.transitions})
    number = {state: index for index, state in enumerate(automaton.states)}
    for state in automaton.states:
        if missing := [symbol for symbol in symbols if symbol not in state.transitions]:
            raise LdruError(f"state {state.state_id} has no way for {missing[0]!r}")
    return MooreMachine(
        alphabet=map(str, symbols),
        delta=[[number[s.transitions[symbol]] for symbol in symbols] for s in automaton.states],
        output=[int(s.is_accepting if kind == "Dfa" else s.output) for s in automaton.states],
        start=number[automaton.initial_state],
    )


def to_aalpy(machine: MooreMachine) -> Any:
    """A machine as AALpy's MooreMachine, whose outputs are our labels; needs the extra `learn`.

    >>> ldru.to_aalpy(ldru.task("parity_check").machine).size
    2
    """
    automata = extra_module("aalpy.automata", extra="learn")
    states = [
        automata.MooreState(f"s{number}", output=label)
        for number, label in enumerate(machine.output.tolist())
    ]
    for state, row in zip(states, machine.delta.tolist(), strict=True):
        state.transitions = {
            symbol: states[target] for symbol, target in zip(machine.alphabet, row, strict=True)
        }
    return automata.MooreMachine(states[machine.start], states)


def to_dfa(machine: MooreMachine) -> Any:
    """A machine with labels 0 and 1 as a DFA of automata-lib, which must be installed.

    >>> ldru.to_dfa(ldru.task("parity_check").machine).accepts_input("0110")
    True
    """
    if set(machine.output.tolist()) - {0, 1}:
        raise LdruError("a DFA accepts or rejects: the labels must be 0 and 1")
    dfa = extra_module("automata.fa.dfa", extra="")
    names = [str(state) for state in range(machine.num_states)]
    return dfa.DFA(
        states=set(names),
        input_symbols=set(machine.alphabet),
        transitions={
            names[state]: {
                symbol: names[target] for symbol, target in zip(machine.alphabet, row, strict=True)
            }
            for state, row in enumerate(machine.delta.tolist())
        },
        initial_state=names[machine.start],
        final_states={names[state] for state, label in enumerate(machine.output) if label == 1},
    )


def from_predicate(predicate: Callable[[str], bool], *, alphabet: str, states: int) -> MooreMachine:
    """The minimal machine of a language that a function decides, if it has so few states.

    Two words lead to one state if no ending of less than `states` symbols tells them apart. For a
    language of at most `states` states that is exact; of others nothing is known, and what shows
    itself as one of more states is an error.

    states: the most that the language may have; endings are tried in alphabet**states ways.

    >>> def has_thirds(word):
    ...     return word.count("a") % 3 == 0
    >>> ldru.from_predicate(has_thirds, alphabet="ab", states=5).num_states
    3
    """
    if not callable(predicate):
        raise LdruError(
            f"a predicate is a function of a word, got {predicate!r}; an expression goes through "
            "ldru.from_regex"
        )
    if not isinstance(alphabet, str) or not alphabet or len(set(alphabet)) != len(alphabet):
        raise LdruError(f"an alphabet is text that names each symbol once, got {alphabet!r}")
    if type(states) is not int or states < 1:
        raise LdruError(f"a machine has at least one state, got {states!r}")
    num_endings = sum(len(alphabet) ** length for length in range(states))
    calls = num_endings * (states * len(alphabet) + 1)
    if calls > MAX_CALLS:
        raise LdruError(
            f"{states} states over {len(alphabet)} symbols would ask the function {calls:,} times, "
            f"at most {MAX_CALLS:,} are allowed; lower the bound on states"
        )
    endings = [
        "".join(word)
        for length in range(states)
        for word in itertools.product(alphabet, repeat=length)
    ]
    words, number, delta = [""], {_answers(predicate, "", endings): 0}, []
    for word in words:
        row = []
        for symbol in alphabet:
            answers = _answers(predicate, word + symbol, endings)
            if answers not in number:
                if len(words) == states:
                    raise LdruError(
                        f"the language has more than {states} states: {word + symbol!r} leads to "
                        "another one; raise the bound"
                    )
                number[answers] = len(words)
                words.append(word + symbol)
            row.append(number[answers])
        delta.append(row)
    output = [int(bool(predicate(word))) for word in words]
    return MooreMachine(alphabet=alphabet, delta=delta, output=output).minimal()


def _answers(predicate: Callable[[str], bool], word: str, endings: list[str]) -> tuple[bool, ...]:
    return tuple(bool(predicate(word + ending)) for ending in endings)
