"""Put the pages together, and build the site from them."""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ldru.runs.results import Results
from tools.site.check import check_site
from tools.site.gallery import write_gallery
from tools.site.links import ASSETS, on_site, page_of
from tools.site.nav import LESSONS, nav
from tools.site.notebook import run_notebook, to_jupyter, to_markdown
from tools.site.playground import FOLDER, Playground, frame, view
from tools.site.reference import linked_overview, section_page, sections
from tools.site.results import write_results

THEME = Path("tools/site/theme")
LANGUAGES_OF_FILES = {".py": "python", ".toml": "toml", ".json": "json", ".js": "javascript"}

ELSEWHERE = re.compile(r"https://[^\"' ]*/iframe-worker/shim")
"""A script for searching pages that are opened from a disk; we have our own."""

FRAME = "<!-- playground -->"
"""Where a page has the playground."""


def written_pages(root: Path) -> list[str]:
    """The Markdown files of the repository that are pages as they stand."""
    return [
        *(str(path.relative_to(root)) for path in sorted((root / "docs").rglob("*.md"))),
        *("results/README.md", "results/recipe_search.md", "results/data_search.md"),
        "results/teaching_search.md",
        *("benchmarks/README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    ]


class Pages:
    """The pages of the site in the making, in a folder of their own."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        self.files: dict[str, None] = {}
        """Files that are linked to and are no pages."""

    def write(self, page: str, text: str, *, source: str) -> None:
        """Write a page; its links are those of a file of the repository."""
        path = self.folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        moved = on_site(
            text, source=source, page=page, on_file=lambda file: self.files.setdefault(file)
        )
        path.write_text(moved)

    def write_written(self) -> None:
        """The pages that are written by hand."""
        for source in written_pages(self.root):
            text = (self.root / source).read_text()
            if source == "docs/reference.md":
                text = linked_overview(text)
            first = frame(
                view("network", model="dyck_3", word="0010110100110011"),
                title="The playground: a network's tree over a word",
                height=640,
            )
            self.write(page_of(source), text.replace(FRAME, first), source=source)
        for folder in (
            "docs",
            "results/figures",
            "results/analysis",
            "results/packed",
            "benchmarks",
        ):
            for path in sorted((self.root / folder).rglob("*")):
                if path.suffix in ASSETS and path.stat().st_size < 2**21:
                    place = self.folder / page_of(str(path.relative_to(self.root)))
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, place)

    def write_reference(self) -> None:
        """The pages of docstrings."""
        for section in sections((self.root / "docs/reference.md").read_text()):
            self.write(section.page, section_page(section), source=f"docs/{section.page}")

    def write_lessons(self, *, is_quick: bool) -> None:
        """The tutorials: run, and shown with what they print and draw."""
        for source in LESSONS.values():
            begin = time.monotonic()
            page, name = page_of(source), Path(source).stem
            with tempfile.TemporaryDirectory() as folder:
                cells = run_notebook(self.root / source, folder=Path(folder), is_quick=is_quick)
            text, pictures = to_markdown(cells, name=name)
            self.write(page, f"{text}\n{_note(source)}\n", source=source)
            place = (self.folder / page).parent
            (place / f"{name}.ipynb").write_text(to_jupyter(cells))
            for file, picture in pictures.items():
                (place / file).write_text(picture)
            print(f"{source}: {time.monotonic() - begin:.0f} s", flush=True)

    def write_sources(self) -> None:
        """A page for every file that is linked to and is no page itself."""
        for path in self.files:
            kind = LANGUAGES_OF_FILES.get(Path(path).suffix, "text")
            text = f"# {path}\n\n~~~~ {{ .{kind} }}\n{(self.root / path).read_text()}\n~~~~\n"
            place = self.folder / page_of(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)


def _note(source: str) -> str:
    name = Path(source).stem
    return (
        f'<p class="notebook">This page is a notebook: <a href="{name}.ipynb" download>download '
        f"it for Jupyter</a>, or open <code>{source}</code> of the repository, which is the same "
        "as plain Python.</p>"
    )


def gather(root: Path, folder: Path, *, is_quick: bool = False) -> None:
    """Write all pages into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    playground = Playground(root, folder.parent / "playgrounds")
    pages, results = Pages(root, folder), Results(root / "results")
    pages.write_written()
    pages.write_reference()
    write_results(folder / "results", results)
    write_gallery(folder / "gallery", results)
    pages.write_lessons(is_quick=is_quick)
    pages.write_sources()
    playground.write(folder / FOLDER)
    shutil.copytree(root / THEME, folder / "theme")


def write_config(root: Path, folder: Path) -> Path:
    """The configuration of Zensical, with the pages and where they go."""
    import yaml

    settings = yaml.safe_load((root / "mkdocs.yml").read_text())
    reference = sections((root / "docs/reference.md").read_text())
    python = next(p["mkdocstrings"] for p in settings["plugins"] if "mkdocstrings" in p)
    python["handlers"]["python"]["paths"] = [str(root / "src")]
    options = python["handlers"]["python"]["options"]
    options["extensions"] = [str(root / path) for path in options["extensions"]]
    settings |= {
        "nav": nav(reference),
        "not_in_nav": "source/",
        "docs_dir": "pages",
        "site_dir": "html",
    }
    path = folder / "mkdocs.yml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False))
    return path


def make_local(site: Path) -> None:
    """Let pages load from the site what the generator would have them load from elsewhere."""
    for path in site.rglob("*.html"):
        here = "../" * (len(path.relative_to(site).parts) - 1) + "theme/file_worker.js"
        path.write_text(ELSEWHERE.sub(here, path.read_text()))


def build(root: Path, *, is_quick: bool = False) -> None:
    """Build the site of a source tree into its folder `site`; warnings are errors."""
    root = root.resolve()
    folder, site = root / "build" / "site", root / "site"
    gather(root, folder / "pages", is_quick=is_quick)
    config = write_config(root, folder)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", str(config)]
    subprocess.run(command, check=True)
    make_local(folder / "html")
    check_site(folder / "html")
    shutil.rmtree(site, ignore_errors=True)
    (folder / "html").rename(site)
    print(f"{site / 'index.html'}: {sum(1 for _ in site.rglob('*.html'))} pages")
