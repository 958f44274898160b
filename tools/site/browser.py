"""The finished site in a browser, opened from the disk: `make test-docs`.

It needs Chromium (the one that is installed, or that $CHROMIUM names) and Playwright.
"""

import os
import re
import shutil
import sys
from pathlib import Path

from ldru.base.errors import RunError

WIDTHS = (390, 1280)


def check_in_browser(site: Path) -> None:
    """Search, sort a table, and see that nothing is loaded from elsewhere and nothing overflows."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
    if chromium is None:
        raise RunError("no Chromium was found; install it, or name it in $CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
        page.on(
            "request",
            lambda request: (
                problems.append(f"{page.url} asks for {request.url}")
                if request.url.startswith("http")
                else None
            ),
        )

        page.goto((site / "index.html").as_uri())
        page.keyboard.press("Control+k")
        page.keyboard.type("syntactic monoid")
        page.get_by_text(re.compile(r"^\d+ results$")).wait_for(timeout=20_000)

        page.goto((site / "results/tables/recipes.html").as_uri())
        page.get_by_role("button", name="paper").click()
        first = page.locator("article table tbody tr").first.locator("td").first.inner_text()
        if first != "prefix_4_4":  # the lowest accuracy by the paper's settings
            problems.append(f"a sorted table begins with {first}")

        for path in sorted(site.rglob("*.html")):
            if "playground" in path.parts:
                continue
            page.goto(path.as_uri(), wait_until="load")
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                wide = page.evaluate("document.documentElement.scrollWidth")
                if wide > width + 1:
                    problems.append(f"{path.relative_to(site)} is {wide} wide at {width}")
        browser.close()
    if problems:
        raise RunError("the site has faults in a browser:\n  " + "\n  ".join(problems))


if __name__ == "__main__":
    check_in_browser(Path(sys.argv[1] if len(sys.argv) > 1 else "site").resolve())
    print("search, sorting and widths are right, and nothing is loaded from elsewhere")
