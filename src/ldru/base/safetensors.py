"""Tensors in files, in the safetensors format: a JSON header and the bytes, nothing executable.

Written out here because training has to save its work on machines where PyTorch and numpy are all
there is. The format: the header's size as eight bytes, the header, then all tensors end to end.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from ldru.base.errors import RunError
from ldru.base.files import whole_file

KINDS = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
METADATA = "__metadata__"


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors as one whole file."""
    names = {kind: name for name, kind in KINDS.items()}
    header: dict[str, object] = {METADATA: dict(metadata)}
    parts, end = [], 0
    for name, tensor in tensors.items():
        part = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        begin, end = end, end + part.size
        header[name] = {
            "dtype": names[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
        parts.append(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the tensors are aligned
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in parts:
            file.write(part.tobytes())


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read such a file: its tensors and its metadata."""
    try:
        content = bytearray(path.read_bytes())
        size = int.from_bytes(content[:8], "little")
        if len(content) < 8 + size:
            raise ValueError(f"it ends after {len(content)} bytes, within its header")
        header = json.loads(content[8 : 8 + size])
        metadata = header.pop(METADATA, {})
        data = memoryview(content)[8 + size :]
        return {name: _tensor(data, **entry) for name, entry in header.items()}, metadata
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as problem:
        raise RunError(f"cannot read {str(path)!r}: {problem}") from problem


def _tensor(data: memoryview, *, dtype: str, shape: list[int], data_offsets: list[int]) -> Tensor:
    kind, (begin, end) = KINDS[dtype], data_offsets
    count = math.prod(shape)
    if not 0 <= begin <= end <= len(data) or end - begin != count * kind.itemsize:
        raise ValueError(f"a tensor {shape} of {dtype} cannot lie at {begin} to {end}")
    if not count:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(data[begin:end], dtype=kind).reshape(shape).clone()
