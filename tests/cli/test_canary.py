"""Canaries: what is planted in the records comes out nowhere.

Unique texts and numbers are hidden in every place of the input where records can hold them. The release
is made in a process of its own with everything it says recorded, and then every file is searched.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from tests.conformance.examples import Example, examples, fitted
from tests.releases.canary import Canary, assert_no_canary

from penstock import catalogue
from penstock.catalogue import KindInfo, MethodInfo
from penstock.cli import run
from penstock.contracts.data import Data
from penstock.contracts.plug import data_class
from penstock.errors import PenstockError
from penstock.schema import Schema

TEXTS = ("Xq7vCanaryZephyrine", "user-8c1f77e2canary", "Kwyjibo remarks that nobody reads", "1987-11-23")
NUMBERS = (31415.92653, 27182.81828, 16180.33988, 7654321987)
CANARIES: tuple[Canary, ...] = (*TEXTS, *NUMBERS)

SCHEMA = """\
unit: {protects: user, column: person, at_most: 2}
fields:
  - {name: job, type: string, constraints: {enum: [cook, nurse]}, outside: other}
  - {name: income, type: number, constraints: {minimum: 0, maximum: 5000}, outside: clamp, missing: value}
  - {name: children, type: integer, constraints: {minimum: 0, maximum: 9}, outside: clamp}
  - {name: born, type: date, constraints: {minimum: 1950-01-01, maximum: 1980-12-31}, outside: clamp}
  - {name: member, type: boolean, missing: value}
"""


def plant(folder: Path) -> tuple[Path, Path]:
    """Records with canaries as a category, a user, a number, a day, and in a column outside the schema."""
    rows = [
        f"cook,{1000 + i}.25,{i % 4},1960-05-{1 + i % 28:02d},true,person-{i // 2},fine" for i in range(200)
    ]
    text, user, remark, day = TEXTS
    rows += [f"{text},{number},{NUMBERS[3]},{day},,{user},{remark}" for number in NUMBERS[:3]]
    data, schema = folder / "people.csv", folder / "people.schema.yaml"
    header = "job,income,children,born,member,person,remark"
    data.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    schema.write_text(SCHEMA, encoding="utf-8")
    return data, schema


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_planted_values_occur_in_no_file_and_no_output(tmp_path: Path, engine: str) -> None:
    data, schema = plant(tmp_path)
    out = tmp_path / "out"
    talkative = (
        "import logging; logging.basicConfig(level=logging.DEBUG); from penstock.cli import main; main()"
    )
    command = [sys.executable, "-X", "dev", "-W", "default", "-c", talkative]
    command += ["release", str(data), "--schema", str(schema), "--epsilon", "5", "--engine", engine]
    done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert_no_canary(out, CANARIES)
    (tmp_path / "said.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    assert_no_canary(tmp_path / "said.txt", CANARIES)


PLANTED: dict[type[pl.DataType], object] = {
    pl.String: TEXTS[0],
    pl.List: [TEXTS[0]],
    pl.Float64: NUMBERS[0],
    pl.Int64: NUMBERS[3],
    pl.Date: date.fromisoformat(TEXTS[3]),
}


def shapes(kind: KindInfo) -> Iterator[tuple[MethodInfo, Example]]:
    """Records of every shape that methods of this kind are tried on: columns, and whom they tell apart."""
    known = set()
    for info in catalogue.methods(kind.name):
        for example in examples(info):
            shape = (*example.frame.schema.items(), example.schema.unit.column)
            if shape not in known and example.schema.size is None and example.frame.height:
                known.add(shape)
                yield info, replace(example, frame=pl.concat([example.frame] * 40))


def infested(example: Example, handle: type[Data]) -> Example:
    """The records with one more, which holds a canary wherever the kind lets it: values outside the domains
    are clamped or become others, a user may be anybody, and a column is outside the schema."""
    facts = example.schema.model_dump(by_alias=True, exclude_defaults=True)
    for each in facts["fields"]:
        limits = each.get("constraints", {})
        if limits:
            each["outside"] = "other" if "enum" in limits else "clamp"
    schema = Schema.model_validate(facts)
    frame = example.frame.with_columns(pl.lit(None, pl.String).alias("remark"))
    odd = frame.head(1).with_columns(pl.lit(TEXTS[2]).alias("remark"))
    for name, sort in example.frame.schema.items():
        planted = odd.with_columns(pl.Series(name, [PLANTED.get(type(sort))], dtype=sort))
        with suppress(PenstockError):
            handle.open(pl.concat([frame, planted]), schema)
            odd = planted
    return replace(example, schema=schema, frame=pl.concat([frame, odd]))


@pytest.mark.parametrize("kind", catalogue.kinds(), ids=lambda kind: kind.name)
def test_no_kind_of_data_lets_a_canary_out(
    tmp_path: Path, kind: KindInfo, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for number, (info, example) in enumerate(shapes(kind)):
        out = tmp_path / str(number)
        fitted(info, infested(example, data_class(kind)), epsilon=5, seed=None).save(out)
        assert run(["inspect", str(out)]) == 0
        assert_no_canary(out, CANARIES)
    said = capsys.readouterr()
    assert info.name in said.out
    (tmp_path / "said.txt").write_text(said.out + said.err + caplog.text, encoding="utf-8")
    assert_no_canary(tmp_path / "said.txt", CANARIES)


def test_canaries_are_planted_wherever_records_hold_something() -> None:
    """In a text, a number, a list, a user: what the search above looks for was in the records."""
    found: set[object] = set()
    for kind in catalogue.kinds():
        for _, example in shapes(kind):
            found |= set(infested(example, data_class(kind)).frame.row(-1)) & set(CANARIES)
    assert found >= {TEXTS[0], TEXTS[2], NUMBERS[0]}


@pytest.mark.parametrize(
    ("schema", "rows", "command"),
    [
        (
            "kind: sequences\nsequence: {symbol: page, user: person, longest: 6}\n"
            "fields:\n  - {name: page, constraints: {enum: [home, news]}, outside: other}\n",
            ["person,page,remark", *(f"p{i // 3},{'home' if i % 2 else 'news'},fine" for i in range(150))],
            ["release"],
        ),
        (
            "kind: itemsets\nitems: {item: product, transaction: basket, largest: 2}\n"
            "fields:\n  - {name: product, constraints: {enum: [bread, milk]}, outside: other}\n",
            [
                "basket,product,remark",
                *(f"b{i // 2},{'bread' if i % 3 else 'milk'},fine" for i in range(150)),
            ],
            ["select", "-c", "1"],
        ),
        (
            "kind: itemsets\nitems: {item: product, transaction: basket, largest: 2}\n"
            "fields:\n  - {name: product, constraints: {enum: [bread, milk]}, outside: other}\n",
            [
                "basket,product,remark",
                *(f"b{i // 2},{'bread' if i % 3 else 'milk'},fine" for i in range(150)),
            ],
            ["release"],
        ),
    ],
    ids=["sequences", "items chosen", "item sets"],
)
def test_what_puts_rows_together_stays_inside(
    tmp_path: Path, schema: str, rows: list[str], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    planted = f"{TEXTS[1]},{TEXTS[0]},{TEXTS[2]}"
    (tmp_path / "data.csv").write_text("\n".join([*rows, planted]) + "\n", encoding="utf-8")
    (tmp_path / "schema.yaml").write_text(schema, encoding="utf-8")
    out, verb = tmp_path / "out", [command[0], str(tmp_path / "data.csv"), *command[1:]]
    assert run([*verb, "-s", str(tmp_path / "schema.yaml"), "-e", "5", "-o", str(out)]) == 0
    assert_no_canary(out, CANARIES)
    said = capsys.readouterr()
    (tmp_path / "said.txt").write_text(said.out + said.err, encoding="utf-8")
    assert_no_canary(tmp_path / "said.txt", CANARIES)


def test_a_bug_in_a_method_or_a_warning_of_a_library_tells_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes wrong inside may quote records; without --debug none of it is shown."""
    data, schema = plant(tmp_path)

    def stumble(*_: object) -> None:
        warnings.warn(TEXTS[0], stacklevel=1)
        raise RuntimeError(TEXTS[1])

    monkeypatch.setattr("penstock.kinds.table.independent.Independent.fit", stumble)
    options = ["--method", "independent", "-e", "1", "-o", str(tmp_path / "out")]
    assert run(["release", str(data), "-s", str(schema), *options]) == 70
    said = capsys.readouterr()
    (tmp_path / "said.txt").write_text(said.out + said.err, encoding="utf-8")
    assert_no_canary(tmp_path / "said.txt", CANARIES)
    assert not (tmp_path / "out").exists()


def test_using_a_release_reveals_no_canary_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    data, schema = plant(tmp_path)
    out = tmp_path / "out"
    assert run(["release", str(data), "--schema", str(schema), "--epsilon", "5", "--out", str(out)]) == 0
    commands = (
        ["inspect", str(out)],
        ["inspect", str(out), "--json"],
        ["sample", str(out), "-n", "2000"],
        ["query", str(out), "income > 4000"],
    )
    for command in commands:
        assert run(command) == 0
    captured = capsys.readouterr()
    assert "income" in captured.out
    (tmp_path / "said.txt").write_text(captured.out + captured.err + caplog.text, encoding="utf-8")
    assert_no_canary(tmp_path / "said.txt", CANARIES)


def test_the_number_of_records_is_not_in_the_release(tmp_path: Path) -> None:
    """Seeded, so that the noise cannot hit the true number by chance."""
    data, schema, out = tmp_path / "people.csv", tmp_path / "schema.yaml", tmp_path / "out"
    count = 73_597
    data.write_text("flag\n" + "true\n" * count, encoding="utf-8")
    schema.write_text("fields: [{name: flag, type: boolean}]\n", encoding="utf-8")
    options = ["--epsilon", "0.001", "--seed", "11", "--out", str(out)]
    assert run(["release", str(data), "--schema", str(schema), *options]) == 0
    assert_no_canary(out, [count])
