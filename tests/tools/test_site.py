"""The site's pages, before they are built: nothing is left out, and every link leads somewhere.

`make docs` builds the whole and checks it again; here is what takes seconds.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tools.site import check, links
from tools.site.build import Pages, written_pages
from tools.site.curves import Curve, _windows, curves_of
from tools.site.docstrings import to_markdown
from tools.site.exhibit import exhibit
from tools.site.gallery import index_page, write_page
from tools.site.languages import FAMILIES, LANGUAGES, sentence
from tools.site.nav import LESSONS, nav, pages_in
from tools.site.reference import home, linked_overview, sections
from tools.site.results import TITLES

import ldru
from ldru.runs.results import Results

ROOT = Path(__file__).parents[2]
RESULTS = Results(ROOT / "results")
REFERENCE = (ROOT / "docs/reference.md").read_text()
SECTIONS = sections(REFERENCE)
GENERATED = ("gallery/", "playground/")
"""Parts of the site that no file of the repository stands for."""


def slugs(text):
    """The anchors of a page's headings, as Markdown makes them."""
    headings = re.findall(r"^#+ (.+)$", links.FENCE.sub("", text), flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def test_every_page_is_in_the_navigation_once():
    found = pages_in(nav(SECTIONS))
    assert len(found) == len(set(found))
    written = {links.page_of(path) for path in [*written_pages(ROOT), *LESSONS.values()]}
    made = {
        "gallery/index.md",
        "results/by_length.md",
        *(f"gallery/{name}.md" for name in LANGUAGES),
        *(f"results/tables/{name}.md" for name in TITLES),
        *(section.page for section in SECTIONS),
    }
    assert set(found) == written | made
    assert {str(p.relative_to(ROOT)) for p in (ROOT / "docs/learn").glob("*.py")} == {
        *LESSONS.values()
    }
    assert {path.stem for path in (ROOT / "results/tables").glob("*.md")} == set(TITLES)


@pytest.mark.parametrize("source", ["README.md", *written_pages(ROOT), *LESSONS.values()])
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(source):
    """In a plain clone too, where there is no site."""
    for path, anchor in links.links_of((ROOT / source).read_text(), source=source):
        if path.removeprefix("docs/").startswith(GENERATED):
            continue
        assert (ROOT / path).exists(), f"{source} links to {path}"
        if anchor:
            assert anchor in slugs((ROOT / path).read_text()), f"{source}: {path}#{anchor}"


def test_links_follow_files_to_their_pages():
    text = "[a](../results/README.md#b) [c](../src/ldru/base/json.py) [d](https://d.org) [e](x.png)"
    shown = []
    moved = links.on_site(text, source="docs/a.md", page="deep/a.md", on_file=shown.append)
    assert moved == (
        "[a](../results/index.md#b) [c](../source/src/ldru/base/json.py.md) [d](https://d.org) "
        "[e](../x.png)"
    )
    assert shown == ["src/ldru/base/json.py"]
    code = "```\n[a](b.md)\n```\n"
    assert links.on_site(code, source="docs/a.md", page="x/a.md", on_file=shown.append) == code


def test_the_reference_has_every_public_name():
    listed = [name for section in SECTIONS for name in section.names]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(ldru.__all__)
    overview = linked_overview(REFERENCE)
    assert all(f"[`{name}`][{home(name)}]" in overview for name in listed)


def test_docstrings_become_markdown():
    text = "Do it.\n\nseeds: one each,\n    or many.\nout, device: see there.\n\n>>> 1 + 1\n2"
    assert to_markdown(text) == (
        "Do it.\n\n- `seeds`: one each,\n    or many.\n- `out`, `device`: see there.\n\n"
        "```pycon\n>>> 1 + 1\n2\n```"
    )
    assert to_markdown("A note: this\nis a paragraph.") == "A note: this\nis a paragraph."


def test_every_language_of_the_gallery_has_a_family_and_a_sentence():
    assert sorted(name for names in FAMILIES.values() for name in names) == sorted(LANGUAGES)
    assert set(ldru.TASKS) <= set(LANGUAGES)
    assert len({sentence(name) for name in LANGUAGES}) == len(LANGUAGES)


def test_a_page_of_the_gallery_says_what_is_known(tmp_path):
    shown = exhibit("tomita_6", RESULTS)
    write_page(shown, tmp_path)
    page = (tmp_path / "tomita_6.md").read_text()
    for target in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page):
        assert (tmp_path / target).stat().st_size > 1000, target
    assert "| states of the minimal machine | 3 |" in page
    assert "| classes of words (monoid) | 3 |" in page
    machine = ldru.task("tomita_6").machine
    words = re.findall(r"^\| `([01]+)` \| ([01]) \|$", page, flags=re.MULTILINE)
    assert {label for _, label in words} == {"0", "1"}
    assert all(int(machine.run(word)) == int(label) for word, label in words)
    assert page.count("correct at every length") >= 4  # three seeds, and the shipped model
    (row,) = [r for r in json.loads((ROOT / "results/certificates.json").read_text())
              if r["task"] == "tomita_6"]  # fmt: skip
    assert f"within {row['radius']:g} of one of {row['points']} points" in page
    assert shown.badge == "certified"
    assert 'href="tomita_6.html"' in index_page({"tomita_6": shown})


def test_a_language_without_records_has_a_page_too(tmp_path):
    write_page(exhibit("group_A5", RESULTS), tmp_path)
    page = (tmp_path / "group_A5.md").read_text()
    assert "| circuits | NC1 |" in page
    assert "ldru reproduce run state_tracking --tasks group_A5" in page
    assert "What the network learned" not in page


def test_curves_are_means_over_neighbouring_lengths():
    middles, means = _windows([1, 2, 10, 11, 12], np.array([1, 2, 6, 4, 8]))
    assert middles == [13 / 3, 11.5]
    assert means == [3.0, 6.0]
    first = curves_of("parity_check", RESULTS)[0]
    assert isinstance(first, Curve)
    assert first.name == "LDRU, our recipe"
    assert set(first.accuracy) == {100.0}


def test_a_linked_file_is_shown_on_a_page(tmp_path):
    pages = Pages(ROOT, tmp_path)
    pages.write("a.md", "[m](mkdocs.yml)", source="README.md")
    pages.write_sources()
    assert (tmp_path / "a.md").read_text() == "[m](source/mkdocs.yml.md)"
    assert "site_name: ldru" in (tmp_path / "source/mkdocs.yml.md").read_text()


def test_a_broken_site_is_told(tmp_path):
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there"></a><a href="b.html#gone"></a><a href="c.html"></a>'
        '<img src="https://elsewhere.org/x.png"><a href="https://elsewhere.org">'
    )
    assert check.broken_links(tmp_path) == [
        "a.html: b.html#gone: no such anchor",
        "a.html: c.html: no such file",
        "a.html: https://elsewhere.org/x.png: loaded from elsewhere",
    ]
