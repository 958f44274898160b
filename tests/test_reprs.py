"""What a prompt or a notebook shows of an object: one line, or a table."""

import pytest

import ldru


@pytest.mark.usefixtures("few_words")
def test_one_line_each():
    run = ldru.Run.open("parity_check")
    evaluation = run.compute_evaluation([10, 20], words=16)
    machine = ldru.task("dyck_2").machine
    shown = {
        run: f"Run({run.spec.name}, step 100,000, validation 100.0%)",
        machine: "MooreMachine(4 states, 2 classes, symbols 0 1)",
        ldru.task("dyck_2"): f"RegularTask(dyck_2, {machine!r})",
        ldru.monoid(machine): f"Monoid(15 classes of {machine!r})",
        run.exact(): "Extraction(correct at every length, 2 states)",
    }
    for thing, text in shown.items():
        assert repr(thing) == text
    assert repr(evaluation) == "Evaluation(2 lengths from 10 to 20, mean accuracy 100.00%)"


def test_tables_in_notebooks_are_escaped_and_short():
    monoid = ldru.monoid("dyck_12")
    text = monoid._repr_html_()
    assert text.count("<tr>") == 51
    assert "... and 770 more" in text
    evaluation = ldru.Run.open("parity_check").compute_evaluation([10], words=16)
    assert "<th>accuracy</th>" in evaluation._repr_html_()


@pytest.mark.usefixtures("few_words")
def test_notebooks_show_runs_tasks_machines_and_extractions():
    run = ldru.Run.open("parity_check")
    assert run.spec.name in run._repr_html_()
    assert "<th>accuracy</th>" in run._repr_html_()  # it was evaluated
    moves = "<tr><th>state</th><th>0</th><th>1</th><th>label</th></tr>"
    assert moves in ldru.task("dyck_2").machine._repr_html_()
    assert moves in ldru.task("dyck_2")._repr_html_()
    found = ldru.extract(run.model, run.task, tolerances=[0.5])
    assert "correct at every length" in found._repr_html_()
    assert "<th>tolerance</th>" in found._repr_html_()
    assert found.rows()[0]["states"] == 2
