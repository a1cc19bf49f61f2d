"""Who may talk to the desk: the one browser that was given its address, and no page of anybody else.

The desk listens on 127.0.0.1. A page from elsewhere can still make a browser send requests there, so each
request must name the desk as its host (against names that are pointed here, DNS rebinding), and one that
changes anything must come from the desk's own page (its origin). The address that is opened carries a token
that works once: it is exchanged for a cookie that no script can read and no other page can use.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp

HOST: Final = "127.0.0.1"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Keys:
    """The token of the first visit, and the cookie of all others."""

    def __init__(self) -> None:
        self.token: str | None = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)

    def exchange(self, token: str) -> str | None:
        """The cookie for a token, once."""
        if self.token is None or not hmac.compare_digest(token.encode(), self.token.encode()):
            return None
        self.token = None
        return self._cookie

    def fits(self, cookie: str) -> bool:
        return hmac.compare_digest(cookie.encode(), self._cookie.encode())


def cookie_name(port: int) -> str:
    """The name of a desk's cookie: browsers do not tell ports apart, and two desks may be open at once."""
    return f"penstock-desk-{port}"


class Gate(BaseHTTPMiddleware):
    """Lets a request through when host, origin and cookie are right."""

    def __init__(self, app: ASGIApp, keys: Keys, port: int) -> None:
        super().__init__(app)
        self._keys = keys
        self._host = f"{HOST}:{port}"
        self._name = cookie_name(port)

    async def dispatch(
        self, request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        refused = self._refused(request)
        if refused is None:
            response = await call_next(request)
        elif isinstance(refused, str):
            response = PlainTextResponse(f"{refused}\n", status_code=403)
        else:
            response = refused
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    def _refused(self, request: Request) -> Response | str | None:
        """Why not, or where to go instead; None where nothing is wrong."""
        if request.headers.get("host") != self._host:
            return "This desk answers only under its own address."
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{self._host}":
            return "This desk answers only to its own page."
        if request.method not in ("GET", "HEAD") and origin is None:
            return "A request that changes something must say which page it comes from."
        token = request.query_params.get("token")
        if token is not None and request.method == "GET" and request.url.path == "/":
            cookie = self._keys.exchange(token)
            if cookie is not None:
                response = RedirectResponse("/", status_code=303)
                response.set_cookie(self._name, cookie, httponly=True, samesite="strict", path="/")
                return response
            if not self._keys.fits(request.cookies.get(self._name, "")):
                return "This address works once and has been used. Start the review again for a new one."
        if not self._keys.fits(request.cookies.get(self._name, "")):
            return "Open the address that 'penstock review' printed."
        return None
