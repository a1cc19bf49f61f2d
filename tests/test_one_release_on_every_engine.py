"""The same records, schema and seed give the same release, byte for byte, wherever they are counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import penstock

TABLE = """
fields:
  - {name: job, constraints: {enum: [cook, nurse, clerk]}, outside: other}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 10}, missing: value}
  - {name: income, type: number, constraints: {minimum: 0, maximum: 5000}, bins: {count: 7}, outside: clamp}
"""
POINTS = """
kind: points
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, outside: clamp, missing: value}
  - {name: income, type: number, constraints: {minimum: 0, maximum: 5000}, outside: clamp}
"""


def records(path: Path) -> Path:
    rng = np.random.default_rng(3)
    ages = pl.Series("age", rng.integers(0, 100, 400)).cast(pl.String)
    frame = pl.DataFrame(
        {
            "job": rng.choice(["cook", " nurse", "clerk", "spy"], 400),
            "age": ages.set(pl.Series(rng.random(400) < 0.1), None),
            "income": rng.normal(2000, 1500, 400),
        }
    )
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(("method", "schema"), [("independent", TABLE), ("uniform-grid", POINTS)])
def test_a_release_does_not_depend_on_the_engine_or_the_file(
    tmp_path: Path, method: str, schema: str
) -> None:
    facts = penstock.Schema.from_yaml(schema)
    made = []
    for number, (file, engine) in enumerate(
        (file, engine) for file in ("a.csv", "a.parquet") for engine in ("memory", "duckdb")
    ):
        out = tmp_path / str(number) / "release"
        source = records(tmp_path / file)
        penstock.release(source, facts, epsilon="1/2", method=method, engine=engine, seed=8, out=out)
        made.append(files(out))
    assert {"receipt.json", "model.json", "synthetic.csv", "report.html"} <= set(made[0])
    for other in made[1:]:
        assert other == made[0]


def test_memory_and_duckdb_release_the_same_records_of_every_user(tmp_path: Path) -> None:
    facts = penstock.Schema.from_yaml(f"unit: {{protects: user, column: who, at_most: 2}}\n{TABLE}")
    frame = pl.read_csv(records(tmp_path / "a.csv"), infer_schema=False)
    who = pl.Series("who", np.random.default_rng(2).integers(0, 30, frame.height))
    frame.with_columns(who).write_csv(tmp_path / "users.csv")
    frame.with_columns(who).write_parquet(tmp_path / "users.parquet")
    made = []
    for file in ("users.csv", "users.parquet"):
        for engine in ("memory", "duckdb"):
            out = tmp_path / file.replace(".", "-") / engine
            penstock.release(
                tmp_path / file, facts, epsilon=1, method="independent", engine=engine, seed=8, out=out
            )
            made.append((out / "receipt.json").read_bytes() + (out / "synthetic.csv").read_bytes())
    assert len(set(made)) == 1


BASKETS = """
kind: itemsets
items: {item: product, transaction: basket}
fields:
  - {name: product, constraints: {enum: [ale, bun, cod, dill]}}
"""


@pytest.mark.parametrize("method", ["sluice", "diffpart", "top-sets"])
def test_item_sets_are_the_same_in_every_layout_and_on_every_engine(tmp_path: Path, method: str) -> None:
    """One item a row, from CSV and Parquet, and every line a set."""
    rng = np.random.default_rng(4)
    words = np.array(["ale", "bun", "cod", "dill"])
    baskets = [words[rng.random(4) < 0.4].tolist() or ["ale"] for _ in range(300)]
    rows = pl.DataFrame({"basket": range(300), "product": baskets}).explode("product")
    rows = rows.sample(fraction=1.0, shuffle=True, seed=1)
    rows.write_csv(tmp_path / "rows.csv")
    rows.write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "lines.dat").write_text("\n".join(map(" ".join, baskets)), encoding="utf-8")
    lines = BASKETS.replace("transaction: basket", "header: false")
    made = []
    for file, schema in (("rows.csv", BASKETS), ("rows.parquet", BASKETS), ("lines.dat", lines)):
        for engine in ("memory", "duckdb"):
            release = penstock.release(
                tmp_path / file,
                penstock.Schema.from_yaml(schema),
                epsilon=1,
                method=method,
                engine=engine,
                seed=8,
            )
            model = release.model()
            made.append((model.json, {name: table.rows() for name, table in model.tables.items()}))
    assert made[0][1]["sets"]
    assert all(other == made[0] for other in made[1:])
