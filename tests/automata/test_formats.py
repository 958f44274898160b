"""Machines in files: round trips of every format, and what is wrong with a file."""

import numpy as np
import pytest

import ldru
from ldru.automata.formats import from_att, from_dot

ACCEPTORS = ["parity_check", "dyck_3", "tomita_3", "dyck_2_2", "binary_addition", "random_7_3_1"]
OTHERS = ["modular_arithmetic", "prefix_1_2", "group_S3", "group_D8_generators", "flip_flop"]


def same(one, other):
    """Whether machines are equal, whatever the order of their symbols."""
    assert sorted(one.alphabet) == sorted(other.alphabet)
    order = [one.alphabet.index(symbol) for symbol in other.alphabet]
    sorted_one = ldru.MooreMachine(
        alphabet=other.alphabet, delta=one.delta[:, order], output=one.output, start=one.start
    )
    return sorted_one.is_equivalent(other)


@pytest.mark.parametrize("ending", [".json", ".att", ".fst", ".txt", ".dot", ".gv"])
@pytest.mark.parametrize("name", [*ACCEPTORS, *OTHERS])
def test_round_trips(name, ending, tmp_path):
    machine, path = ldru.as_machine(name), tmp_path / f"machine{ending}"
    if name in OTHERS and name != "flip_flop" and ending in (".att", ".fst", ".txt"):
        with pytest.raises(ldru.LdruError, match="whose labels are 0 and 1; write JSON"):
            ldru.write_machine(machine, path)
        return
    ldru.write_machine(machine, path)
    assert same(ldru.read_machine(path), machine)
    assert same(ldru.task(path=path).machine, machine)
    with pytest.raises(ldru.LdruError, match="already there"):
        ldru.write_machine(machine, path)


@pytest.mark.parametrize("name", [*ACCEPTORS, *OTHERS])
def test_objects_of_other_libraries(name):
    pytest.importorskip("aalpy")
    machine = ldru.as_machine(name)
    assert same(ldru.as_machine(ldru.to_aalpy(machine)), machine)
    if name in ACCEPTORS:
        assert same(ldru.as_machine(ldru.to_dfa(machine)), machine)
    elif name != "flip_flop":
        with pytest.raises(ldru.LdruError, match="labels must be 0 and 1"):
            ldru.to_dfa(machine)


def test_aalpys_own_drawing(tmp_path):
    aalpy_utils = pytest.importorskip("aalpy.utils")
    machine = ldru.as_machine("tomita_3")
    path = tmp_path / "drawn"
    aalpy_utils.save_automaton_to_file(ldru.to_aalpy(machine), path=str(path), file_type="dot")
    assert same(ldru.read_machine(path.with_suffix(".dot")), machine)


def test_att_text_of_others():
    """Weights of zero, one symbol or two, states by name."""
    machine = from_att("q0 q1 a a 0\nq1\tq0\ta\nq0 q0 b\nq1 q1 b b\nq1 0.0\n")
    assert machine.run("a") == 1
    assert machine.run("ab") == 1
    assert machine.run("aba") == 0


def test_holes_lead_to_a_sink_when_asked(tmp_path):
    path = tmp_path / "m.att"
    path.write_text("0 1 a\n1 0 b\n0\n")
    with pytest.raises(
        ldru.LdruError, match=r"no way for 'b' \(2 such holes\): with complete=True"
    ):
        ldru.read_machine(path)
    machine = ldru.read_machine(path, complete=True)
    assert machine.is_equivalent(ldru.from_regex("(ab)*"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no state"),
        ("0 1 a\n0 2 a\n", "line 2 leads by 'a' to 2, but another to 1.*not deterministic"),
        ("0 1 a b\n", "not a transducer"),
        ("0 1 <eps>\n", "empty move"),
        ("0 1 a 0.5\n", "only a weight of zero"),
        ("0 1 a a 0 0\n", "only a weight of zero"),
        ("0\n", "no symbol"),
    ],
)
def test_malformed_att_text(text, message):
    with pytest.raises(ldru.LdruError, match=message):
        from_att(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph { a -- b }", "expected 'digraph"),
        ('digraph { a -> b [label="x"]; }', "where the machine starts"),
        ('digraph { s -> a; a -> a [label="x"]; a -> b [label="x"]; }', "not deterministic"),
        ('digraph { s -> a; a [label="a|yes"]; a -> a [label="x"]; }', "whole number, got 'yes'"),
        ('digraph { s -> a; a -> b [label="x"]; }', "no way for 'x'"),
    ],
)
def test_malformed_graphviz(text, message):
    with pytest.raises(ldru.LdruError, match=message):
        from_dot(text)


def test_files_that_are_none(tmp_path):
    for name, message in (("m.xml", "ends in .json"), ("gone.att", "cannot read")):
        with pytest.raises(ldru.LdruError, match=message):
            ldru.read_machine(tmp_path / name)
    binary = tmp_path / "m.dot"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ldru.LdruError, match="cannot read"):
        ldru.read_machine(binary)
    deep = tmp_path / "m.json"
    deep.write_text("[" * 100_000)
    with pytest.raises(ldru.LdruError, match="not valid JSON"):
        ldru.read_machine(deep)


def test_a_huge_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setenv("LDRU_LIMITS", "text_bytes=10")
    path = tmp_path / "m.att"
    path.write_text("0 1 a\n1 0 a\n0\n")
    with pytest.raises(ldru.LdruError, match="14 is beyond the limit of 10"):
        ldru.read_machine(path)


def test_incomplete_objects_of_aalpy():
    automata = pytest.importorskip("aalpy.automata")
    states = [automata.DfaState("a", is_accepting=True), automata.DfaState("b")]
    states[0].transitions = {"x": states[1]}
    with pytest.raises(ldru.LdruError, match="state b has no way for 'x'"):
        ldru.as_machine(automata.Dfa(states[0], states))
    assert np.array_equal(ldru.as_machine("first").output, [0, 0, 1])
