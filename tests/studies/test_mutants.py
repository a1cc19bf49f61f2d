"""The mutants follow the source, and their page lists all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import mutants
from mutations import MUTANTS, Mutant

SOURCE = Path(__file__).resolve().parents[2] / "src" / "penstock"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what)
def test_every_wrong_line_replaces_one_of_the_source(mutant: Mutant) -> None:
    assert (SOURCE / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1
    assert mutant.new != mutant.old


def test_the_page_lists_every_mutant_and_all_are_caught() -> None:
    text = mutants.PAGE.read_text(encoding="utf-8")
    lines = mutants.rows(text)
    assert list(lines) == [mutant.what for mutant in MUTANTS]
    assert len(lines) >= 40
    assert f"**{len(lines)} of {len(lines)} mutants" in text
    assert text == mutants.page(lines)


def test_a_mutant_that_survives_is_told() -> None:
    fates = [mutants.Fate(MUTANTS[0], False, "", 1.0), mutants.Fate(MUTANTS[1], True, "lost | 2", 1.0)]
    text = mutants.page({fate.mutant.what: mutants.row(fate) for fate in fates})
    assert "**1 of 2 mutants in 1 rooms are caught: 1 by replay, 0 by enumeration, 0 by tests.**" in text
    assert "| **nobody** |" in text
    assert "lost ¦ 2" in text
