"""Bounding users: at most m records each, chosen fairly, without regard to anybody else."""

from datetime import datetime, time
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.engine.databases import sqlite_table

from penstock.engine import IbisEngine, MemoryEngine, open_engine
from penstock.engine.bound import sample_per_user
from penstock.errors import DataError
from penstock.schema import Schema


def schema(at_most: int) -> Schema:
    return Schema.from_yaml(f"""
unit: {{protects: user, column: id, at_most: {at_most}}}
fields:
- {{name: id2, constraints: {{enum: [u0, u1, u2, u3, u4]}}}}
- {{name: kind, constraints: {{enum: [a, b, c]}}}}
""")


def frame(users: list[int]) -> pl.DataFrame:
    """The user is in a field too, so that kept records can be told apart by user."""
    kinds = ["abc"[i % 3] for i in range(len(users))]
    columns = {"id": [f"x{u}" for u in users], "id2": [f"u{u}" for u in users], "kind": kinds}
    return pl.DataFrame(columns, dict.fromkeys(columns, pl.String))


ENGINES = {
    "memory": lambda records, facts, key: open_engine(records, facts, order_key=key),
    "duckdb": lambda records, facts, key: open_engine(records, facts, engine="duckdb", order_key=key),
    "sqlite": lambda records, facts, key: open_engine(sqlite_table(records), facts, order_key=key),
}


@settings(max_examples=8, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(users=st.lists(st.integers(0, 4), max_size=25), at_most=st.integers(1, 4), seed=st.binary(max_size=4))
@pytest.mark.parametrize("name", ENGINES)
def test_each_user_keeps_at_most_m_of_their_own_records(
    name: str, users: list[int], at_most: int, seed: bytes
) -> None:
    engine = ENGINES[name](frame(users), schema(at_most), seed or b"0")
    totals = np.bincount(users, minlength=5) if users else np.zeros(5, dtype=int)
    kept, both = engine.counts([("id2",), ("id2", "kind")])
    assert kept.tolist() == np.minimum(totals, at_most).tolist()
    assert engine.rows() == kept.sum()
    whole = MemoryEngine(schema(at_most).encode(frame(users)), schema(at_most).sizes)
    assert (both <= whole.counts([("id2", "kind")])[0]).all()


@pytest.mark.parametrize("name", ["memory", "duckdb"])
def test_the_same_key_gives_the_same_sample_and_another_key_another(name: str) -> None:
    """Two keys agree on all of 40 users' choices with probability 3**-40."""
    users = pl.Series(range(40)).repeat_by(3).explode()
    records = pl.DataFrame({"id": users, "kind": ["a", "b", "c"] * 40, "n": users})
    facts = Schema.from_yaml("""
unit: {protects: user, column: id, at_most: 1}
fields:
- {name: n, type: integer, constraints: {minimum: 0, maximum: 39}}
- {name: kind, constraints: {enum: [a, b, c]}}
""")

    def sample(key: bytes, rows: pl.DataFrame = records) -> list[int]:
        return open_engine(rows, facts, engine=name, order_key=key).counts([("n", "kind")])[0].tolist()

    assert sample(b"one") == sample(b"one")
    assert sample(b"one") != sample(b"two")


def test_in_a_database_the_sample_of_one_user_ignores_the_others_and_the_order() -> None:
    """Remove users, shuffle the records: the others keep exactly the same records under the same key."""
    rng = np.random.default_rng(8)
    records = pl.DataFrame({"id": rng.integers(0, 30, 300), "kind": rng.choice(list("abc"), 300)})
    records = records.with_columns(n="id")
    facts = Schema.from_yaml("""
unit: {protects: user, column: id, at_most: 2}
fields:
- {name: n, type: integer, constraints: {minimum: 0, maximum: 29}}
- {name: kind, constraints: {enum: [a, b, c]}}
""")

    def kept(rows: pl.DataFrame) -> Any:
        engine = open_engine(rows, facts, engine="duckdb", order_key=b"key")
        return engine.counts([("n", "kind")])[0].reshape(30, 3)

    whole = kept(records)
    fewer = kept(records.filter(pl.col("id") != 7).sample(fraction=1, shuffle=True, seed=1))
    others = np.arange(30) != 7
    assert np.array_equal(whole[others], fewer[others])
    assert fewer[7].sum() == 0


@pytest.mark.parametrize("name", ENGINES)
def test_the_choice_among_a_users_records_is_fair(name: str) -> None:
    """Of nine records a and three records b each of 2000 users keeps one: a is kept 3/4 of the time.

    The number of kept a is binomial(2000, 3/4), standard deviation 19.4: beyond 5.5 deviations,
    107, with probability below 1e-7.
    """
    users = pl.Series(range(2000)).repeat_by(12).explode()
    records = pl.DataFrame({"id": users, "kind": (["a"] * 9 + ["b"] * 3) * 2000})
    facts = Schema.from_yaml("""
unit: {protects: user, column: id, at_most: 1}
fields:
- {name: kind, constraints: {enum: [a, b]}}
""")
    kept = ENGINES[name](records, facts, b"fair").counts([("kind",)])[0]
    assert kept.sum() == 2000
    assert abs(int(kept[0]) - 1500) < 107


def test_every_subset_of_a_users_records_is_equally_likely() -> None:
    """6 subsets of 2 of 4 records, 6000 users: chi-square with 5 degrees, above 37 with probability 6e-7."""
    users = np.repeat(np.arange(6000), 4)
    kept = sample_per_user(users, 2, b"subsets")
    pairs = (kept % 4).reshape(-1, 2)
    counts = np.bincount(pairs[:, 0] * 4 + pairs[:, 1], minlength=16)
    seen = counts[counts > 0]
    assert len(seen) == 6
    assert ((seen - 1000) ** 2 / 1000).sum() < 37


@pytest.mark.parametrize("value", [None, ""])
@pytest.mark.parametrize("name", ENGINES)
def test_a_record_without_a_user_is_refused(name: str, value: str | None) -> None:
    records = frame([0, 1, 2]).with_columns(id=pl.Series(["x0", value, "x2"]))
    with pytest.raises(DataError, match=r"id: .* no user"):
        ENGINES[name](records, schema(2), b"k")


@pytest.mark.parametrize("name", ENGINES)
def test_a_sign_for_a_missing_value_names_no_user(name: str) -> None:
    """Else all such strangers would be one user, and one of them leaving could bring in another's record."""
    facts = schema(2).model_copy(update={"missing_values": ("", " N/A")})
    records = frame([0, 1, 2]).with_columns(id=pl.Series(["x0", "N/A ", "x2"]))
    with pytest.raises(DataError, match=r"id: .* no user"):
        ENGINES[name](records, facts, b"k")
    kept = records.with_columns(id=pl.Series(["x0", "N/B", "x2"]))
    assert ENGINES[name](kept, facts, b"k").rows() == 3


@pytest.mark.parametrize("name", ENGINES)
def test_blanks_around_a_name_do_not_make_another_user(name: str) -> None:
    records = frame([0, 0, 0, 1]).with_columns(id=pl.Series(["x0", " x0", "x0\t", "x1"]))
    assert ENGINES[name](records, schema(1), b"k").rows() == 2


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["x0", " x0", "x1", ""])])
def test_categories_as_users_are_read_as_their_text(dtype: pl.DataType) -> None:
    users = pl.Series(["x0", " x0", "x1"], dtype=dtype)
    records = frame([0, 0, 1]).with_columns(id=users)
    assert open_engine(records, schema(1)).rows() == 2
    with pytest.raises(DataError, match="no user"):
        open_engine(frame([0, 0, 1]).with_columns(id=pl.Series(["x0", "", "x1"], dtype=dtype)), schema(1))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_missing_number_as_user_is_refused(engine: str) -> None:
    for value in (None, float("nan")):
        records = frame([0, 1]).with_columns(id=pl.Series([1.5, value]))
        with pytest.raises(DataError, match="no user"):
            open_engine(records, schema(2), engine=engine)


def test_a_refused_value_is_refused_even_if_its_record_would_not_be_kept(tmp_path: Path) -> None:
    records = pl.concat([frame([0] * 20), pl.DataFrame({"id": ["x0"], "id2": ["u0"], "kind": ["z"]})])
    records.write_parquet(tmp_path / "a.parquet")
    for engine in ("memory", "duckdb"):
        with pytest.raises(DataError, match="kind: value 'z'"):
            open_engine(tmp_path / "a.parquet", schema(1), engine=engine, order_key=b"k")


def test_without_a_key_the_sample_is_fresh() -> None:
    """Two samples of one record of ten from each of 30 users agree with probability 1e-30."""
    users = pl.Series(range(30)).repeat_by(10).explode()
    records = pl.DataFrame({"id": users, "n": list(range(10)) * 30, "u": users})
    facts = Schema.from_yaml("""
unit: {protects: user, column: id, at_most: 1}
fields:
- {name: n, type: integer, constraints: {minimum: 0, maximum: 9}}
- {name: u, type: integer, constraints: {minimum: 0, maximum: 29}}
""")
    for build in ENGINES.values():
        first, second = (build(records, facts, None).counts([("u", "n")])[0] for _ in range(2))
        assert not np.array_equal(first, second)


def test_the_unbounded_table_is_dropped_once_users_are_bounded() -> None:
    backend = ibis.duckdb.connect()
    backend.con.register("given", frame([0, 0, 1]).to_arrow())

    def tables() -> list[str]:
        return [name for (name,) in backend.con.execute("SHOW TABLES").fetchall() if name != "given"]

    engine = IbisEngine(backend.table("given"), schema(1))
    assert len(tables()) == 1
    assert engine.rows() == 2
    del engine
    import gc

    gc.collect()
    assert tables() == []


@pytest.mark.parametrize("name", ["memory", "duckdb"])
def test_one_more_user_changes_nobody_elses_sample(name: str) -> None:
    """Whoever knows the key sees the others keep the same records, wherever the new user stands and sorts."""
    rng = np.random.default_rng(3)
    facts = Schema.from_yaml("""
unit: {protects: user, column: id, at_most: 2}
fields:
- {name: n, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {count: 16}}
- {name: v, type: integer, constraints: {minimum: 0, maximum: 999}, bins: {count: 16}}
""")
    numbers = rng.integers(0, 40, 400)
    records = pl.DataFrame(
        {"id": [f"user {n}" for n in numbers], "n": numbers, "v": rng.integers(0, 1000, 400)}
    )

    def kept(rows: pl.DataFrame) -> Any:
        return open_engine(rows, facts, engine=name, order_key=b"known").counts([("n", "v")])[0]

    before = kept(records)
    for who in ("aaa", "user 5 and more", "zzz"):
        one = pl.DataFrame({"id": [who] * 5, "n": [99] * 5, "v": [1, 2, 3, 4, 5]})
        for rows in (pl.concat([one, records]), pl.concat([records, one])):
            gone = np.abs(kept(rows) - before)
            assert gone.sum() == 2
            assert gone.reshape(16, 16)[15].sum() == 2  # 16 bins each


@pytest.mark.parametrize("users", [pl.String, pl.Int64, pl.Float64])
@pytest.mark.parametrize("coordinates", [False, True])
def test_memory_and_duckdb_keep_the_same_records(users: Any, coordinates: bool) -> None:
    rng = np.random.default_rng(4)
    facts = Schema.from_yaml("""
unit: {protects: user, column: id, at_most: 3}
fields:
- {name: x, type: number, bins: {count: 4}, constraints: {minimum: 0, maximum: 1}}
- {name: kind, constraints: {enum: [a, b, c]}, missing: value}
""")
    ids = pl.Series(rng.integers(-20, 20, 500))
    if users == pl.Float64:
        ids = ids.cast(pl.Float64).set(ids == 0, -0.0)
    records = pl.DataFrame(
        {
            "id": ids.cast(users),
            "x": rng.random(500),
            "kind": rng.choice(["a", "b", "c", None], 500),
        }
    )
    found = [
        open_engine(records, facts, engine=engine, order_key=b"one", coordinates=coordinates)
        for engine in ("memory", "duckdb")
    ]
    tables = [engine.counts([("x", "kind")])[0].tolist() for engine in found]
    assert tables[0] == tables[1]
    if coordinates:
        fine = [engine.lattice(["x"], 30)[0].ravel().tolist() for engine in found]
        assert sorted(fine[0]) == sorted(fine[1])


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([datetime(2026, 1, 1, 10), datetime(2026, 1, 1, 10, 0, 0, 5)], "times"),
        ([time(10), time(11)], "times"),
        ([1.0, 2e-9], "numbers that are not whole"),
        ([1.0, 1e22], "beyond 10 to the 15"),
        ([1.0, float("inf")], "beyond 10 to the 15"),
    ],
)
def test_names_that_databases_write_in_different_ways_are_refused_there(ids: list[Any], words: str) -> None:
    """Memory writes 2e-9 and Java 2.0E-9: hashed, they would draw other records of this user."""
    records = frame([0, 0]).with_columns(id=pl.Series(ids))
    with pytest.raises(DataError, match=rf"id: users are told apart by .*{words}.* Convert the column"):
        open_engine(records, schema(1), engine="duckdb", order_key=b"k")
    assert open_engine(records, schema(1), engine="memory", order_key=b"k").rows() == 2
