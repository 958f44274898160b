"""Whom the playground answers."""

import hmac
from typing import Any

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

ANY = "*"
"""Instead of a name, where a token alone decides."""

OWN = ("127.0.0.1", "localhost", "[::1]")
"""Names that a machine has for itself."""


class Guard:
    """Refuses requests that name another host or carry no token, and sets headers on answers."""

    def __init__(self, app: Any, *, hosts: tuple[str, ...], token: str | None) -> None:
        self.app, self.token = app, token
        self.hosts = {*OWN, *hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        from starlette.requests import Request
        from starlette.responses import JSONResponse

        request = Request(scope)
        problem = self._problem(request)
        headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
        if problem is None and self.token is not None and "token" in request.query_params:
            cookie = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict"
            headers.append((b"set-cookie", cookie.encode()))

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *headers]}
            await send(message)

        app = self.app if problem is None else JSONResponse({"error": problem}, 403)
        await app(scope, receive, send_with_headers)

    def _problem(self, request: Any) -> str | None:
        """Why a request is refused; None where it is not."""
        host = request.headers.get("host", "")
        name = host if host.endswith("]") else host.rsplit(":", 1)[0]
        if name not in self.hosts and ANY not in self.hosts:
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
