"""Records in packs."""

import zipfile

import pytest

import ldru
from ldru.runs.folder import LOG, RECORD, SETTINGS, RunFolder
from ldru.runs.pack import unpack
from ldru.runs.packed import read_pack, write_pack
from ldru.runs.results import Results, State

SETTINGS_SMALL = ldru.TrainSpec(batch_size=4, validation_words=4, validation_length=8)


@pytest.fixture
def folders(tmp_path):
    runs = ldru.train(
        "parity_check",
        model=ldru.LDRUSpec(dim=4),
        steps=2,
        seeds=(0, 1),
        settings=SETTINGS_SMALL,
        out=tmp_path / "here" / "runs",
    )
    for run in runs.values():
        run.with_evaluation(run.compute_evaluation([3, 4]))
    return {run.spec.name: RunFolder(run.folder) for run in runs.values()}


def test_a_pack_gives_back_what_was_put_in_and_is_the_same_bytes_twice(folders, tmp_path):
    one, other = tmp_path / "one.zip", tmp_path / "other.zip"
    write_pack(one, folders, has_weights=False)
    write_pack(other, dict(reversed(folders.items())), has_weights=False)
    assert one.read_bytes() == other.read_bytes()
    for name, packed in read_pack(one).items():
        assert packed.spec() == folders[name].spec()
        assert packed.record() == folders[name].record()
        assert packed.log() == folders[name].log()
        for part in (SETTINGS, RECORD, LOG):
            assert packed.read(part) == folders[name].read(part)
        with pytest.raises(ldru.LdruError, match=r"holds no weights\.safetensors"):
            packed.read("weights.safetensors")


def test_results_find_packed_records_and_what_they_lack_is_missing(folders, tmp_path):
    results = Results(tmp_path / "there")
    write_pack(results.packs / "some.zip", folders, has_weights=False)
    for files in folders.values():
        spec = files.spec()
        assert results.find(spec, [3, 4]).state is State.DONE
        assert results.recorded_evaluation(spec, [3]) == files.record().evaluation
        assert not results.has_weights(spec)
        # Without weights it cannot be evaluated further: it would be trained again.
        assert results.find(spec, [3, 4, 5]).state is State.MISSING


@pytest.mark.parametrize(
    "entry", ["run/evil.py", "../run/record.json", "record.json", "/a/record.json"]
)
def test_what_is_no_part_of_a_run_is_refused(entry, tmp_path):
    with zipfile.ZipFile(tmp_path / "odd.zip", "w") as archive:
        archive.writestr(entry, "{}")
    with pytest.raises(ldru.LdruError, match="no part of a run"):
        read_pack(tmp_path / "odd.zip")
    (tmp_path / "torn.zip").write_bytes((tmp_path / "odd.zip").read_bytes()[:-9])
    with pytest.raises(ldru.LdruError, match="no whole file of packed runs"):
        read_pack(tmp_path / "torn.zip")


def test_a_damaged_pack_is_one_clear_error(folders, tmp_path):
    path = tmp_path / "some.zip"
    write_pack(path, folders, has_weights=True)
    content = bytearray(path.read_bytes())
    content[200:400] = bytes(200)
    path.write_bytes(content)
    for read in (read_pack, lambda path: unpack(path, Results(tmp_path / "there"))):
        with pytest.raises(ldru.LdruError, match="no whole file of packed runs"):
            read(path)


def test_weights_come_to_a_record_though_one_of_them_has_no_log(folders, tmp_path):
    whole, results = tmp_path / "whole.zip", Results(tmp_path / "there")
    write_pack(whole, folders, has_weights=True)
    records = tmp_path / "records.zip"
    write_pack(records, folders, has_weights=False)
    unpack(records, results)
    for name in folders:
        (results.runs / name / LOG).unlink()
    assert unpack(whole, results) == ([], sorted(folders))
    assert all((results.runs / name / "weights.safetensors").exists() for name in folders)
