"""`ldru draw`."""

from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import OmitArgPrefixes

from ldru.base.errors import LdruError
from ldru.cli.arguments import Language
from ldru.runs.shipped import find_run


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Draw the machine of a language, or of a trained run, or the tree over a word.

    Args:
        run: a run folder or a shipped model's name instead of a language: its extracted machine.
        word: draw the tree over this word, nodes coloured by class, or by state of the run.
        out: where to draw: .svg, .pdf, .png, or .dot for Graphviz; several names are several files.
    """

    language: OmitArgPrefixes[Language] = field(default_factory=Language)
    run: Path | None = None
    word: str | None = None
    out: tuple[Path, ...] = (Path("machine.svg"),)

    def __call__(self) -> None:
        from ldru.base.files import write_text
        from ldru.drawing.style import check_figure_path, save_figure

        texts = [path for path in self.out if path.suffix == ".dot"]
        if texts and self.word is not None:
            raise LdruError(f"a word's tree has no Graphviz text, got {str(texts[0])!r}")
        pictures = [path for path in self.out if path not in texts]
        for path in pictures:
            check_figure_path(path)
        drawn, name = self._find()
        from ldru.automata.convert import as_machine
        from ldru.figures.pictures import draw

        for path in texts:
            write_text(path, as_machine(drawn).minimal().to_dot())
        if pictures:
            title = name if self.word is None else f"{name}: {self.word}"
            figure = draw(drawn, self.word, title=title)
            for path in pictures:
                save_figure(figure, path)
        print("\n".join(map(str, self.out)))

    def _find(self) -> tuple[object, str]:
        """The language or extraction to draw, and its name."""
        if self.run is None:
            task = self.language.find()
            return task, task.name
        if self.language != Language():
            raise LdruError("give a language or --run, not both")
        find_run(self.run)  # says so at once where there is none
        from ldru.runs.run import Run

        run = Run.open(self.run)
        return run.exact(), f"{run.spec.name}, extracted"


def command(arguments: list[str]) -> type[Draw]:
    return Draw
