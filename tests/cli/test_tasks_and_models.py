"""`ldru tasks` and `ldru models`."""

import json

from tests.cli.calling import call


def test_lists(capsys):
    code, out, _ = call(capsys, "tasks", "--json")
    assert code == 0
    assert {row["task"]: row["monoid"] for row in json.loads(out)}["dyck_6"] == 141
    assert "dyck_12" in call(capsys, "tasks")[1]
    assert json.loads(call(capsys, "models", "--json")[1])[0]["parameters"] == 128_386
