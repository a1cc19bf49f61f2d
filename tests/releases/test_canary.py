"""The canary search must find what is planted, wherever it is planted; else it proves nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.releases.canary import assert_no_canary, found_in
from tests.releases.tiny import tiny

from penstock.report import pictures
from penstock.report.page import Gallery, Section, render

NAME = 'Zoë "Quux" <Ångström>'
NUMBER = 48213.7709


@pytest.mark.parametrize(
    "content",
    [
        f"name,{NAME}\n",
        f"code,{NUMBER}\n",
        "code,4.82137709e4\n",
        '{"who": "Zo\\u00eb \\"Quux\\" <\\u00c5ngstr\\u00f6m>"}',
        "<p>Zoë &quot;Quux&quot; &lt;Ångström&gt;</p>",
    ],
)
def test_finds_a_canary_in_text_however_it_is_escaped(tmp_path: Path, content: str) -> None:
    (tmp_path / "file.txt").write_text(content, encoding="utf-8")
    with pytest.raises(AssertionError, match=r"file\.txt"):
        assert_no_canary(tmp_path, [NAME, NUMBER])


def test_finds_a_canary_in_compressed_parquet(tmp_path: Path) -> None:
    pl.DataFrame({"a": [NAME] * 500, "b": [NUMBER] * 500}).write_parquet(
        tmp_path / "t.parquet", compression="zstd"
    )
    assert found_in(tmp_path / "t.parquet", NAME)
    assert found_in(tmp_path / "t.parquet", NUMBER)


def test_finds_a_canary_in_the_packed_numbers_of_a_chart(tmp_path: Path) -> None:
    drawn = pictures.histogram("numbers", np.linspace(0, 1, 4), [1.0, NUMBER, 2.0], caption="none", amount="")
    page = render("page", [Section("s", [Gallery([drawn])])])
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert found_in(tmp_path / "page.html", NUMBER)


def test_a_folder_without_canaries_passes_and_an_empty_one_proves_nothing(tmp_path: Path) -> None:
    folder = tiny().save(tmp_path / "clean")
    assert_no_canary(folder, [NAME, NUMBER])
    (tmp_path / "empty").mkdir()
    with pytest.raises(AssertionError, match="nothing was searched"):
        assert_no_canary(tmp_path / "empty", [NAME])
