"""`ldru prepare` and `ldru export`: from texts, and to Hugging Face."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from ldru.cli.printing import print_rows
from ldru.errors import LdruError
from ldru.experiments.run import Run
from ldru.tasks.text import TEXT_SETS, prepare


@dataclass(frozen=True, kw_only=True)
class Prepare:
    """Tokenise data sets of texts, once, into the store in $LDRU_DATA (by default ~/.cache/ldru).

    Args:
        names: sst2, cola, mrpc, qqp, mnli, qnli, ag_news, dbpedia, or with _subset behind the last
            five names.
        data: a folder of Parquet files or of the official ones, or hub for the Hugging Face hub.
        vocabulary: a vocab.txt of bert-base-uncased; by default bert_vocab/vocab.txt in the folder.
        skip_broken: leave out rows that lack a column, a text or a known label, and count them.
        json: print JSON.
    """

    names: Positional[tuple[str, ...]]
    data: str
    vocabulary: Path | None = None
    skip_broken: bool = False
    json: bool = False

    def __call__(self) -> None:
        if not self.names:
            raise LdruError(f"name a data set to prepare: {', '.join(TEXT_SETS)}")
        done = [
            dataclasses.asdict(part)
            for name in self.names
            for part in prepare(
                name, data=self.data, vocabulary=self.vocabulary, skip_broken=self.skip_broken
            )
        ]
        print_rows(done, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write a run of an LDRU for Hugging Face's transformers, with tokeniser and model card.

    Args:
        run: a run folder.
        folder: a new folder.
        json: print JSON.
    """

    run: Positional[Path]
    folder: Positional[Path]
    json: bool = False

    def __call__(self) -> None:
        from ldru import huggingface  # needs an extra

        huggingface.export(Run.open(self.run), self.folder)
        print(json.dumps({"folder": str(self.folder)}) if self.json else f"model: {self.folder}")
