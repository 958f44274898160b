"""How quick the playground is: `python -m tools.playground_times` prints a row for each question.

It needs what `make test-browser` installs. Each row is the median of several tries on this machine.
"""

import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.web.browsing import browser, go, open_page, played

TRIES = 5
WORD = "01" * 32
DRAWN = """async (word) => {
  const { getModel } = await import(new URL("api.js", document.baseURI));
  const { drawTree } = await import(new URL("tree.js", document.baseURI));
  const model = await getModel("dyck_12");
  const place = document.querySelector(".panel");
  const begin = performance.now();
  place.replaceChildren(drawTree(model.tree(word), {}));
  place.getBoundingClientRect(); // the browser lays it out
  return performance.now() - begin;
}"""


def seconds_of(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def start_seconds(chromium: Any, runs: Path) -> float:
    """From the server's link to a page that shows a machine."""
    with played(runs) as link:
        page = open_page(chromium)
        begin = time.perf_counter()
        go(page, link)
        page.wait_for_selector("svg circle.state")
        found = time.perf_counter() - begin
        page.close()
    return found


def proof_seconds(page: Any, link: str) -> float:
    go(page, f"{link}#proof?model=parity_check")
    page.get_by_role("button", name="extract its machine").click()
    return seconds_of(lambda: page.get_by_text("correct at every length").wait_for())


def fifty_seconds(link: str) -> float:
    """Fifty requests at once; each must be answered."""

    def ask(number: int) -> int:
        name = ("machine?task=dyck_3", "model?model=dyck_3", "start")[number % 3]
        with urllib.request.urlopen(f"{link}api/{name}") as found:
            return found.status

    def all_at_once() -> None:
        with ThreadPoolExecutor(50) as pool:
            assert set(pool.map(ask, range(50))) == {200}

    return seconds_of(all_at_once)


def main() -> None:
    with browser() as chromium, tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        rows = {
            "page usable after the start": [start_seconds(chromium, runs) for _ in range(TRIES)]
        }
        with played(runs) as link:
            page = open_page(chromium)
            go(page, f"{link}#network?model=dyck_12&word={WORD}")
            page.wait_for_selector("[data-part=s63]")
            drawn = [page.evaluate(DRAWN, WORD) / 1000 for _ in range(TRIES)]
            rows["a word of 64 symbols computed and drawn"] = drawn
            rows["fifty requests at once"] = [fifty_seconds(link) for _ in range(TRIES)]
            rows["extraction of parity_check"] = [proof_seconds(page, link) for _ in range(TRIES)]
    for name, found in rows.items():
        print(f"| {name} | {statistics.median(found):.3f} s | {max(found):.3f} s |")


if __name__ == "__main__":
    main()
