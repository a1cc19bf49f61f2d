"""Canaries: what is planted in the records comes out nowhere.

Unique texts and numbers are hidden in every place of the input where records can hold them. The release
is made in a process of its own with everything it says recorded, and then every file is searched.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from tests.release.canary import Canary, assert_no_canary

from penstock.cli import run

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
