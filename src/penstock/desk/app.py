"""The desk as a web application: one page, the state of the review as JSON, and actions in words.

It adds nothing to the review (`penstock.review`): it shows a sheet and hands it words. Where the data are
known, a schema with nothing left to review can be released from here, by the same function as everywhere.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from penstock.desk.gate import Gate, Keys
from penstock.errors import PenstockError, without_password
from penstock.review.cards import overview
from penstock.review.sheet import Sheet

EPSILONS: Final = ("0.1", "0.5", "1", "2", "4")
_LARGEST: Final = 100_000
_TYPES: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


@dataclass
class Releasing:
    """Where a reviewed schema can be released from the desk: with which data, into which folder."""

    make: Callable[[str], object]
    folder: Path
    state: str = "ready"
    message: str = ""

    def run(self, epsilon: str) -> None:
        """Make the release; what goes wrong is a sentence for the page, never a traceback."""
        try:
            self.make(epsilon)
        except PenstockError as problem:
            self.state, self.message = "failed", without_password(str(problem))
        except Exception as problem:  # a bug of ours may quote records, so only its name is told
            self.state, self.message = (
                "failed",
                f"Penstock failed in a way it should not ({type(problem).__name__}).",
            )
        else:
            self.state, self.message = "done", str(self.folder)


class Desk:
    """One review: the sheet, the release that may follow, and a lock, because pages can be open twice."""

    def __init__(self, sheet: Sheet, releasing: Releasing | None = None) -> None:
        self.sheet, self.releasing = sheet, releasing
        self.finished = threading.Event()
        self._lock = threading.Lock()

    def state(self) -> dict[str, Any]:
        releasing = self.releasing
        shown = {**overview(self.sheet), "epsilons": EPSILONS}
        shown["release"] = (
            {"state": "none", "message": ""}
            if releasing is None
            else {"state": releasing.state, "message": releasing.message}
        )
        return shown

    def act(self, name: str, words: list[str]) -> dict[str, Any]:
        """Carry out one action; the answer has the state in any case, and a sentence where it was refused."""
        with self._lock:
            try:
                self.sheet.do(name, *words)
            except PenstockError as problem:
                return {**self.state(), "problem": str(problem)}
            return self.state()

    def release(self, epsilon: str) -> dict[str, Any]:
        """Begin a release in the background, unless there is one."""
        with self._lock:
            if self.releasing is None or self.releasing.state in ("running", "done"):
                return {**self.state(), "problem": "There is nothing to release here."}
            if self.sheet.left:
                waiting = f"{len(self.sheet.left)} facts still wait for a review."
                return {**self.state(), "problem": waiting}
            self.releasing.state, self.releasing.message = "running", ""
            threading.Thread(target=self.releasing.run, args=(epsilon,), daemon=False).start()
            return self.state()


@cache
def _part(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _static(name: str) -> Callable[[Request], Response]:
    def answer(_: Request) -> Response:
        return Response(_part(name), media_type=_TYPES[Path(name).suffix])

    return answer


def application(desk: Desk, keys: Keys, port: int) -> Starlette:
    """The web application of one review, behind its gate."""

    def state(_: Request) -> Response:
        return JSONResponse(desk.state())

    async def posted(request: Request) -> dict[str, Any] | None:
        if request.headers.get("content-type") != "application/json":
            return None
        content = b""
        async for piece in request.stream():
            content += piece
            if len(content) > _LARGEST:
                return None
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    async def act(request: Request) -> Response:
        found = await posted(request)
        words = None if found is None else found.get("words")
        if found is None or not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            return PlainTextResponse("Not an action.\n", status_code=400)
        return JSONResponse(await run_in_threadpool(desk.act, str(found.get("action")), words))

    async def release(request: Request) -> Response:
        found = await posted(request)
        if found is None or str(found.get("epsilon")) not in EPSILONS:
            return PlainTextResponse("Not an epsilon of the page.\n", status_code=400)
        return JSONResponse(await run_in_threadpool(desk.release, str(found["epsilon"])))

    def report(_: Request) -> Response:
        releasing = desk.releasing
        if releasing is None or releasing.state != "done":
            return PlainTextResponse("There is no release yet.\n", status_code=404)
        # The report states its own policy, which names its scripts by their hashes.
        policy = {"Content-Security-Policy": "frame-ancestors 'none'"}
        return FileResponse(releasing.folder / "report.html", headers=policy)

    async def finish(_: Request) -> Response:
        desk.finished.set()
        return JSONResponse({})

    return Starlette(
        routes=[
            Route("/", _static("desk.html")),
            Route("/desk.css", _static("desk.css")),
            Route("/desk.js", _static("desk.js")),
            Route("/state", state),
            Route("/act", act, methods=["POST"]),
            Route("/release", release, methods=["POST"]),
            Route("/finish", finish, methods=["POST"]),
            Route("/report", report),
        ],
        middleware=[Middleware(Gate, keys=keys, port=port)],
    )
