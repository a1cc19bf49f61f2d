"""Canaries: what is planted in the records comes out nowhere.

Unique texts and numbers are hidden in every place of the input where records can hold them. The release
is made in a process of its own, with everything it says recorded, and then every file is searched: as
bytes, and with Parquet tables decoded into text.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from penstock.cli import run

TEXT = "Xq7vCanaryZephyrine"
USER = "user-8c1f77e2canary"
NUMBERS = ("31415.92653", "27182.81828", "16180.33988")
WHOLE = "7654321987"
DAY = "1987-11-23"

SCHEMA = f"""\
unit: {{protects: user, column: person, at_most: 2}}
fields:
  - {{name: job, type: string, constraints: {{enum: [cook, nurse]}}, outside: other}}
  - {{name: income, type: number, constraints: {{minimum: 0, maximum: 5000}}, outside: clamp, missing: value}}
  - {{name: children, type: integer, constraints: {{minimum: 0, maximum: 9}}, outside: clamp}}
  - {{name: born, type: date, constraints: {{minimum: 1950-01-01, maximum: 1980-12-31}}, outside: clamp}}
  - {{name: member, type: boolean, missing: value, missingValues: ["", "{TEXT}-missing"]}}
"""
# The text after `missingValues` is in the schema, hence public, and not among the canaries below.


def plant(folder: Path) -> tuple[Path, Path]:
    rows = [
        f"cook,{1000 + i}.25,{i % 4},1960-05-{1 + i % 28:02d},true,person-{i // 2},comment"
        for i in range(200)
    ]
    rows += [f"{TEXT},{number},{WHOLE},{DAY},,{USER},{TEXT} in a column of its own" for number in NUMBERS]
    data, schema = folder / "people.csv", folder / "people.schema.yaml"
    data.write_text(
        "\n".join(["job,income,children,born,member,person,remark", *rows]) + "\n", encoding="utf-8"
    )
    schema.write_text(SCHEMA, encoding="utf-8")
    return data, schema


def canaries() -> list[str]:
    halves = [part for number in NUMBERS for part in (number, number.replace(".", ""))]
    return [TEXT + " in", USER, WHOLE, DAY, f'"{TEXT}"', f">{TEXT}<", *halves]


def everything_in(folder: Path) -> str:
    """All that the folder says: the bytes of every file, and every cell of every table."""
    said = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            said.append(path.name)
            said.append(path.read_bytes().decode("utf-8", errors="replace"))
            if path.suffix == ".parquet":
                frame = pl.read_parquet(path)
                said += [repr(frame.schema), *(str(cell) for column in frame for cell in column)]
    assert len(said) > 10, "the release is not there"
    return "\n".join(said)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_planted_values_occur_in_no_file_and_no_output(tmp_path: Path, engine: str) -> None:
    data, schema = plant(tmp_path)
    out = tmp_path / "out"
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "dev",
            "-W",
            "default",
            "-c",
            "import logging; logging.basicConfig(level=logging.DEBUG); from penstock.cli import main; main()",
            "release",
            str(data),
            "--schema",
            str(schema),
            "--epsilon",
            "5",
            "--engine",
            engine,
            "--out",
            str(out),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = everything_in(out) + done.stdout + done.stderr
    for canary in canaries():
        assert canary not in said, canary


def test_using_a_release_reveals_no_canary_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    data, schema = plant(tmp_path)
    out = tmp_path / "out"
    assert run(["release", str(data), "--schema", str(schema), "--epsilon", "5", "--out", str(out)]) == 0
    for command in (
        ["inspect", str(out)],
        ["inspect", str(out), "--json"],
        ["sample", str(out), "-n", "2000"],
        ["query", str(out), "income > 4000"],
    ):
        assert run(command) == 0
    captured = capsys.readouterr()
    said = captured.out + captured.err + caplog.text
    assert "income" in said
    for canary in canaries():
        assert canary not in said, canary


def test_the_number_of_records_is_not_in_the_release(tmp_path: Path) -> None:
    """Seeded, so that the noise cannot hit the true number by chance."""
    data, schema = tmp_path / "people.csv", tmp_path / "schema.yaml"
    count = 73_597
    data.write_text("flag\n" + "true\n" * count, encoding="utf-8")
    schema.write_text("fields: [{name: flag, type: boolean}]\n", encoding="utf-8")
    out = tmp_path / "out"
    assert (
        run(
            [
                "release",
                str(data),
                "--schema",
                str(schema),
                "--epsilon",
                "0.001",
                "--seed",
                "11",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    assert str(count) not in everything_in(out)
