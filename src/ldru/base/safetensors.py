"""Tensors in files, in the safetensors format: a JSON header and the bytes, nothing executable.

Written out here because training has to save its work on machines where PyTorch and numpy are all
there is. The format: the header's size as eight bytes, the header, then all tensors end to end.
Ours have a checksum among their metadata; files of others need none.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from ldru.base.errors import RunError
from ldru.base.files import whole_file
from ldru.base.json import Json
from ldru.base.limits import check_limit
from ldru.base.reading import check_size, explained, parse_json

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
METADATA, CHECKSUM = "__metadata__", "checksum"
MOST_AXES = 16


class Place(NamedTuple):
    """Where a tensor lies among the bytes after the header, and what it is."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


class Header(NamedTuple):
    """The beginning of a file: its tensors by name, its metadata, and where its data begins.

    checksum: of header and data; None in files of others.
    digest: of the header alone, the first part of that checksum.
    """

    places: dict[str, Place]
    metadata: dict[str, str]
    begin: int
    checksum: str | None
    digest: bytes


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors as one whole file."""
    names = {kind: name for name, kind in KINDS.items()}
    header: dict[str, Json] = {METADATA: dict(metadata)}
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
    checksum = _checksum(_digest(header), (part.data for part in parts))
    text = json.dumps({**header, METADATA: {**metadata, CHECKSUM: checksum}}).encode()
    text += b" " * (-len(text) % 8)  # so that the tensors are aligned
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in parts:
            file.write(part.data)


def read_header(path: Path) -> Header:
    """The header of a file, once it agrees with the file's size."""
    size = check_size(path, limit="tensor_bytes")
    with explained(path), path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 + length:
            raise ValueError(f"it ends after {size} bytes, within its header")
        check_limit("text_bytes", length, "its header")
        header = parse_json(file.read(length))
        if not isinstance(header, dict):
            raise ValueError("its header is no JSON object")
        metadata = _metadata(header.pop(METADATA, {}))
        checksum = metadata.pop(CHECKSUM, None)
        places = {name: _place(name, entry) for name, entry in header.items()}
        _check_tiles(places, size - 8 - length)
        return Header(
            places, metadata, 8 + length, checksum, _digest({METADATA: dict(metadata), **header})
        )


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read such a file: its tensors and its metadata."""
    header = read_header(path)
    with explained(path), path.open("rb") as file:
        file.seek(header.begin)
        content = bytearray(file.read())
        data = memoryview(content)
        if len(data) != sum(place.end - place.begin for place in header.places.values()):
            raise OSError("somebody writes it at this moment")
        if header.checksum not in (None, _checksum(header.digest, [data])):
            raise ValueError("it is not what was written: its checksum does not fit")
        tensors = {name: _tensor(data, place) for name, place in header.places.items()}
    return tensors, header.metadata


def check_finite(tensors: Mapping[str, Tensor], *, source: str) -> None:
    """Raise where a number is infinite or none at all: nothing can be computed with it."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise RunError(f"the weights in {source!r} are not finite: see {name!r}")


def _metadata(given: Json) -> dict[str, str]:
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise ValueError(f"{METADATA} is no object of texts")
    return {name: str(value) for name, value in given.items()}


def _place(name: str, entry: Json) -> Place:
    """The place that a header gives a tensor; shapes and offsets are whole numbers that agree."""
    wanted = {"dtype", "shape", "data_offsets"}
    if not isinstance(entry, dict) or set(entry) != wanted:
        raise ValueError(f"{name[:80]!r} has not the fields {', '.join(sorted(wanted))}")
    kind = entry["dtype"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{name[:80]!r} has the unknown dtype {str(kind)[:20]!r}")
    shape, offsets = _sizes(name, entry["shape"]), _sizes(name, entry["data_offsets"])
    is_sane = math.prod(max(1, size) for size in shape) < 2**48 and len(shape) <= MOST_AXES
    size = math.prod(shape) * KINDS[kind].itemsize
    if not is_sane or len(offsets) != 2 or offsets[1] - offsets[0] != size:
        raise ValueError(f"{name[:80]!r}: {shape[:20]} of {kind} cannot lie at {offsets[:2]}")
    return Place(KINDS[kind], tuple(shape), *offsets)


def _sizes(name: str, given: Json) -> list[int]:
    found = given if isinstance(given, list) else [None]
    sizes = [size for size in found if isinstance(size, int) and 0 <= size < 2**63]
    if len(sizes) != len(found) or any(isinstance(size, bool) for size in sizes):
        raise ValueError(f"shape and data_offsets of {name[:80]!r} are lists of whole numbers")
    return sizes


def _check_tiles(places: Mapping[str, Place], size: int) -> None:
    """Raise unless tensors lie end to end: no byte is in two of them, none is in no one."""
    end = 0
    for name, place in sorted(places.items(), key=lambda item: (item[1].begin, item[1].end)):
        if place.begin != end:
            raise ValueError(
                f"{name[:80]!r} begins at {place.begin}, where {end} is the end so far"
            )
        end = place.end
    if end != size:
        raise ValueError(f"its tensors have {end} bytes, it has {size}")


def _tensor(data: memoryview, place: Place) -> Tensor:
    if place.begin == place.end:
        return torch.empty(place.shape, dtype=place.dtype)
    own = data[place.begin : place.end]
    if place.dtype == torch.bool and max(own) > 1:
        raise ValueError("a truth value is neither 0 nor 1")
    part = torch.frombuffer(own, dtype=place.dtype)
    return part.reshape(place.shape).clone()


def _digest(header: Mapping[str, Json]) -> bytes:
    """Of a header without its checksum, however it is written."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def _checksum(digest: bytes, parts: Iterable[memoryview]) -> str:
    total = hashlib.sha256(digest)
    for part in parts:
        total.update(part)
    return total.hexdigest()
