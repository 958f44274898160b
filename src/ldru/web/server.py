"""The server of the playground: pages from this package, and answers as JSON.

It listens on this machine alone unless it is told otherwise. Requests that name another host are
refused, so that no page from elsewhere can reach it under a name of its own; beyond this machine a
token in the link is needed as well.
"""

import hmac
import json
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ldru.base.errors import LdruError
from ldru.base.imports import extra_module
from ldru.base.json import Json
from ldru.base.version import __version__
from ldru.web import languages, networks
from ldru.web.jobs import Proofs, Training
from ldru.web.limits import LONGEST_LENGTH, RequestError, whole

STATIC = Path(__file__).parent / "static"
LARGEST_BODY = 10_000
COOKIE = "ldru_token"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""Nothing is loaded from elsewhere, and no page elsewhere frames this one."""

Query = dict[str, str]


def make_app(runs: Path, *, hosts: tuple[str, ...] = (), token: str | None = None) -> Any:
    """The application.

    runs: the folder whose runs can be opened, and where trainings are kept.
    hosts: names that a request may ask for beside this machine's own; empty with no token.
    token: what a link must carry; None for this machine alone.
    """
    extra_module("starlette", extra="web")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    models, proofs, training = networks.Models(runs), Proofs(), Training(runs)

    def task_of(query: Query) -> Any:
        return languages.language(query.get("task"), query.get("regex"), query.get("alphabet"))

    def length_of(query: Query) -> int:
        return whole(query.get("length"), name="length", low=1, high=LONGEST_LENGTH, default=20)

    def seed_of(query: Query) -> int:
        return whole(query.get("seed"), name="seed", low=0, high=999_999_999, default=0)

    def start(query: Query) -> Json:
        return {
            "version": __version__,
            "models": list(models.names()),
            "languages": languages.names(),
        }

    def tree(query: Query) -> Json:
        run = models.open(query.get("model", ""))
        tokens = languages.tokens_of(run.language, query.get("word", ""))
        return networks.tree(run, tokens, query.get("brackets"))

    answers: dict[str, Callable[[Query], Json]] = {
        "start": start,
        "machine": lambda query: languages.describe(task_of(query)),
        "walk": lambda query: languages.follow(task_of(query), query.get("word", "")),
        "words": lambda query: languages.words(
            task_of(query), length=min(64, length_of(query)), seed=seed_of(query)
        ),
        "model": lambda query: model_row(models.open(query.get("model", ""))),
        "tree": tree,
        "length": lambda query: networks.at_length(
            models.open(query.get("model", "")), length=length_of(query), seed=seed_of(query)
        ),
    }

    def model_row(run: Any) -> Json:
        return {
            "task": run.task.name,
            "alphabet": list(run.language.machine.alphabet),
            "example": languages.words(run.language, length=16, seed=1)["words"],
            **networks.curve(run),
        }

    def get(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in answers:
            return JSONResponse({"error": f"there is nothing named {name[:40]!r} here"}, 404)
        return JSONResponse(answers[name](dict(request.query_params)))

    def stream(events: Iterator[str]) -> Response:
        return StreamingResponse(events, media_type="text/event-stream")

    def proof(request: Request) -> Response:
        return stream(proofs.events(models.open(request.query_params.get("model", ""))))

    def watch(request: Request) -> Response:
        return stream(training.events())

    async def train(request: Request) -> Response:
        if request.headers.get("content-type") != "application/json":
            raise RequestError("a training is started with JSON")
        body = await request.body()
        if len(body) > LARGEST_BODY:
            raise RequestError(f"settings have at most {LARGEST_BODY:,} bytes, got {len(body):,}")
        try:
            given = json.loads(body or b"{}")
        except (ValueError, RecursionError) as problem:
            raise RequestError(f"the settings are no JSON: {problem}") from problem
        if not isinstance(given, dict):
            raise RequestError("the settings of a training are a JSON object")
        if given.get("stop"):
            training.stop()
            return JSONResponse({"stopping": True})
        task_of({k: v for k, v in given.items() if isinstance(v, str)})  # is there such a language?
        return JSONResponse(training.start(given))

    def failed(request: Request, problem: Exception) -> Response:
        return JSONResponse({"error": str(problem)}, 400)

    @asynccontextmanager
    async def lifespan(app: Any) -> Any:
        yield
        training.close()

    guard = Middleware(Guard, hosts=hosts, token=token)
    return Starlette(
        routes=[
            Route("/api/proof", proof),
            Route("/api/training", watch, methods=["GET"]),
            Route("/api/training", train, methods=["POST"]),
            Route("/api/{name}", get),
            Mount("/", StaticFiles(directory=STATIC, html=True)),
        ],
        middleware=[guard],
        exception_handlers={LdruError: failed},
        lifespan=lifespan,
    )


class Guard:
    """Refuses requests that name another host or carry no token, and sets headers on answers."""

    def __init__(self, app: Any, *, hosts: tuple[str, ...], token: str | None) -> None:
        self.app, self.token = app, token
        self.hosts = {"127.0.0.1", "localhost", "[::1]", *hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        from starlette.requests import Request
        from starlette.responses import JSONResponse

        request = Request(scope)
        problem = self._problem(request)
        extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
        if self.token is not None and "token" in request.query_params:
            extra.append(
                (b"set-cookie", f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict".encode())
            )

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        app = self.app if problem is None else JSONResponse({"error": problem}, 403)
        await app(scope, receive, send_with_headers)

    def _problem(self, request: Any) -> str | None:
        host = request.headers.get("host", "")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if name not in self.hosts:
            return "this server answers under its own address alone"
        origin = request.headers.get("origin")
        if origin is not None and origin.split("//")[-1] != host:
            return "this server answers its own pages alone"
        if self.token is None:
            return None
        given = request.query_params.get("token") or request.cookies.get(COOKIE) or ""
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return "open the link that `ldru play` printed: it carries a token"
        return None
