"""Pictures of machines and trees: what is drawn is what the machine has."""

import re

import numpy as np
import pytest

import ldru
from ldru.figures.pictures import layers, machine_figure
from tests.cli.calling import call


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_a_machine_has_its_states_and_an_arrow_for_each_pair():
    machine = ldru.as_machine("dyck_3").minimal()
    figure = ldru.draw("dyck_3")
    arrows = {(n, t) for n, row in enumerate(machine.delta.tolist()) for t in row}
    shown = texts(figure)
    assert {str(n) for n in range(5)} <= set(shown)
    assert shown.count("0, 1") == 1  # the trap
    # A text for each state and arrow, and one, empty, that points to the start.
    assert len(shown) == machine.num_states + len(arrows) + 1


def test_layers_are_distances_from_the_start_and_no_two_states_meet():
    for name in ("dyck_6", "prefix_4_2", "modular_arithmetic", "tomita_7"):
        machine = ldru.as_machine(name).minimal()
        places = layers(machine)
        assert len(set(places)) == machine.num_states
        assert places[machine.start][0] == 0
        for state, row in enumerate(machine.delta):
            assert all(places[t][0] <= places[state][0] + 1.5 + 1e-9 for t in row)


def test_a_tree_shows_the_class_of_every_part():
    word = "0010110"
    monoid = ldru.monoid("dyck_3")
    figure = ldru.draw("dyck_3", word)
    parts = [*word, "00", "10", "11", "0", "0010", "110", word]
    kinds = [str(int(monoid.classify(part))) for part in parts]
    assert sorted(texts(figure)) == sorted([*word, *kinds])


@pytest.mark.usefixtures("few_words")
def test_an_extraction_is_drawn_as_machine_and_by_its_states():
    run = ldru.Run.open("tomita_5")
    found = ldru.extract(run.model, run.task, tolerances=[0.5])
    assert {str(n) for n in range(4)} <= set(texts(ldru.draw(found)))
    states = [n for level in found.algebra.levels(np.array([0, 1, 1])) for n in level.tolist()]
    assert sorted(texts(ldru.draw(found, "011"))) == sorted(["0", "1", "1", *map(str, states)])


def test_graphviz_text_has_every_move():
    machine = ldru.as_machine("dyck_3").minimal()
    text = machine.to_dot()
    moves = re.findall(r'(\d+) -> (\d+) \[label="([^"]*)"\]', text)
    found = {(int(s), a): int(t) for s, t, symbols in moves for a in symbols.split(", ")}
    assert found == {
        (s, machine.alphabet[a]): int(t) for (s, a), t in np.ndenumerate(machine.delta)
    }
    assert text.count("doublecircle") == 1
    quoted = ldru.MooreMachine(alphabet=['"', "\\"], delta=[[0, 0]], output=[0]).to_dot()
    assert r'[label="\", \\"]' in quoted


@pytest.mark.usefixtures("few_words")
def test_the_command_writes_every_kind(tmp_path, capsys):
    files = [tmp_path / f"m.{ending}" for ending in ("svg", "pdf", "png", "dot")]
    code, out, err = call(capsys, "draw", "cycle_navigation", "--out", *files)
    assert code == 0, err
    assert out.split() == [str(path) for path in files]
    assert all(path.stat().st_size for path in files)
    code, _, err = call(
        capsys, "draw", "--run", "parity_check", "--word", "0110", "--out", tmp_path / "t.svg"
    )
    assert code == 0, err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dyck_3", "--word", "01", "--out", "t.dot"], "a word's tree has no Graphviz text"),
        (["dyck_3", "--word", "0x"], "symbol 'x' at place 2"),
        (["dyck_3", "--word", "01" * 40], "over 1 to 64 symbols, got 80"),
        (["dyck_3", "--run", "parity_check"], "a language or --run, not both"),
        (["prefix_4_4", "--out", "m.svg"], "states is too large a picture"),
        (["dyck_3", "--out", "m.gif"], "a figure is one of"),
        ([], "give one language"),
    ],
)
def test_misuse_is_one_clear_error(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(capsys, "draw", *arguments)
    assert code == 2
    assert message in err
    assert not list(tmp_path.iterdir())


def test_labels_have_colours_where_there_are_more_than_two():
    figure = machine_figure(ldru.as_machine("cycle_navigation").minimal())
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [f"label {n}" for n in range(5)]
