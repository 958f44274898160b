"""`ldru analyse`."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from ldru.base.errors import LdruError
from ldru.cli.arguments import open_run
from ldru.cli.printing import print_rows, short
from ldru.evaluation.lengths import parse_lengths

if TYPE_CHECKING:
    from ldru.runs.run import Run


@dataclass(frozen=True, kw_only=True)
class Analyse:
    """Look into trained LDRUs: is the operator associative, do states gather by class?

    Args:
        runs: run folders.
        what: associativity (of triples in real reductions, and of answers under random brackets) or
            embeddings (of all short words: t-SNE, and k-means held against the classes).
        lengths: of the words of associativity.
        words: of each of these lengths.
        bracketings: random trees over each of them.
        max_length: the longest word of embeddings.
        seed: another seed draws other words and trees, and starts t-SNE and k-means elsewhere.
        plot: where to draw it; several names are several files.
        device: cpu or cuda; by default a GPU where there is one.
        json: print JSON.
    """

    runs: Positional[tuple[Path, ...]]
    what: Literal["associativity", "embeddings"] = "associativity"
    lengths: str = "40,500"
    words: int = 64
    bracketings: int = 16
    max_length: int = 12
    seed: int = 0
    plot: tuple[Path, ...] = ()
    device: str | None = None
    json: bool = False

    def __call__(self) -> None:
        if not self.runs:
            raise LdruError("give at least one run folder")
        from ldru.drawing.style import check_figure_path
        from ldru.runs.spec import check_seed

        for path in self.plot:
            check_figure_path(path)
        check_seed(self.seed)
        runs = [open_run(path, device=self.device) for path in self.runs]
        if self.what == "associativity":
            self._show_associativity(runs)
        else:
            self._show_embeddings(runs)

    def _show_associativity(self, runs: "Sequence[Run]") -> None:
        from ldru.analysis.associativity import analyse_associativity
        from ldru.drawing.style import save_figures
        from ldru.figures.analysis import associativity_figure

        lengths = parse_lengths(self.lengths)
        found = {
            _trained(run): analyse_associativity(
                run.model,
                run.language,
                lengths,
                words=self.words,
                bracketings=self.bracketings,
                seed=self.seed,
            )
            for run in runs
        }
        if self.plot:
            save_figures(associativity_figure(found), self.plot)
        if self.json:
            data = {name: dataclasses.asdict(analysis) for name, analysis in found.items()}
            print(json.dumps(data, indent=1))
            return
        for name, analysis in found.items():
            print(f"{name}: associators, mean over triples of neighbours in {self.words} words")
            rows = [dataclasses.asdict(row) for row in analysis.by_level]
            print_rows(short(rows), as_json=False)
            print("the same words under random brackets, shares of answers")
            print_rows(short(map(dataclasses.asdict, analysis.agreement)), as_json=False)

    def _show_embeddings(self, runs: "Sequence[Run]") -> None:
        from ldru.analysis.embeddings import analyse_embeddings, embeddings_json
        from ldru.drawing.style import save_figures
        from ldru.figures.analysis import embeddings_figure

        found = {
            _trained(run): analyse_embeddings(
                run.model, run.language, max_length=self.max_length, seed=self.seed
            )
            for run in runs
        }
        if self.plot:
            save_figures(embeddings_figure(found), self.plot)
        if self.json:
            data = {name: embeddings_json(analysis) for name, analysis in found.items()}
            print(json.dumps(data, indent=1))
            return
        for name, analysis in found.items():
            print(
                f"{name}: {len(analysis.states):,} words up to length {analysis.max_length}, "
                f"a monoid of {analysis.monoid.size} classes"
            )
            rows = [{"clusters": k, **dataclasses.asdict(s)} for k, s in analysis.scores.items()]
            print_rows(short(rows), as_json=False)


def _trained(run: "Run") -> str:
    return f"{run.spec.name}, up to {run.spec.train.max_length}"


def command(arguments: list[str]) -> type[Analyse]:
    return Analyse
