"""Our files against the safetensors library's, both ways."""

import json

import pytest
import torch

from ldru.base.errors import RunError
from ldru.base.safetensors import KINDS, load_tensors, save_tensors
from tests.outcome import outcome

safetensors = pytest.importorskip("safetensors.torch")


def example():
    torch.manual_seed(0)
    tensors = {f"of {name}": (9 * torch.rand(3, 5)).to(kind) for name, kind in KINDS.items()}
    tensors["scalar"] = torch.tensor(2.5)
    tensors["empty"] = torch.zeros(0, 4)
    tensors["turned"] = torch.rand(4, 3).T
    return tensors


def assert_same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def test_ours_are_read_by_the_library_and_by_us(tmp_path):
    path, tensors = tmp_path / "ours.safetensors", example()
    save_tensors(path, tensors, {"step": "3", "name": "é"})
    assert_same(safetensors.load_file(path), tensors)
    found, metadata = load_tensors(path)
    assert_same(found, tensors)
    assert metadata == {"step": "3", "name": "é"}


def test_the_librarys_are_read_by_us(tmp_path):
    path = tmp_path / "theirs.safetensors"
    tensors = {name: tensor.contiguous() for name, tensor in example().items()}
    safetensors.save_file(tensors, path, metadata={"who": "them"})
    found, metadata = load_tensors(path)
    assert_same(found, tensors)
    assert metadata == {"who": "them"}


def test_a_damaged_file_is_one_clear_error(tmp_path):
    path = tmp_path / "whole"
    save_tensors(path, {"a": torch.rand(4)}, {})
    whole = path.read_bytes()
    for number, content in enumerate(
        (
            b"",
            b"1234",
            whole[:20],
            whole[:-1],
            whole.replace(b"F32", b"F99"),
            whole.replace(b"[4]", b"[9]"),
            whole.replace(b'"shape"', b'"shapf"'),
            b"\x02\0\0\0\0\0\0\0[]",
        )
    ):
        broken = tmp_path / str(number)
        broken.write_bytes(content)
        with pytest.raises(RunError, match="cannot read"):
            load_tensors(broken)
    with pytest.raises(RunError, match="cannot read"):
        load_tensors(tmp_path / "none")


def header_of(path, change):
    """Write a file anew with another header over the same data, as a stranger would."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])


def test_data_that_changed_is_not_read_and_files_of_others_need_no_checksum(tmp_path):
    path = tmp_path / "whole"
    save_tensors(path, {"a": torch.rand(4), "b": torch.rand(4)}, {"step": "3"})
    whole = path.read_bytes()
    for place in range(8, len(whole)):
        broken = bytearray(whole)
        broken[place] ^= 1
        path.write_bytes(broken)
        found, problem = outcome(load_tensors, path)
        if found is None:
            assert str(path) in problem
        else:  # the checksum itself has lost its name
            tensors, _ = found
            assert b"".join(tensors[name].numpy().tobytes() for name in "ab") == whole[-32:]
    path.write_bytes(whole)
    header_of(path, lambda header: header["__metadata__"].pop("checksum"))
    assert load_tensors(path)[1] == {"step": "3"}


@pytest.mark.parametrize(
    ("offsets", "reason"),
    [
        ({"a": [0, 16], "b": [0, 16]}, "begins at 0, where 16"),
        ({"a": [0, 16], "b": [8, 24]}, "begins at 8, where 16"),
        ({"a": [16, 32], "b": [24, 40]}, "begins at 16, where 0"),
        ({"a": [-16, 0], "b": [16, 32]}, "whole numbers"),
        ({"a": [0, 2**70], "b": [16, 32]}, "whole numbers"),
        ({"a": [0, True], "b": [16, 32]}, "whole numbers"),
    ],
)
def test_tensors_tile_the_file(offsets, reason, tmp_path):
    path = tmp_path / "file"
    save_tensors(path, {"a": torch.rand(4), "b": torch.rand(4)}, {})

    def change(header):
        header["__metadata__"] = {}
        for name, place in offsets.items():
            header[name]["data_offsets"] = place

    header_of(path, change)
    with pytest.raises(RunError, match=reason):
        load_tensors(path)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {"dtype": ["F32"], "shape": [4], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [4] * 9000, "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": "4", "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [4], "data_offsets": [0, 16], "more": 1},
    ],
)
def test_an_entry_that_makes_no_sense_is_one_error(entry, tmp_path):
    path = tmp_path / "file"
    save_tensors(path, {"a": torch.rand(4)}, {})
    header_of(path, lambda header: header.update(a=entry, __metadata__={}))
    with pytest.raises(RunError, match="'a'"):
        load_tensors(path)
    header_of(path, lambda header: header.update(__metadata__={"a": 1}))
    with pytest.raises(RunError, match="object of texts"):
        load_tensors(path)


def test_a_header_is_no_longer_than_the_file_and_than_its_limit(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes((2**60).to_bytes(8, "little") + b"{}")
    with pytest.raises(RunError, match="within its header"):
        load_tensors(path)
    save_tensors(path, {"a": torch.rand(4)}, {})
    monkeypatch.setenv("LDRU_LIMITS", "text_bytes=20")
    with pytest.raises(RunError, match=r"its header: .* is beyond"):
        load_tensors(path)
