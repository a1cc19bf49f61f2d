"""Both reports in a real browser: no console errors, nothing loaded, nothing wider than the window.

Skipped only where Chromium is absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.chromium import CHROMIUM, Page, opened
from tests.browser.rendering import assert_renders
from tests.releases.tiny import Showcase, tiny

from penstock.releases.public_report import report
from penstock.report import maps, pictures
from penstock.report.page import Card, Cards, Commands, Gallery, Headline, Section, Table, Text, render
from penstock.report.travel import maps_by_time

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

DESK, PHONE = 1280, 390
EVIL = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


def evaluation() -> str:
    """A page with every kind of block, stamped as the custodian's report is."""
    compared = {"original": [700, 300], "release": [690, 310]}
    return render(
        "Evaluation of a release with a rather long name that has_to_wrap_somewhere_on_a_small_screen",
        [
            Section("Scores", [Cards([Card("1-way", "0.021", "floor 0.02"), Card("2-way", "0.083")])]),
            Section("Columns", [Gallery([pictures.bars("sex", ["Female", "Male"], compared)])]),
            Section("Table", [Table([f"column {i}" for i in range(12)], [[f"cell {i}" for i in range(12)]])]),
            Section(
                "Words",
                [Text(["word " * 80, "x" * 300]), Commands([("do", "penstock evaluate " + "y" * 200)])],
            ),
        ],
        headline=Headline(
            "0.083", "distance", "Good", ["Good enough."], terms=[("rows", "10"), ("columns", "z" * 90)]
        ),
        stamp="not for publication",
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    hostile = json.dumps({"title": EVIL, "fields": [{"name": EVIL, "constraints": {"enum": [EVIL, "b"]}}]})
    texts = {
        "public": report(tiny(Showcase)),
        "evaluation": evaluation(),
        "hostile": report(tiny(schema=hostile)),
    }
    found = {}
    for name, text in texts.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(text, encoding="utf-8")
    return found


@pytest.fixture(
    params=[("public", DESK), ("public", PHONE), ("evaluation", DESK), ("evaluation", PHONE)],
    ids=lambda case: f"{case[0]}-{case[1]}",
)
def shown(request: pytest.FixtureRequest, pages: dict[str, Path]) -> Iterator[Page]:
    name, width = request.param
    with opened(
        pages[name], width=width, touch=width == PHONE, dark=(name, width) == ("public", PHONE)
    ) as page:
        page.wait("document.documentElement.dataset.drawn")
        yield page


def test_a_report_renders_completely_and_quietly_at_every_width(shown: Page) -> None:
    assert_renders(shown)


def test_the_text_of_a_phone_page_is_large_enough_to_read_and_touch(pages: dict[str, Path]) -> None:
    with opened(pages["public"], width=PHONE, touch=True) as page:
        page.wait("document.documentElement.dataset.drawn")
        small = page.ask("""[...document.querySelectorAll('p, li, td, dd, figcaption')]
            .filter(e => parseFloat(getComputedStyle(e).fontSize) < 13).length""")
        assert small == 0
        low = page.ask(
            "[...document.querySelectorAll('nav a, summary')]"
            ".filter(e => e.getBoundingClientRect().height < 24).length"
        )
        assert low == 0


def test_hostile_labels_do_not_run(pages: dict[str, Path]) -> None:
    with opened(pages["hostile"]) as page:
        page.wait("document.documentElement.dataset.drawn")
        assert page.ask("document.title") == EVIL
        assert page.ask("document.querySelectorAll('img').length") == 0
        assert page.ask("document.querySelectorAll('main a, .plot a').length") == 0
        assert page.problems == []


def test_the_policy_stops_a_script_that_is_not_ours(pages: dict[str, Path], tmp_path: Path) -> None:
    """Were a label ever to slip through the escaping, the browser would refuse to run it."""
    text = pages["public"].read_text(encoding="utf-8")
    (tmp_path / "broken.html").write_text(
        text.replace("<main>", "<main><script>document.title='taken'</script>")
    )
    with opened(tmp_path / "broken.html") as page:
        page.wait("document.documentElement.dataset.drawn")
        assert page.ask("document.title") != "taken"
        assert any("Content Security Policy" in problem for problem in page.problems)


def test_a_report_follows_the_readers_dark_mode_and_prints(pages: dict[str, Path], tmp_path: Path) -> None:
    with opened(pages["public"], dark=True) as page:
        page.wait("document.documentElement.dataset.drawn")
        ink = "getComputedStyle(document.querySelector('.xtick text, .ytick text')).fill"
        dark = page.ask(ink)
        page.prefer("light")
        page.wait(f"{ink} !== {dark!r}")
        page.print(tmp_path / "report.pdf")
        assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
        assert page.problems == []


def test_the_pointer_is_told_what_it_is_on_and_maps_zoom(tmp_path: Path) -> None:
    evil = "<b>x</b><img src=x onerror=alert(1)>"
    cells = [[1.0, 2.0], [3.0, 40.0]]
    shown = [
        pictures.bars("sex", ["Female", evil], [690, 310]),
        maps.grid_map("map", [0.0, 1.0, 2.0], [0.0, 1.0, 2.0], cells),
    ]
    (tmp_path / "page.html").write_text(render("t", [Section("s", [Gallery(shown)])]), encoding="utf-8")
    with opened(tmp_path / "page.html") as page:
        page.wait("document.documentElement.dataset.drawn")
        for number, expected in ((0, "Female690 records"), (1, evil + "310 records")):
            x, y = page.ask(f"""(() => {{ const r = document.querySelectorAll('#figure-0 rect')[{number}]
                .getBoundingClientRect(); return [r.x + 5, r.y + r.height / 2]; }})()""")
            page.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
            page.wait("!document.querySelector('#figure-0 .tip').hidden")
            told = page.ask("document.querySelector('#figure-0 .tip').textContent")
            assert told == expected
        ends = "[...document.querySelectorAll('#figure-1 .xtick text')].map(e => e.textContent).join()"
        before = page.ask(ends)
        page.click("#figure-1 [aria-label='Zoom in']")
        page.wait(f"{ends} !== {before!r}")
        page.click("#figure-1 [aria-label='Whole map']")
        page.wait(f"{ends} === {before!r}")
        assert page.problems == []


def test_maps_keep_their_shape_and_their_buttons_lie_beside_them(tmp_path: Path) -> None:
    edges = [0.0, 1.0, 2.0, 3.0]
    cells = [[1.0, 2.0, 3.0], [3.0, 40.0, 5.0], [1.0, 1.0, 1.0]]
    many = maps_by_time("hours", ["1", "2", "3", "4", "5"], edges, edges, [cells] * 5)
    effects = pictures.bars("effects", ["lower secondary", "none", "other"], [-0.0511, 0.0214, -0.00514])
    shown = [maps.grid_map("map", edges, edges, cells), many, effects]
    (tmp_path / "page.html").write_text(render("t", [Section("s", [Gallery(shown)])]), encoding="utf-8")
    with opened(tmp_path / "page.html") as page:
        for width in (DESK, PHONE):
            page.visit(tmp_path / "page.html", width=width, touch=width == PHONE)
            page.wait("document.documentElement.dataset.drawn")
            assert_renders(page)
            cells_drawn = "document.querySelectorAll(':is(#figure-0, #figure-1) rect:not(defs rect)')"
            sides = page.ask(f"""[...{cells_drawn}]
                .map(e => e.getBoundingClientRect()).map(r => r.width / r.height)""")
            assert len(sides) == 6 * 9
            assert sides == pytest.approx([1.0] * len(sides), abs=0.05)
            hidden = page.ask("""[...document.querySelectorAll('#figure-0 rect:not(defs rect)')].filter(e => {
                const tools = document.querySelector('.zoom').getBoundingClientRect();
                const cell = e.getBoundingClientRect();
                return cell.right > tools.left && cell.top < tools.bottom; }).length""")
            assert hidden == 0
        page.ask("document.querySelector('#figure-0 [aria-label=\"Zoom in\"]').focus()")
        seen = "String(JSON.stringify(document.querySelector('#figure-0').view))"
        for _ in range(2):
            before = page.ask(seen)
            page.press("Enter")
            page.wait(f"{seen} !== {before!r}")
        assert page.ask("document.activeElement.getAttribute('aria-label')") == "Zoom in"
