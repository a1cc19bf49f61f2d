"""A real browser for tests: Debian's Chromium, headless, driven over a pair of pipes.

Chromium speaks its DevTools protocol on file descriptors 3 and 4: JSON messages, each ended by a
zero byte. That is all it takes to open a page at the width of a phone, read its console, see every
request that it makes, ask it questions and take its picture.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

_QUIET = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-default-apps",
    "--no-first-run",
    "--no-default-browser-check",
    "--mute-audio",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
# Started between us and Chromium to put the pipes where it looks for them.
_ON_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 20) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Page:
    """One tab, and all that it has said and asked for so far."""

    def __init__(self, wire: _Wire, session: str) -> None:
        self._wire, self._session = wire, session
        self.width = 0
        for domain in ("Runtime", "Log", "Page", "Network"):
            self.command(f"{domain}.enable")

    def visit(
        self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False, touch: bool = False
    ) -> None:
        """Open a page of the local disk in a window of this size; what was said before is forgotten."""
        address = path.resolve().as_uri()
        self.go(address, width=width, height=height, dark=dark, touch=touch)
        self.wait(f"document.readyState === 'complete' && location.href === {address!r}")

    def go(
        self, address: str, *, width: int = 1280, height: int = 900, dark: bool = False, touch: bool = False
    ) -> None:
        """Open an address in a window of this size; what was said before is forgotten."""
        self.width = width
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch}
        self.command("Emulation.setDeviceMetricsOverride", **screen)
        self.command("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.prefer("dark" if dark else "light")
        self._wire.events.clear()
        self.command("Page.navigate", url=address)

    def click(self, selector: str) -> None:
        """Turn the wheel until an element is in sight and press the mouse on it, as a hand would."""
        place = (
            f"(() => {{ const e = document.querySelector({selector!r});"
            " if (!e) return null; const r = e.getBoundingClientRect();"
            " const x = r.x + r.width / 2, y = r.y + r.height / 2;"
            " const top = document.elementFromPoint(x, y);"
            " return [x, y, innerHeight, !!top && (e === top || e.contains(top) || top.contains(e))]; })()"
        )
        for _ in range(200):
            found = self.ask(place)
            assert found is not None, f"there is no {selector}"
            x, y, height, seen = found
            if seen and 0 < y < height:
                break
            turn = {"type": "mouseWheel", "x": 5, "y": height / 2, "deltaX": 0}
            self.command("Input.dispatchMouseEvent", **turn, deltaY=max(-600, min(600, y - height / 2)))
            self.pause()
        else:
            raise AssertionError(f"{selector} cannot be reached with the mouse")
        for kind in ("mousePressed", "mouseReleased"):
            self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press a key of the keyboard: Tab, Enter, Space."""
        facts = {"Tab": (9, ""), "Enter": (13, "\r"), "Space": (32, " ")}[key]
        named = {"key": " " if key == "Space" else key, "code": key, "windowsVirtualKeyCode": facts[0]}
        self.command("Input.dispatchKeyEvent", type="keyDown", text=facts[1], **named)
        self.command("Input.dispatchKeyEvent", type="keyUp", **named)

    def write(self, text: str) -> None:
        """Type a text into what has the focus."""
        self.command("Input.insertText", text=text)

    def pause(self) -> None:
        """Let the page draw its next frame."""
        self.ask("new Promise(next => requestAnimationFrame(() => requestAnimationFrame(() => next(1))))")

    def prefer(self, scheme: str) -> None:
        """Set the reader's choice between "light" and "dark"."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", features=features)

    @property
    def problems(self) -> list[str]:
        """Errors and warnings of the console, uncaught exceptions and refused content."""
        found = []
        for event in self._wire.events:
            facts = event["params"]
            match event["method"]:
                case "Runtime.exceptionThrown":
                    found.append(
                        str(facts["exceptionDetails"].get("exception", {}).get("description", facts))
                    )
                case "Runtime.consoleAPICalled" if facts["type"] in ("error", "warning", "assert"):
                    found.append(
                        " ".join(str(arg.get("value", arg.get("description"))) for arg in facts["args"])
                    )
                case "Log.entryAdded" if facts["entry"]["level"] in ("error", "warning"):
                    found.append(facts["entry"]["text"])
        return found

    @property
    def requests(self) -> list[str]:
        """The address of everything that the page loaded or tried to load."""
        return [
            event["params"]["request"]["url"]
            for event in self._wire.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._wire.command(method, parameters, self._session)

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.command(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str, seconds: float = 600) -> None:
        """Return when the expression is true in the page."""
        end = time.monotonic() + seconds
        while not self.ask(expression):
            assert time.monotonic() < end, f"the page never came to: {expression}; it said {self.problems}"
            self._wire.pump(0.05)

    def screenshot(self, path: Path) -> None:
        """The whole page, from top to bottom, as PNG."""
        shot = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def print(self, path: Path) -> None:
        """The page as it would leave a printer, as PDF."""
        path.write_bytes(base64.b64decode(self.command("Page.printToPDF", printBackground=False)["data"]))


class _Wire:
    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._number = 0
        self._rest = b""
        self._answers: dict[int, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []

    def command(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + 600
        while number not in self._answers:
            assert time.monotonic() < end, f"Chromium did not answer {method}"
            self.pump(1)
        answer = self._answers.pop(number)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def pump(self, seconds: float) -> None:
        """Take in what Chromium has sent, waiting for the first of it."""
        if not select.select([self._reading], [], [], seconds)[0]:
            return
        received = os.read(self._reading, 1 << 20)
        assert received, "Chromium has gone"
        *messages, self._rest = (self._rest + received).split(b"\0")
        for text in messages:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self.events.append(message)


@contextmanager
def opened(
    page: Path | str, *, width: int = 1280, height: int = 900, dark: bool = False, touch: bool = False
) -> Iterator[Page]:
    """A page of the local disk, or an address, in a fresh browser with a window of this size."""
    assert CHROMIUM is not None
    to_browser, ours = os.pipe()
    mine, from_browser = os.pipe()
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        browser = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _ON_3_AND_4,
                str(to_browser),
                str(from_browser),
                CHROMIUM,
                *_QUIET,
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        try:
            wire = _Wire(mine, ours)
            target = wire.command("Target.createTarget", {"url": "about:blank"})["targetId"]
            session = wire.command("Target.attachToTarget", {"targetId": target, "flatten": True})[
                "sessionId"
            ]
            tab = Page(wire, session)
            show = tab.go if isinstance(page, str) else tab.visit
            show(page, width=width, height=height, dark=dark, touch=touch)  # type: ignore[arg-type]
            yield tab
        finally:
            browser.terminate()
            try:
                browser.wait(60)
            except subprocess.TimeoutExpired:
                browser.kill()
                browser.wait()
            os.close(ours)
            os.close(mine)
