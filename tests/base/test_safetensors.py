"""Our files against the safetensors library's, both ways."""

import pytest
import torch

from ldru.base.errors import RunError
from ldru.base.safetensors import KINDS, load_tensors, save_tensors

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
