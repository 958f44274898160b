"""`ldru analyse`."""

import json

from tests.cli.calling import call


def test_analyse(capsys, run_folder, tmp_path):
    plot = tmp_path / "a.png"
    small = ["--words", 4, "--bracketings", 2]
    code, out, _ = call(capsys, "analyse", run_folder, "--lengths", "8", *small, "--plot", plot)
    assert code == 0
    assert "associators" in out
    assert plot.exists()
    arguments = ["analyse", run_folder, run_folder, "--what", "embeddings", "--max-length", 5]
    code, out, _ = call(capsys, *arguments, "--json", "--plot", plot)
    assert code == 0
    (found,) = json.loads(out).values()
    assert found["words"] == 62
