import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldru import LdruError, MooreMachine
from ldru.automata.families import dyck, modular_arithmetic, tomita


@st.composite
def machines(draw, max_states=6):
    states = draw(st.integers(1, max_states))
    state = st.integers(0, states - 1)
    return MooreMachine(
        alphabet="ab",
        delta=draw(st.lists(st.tuples(state, state), min_size=states, max_size=states)),
        output=draw(st.lists(st.integers(0, 2), min_size=states, max_size=states)),
        start=draw(state),
    )


def words_up_to(length, symbols=2):
    for n in range(length + 1):
        yield from itertools.product(range(symbols), repeat=n)


@given(machines())
def test_minimal_machine_gives_the_same_labels(machine):
    small = machine.minimal()
    assert small.num_states <= machine.num_states
    for word in words_up_to(7):
        assert small.run([word])[0] == machine.run([word])[0]


@given(machines())
def test_minimal_machine_has_no_two_equal_states(machine):
    small = machine.minimal()
    # Two states of a machine of n states differ on a word shorter than n, if they differ at all.
    words = list(words_up_to(small.num_states - 1))
    behaviours = {
        tuple(
            MooreMachine(alphabet="ab", delta=small.delta, output=small.output, start=q).run([w])[0]
            for w in words
        )
        for q in range(small.num_states)
    }
    assert len(behaviours) == small.num_states


@given(machines(), machines())
def test_counterexample_is_a_shortest_difference(first, second):
    found = first.counterexample(second)
    limit = first.num_states * second.num_states if found is None else len(found)
    differing = (w for w in words_up_to(min(limit, 9)) if first.run([w]) != second.run([w]))
    shortest = next(differing, None)
    if found is None:
        assert shortest is None
        assert first.is_equivalent(second)
    else:
        assert first.run([found]) != second.run([found])
        if len(found) <= 9:
            assert len(shortest) == len(found)


@given(machines())
def test_json_round_trip(machine):
    again = MooreMachine.from_json(machine.to_json())
    assert again.alphabet == machine.alphabet
    assert again.start == machine.start
    np.testing.assert_array_equal(again.delta, machine.delta)
    np.testing.assert_array_equal(again.output, machine.output)


def test_text_round_trip_with_long_symbols():
    machine = MooreMachine(alphabet=["go", "stay"], delta=[[1, 0], [0, 1]], output=[0, 1])
    tokens = machine.encode("go stay go")
    assert tokens.tolist() == [0, 1, 0]
    assert machine.decode(tokens) == "go stay go"
    assert modular_arithmetic().decode(modular_arithmetic().encode("3+4x2")) == "3+4x2"


def test_characters_are_encoded_one_by_one_whatever_they_are():
    machine = MooreMachine(alphabet=["ü", "a", "😀"], delta=[[0, 0, 0]], output=[0])
    assert machine.encode("a😀üa").tolist() == [1, 2, 0, 1]
    assert machine.encode(["a", "😀"]).tolist() == [1, 2]
    assert machine.encode("").tolist() == []
    for unknown in ("0", "b", "\ud800", "\U0010ffff"):
        with pytest.raises(LdruError, match="at place 2"):
            machine.encode(f"a{unknown}")


def test_run_takes_any_leading_axes():
    words = np.random.default_rng(0).integers(0, 2, (3, 4, 7))
    labels = tomita(4).run(words)
    assert labels.shape == (3, 4)
    assert labels[1, 2] == tomita(4).run(words[1, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": [[0, 1], [1]]}, "different lengths"),
        ({"delta": [[0, 1], [1, 2]]}, "state 1 on '1' to 2"),
        ({"delta": [[0, 1], [1, -1]]}, "state 1 on '1' to -1"),
        ({"delta": [[0, 1]]}, r"delta must be \[2 states, 2 symbols\]"),
        ({"delta": [[0, 0.5], [1, 1]]}, "whole numbers"),
        ({"output": [0, -2]}, "labels count from 0"),
        ({"output": [-1, -1]}, "labels count from 0"),
        ({"start": 2}, "start must be a state from 0 to 1"),
        ({"alphabet": ["0", "0"]}, "twice"),
        ({"alphabet": []}, "alphabet is empty"),
        ({"alphabet": ["0", "a b"]}, "without blanks"),
        ({"alphabet": 5}, "list of strings"),
        ({"output": [0, 10**9]}, "below 1000000"),
        ({"colour": 1}, "unknown: colour"),
    ],
)
def test_bad_machine_is_one_clear_error(tmp_path, change, message):
    import json

    good = {"alphabet": ["0", "1"], "delta": [[0, 1], [1, 0]], "output": [0, 1], "start": 0}
    path = tmp_path / "m.json"
    path.write_text(json.dumps({**good, **change}))
    with pytest.raises(LdruError, match=message):
        MooreMachine.read(path)


def test_other_bad_input_is_one_clear_error(tmp_path):
    with pytest.raises(LdruError, match="cannot read"):
        MooreMachine.read(tmp_path / "none.json")
    (tmp_path / "m.json").write_text("{")
    with pytest.raises(LdruError, match="not valid JSON"):
        MooreMachine.read(tmp_path / "m.json")
    with pytest.raises(LdruError, match="missing: delta, output"):
        MooreMachine.from_json('{"alphabet": ["0"]}')
    with pytest.raises(LdruError, match="'2' at place 3"):
        dyck(2).encode("012")
    with pytest.raises(LdruError, match="tokens run from 0 to 1"):
        dyck(2).run([[0, 2]])
    with pytest.raises(LdruError, match="cannot be compared"):
        dyck(2).counterexample(modular_arithmetic())
