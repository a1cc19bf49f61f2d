"""What every page of ours must do in a browser."""

from __future__ import annotations

from tests.browser.chromium import Page


def assert_renders(shown: Page) -> None:
    """The page drew all its charts, said nothing, loaded nothing, and fits its window."""
    assert shown.problems == []
    assert [address for address in shown.requests if not address.startswith(("file:", "data:"))] == []
    assert len([address for address in shown.requests if address.startswith("file:")]) == 1
    drawn = shown.ask(
        "[...document.querySelectorAll('[data-figure]')].map(e => e.querySelectorAll('.main-svg').length)"
    )
    assert drawn
    assert all(drawn), "a chart is empty"
    assert shown.ask("document.documentElement.scrollWidth") <= shown.width
    over = shown.ask(f"""[...document.querySelectorAll('main *, .headline *, header *')]
        .filter(e => !e.closest('.scroll, nav, pre, svg'))
        .filter(e => e.getBoundingClientRect().right > {shown.width} + 1)
        .map(e => e.tagName + '.' + e.className)""")
    assert over == []
    cut = shown.ask("""[...document.querySelectorAll('.plot')]
        .map(plot => plot.querySelector('.main-svg').getBoundingClientRect().width - plot.clientWidth)
        .filter(difference => Math.abs(difference) > 2).length""")
    assert cut == 0, "a chart is not as wide as its place"
    tallest = shown.ask(
        "Math.max(0, ...[...document.querySelectorAll('tr')].map(e => e.getBoundingClientRect().height))"
    )
    assert tallest < 400, "a cell of a table is too narrow for its words"
