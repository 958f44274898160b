"""The order of the pages: each is named once, and none is left out."""

from tools.site.languages import FAMILIES
from tools.site.reference import Section
from tools.site.results import TITLES

Nav = list[dict[str, object]]

LESSONS = {
    "Your first language": "docs/learn/first_language.py",
    "An encoder of your own": "docs/learn/own_encoder.py",
    "What did it learn?": "docs/learn/what_did_it_learn.py",
    "A study on a cluster": "docs/learn/cluster_study.py",
}
"""The tutorials, which are notebooks."""

HOW_TO = {
    "Languages": "languages.md",
    "Models": "models.md",
    "Prefixes, streams, edits": "prefixes.md",
    "Exact machines and proofs": "extraction.md",
    "Analyses": "analysis.md",
    "ListOps": "listops.md",
    "Texts": "text.md",
    "Rebuild the paper's tables": "reproduction.md",
}

EXPLANATION = {
    "The method": "explanation/method.md",
    "Why random trees": "explanation/random_trees.md",
    "What a proof says": "explanation/proofs.md",
    "Decisions": "decisions.md",
}

PROJECT = {
    "Reliability": "reliability.md",
    "Contributing": "contributing.md",
    "Changelog": "changelog.md",
}


def nav(sections: list[Section]) -> Nav:
    """The site's navigation.

    sections: of the reference.
    """
    lessons = {
        title: path.removeprefix("docs/").replace(".py", ".md") for title, path in LESSONS.items()
    }
    tables = {title: f"results/tables/{name}.md" for name, title in TITLES.items()}
    gallery = [
        {family: [f"gallery/{name}.md" for name in names]} for family, names in FAMILIES.items()
    ]
    return [
        {"Home": "index.md"},
        {"Playground": [{"Try it here": "try_it.md"}, {"On your machine": "playground.md"}]},
        {"Learn": ["learn/index.md", *_entries(lessons)]},
        {"How-to": _entries(HOW_TO)},
        {"Gallery": ["gallery/index.md", *gallery]},
        {"Reference": ["reference.md", *_entries({s.title: s.page for s in sections})]},
        {"Explanation": _entries(EXPLANATION)},
        {
            "Results": [
                "results/index.md",
                {"Accuracy by length": "results/by_length.md"},
                *_entries(tables),
                {"The search for a recipe": "results/recipe_search.md"},
                {"The same for texts and ListOps": "results/data_search.md"},
                {"What was tried for teaching products": "results/teaching_search.md"},
            ]
        },
        {"Benchmarks": "benchmarks/index.md"},
        {"Project": _entries(PROJECT)},
    ]


def _entries(pages: dict[str, str]) -> list[dict[str, str]]:
    return [{title: page} for title, page in pages.items()]


def pages_in(found: object) -> list[str]:
    """All pages of a navigation, in order."""
    if isinstance(found, str):
        return [found]
    parts = found.values() if isinstance(found, dict) else found
    return [page for part in parts for page in pages_in(part)]  # type: ignore[attr-defined]
