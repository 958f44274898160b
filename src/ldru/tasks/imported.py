"""Labelled words of other people's benchmarks as data sets, and ours written as theirs.

FLaRe: a folder for each language with main.tok, one word a line with blanks between the symbols,
and labels.txt beside it, 1 or 0 a line; the other sets lie in folders under datasets/.
MLRegTest: files LANGUAGE_Train.txt, LANGUAGE_Dev.txt and LANGUAGE_TestSR.txt (SA, LR, LA), with a
word, a tab and TRUE or FALSE on each line; a symbol is a character.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ldru.base.errors import LdruError
from ldru.base.reading import is_folder, is_there, read_text
from ldru.tasks.data_task import TRAIN, VALIDATION, DataTask
from ldru.tasks.regular_task import RegularTask
from ldru.tasks.spec import TaskSpec
from ldru.tasks.task import Encoded
from ldru.tasks.word_set import WordSet

Labelled = list[tuple[Sequence[str], int]]

FLARE_WORDS, FLARE_LABELS = "main.tok", "labels.txt"
FLARE_VALIDATION = "validation-short"
LABELS = {"TRUE": 1, "FALSE": 0, "1": 1, "0": 0}


def flare_task(folder: str | Path) -> DataTask:
    """A language of FLaRe from its folder, such as flare/cycle-navigation.

    Its words are for training, `validation-short` for validation, all other sets for tests. Empty
    words are left out: a model has no answer to them.

    >>> sets = {"train": (range(1, 9), 8), "validation-short": ([8], 8), "test": ([20], 8)}
    >>> ldru.write_flare(ldru.task("first"), "first", sets, seed=0)
    >>> task = ldru.flare_task("first")
    >>> len(task.words("train")), task.tests
    (64, ('test',))
    """
    folder = Path(folder)
    sets = {TRAIN: _flare_words(folder)}
    others = folder / "datasets"
    for path in sorted(others.iterdir()) if is_folder(others) else ():
        if is_folder(path):
            sets[VALIDATION if path.name == FLARE_VALIDATION else path.name] = _flare_words(path)
    return _task(f"flare_{folder.name}", sets)


def mlregtest_task(folder: str | Path, language: str) -> DataTask:
    """A language of MLRegTest by its name, such as 04.02.TSL.2.1.0, from a folder of its files.

    >>> from pathlib import Path
    >>> for part in ("Train", "Dev", "TestSR"):
    ...     _ = Path(f"02.02.SL.2.1.0_{part}.txt").write_text("ab\\tTRUE\\nba\\tFALSE\\n")
    >>> ldru.mlregtest_task(".", "02.02.SL.2.1.0").tests
    ('TestSR',)
    """
    folder = Path(folder)
    found = sorted(folder.glob(f"{language}_*.txt"))
    if not found:
        raise LdruError(f"there is no file {language}_*.txt in {str(folder)!r}")
    names = {"Train": TRAIN, "Dev": VALIDATION}
    sets = {}
    for path in found:
        part = path.stem.removeprefix(f"{language}_")
        sets[names.get(part, part)] = _tabbed_words(path)
    return _task(f"mlregtest_{language}", sets)


def write_flare(
    task: RegularTask,
    folder: str | Path,
    sets: Mapping[str, tuple[Iterable[int], int]],
    *,
    seed: int,
) -> None:
    """Write words of a regular language with two labels in FLaRe's format, to a new folder.

    sets: lengths, and words of each, by the name of the set; "train" lies in the folder itself.

    >>> ldru.write_flare(ldru.task("repeat_01"), "repeat-01", {"train": ([2, 4], 4)}, seed=0)
    >>> from pathlib import Path
    >>> Path("repeat-01/labels.txt").read_text().split()
    ['0', '0', '1', '1', '0', '0', '1', '1']
    """
    folder = Path(folder)
    if is_there(folder):
        raise LdruError(f"{str(folder)!r} is already there; choose another name")
    if task.num_classes != 2:
        raise LdruError(f"FLaRe's words are accepted or not; {task.name!r} has other labels")
    for number, (name, (lengths, words)) in enumerate(sets.items()):
        path = folder if name == TRAIN else folder / "datasets" / name
        path.mkdir(parents=True)
        lines, labels = [], []
        for length in lengths:
            batch = task.draw_test(length, words=words, seed=seed + number)
            alphabet = task.machine.alphabet
            lines += [" ".join(alphabet[t] for t in word) for word in batch.tokens.tolist()]
            labels += [str(label) for label in batch.labels.tolist()]
        (path / FLARE_WORDS).write_text("\n".join(lines) + "\n")
        (path / FLARE_LABELS).write_text("\n".join(labels) + "\n")


def _flare_words(folder: Path) -> Labelled:
    words, labels = (_lines(folder / name) for name in (FLARE_WORDS, FLARE_LABELS))
    if len(words) != len(labels):
        raise LdruError(
            f"{str(folder)!r} has {len(words)} words in {FLARE_WORDS} and {len(labels)} labels in "
            f"{FLARE_LABELS}"
        )
    return [
        (word.split(), _label(label, folder / FLARE_LABELS, number))
        for number, (word, label) in enumerate(zip(words, labels, strict=True), start=1)
        if word.strip()
    ]


def _tabbed_words(path: Path) -> Labelled:
    found: Labelled = []
    for number, line in enumerate(_lines(path), start=1):
        word, tab, label = line.rpartition("\t")
        if not tab:
            raise LdruError(f"{path}:{number} has no tab between a word and its label: {line!r}")
        if word:
            found.append((word, _label(label, path, number)))
    return found


def _label(text: str, path: Path, number: int) -> int:
    label = LABELS.get(text.strip().upper())
    if label is None:
        raise LdruError(f"{path}:{number}: a label is 1 or 0, TRUE or FALSE, got {text!r}")
    return label


def _lines(path: Path) -> list[str]:
    return read_text(path).splitlines()


def _task(given: str, sets: Mapping[str, Labelled]) -> DataTask:
    name = re.sub(r"\W", "_", given)
    alphabet = sorted({symbol for words in sets.values() for word, _ in words for symbol in word})
    number = {symbol: index for index, symbol in enumerate(alphabet)}
    for part, words in sets.items():
        if not words:
            raise LdruError(f"the set {part!r} of {name!r} has no words")
    encoded = {
        part: WordSet.of(
            [np.array([number[symbol] for symbol in word]) for word, _ in words],
            [label for _, label in words],
        )
        for part, words in sets.items()
    }
    common = DataTask.of(name, encoded)
    return DataTask(
        spec=TaskSpec(name=name),
        vocab_size=len(alphabet),
        num_classes=2,
        tests=common.tests,
        open_set=common.open_set,
        read_texts=_reader(alphabet),
        is_own=True,
    )


def _reader(alphabet: Sequence[str]) -> Callable[[Sequence[str]], list[Encoded]]:
    number = {symbol: index for index, symbol in enumerate(alphabet)}
    are_characters = all(len(symbol) == 1 for symbol in alphabet)

    def read(texts: Sequence[str]) -> list[Encoded]:
        found = []
        for text in texts:
            # Symbols of one character may stand with or without blanks between them.
            symbols = list("".join(text.split())) if are_characters else text.split()
            for place, symbol in enumerate(symbols, start=1):
                if symbol not in number:
                    raise LdruError(
                        f"symbol {symbol!r} at place {place} of {text!r} is not in the alphabet "
                        f"{' '.join(alphabet)}"
                    )
            tokens = np.array([number[symbol] for symbol in symbols], dtype=np.int64)
            found.append(Encoded(tokens))
        return found

    return read
