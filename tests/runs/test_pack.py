"""Runs carried from one folder to another."""

import pytest

import ldru
from ldru.models.settings import RNNSpec
from ldru.reproduce.plan import make_plan
from ldru.reproduce.table_runs import table_runs
from ldru.runs.pack import pack, unpack
from ldru.runs.results import Results
from tests.reproduce.tables import TRAIN, one_run, work


def test_packed_runs_are_merged_and_nothing_is_overwritten(tmp_path):
    here, there, table = Results(tmp_path / "here"), Results(tmp_path / "there"), one_run()
    work("local", make_plan([table], here).jobs)
    file = tmp_path / "runs.zip"
    names = pack(here, table_runs(table), file)
    assert len(names) == 1
    with pytest.raises(ldru.LdruError, match="not overwritten"):
        pack(here, table_runs(table), file)
    assert unpack(file, there) == (names, [])
    assert not make_plan([table], there).jobs
    marker = there.runs / names[0] / "log.jsonl"
    marker.write_text("")
    assert unpack(file, there) == ([], names)
    assert marker.read_text() == ""
    records = tmp_path / "records.zip"
    bare = Results(tmp_path / "bare")
    ldru.train("parity_check", model=RNNSpec(dim=4), settings=TRAIN, out=bare.runs)
    with pytest.raises(ldru.LdruError, match="not evaluated yet"):
        pack(bare, table_runs(table), tmp_path / "bare.zip", has_weights=False)
    pack(here, table_runs(table), records, has_weights=False)
    for is_same in (True, False):
        other = Results(tmp_path / f"other-{is_same}")
        unpack(records, other)
        weights = other.runs / names[0] / "weights.safetensors"
        assert not weights.exists()
        if not is_same:
            (other.runs / names[0] / "log.jsonl").write_text("")
        assert unpack(file, other) == ([], names)
        assert weights.exists() is is_same
    (tmp_path / "bad.zip").write_bytes(b"no zip")
    with pytest.raises(ldru.LdruError, match="no whole file of packed runs"):
        unpack(tmp_path / "bad.zip", there)
