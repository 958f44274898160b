"""`ldru predict`."""

import dataclasses
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from ldru.base.errors import LdruError
from ldru.cli.arguments import lines, open_run
from ldru.cli.printing import say
from ldru.runs.shipped import find_run

if TYPE_CHECKING:
    from ldru.runs.run import Run


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Ask a run for the label of words, beside the right answer where it is known.

    Args:
        run: a run folder, or the name of a shipped model such as parity_check.
        words: words in the task's alphabet, or expressions such as '[MAX 2 9 [MIN 4 7 ] 0 ]', or
            texts (a pair with a tab between); without any, lines of standard input are read.
        file: lines of this file instead.
        stream: every line continues one word, which is answered after each; an empty line begins a
            new one. Takes as much memory as the logarithm of its length.
        vocabulary: the vocab.txt that texts are read with, where the store has none yet.
        device: cpu or cuda; by default a GPU where there is one.
        json: print JSON.
    """

    run: Positional[Path]
    words: Positional[tuple[str, ...]] = ()
    file: Path | None = None
    stream: bool = False
    vocabulary: Path | None = None
    device: str | None = None
    json: bool = False

    def __call__(self) -> None:
        if self.words and self.file is not None:
            raise LdruError("give words or a --file of them, not both")
        find_run(self.run)  # says so at once where there is none
        from ldru.runs.predict import PART_WORDS, predict_stream

        run = open_run(self.run, device=self.device)
        if self.vocabulary is not None:
            _keep_vocabulary(run, self.vocabulary)
        if self.stream:
            self._answer_growing(run)
            return
        is_asked_live = not self.words and self.file is None and sys.stdin.isatty()
        found = predict_stream(
            run, self.words or lines(self.file), at_once=1 if is_asked_live else PART_WORDS
        )
        if self.json:
            print(json.dumps([dataclasses.asdict(prediction) for prediction in found]))
            return
        cut = 0
        for number, p in enumerate(found):
            cut += p.is_cut
            if p.name is not None:
                head, row = "label\tprobability\ttext", f"{p.name}\t{p.probability:.4f}\t{p.word}"
            else:
                expected = "-" if p.expected is None else p.expected
                head = "word\tlabel\tprobability\texpected"
                row = f"{p.word}\t{p.label}\t{p.probability:.4f}\t{expected}"
            print(row if number else f"{head}\n{row}")
        if cut:
            say(f"{cut} texts were longer than the model takes, and cut")

    def _answer_growing(self, run: "Run") -> None:
        from ldru.runs.predict import predict_growing

        if not self.json:
            print("length\tlabel\tprobability\texpected", flush=True)
        for grown in predict_growing(run, self.words or lines(self.file, keeps_empty=True)):
            if self.json:
                print(json.dumps(dataclasses.asdict(grown)), flush=True)
                continue
            expected = "-" if grown.expected is None else grown.expected
            row = f"{grown.length}\t{grown.label}\t{grown.probability:.4f}\t{expected}"
            print(row, flush=True)


def _keep_vocabulary(run: "Run", path: Path) -> None:
    """Put a vocabulary into the store, if it is the one that a run was trained with."""
    from ldru.tasks.text.sets import TEXT_SETS
    from ldru.tasks.text.store import keep_vocabulary
    from ldru.tasks.text.wordpiece import WordPiece

    if run.task.name not in TEXT_SETS:
        raise LdruError(f"--vocabulary is for texts, {run.spec.name} has none")
    wordpiece = WordPiece(path)
    if run.record.vocabulary not in (None, wordpiece.checksum):
        raise LdruError(f"{run.spec.name} was trained with another vocabulary than {str(path)!r}")
    keep_vocabulary(wordpiece)


def command(arguments: list[str]) -> type[Predict]:
    return Predict
