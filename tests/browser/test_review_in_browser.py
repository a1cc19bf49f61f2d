"""The desk in a real browser: from an unknown file to a reviewed release, with nothing but the mouse."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.browser.chromium import CHROMIUM, Page, opened
from tests.browser.rendering import LOW_CONTRAST
from tests.desk.unknown import unknown

from penstock.releases import load
from penstock.schema import Schema

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@contextmanager
def desk(*arguments: str) -> Iterator[str]:
    """`penstock review` as a process of its own; its address."""
    command = [sys.executable, "-m", "penstock", "review", *arguments, "--page", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            address = running.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=\S+", address), running.communicate()
            yield address
        finally:
            running.terminate()
            running.wait(300)


def ready(page: Page) -> None:
    page.wait("document.documentElement?.dataset.left !== undefined")


def test_an_unknown_file_of_24_columns_becomes_a_reviewed_release_by_mouse_alone(tmp_path: Path) -> None:
    data, out = unknown(tmp_path / "patients.csv"), tmp_path / "patients-release"
    clicks = 0

    with desk(str(data), "--out", str(out)) as address, opened(address) as page:
        ready(page)
        left = int(page.ask("document.documentElement.dataset.left"))
        assert left == 25  # 24 columns and the unit

        def click(selector: str, until: str) -> None:
            nonlocal clicks
            clicks += 1
            page.click(selector)
            page.wait(until)

        def card(name: str) -> str:
            return f".card[data-name={name}]"

        shown = "document.querySelector('.card[data-name={}] .says').textContent"
        before = page.ask(shown.format("pulse"))
        click(f"{card('pulse')} [id$=-round]", f"{shown.format('pulse')} !== {before!r}")
        before = page.ask(shown.format("weight"))
        click(f"{card('weight')} [id$=-widen]", f"{shown.format('weight')} !== {before!r}")
        annex = f"{card('ward')} .values input[value=annex]"
        click(annex, f"document.querySelector({annex!r}).checked")
        click(f"{card('ward')} [id$=-merge]", f"!document.querySelector({annex!r})")
        click(f"{card('height')} [id$=-leave-out]", f"!document.querySelector({card('height')!r})")
        left -= 1
        click("#undo", f"!!document.querySelector({card('height')!r})")
        click(f"{card('height')} [id$=-leave-out]", f"!document.querySelector({card('height')!r})")
        while left:
            left -= 1
            click(".card [id$=-confirm]", f"document.documentElement.dataset.left === '{left}'")
        assert page.ask("document.getElementById('left').textContent") == "Nothing left to review"
        click("#epsilon-2", "document.getElementById('epsilon-2').checked")
        click("#go", "document.documentElement.dataset.release === 'done'")
        assert page.problems == []
        assert {url.rpartition("/")[0] for url in page.requests if not url.startswith("data:")} == {
            address.rpartition("/")[0]
        }
        click("#finish", "document.getElementById('release').textContent.includes('closed')")

    schema = Schema.load(tmp_path / "patients.schema.yaml")
    made = load(out)
    assert schema.to_review() == []
    assert schema.names == made.schema.names
    assert "height" not in schema.names
    assert "annex" not in schema.field("ward").values
    assert made.receipt.epsilon == 2
    assert clicks == 34  # 24 confirmations, 7 corrections, 3 for the release and to close


def test_the_desk_is_quiet_fits_every_window_has_contrast_and_obeys_the_keyboard(tmp_path: Path) -> None:
    data = unknown(tmp_path / "patients.csv", rows=200)
    with desk(str(data)) as address, opened(address) as page:
        ready(page)
        for width, dark in ((1280, False), (390, True)):
            page.go(address.partition("?")[0], width=width, dark=dark, touch=width < 500)
            ready(page)
            assert page.ask("document.documentElement.scrollWidth") <= width
            page.ask("document.querySelectorAll('details').forEach(each => { each.open = true; })")
            assert page.ask("document.documentElement.scrollWidth") <= width
            nameless = page.ask("""[...document.querySelectorAll('input, select')]
                .filter(e => !e.labels.length && !e.getAttribute('aria-label')).length""")
            assert nameless == 0
            assert page.ask(LOW_CONTRAST) == []
            assert page.problems == []
        for _ in range(40):
            page.press("Tab")
            if str(page.ask("document.activeElement.id")).endswith("-confirm"):
                break
        else:
            raise AssertionError("the keyboard does not reach a card")
        assert page.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.press("Enter")
        page.wait("document.documentElement.dataset.left === '24'")
        for value in ("east", "west"):
            page.ask(f"document.querySelector('.card[data-name=ward] input[value={value}]').focus()")
            page.press("Space")
        page.ask("document.querySelector('.card[data-name=ward] [id$=-merge]').focus()")
        page.press("Tab")
        page.write("elsewhere")
        page.ask("document.querySelector('.card[data-name=ward] [id$=-merge]').focus()")
        page.press("Enter")
        page.wait("!!document.querySelector('.card[data-name=ward] input[value=elsewhere]')")
        assert "Merged into elsewhere: east, west" in page.ask(
            "document.querySelector('.card[data-name=ward]').textContent"
        )
        assert page.problems == []
    assert Schema.load(tmp_path / "patients.schema.yaml").field("ward").merged == (
        ("elsewhere", ("east", "west")),
    )
