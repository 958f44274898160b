"""`ldru monoid`, `ldru coverage` and `ldru heatmaps`."""

import json

from tests.cli.calling import call


def test_monoid(capsys, tmp_path):
    plot = tmp_path / "m.png"
    code, out, _ = call(capsys, "monoid", "dyck_2", "--plot", plot)
    assert code == 0
    assert "15 classes" in out
    assert plot.exists()
    data = json.loads(call(capsys, "monoid", "--regex", "(01)*", "--json")[1])
    assert len(data["table"]) == data["size"]


def test_coverage_and_heatmaps(capsys, tmp_path):
    plots = [tmp_path / "c.png", tmp_path / "c.svg"]
    arguments = ["coverage", "dyck_2", "--lengths", 8, 20, "--test", 30]
    code, out, _ = call(capsys, *arguments, "--plot", *plots)
    assert code == 0
    assert "shows them all: 8" in out
    assert all(plot.exists() for plot in plots)
    data = json.loads(call(capsys, *arguments, "--json")[1])
    assert [row["train_length"] for row in data["by_training_length"]] == [8, 20]
    plot = tmp_path / "h.png"
    code, out, _ = call(
        capsys, "heatmaps", "dyck_2", "--ranges", "30:34:2", "60:100:40", "--plot", plot
    )
    assert code == 0
    assert "60:100:40" in out
    assert plot.exists()
