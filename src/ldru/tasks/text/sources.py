"""Texts with labels from files: Parquet as the data folder has it, the official TSV and CSV, or the
Hugging Face hub."""

import csv
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ldru.base.errors import LdruError, MissingExtraError, RunError
from ldru.base.reading import is_file, is_folder
from ldru.tasks.text.sets import Official, TextSet

HUB = "hub"
"""In place of a data folder: read from the Hugging Face hub."""


@dataclass(frozen=True, kw_only=True)
class Texts:
    """Texts of a set.

    second: the other text of each pair; None where texts stand alone.
    sources: what they were read from, with a checksum where it is a file.
    broken: how many rows were left out.
    """

    first: list[str]
    second: list[str] | None
    labels: list[int]
    sources: dict[str, str]
    broken: int


def read_texts(
    text_set: TextSet, part: str, data: str | Path, *, skip_broken: bool = False
) -> Texts:
    """The texts of a set, e.g. "train", from a data folder or, with "hub", from the hub.

    skip_broken: leave rows out that are not as they should be, instead of an error.
    """
    broken: list[str] = []

    def complain(problem: str) -> None:
        if not skip_broken:
            raise LdruError(
                f"{problem}; mend that row, or leave such rows out (`ldru prepare --skip-broken`)"
            )
        broken.append(problem)

    sources = find_sources(text_set, part, data)
    if str(data) == HUB:
        rows = _hub_rows(text_set, part, complain)
    elif (files := _paths(text_set, part, data))[0].suffix == ".parquet":
        rows = (row for path in files for row in _parquet_rows(text_set, path, complain))
    else:
        assert text_set.official is not None
        rows = _official_rows(text_set.official, files[0], complain)
    first: list[str] = []
    second: list[str] = []
    labels: list[int] = []
    for place, texts, label in rows:
        texts = [text.replace(text_set.removed, "") for text in texts]
        if not all(text.strip() for text in texts):
            complain(f"{place}: a text is empty")
            continue
        if not 0 <= label < len(text_set.labels):
            complain(f"{place}: unknown label {label} ({_known(text_set)})")
            continue
        if text_set.is_pair:
            second.append(texts[1].strip())
            first.append(texts[0].strip())
        else:
            first.append(" ".join(text.strip() for text in texts))
        labels.append(label)
    if not labels:
        raise LdruError(f"there is no text in {', '.join(sources)} ({part} of {text_set.name})")
    return Texts(
        first=first,
        second=second if text_set.is_pair else None,
        labels=labels,
        sources=sources,
        broken=len(broken),
    )


def find_sources(text_set: TextSet, part: str, data: str | Path) -> dict[str, str]:
    """The sources of a set's texts, with checksums of files."""
    if str(data) == HUB:
        if text_set.hub is None:
            raise LdruError(f"{text_set.name!r} is not on the hub; give a data folder")
        return {f"hub:{text_set.hub.name}/{text_set.hub.splits[part]}": ""}
    return {
        str(path.relative_to(data)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in _paths(text_set, part, data)
    }


def _paths(text_set: TextSet, part: str, data: str | Path) -> list[Path]:
    """The files of a set that are there, in the one layout or the other."""
    ways = [text_set.parquet[part]]
    if text_set.official is not None:
        ways.append((text_set.official.files[part],))
    for files in ways:
        paths = [Path(data) / file for file in files]
        if all(is_file(path) for path in paths):
            return paths
    wanted = " or ".join(" and ".join(files) for files in ways)
    problem = "lacks" if is_folder(Path(data)) else "is no folder; it should have"
    hint = f"; there are files of {text_set.name}_subset" if _has_subset(text_set, data) else ""
    raise LdruError(
        f"the data folder {str(data)!r} {problem} {wanted} ({part} of {text_set.name}){hint}; "
        f"the data set comes from {text_set.origin}"
        + ("" if text_set.hub is None else f", or with data 'hub' from {text_set.hub.name}")
    )


def _has_subset(text_set: TextSet, data: str | Path) -> bool:
    folder = Path(data) / Path(text_set.parquet["train"][0]).parent
    return text_set.subset_of is None and any(folder.glob("*subset*"))


SURROGATE = re.compile("[\ud800-\udfff]")
"""What stands in a text for bytes that are not UTF-8."""

Row = tuple[str, Sequence[str], int]
"""Where it stands, for errors; its texts; its label."""


def _parquet_rows(text_set: TextSet, path: Path, complain: Callable[[str], None]) -> Iterator[Row]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as problem:
        raise MissingExtraError(package="pyarrow", extra="text") from problem
    names = ["text_a", "text_b"] if text_set.is_pair else ["text_a"]
    try:
        table = parquet.read_table(path, columns=[*names, "label"]).to_pydict()
        columns = [table[name] for name in (*names, "label")]
    except (pyarrow.ArrowException, KeyError, OSError) as problem:
        wanted = ", ".join((*names, "label"))
        raise RunError(
            f"cannot read {str(path)!r} as Parquet with {wanted}: {problem}"
        ) from problem
    for number, (*texts, label) in enumerate(zip(*columns, strict=True), start=1):
        place = f"{path}, row {number}"
        if _is_typed(place, texts, label, complain):
            yield place, texts, label


def _is_typed(
    place: str, texts: Sequence[object], label: object, complain: Callable[[str], None]
) -> bool:
    """Whether a row has texts and a whole label; a complaint if not."""
    if all(isinstance(text, str) for text in texts) and isinstance(label, int):
        return True
    complain(f"{place}: expected text and a whole label, got {list(texts)!r}, {label!r}")
    return False


def _official_rows(
    official: Official, path: Path, complain: Callable[[str], None]
) -> Iterator[Row]:
    rows = _csv_lines(path) if official.is_csv else _tsv_lines(path)
    columns = list(official.columns) or next(rows, (0, []))[1]
    missing = {*official.texts, official.label} - set(columns)
    if missing:
        raise LdruError(
            f"{path}, line 1: expected a header with {', '.join(sorted(missing))}, "
            f"got {', '.join(columns)!r}"
        )
    places = [columns.index(name) for name in official.texts]
    label_place = columns.index(official.label)
    numbers = {text: number for number, text in enumerate(official.labels)}
    for line, row in rows:
        place = f"{path}, line {line}"
        if any(map(SURROGATE.search, row)):
            complain(f"{place}: is not valid UTF-8")
            continue
        if len(row) != len(columns):
            complain(f"{place}: expected {len(columns)} columns, got {len(row)}")
            continue
        if row[label_place] not in numbers:
            complain(f"{place}: unknown label {row[label_place]!r} (known: {', '.join(numbers)})")
            continue
        yield place, [row[index] for index in places], numbers[row[label_place]]


def _tsv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines of a TSV file with their numbers; quotation marks mean nothing in it."""
    for number, line in enumerate(_lines(path), start=1):
        yield number, line.rstrip("\r\n").split("\t")


def _csv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(_lines(path))
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as problem:
        raise LdruError(f"{path}, line {reader.line_num}: {problem}") from problem


def _lines(path: Path) -> Iterable[str]:
    # Texts may hold other characters that Python would take for the end of a line. What is not
    # UTF-8 is let through as surrogates, so that the row can be named.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
        yield from file


def _hub_rows(text_set: TextSet, part: str, complain: Callable[[str], None]) -> Iterator[Row]:
    try:
        import datasets
    except ImportError as problem:
        raise MissingExtraError(package="datasets", extra="text") from problem
    hub = text_set.hub
    assert hub is not None
    try:
        found = datasets.load_dataset(hub.name, hub.configuration, split=hub.splits[part])
    except (OSError, ValueError) as problem:  # no network, or no such data set any more
        raise RunError(
            f"cannot read {hub.name} from the hub: {problem}; give a data folder instead"
        ) from problem
    for number, row in enumerate(found, start=1):
        place, texts = f"{hub.name} {hub.splits[part]}, row {number}", [row[n] for n in hub.texts]
        if _is_typed(place, texts, row["label"], complain):
            yield place, texts, row["label"]


def _known(text_set: TextSet) -> str:
    names = ", ".join(f"{number} {name}" for number, name in enumerate(text_set.labels))
    return f"known: {names}"
