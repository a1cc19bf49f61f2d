"""Every page that the catalogue can bring forth, in a browser: drawn, quiet, legible, and under the keyboard.

No kind, method or form of release is named. Kinds show a part of their demo, with its evaluation; forms of
release and sketches what the audits try them on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.chromium import CHROMIUM, Page, opened
from tests.browser.rendering import assert_reads_well, assert_renders
from tests.conformance.examples import examples, fitted
from tests.conformance.test_living import ask
from tests.conformance.test_living import opened as stream
from tests.releases.test_wide_reports import COLUMNS, records, released

import penstock
from penstock import catalogue
from penstock.demo import DATASETS
from penstock.kinds.stream.living import living_class
from penstock.kinds.stream.page import page as stream_page
from penstock.schema import Schema

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

ROWS = 600
DEMOS = {Schema.from_yaml(schema()).kind: (data, schema) for data, schema in DATASETS.values()}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    empty = tmp_path_factory.mktemp("browser") / "empty.html"
    empty.write_text("<!doctype html><title>empty</title>", encoding="utf-8")
    with opened(empty) as page:
        yield page


def looked_at(browser: Page, path: Path) -> None:
    for width, dark in ((1280, False), (390, True)):
        browser.visit(path, width=width, touch=width == 390, dark=dark)
        if browser.ask("document.querySelectorAll('[data-figure]').length"):
            browser.wait("document.documentElement.dataset.drawn")
        assert_renders(browser, charts=False)
        assert_reads_well(browser)


@pytest.mark.parametrize("kind", [info.name for info in catalogue.kinds()])
def test_the_report_and_the_evaluation_of_every_kind(kind: str, browser: Page, tmp_path: Path) -> None:
    data, schema = DEMOS[kind]
    frame, facts = data().head(ROWS), Schema.from_yaml(schema())
    made = penstock.release(frame, facts, epsilon=2, seed=1, out=tmp_path / "release")
    looked_at(browser, tmp_path / "release" / "report.html")
    assert browser.ask("document.querySelectorAll('[data-figure]').length") > 1
    looked_at(browser, penstock.evaluate(made, frame, learning=False).save(tmp_path / "evaluation.html"))


@pytest.mark.parametrize("form", sorted({info.form for info in catalogue.methods()}))
def test_the_report_of_every_form_of_release(form: str, browser: Page, tmp_path: Path) -> None:
    info = next(info for info in catalogue.methods() if info.form == form)
    (tmp_path / "report.html").write_text(fitted(info, examples(info)[-1]).report(), encoding="utf-8")
    looked_at(browser, tmp_path / "report.html")


def test_the_report_and_the_evaluation_of_a_table_of_more_columns_than_a_page_draws(
    browser: Page, tmp_path: Path
) -> None:
    made, frame = released(COLUMNS, "confluence"), records(COLUMNS)
    (tmp_path / "report.html").write_text(made.report(), encoding="utf-8")
    looked_at(browser, tmp_path / "report.html")
    looked_at(browser, penstock.evaluate(made, frame, learning=False).save(tmp_path / "evaluation.html"))


def test_the_page_of_every_living_release(browser: Page, tmp_path: Path) -> None:
    for info in catalogue.sketches():
        living = stream(info, answers=1 if living_class(info.name).sketch_class.ahead else 9)
        ask(living)
        (tmp_path / "page.html").write_text(stream_page(living, info.name), encoding="utf-8")
        looked_at(browser, tmp_path / "page.html")
