"""`ldru bench`."""

import json

import pytest

from tests.cli.calling import call


@pytest.mark.parametrize("name", ["fleet", "scaling", "models", "text", "listops", "scan"])
def test_benchmarks_write_numbers_and_a_figure(capsys, tmp_path, name):
    code, _, err = call(capsys, "bench", name, "--quick", "--device", "cpu", "--out", tmp_path)
    assert code == 0, err
    data = json.loads((tmp_path / f"{name}.json").read_text())
    for row in data["rows"]:
        times = [value for key, value in row.items() if key.endswith("ms") and value is not None]
        assert times
        assert min(times) > 0
    assert {"gpu", "torch"} <= set(data["machine"])
    for row in data["rows"] if name in ("text", "listops") else ():
        ours, plain = row["step_ms"] / row["members"], row["plain_ms"]
        assert row["ratio"] == pytest.approx(plain / ours)
    assert (tmp_path / f"{name}.png").exists()
    again, _, err = call(capsys, "bench", name, "--quick", "--device", "cpu", "--out", tmp_path)
    assert again == 2
    assert "already there" in err
    assert call(capsys, "bench", "flet")[0] == 2
