"""`penstock select`: the answer on stdout, everything checked before anything is spent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.desk import Cli, Desk
from tests.releases.canary import assert_no_canary

SCHEMA = """\
kind: itemsets
items: {item: product, transaction: basket}
fields:
  - {name: product, constraints: {enum: [ale, bun, cod, dal]}}
"""


@pytest.fixture
def shop(desk: Desk) -> Desk:
    """Baskets instead of people: ale in 300 of them, bun in 200, cod in 100."""
    rows = [
        f"{item},{number}"
        for item, times in (("ale", 300), ("bun", 200), ("cod", 100))
        for number in range(times)
    ]
    desk.data.write_text("\n".join(["product,basket", *rows]) + "\n", encoding="utf-8")
    desk.schema.write_text(SCHEMA, encoding="utf-8")
    return desk


def call(cli: Cli, desk: Desk, *more: object) -> tuple[int, str, str]:
    outcome = cli("select", desk.data, "--schema", desk.schema, *more)
    return outcome.code, outcome.out, outcome.err


def test_prints_the_selection_and_says_what_it_cost(cli: Cli, shop: Desk) -> None:
    code, out, err = call(cli, shop, "--epsilon", "3", "-c", "2")
    assert code == 0, err
    assert out.index("ale") < out.index("bun")
    assert "2 of 4 candidates" in out
    assert "epsilon = 3" in err
    assert "Booked in no ledger" in err
    assert not shop.out.exists()


def test_counts_come_only_when_they_are_paid_for(cli: Cli, shop: Desk) -> None:
    bare = json.loads(call(cli, shop, "--epsilon", "3", "-c", "2", "--json")[1])
    assert [list(row) for row in bare["selected"]] == [["rank", "selected"]] * 2
    assert bare["margin"] is None
    paid = json.loads(
        call(cli, shop, "-e", "20", "-c", "2", "--counts", "1/2", "--mechanism", "one-shot", "--json")[1]
    )
    assert [row["selected"] for row in paid["selected"]] == ["ale", "bun"]
    assert abs(paid["selected"][0]["count"] - 300) < 30  # scale 2/10; beyond 150 scales
    assert [entry["epsilon"] for entry in paid["receipt"]["paid"]["together"]] == ["10", "10"]
    code, out, _ = call(cli, shop, "-e", "20", "-c", "2", "--counts", "1/2")
    assert code == 0
    assert "item sets (no error bar)" in out  # all candidates were counted, and the counts decided
    code, out, _ = call(cli, shop, "-e", "20", "-c", "2", "--counts", "1/2", "--mechanism", "one-shot")
    assert code == 0
    assert "item sets (±" in out


def test_a_threshold_and_none_above_it(cli: Cli, shop: Desk) -> None:
    code, out, _ = call(cli, shop, "-e", "20", "--threshold", "150", "-c", "4")
    assert code == 0
    assert "ale" in out
    assert "cod" not in out
    code, out, _ = call(cli, shop, "-e", "20", "--threshold", "100000", "-c", "4")
    assert code == 0
    assert "None of 4 candidates" in out


def test_saved_booked_and_inspected(cli: Cli, shop: Desk) -> None:
    options = ("-e", "2", "-c", "2", "--out", shop.out, "--ledger", shop.ledger, "--account", "people")
    code, _, err = call(cli, shop, *options)
    assert code == 0, err
    assert "Booked in no ledger" not in err
    shown = json.loads(cli("inspect", shop.out, "--json").out)
    assert (shown["form"], shown["method"], shown["epsilon"]) == ("selection", "select-items", "2")
    assert "ale" in (shop.out / "report.html").read_text(encoding="utf-8")
    # The account may spend 3: a second selection of 2 does not fit, and nothing is left behind.
    code, out, err = call(cli, shop, *options[:4], "--out", shop.folder / "again", *options[6:])
    assert (code, out) == (1, "")
    assert not (shop.folder / "again").exists()


def test_categories_of_a_table(cli: Cli, desk: Desk) -> None:
    code, out, err = call(cli, desk, "-e", "50", "-c", "1", "--column", "income")
    assert code == 0, err
    assert "1 of 5 candidates" in out
    code, _, err = call(cli, desk, "-e", "1", "-c", "1")
    assert code == 2
    assert "which column to select from" in err


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("-e", "1"), 2, "Say how many to select"),
        (("-e", "1", "-c", "0"), 2, "whole number from 1"),
        (("-e", "1", "-c", "9"), 2, "Cannot select 9 different ones of 4"),
        (("-e", "0", "-c", "1"), 1, "greater than 0"),
        (("-e", "1", "-c", "1", "--counts", "2"), 2, "to 0.999999, or 0, not"),
        (("-e", "1", "-c", "1", "--threshold", "often"), 2, "threshold must be a number"),
        (("-e", "1", "-c", "1", "--column", "product"), 2, "leave out the column"),
        (("-e", "1", "-c", "1", "--mechanism", "gumbel"), 2, "--mechanism"),
        (("-e", "1", "-c", "1", "--engine", "spark"), 1, "Spark reads Parquet files and its own tables"),
        (("-e", "1", "-c", "1", "--account", "people"), 2, "a ledger"),
    ],
)
def test_mistakes_cost_nothing(cli: Cli, shop: Desk, options: tuple[str, ...], code: int, words: str) -> None:
    before = cli("ledger", "show", shop.ledger, "--json").out
    booked = () if "--account" in options else ("--ledger", shop.ledger, "--account", "people")
    found, out, err = call(cli, shop, *options, "--out", shop.out, *booked)
    assert found == code, err
    assert words in err
    assert out == ""
    assert err.count("\n") == 1
    assert not shop.out.exists()
    assert cli("ledger", "show", shop.ledger, "--json").out == before


def test_unknown_items_and_unreviewed_drafts_cost_nothing(cli: Cli, shop: Desk) -> None:
    with shop.data.open("a", encoding="utf-8") as stream:
        stream.write("eel,7\n")
    code, _, err = call(cli, shop, "-e", "1", "-c", "1")
    assert code == 1
    assert "value 'eel' in row 601 is not a declared category" in err
    shop.schema.write_text(SCHEMA.replace("cod, dal]}", "cod, dal, eel]}, review: true"), encoding="utf-8")
    code, _, err = call(cli, shop, "-e", "1", "-c", "1")
    assert code == 1
    assert "not yet reviewed" in err
    code, _, err = call(cli, shop, "-e", "1", "-c", "1", "--accept-unreviewed-draft", "--seed", "1")
    assert code == 0
    assert "1 unreviewed facts" in err
    assert "NOT PUBLISHABLE" in err


def test_broken_variants_are_no_mechanisms(cli: Cli, shop: Desk) -> None:
    for name in ("broken-sparse-alg19", "alg21", "vanilla"):
        assert call(cli, shop, "-e", "1", "-c", "1", "--mechanism", name)[0] == 2
        outcome = cli("release", shop.data, "-s", shop.schema, "-e", "1", "-m", name, "--out", shop.out)
        assert outcome.code == 2


def test_what_nobody_selected_is_in_no_file(cli: Cli, shop: Desk, tmp_path: Path) -> None:
    """Baskets are named by canaries, and so is an item outside the universe; neither comes out."""
    with shop.data.open("a", encoding="utf-8") as stream:
        stream.write("Xq7vCanaryZephyrine,basket-8c1f77e2canary\n")
    shop.schema.write_text(SCHEMA.replace("dal]}", "dal]}, outside: other"), encoding="utf-8")
    code, out, err = call(cli, shop, "-e", "1", "-c", "2", "--counts", "1/2", "--out", shop.out)
    assert code == 0, err
    assert_no_canary(shop.out, ["Xq7vCanaryZephyrine", "basket-8c1f77e2canary"])
    assert "anary" not in out + err
