"""Hostile packs: names that lead elsewhere, bombs, spoiled parts, odd entries."""

import functools
import io
import struct
import zipfile
import zlib
from pathlib import Path
from random import Random

from attack.attack import Attack
from attack.fuzz.tensors import cut, spoil_tensors
from attack.material import Material
from attack.mutation import spoil_bytes
from ldru.runs.folder import LOG, PARTS, RECORD, SETTINGS, WEIGHTS
from ldru.runs.pack import unpack
from ldru.runs.packed import read_pack
from ldru.runs.results import Results

NAMES = ("..", "../..", "/tmp", "a/../..", "", ".", "C:", "x\\..\\..", "\0", "a" * 300, "🦉", " ")
BOMB = 2**32
"""Bytes that a bomb would grow to."""


def make(number: int, random: Random, material: Material) -> bytes:
    """A pack of two runs, with one kind of harm."""
    whole = material.pack.read_bytes()
    kind = random.randrange(10)
    if kind < 3:
        return spoil_bytes(random, whole)
    if kind == 3:
        return spoil_fields(random, whole)
    entries = read(whole)
    name = random.choice(list(entries))
    run, part = name.split("/")
    if kind < 6:
        entries[name] = spoil_part(random, part, entries[name])
    elif kind == 6:
        other = random.choice(NAMES)
        renamed = random.choice((f"{other}/{part}", f"{run}/{other}", f"{other}/{run}/{part}"))
        entries[renamed] = entries.pop(name)
    elif kind == 7:
        del entries[name]
    elif kind == 8:
        entries[f"{run}/{random.choice(PARTS)}"] = entries[name]
    else:
        if random.random() < 0.05:
            return with_bomb(name)
        return written(random, entries, twice=name)
    return written(random, entries)


def read(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(random: Random, entries: dict[str, bytes], *, twice: str | None = None) -> bytes:
    """A zip file of these entries, by some method; twice: an entry that comes again."""
    method = random.choice((8, 8, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = random.choice((0, 0, 0, 0o120777 << 16))  # a link, it says
            archive.writestr(entry, content, compress_type=method)
        if twice is not None:
            archive.NameToInfo.pop(twice)  # else it would warn
            archive.writestr(zipfile.ZipInfo(twice), entries[twice])
    return file.getvalue()


def spoil_part(random: Random, part: str, content: bytes) -> bytes:
    if part == WEIGHTS and random.random() < 0.7:
        return spoil_tensors(random, *cut(content))
    return spoil_bytes(random, content)


def spoil_fields(random: Random, content: bytes) -> bytes:
    """One field of a header of the archive replaced: sizes, methods, flags, offsets."""
    marks = [b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"]
    mark = random.choice(marks)
    places = [n for n in range(len(content)) if content.startswith(mark, n)]
    place = random.choice(places) + 4 + 2 * random.randrange(20)
    value = random.choice((0, 1, 0xFFFF, 0x7FFF, 9, 12, 14, 99))
    return content[:place] + struct.pack("<H", value) + content[place + 2 :]


@functools.cache
def bomb() -> bytes:
    """Zeros, deflated: one block again and again."""
    squeeze, block = zlib.compressobj(9, zlib.DEFLATED, -15), bytes(2**22)
    first = squeeze.compress(block) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return first * (BOMB // len(block)) + zlib.compress(b"", wbits=-15)


def with_bomb(name: str) -> bytes:
    """A pack whose one entry claims ten bytes and would grow to gigabytes."""
    packed, raw = bomb(), name.encode()
    local = struct.pack(
        "<4s5H3I2H", b"PK\x03\x04", 20, 0, 8, 0, 33, 0, len(packed), 10, len(raw), 0
    )
    central = struct.pack(
        "<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 8, 0, 33, 0, len(packed), 10, len(raw), *[0] * 6
    )
    body = local + raw + packed
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, len(central) + len(raw), len(body), 0)
    return body + central + raw + end


def unpack_it(content: bytes, material: Material, box: Path) -> None:
    """Read its records and unpack it; every run that appears is whole."""
    file = box / "runs.zip"
    file.write_bytes(content)
    for run in read_pack(file).values():
        run.spec(), run.record(), run.log()
    results = Results(box / "results")
    new, _ = unpack(file, results)
    assert sorted(new) == sorted(path.name for path in results.runs.glob("[!.]*"))
    for name in new:
        files = results.files(name)
        assert files is not None
        assert all(files.has(part) for part in (SETTINGS, RECORD))
        files.record(), files.has(LOG) and files.log()


ATTACKS = (
    Attack(
        name="pack",
        about="hostile packs: spoiled, renamed, bombs; read and unpacked",
        cases=8_000,
        make=make,
        attempt=unpack_it,
    ),
)
