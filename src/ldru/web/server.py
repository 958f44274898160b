"""The server of the playground: the page from this package, and what it asks for.

The page computes what it shows; the server knows languages and models, extracts machines and
trains. It answers this machine alone unless it is told otherwise. Requests that name another host
are refused, so that no page from elsewhere can reach it under a name of its own; beyond this
machine a token in the link is needed as well.
"""

import importlib
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldru.base.errors import LdruError
from ldru.base.imports import extra_module
from ldru.base.json import Json
from ldru.base.version import __version__
from ldru.web import languages
from ldru.web.events import Story
from ldru.web.guard import Guard
from ldru.web.limits import RequestError
from ldru.web.shelf import Shelf
from ldru.web.training import Training

if TYPE_CHECKING:
    from ldru.web.models import Models
    from ldru.web.proofs import Proofs

STATIC = Path(__file__).parent / "static"
LARGEST_BODY = 10_000
SECONDS_AHEAD = 1.0

Query = dict[str, str]


class Playground:
    """Answers to the page, by name.

    PyTorch is imported when a model is asked for first: the page is there before.
    """

    def __init__(self, runs: Path) -> None:
        self.shelf = Shelf(runs)
        self.training = Training(runs)
        self.answers: dict[str, Callable[[Query], Json]] = {
            "start": self.start,
            "machine": self.machine,
            "model": self.model,
        }

    @cached_property
    def models(self) -> "Models":
        from ldru.web.models import Models

        return Models(self.shelf)

    @cached_property
    def proofs(self) -> "Proofs":
        import torch

        from ldru.web.proofs import Proofs

        torch.set_num_threads(1)  # networks here are small: threads would wait for one another
        return Proofs()

    def start(self, query: Query) -> Json:
        """The languages and models to choose from."""
        return {
            "version": __version__,
            "models": self.shelf.rows(),
            "languages": languages.names(),
        }

    def machine(self, query: Query) -> Json:
        """A language."""
        given = query.get("task"), query.get("regex"), query.get("alphabet")
        return languages.describe(given[0] or given[1] or "", languages.language(*given))

    def model(self, query: Query) -> Json:
        """A model without its weights."""
        from ldru.web.models import describe_model

        return describe_model(self.models.open(query.get("model", "")))

    def weights(self, query: Query) -> bytes:
        """The weights of a model."""
        return self.models.weights(query.get("model", ""))

    def proof(self, query: Query) -> Story:
        """An extraction."""
        return self.proofs.start(self.models.open(query.get("model", "")))

    def train(self, body: bytes) -> Json:
        """Begin or stop a training."""
        if len(body) > LARGEST_BODY:
            raise RequestError(f"settings have at most {LARGEST_BODY:,} bytes, got {len(body):,}")
        try:
            given = json.loads(body or b"{}")
        except (ValueError, RecursionError) as problem:
            raise RequestError(f"the settings are no JSON: {problem}") from problem
        if not isinstance(given, dict):
            raise RequestError("the settings of a training are a JSON object")
        if given.get("stop"):
            self.training.stop()
            return {"stopping": True}
        self.machine({name: text for name, text in given.items() if isinstance(text, str)})
        return self.training.start(given)


def make_app(runs: Path, *, hosts: tuple[str, ...] = (), token: str | None = None) -> Any:
    """The application.

    runs: the folder whose runs can be opened, and where trainings are kept.
    hosts: names that a request may ask for beside this machine's own; "*" for any, with a token.
    token: what a link must carry; None for this machine alone.
    """
    extra_module("starlette", extra="web")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    playground = Playground(runs)

    def get(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in playground.answers:
            return JSONResponse({"error": f"there is nothing named {name[:40]!r} here"}, 404)
        return JSONResponse(playground.answers[name](dict(request.query_params)))

    def weights(request: Request) -> Response:
        content = playground.weights(dict(request.query_params))
        return Response(content, media_type="application/octet-stream")

    def told(story: Story) -> Response:
        return StreamingResponse(story.follow(), media_type="text/event-stream")

    def proof(request: Request) -> Response:
        return told(playground.proof(dict(request.query_params)))

    def watch(request: Request) -> Response:
        return told(playground.training.story)

    async def train(request: Request) -> Response:
        if request.headers.get("content-type") != "application/json":
            raise RequestError("a training is started with JSON")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_BODY:
                break  # `train` says so
        return JSONResponse(playground.train(body))

    def failed(request: Request, problem: Exception) -> Response:
        return JSONResponse({"error": str(problem)}, 400)

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        # Once the page is there, so that the first tree does not wait for PyTorch.
        ahead = threading.Timer(SECONDS_AHEAD, importlib.import_module, ["ldru.web.proofs"])
        ahead.daemon = True
        ahead.start()
        yield
        ahead.cancel()
        playground.training.close()

    return Starlette(
        routes=[
            Route("/api/weights", weights),
            Route("/api/proof", proof),
            Route("/api/training", watch, methods=["GET"]),
            Route("/api/training", train, methods=["POST"]),
            Route("/api/{name}", get),
            Mount("/", StaticFiles(directory=STATIC, html=True)),
        ],
        middleware=[Middleware(Guard, hosts=hosts, token=token)],
        exception_handlers={LdruError: failed},
        lifespan=lifespan,
    )
