"""`ldru play`."""

import secrets
import socket
import sys
import webbrowser
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ldru.base.errors import LdruError, RunError

LOCAL = ("127.0.0.1", "localhost", "::1")
ANYWHERE = ("0.0.0.0", "::")
SECONDS_TO_END = 2


@dataclass(frozen=True, kw_only=True)
class Play:
    """Open a page that shows languages, networks and their exact machines.

    Args:
        runs: the folder whose runs the page can open, and where it keeps what it trains.
        port: of the page; 0 takes any that is free.
        host: the address to listen on. By default only this machine can reach it; with another
            one, others who have the link with its token can, and may start trainings here.
        no_browser: print the link and open no browser.
        export: write the static edition into this new folder instead, for any host of files: the
            shipped models and their extractions, without training. Takes some minutes.
    """

    runs: Path = Path("runs")
    port: int = 8137
    host: str = "127.0.0.1"
    no_browser: bool = False
    export: Path | None = None

    def __call__(self) -> None:
        if self.export is None:
            self._serve()
        else:
            self._export(self.export)

    def _export(self, folder: Path) -> None:
        from ldru.base.progress import counting
        from ldru.runs.shipped import shipped_names
        from ldru.web.export import export

        with counting("models", total=len(shipped_names())) as advance:
            export(folder, on_model=advance)
        print(f"{folder}\nAny host of files can serve it, such as `python -m http.server`.")

    def _serve(self) -> None:
        from ldru.base.imports import extra_module
        from ldru.web.server import make_app

        if not 0 <= self.port < 2**16:
            raise LdruError(f"a port lies between 0 and 65535, got {self.port}")
        uvicorn = extra_module("uvicorn", extra="web")
        token = None if self.host in LOCAL else secrets.token_urlsafe(16)
        app = make_app(self.runs, hosts=self._hosts(), token=token)
        listening = self._listen()
        link = f"http://{self._name()}:{listening.getsockname()[1]}/"
        if token is not None:
            link += f"?token={token}"
            print("Whoever has this link can start trainings on this machine:", flush=True)
        print(link, flush=True)
        print("Ctrl-C ends it.", file=sys.stderr)
        if not self.no_browser:
            webbrowser.open(link)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=SECONDS_TO_END)
        with suppress(KeyboardInterrupt):  # the usual end
            uvicorn.Server(config).run(sockets=[listening])

    def _name(self) -> str:
        """The name that a link gives this machine."""
        if self.host in ANYWHERE:
            return socket.gethostname()
        return f"[{self.host}]" if ":" in self.host else self.host

    def _hosts(self) -> tuple[str, ...]:
        """The names it answers under; on every address any will do, since the token decides."""
        return ("*",) if self.host in ANYWHERE else (self._name(),)

    def _listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((self.host, self.port))
            listening.listen()  # from now on a browser waits, rather than being turned away
        except OSError as problem:
            listening.close()
            raise RunError(
                f"cannot listen on {self.host} port {self.port}: {problem}; choose another with "
                "--port, 0 for any that is free"
            ) from problem
        return listening


def command(arguments: list[str]) -> type[Play]:
    return Play
