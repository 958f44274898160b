"""`ldru prepare`."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from ldru.base.errors import LdruError
from ldru.cli.printing import print_rows


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
        from ldru.tasks.text.sets import TEXT_SETS
        from ldru.tasks.text.store import prepare

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


def command(arguments: list[str]) -> type[Prepare]:
    return Prepare
