"""A real browser for the playground, and its two editions to point it at."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = {"wide": 1280, "phone": 390}


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium, or a skipped test that says what is missing."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed; `make test-browser` does it"
    )
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"there is no browser here, one of {', '.join(BROWSERS)}")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@contextmanager
def played(runs: Path) -> Iterator[str]:
    """`ldru play` on a folder of runs: its link."""
    command = [sys.executable, "-c", "from ldru.cli import main; main()"]
    options = ["play", "--no-browser", "--port", "0", "--runs", str(runs)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", link), link
            yield link
        finally:
            process.terminate()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *said: object) -> None:
        pass


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """A folder behind a plain host of files: its link."""
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def open_page(browser: Any, *, width: str = "wide", scheme: str = "light") -> Any:
    """A page of a width that fails on errors, and on requests to elsewhere."""
    size = {"width": WIDTHS[width], "height": 900}
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.faults = []
    page.on("pageerror", lambda problem: page.faults.append(str(problem)))
    page.on("console", lambda said: note(page, said))
    page.on("request", lambda asked: check_local(page, asked.url))
    return page


def note(page: Any, said: Any) -> None:
    """Errors of the page; that the server refused something is told in words there."""
    if said.type == "error" and "status of 400" not in said.text:
        page.faults.append(said.text)


def check_local(page: Any, url: str) -> None:
    if not url.startswith(("http://127.0.0.1:", "data:")):
        page.faults.append(f"asked elsewhere: {url}")


def go(page: Any, link: str) -> None:
    """Open a link as somebody who was given it: in a page of its own, from the start."""
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("main h2")


def photograph(page: Any, name: str) -> None:
    """Keep a picture, where somebody wants to look at them: $LDRU_SCREENSHOTS."""
    if folder := os.environ.get("LDRU_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)
