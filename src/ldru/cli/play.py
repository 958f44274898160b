"""`ldru play`."""

import secrets
import socket
import webbrowser
from dataclasses import dataclass
from pathlib import Path

from ldru.base.errors import LdruError

LOCAL = ("127.0.0.1", "localhost", "::1")


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
        is_local = self.host in LOCAL
        token = None if is_local else secrets.token_urlsafe(16)
        listening = self._listen()
        port = listening.getsockname()[1]
        names = self._names()
        link = f"http://{names[0]}:{port}/" + ("" if token is None else f"?token={token}")
        print(f"{link}\nCtrl-C ends it.", flush=True)
        if not is_local:
            print("Whoever has this link can start trainings on this machine.", flush=True)
        if not self.no_browser:
            webbrowser.open(link)
        config = uvicorn.Config(make_app(self.runs, hosts=names, token=token), log_level="warning")
        uvicorn.Server(config).run(sockets=[listening])

    def _names(self) -> tuple[str, ...]:
        """What a link may call this server, the best first."""
        if self.host in ("0.0.0.0", "::"):  # every address: a link needs a name
            return socket.gethostname(), socket.getfqdn()
        return (f"[{self.host}]" if ":" in self.host else self.host,)

    def _listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((self.host, self.port))
        except OSError as problem:
            listening.close()
            raise LdruError(
                f"cannot listen on {self.host} port {self.port}: {problem}; choose another with "
                "--port, 0 for any that is free"
            ) from problem
        return listening


def command(arguments: list[str]) -> type[Play]:
    return Play
