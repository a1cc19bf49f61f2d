"""What reads inputs that nobody vouches for: schemas, release folders, CSV files, questions and URLs.

A loader makes its seeds once, in a folder of its own, and then tries broken copies of them. `attempt` returns
whether the input was accepted; PenstockError is a refusal, and anything else a crash.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import chdir
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from random import Random
from typing import ClassVar

import polars as pl

import penstock
from fuzzing import mutation
from penstock import Ledger, Schema
from penstock.engine import open_engine, read
from penstock.errors import without_password
from penstock.releases import Release, load

TABLE = """
missingValues: ["", "?"]
unit: {protects: user, column: who, at_most: 3}
impossible: ["age < 15 and income > 100"]
fields:
  - {name: sex, constraints: {enum: [f, m]}, missing: value}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 20}, outside: clamp}
  - {name: income, type: number, constraints: {minimum: 0, maximum: 5000}, bins: {edges: [0, 1, 500, 5000]}}
  - {name: seen, type: date, constraints: {minimum: 2019-01-01, maximum: 2021-12-31}, bins: {count: 3}}
  - {name: smoker, type: boolean}
  - {name: work, constraints: {enum: [a, b, c]}, taxonomy: {any: [{first: [a, b]}, c]}, other: c}
"""
PLAIN = """
fields:
  - {name: sex, constraints: {enum: [f, m]}}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 20}}
  - {name: income, type: number, constraints: {minimum: 0, maximum: 5000}, bins: {count: 4}, missing: value}
"""
POINTS = """
kind: points
fields:
  - {name: lon, type: number, constraints: {minimum: -180, maximum: 180}}
  - {name: lat, type: number, constraints: {minimum: -90, maximum: 90}}
"""
SEQUENCES = """
kind: sequences
sequence: {symbol: pages, longest: 6}
fields:
  - {name: pages, constraints: {enum: [home, news, sport]}}
"""
EVENTS = """
kind: sequences
relation: replace
size: 100
sequence: {user: who, time: at, symbol: page, longest: 20}
fields:
  - {name: page, constraints: {enum: [home, news, sport]}}
"""
ITEMSETS = """
kind: itemsets
items: {item: basket, separator: ';', largest: 4}
fields:
  - {name: basket, constraints: {enum: [bread, butter, milk, eggs]}}
"""
SCHEMAS = tuple(each.encode() for each in (TABLE, PLAIN, POINTS, SEQUENCES, EVENTS, ITEMSETS))

RECORDS = b"sex,age,income\nf,34,1200.5\nm,51,\nf,7,0\nm,99,5000\n"
CSVS = (
    RECORDS,
    RECORDS.replace(b",", b";"),
    RECORDS.replace(b"\n", b"\r\n"),
    b"\xef\xbb\xbf" + RECORDS.replace(b"f,", b'"f",'),
    b"sex\tage\tincome\nf\t1\t2\n",
)
"""Small, and of every dialect that is read."""


class Loader(ABC):
    """A way in. `share` is its part of all inputs, by what one input costs."""

    name: ClassVar[str]
    share: ClassVar[float]

    def __init__(self, folder: Path) -> None:
        """Make what the inputs are broken copies of."""
        self.folder = folder

    @abstractmethod
    def input(self, rng: Random) -> bytes:
        """One input, known by its randomness."""

    @abstractmethod
    def attempt(self, data: bytes) -> None:
        """Read it; PenstockError refuses it."""

    def written(self, name: str, data: bytes) -> Path:
        place = self.folder / name
        place.write_bytes(data)
        return place


class Schemas(Loader):
    """Schema files in YAML."""

    name, share = "schema", 0.08

    def input(self, rng: Random) -> bytes:
        return mutation.text(rng, SCHEMAS)

    def attempt(self, data: bytes) -> None:
        schema = Schema.load(self.written("schema.yaml", data))
        if Schema.from_yaml(schema.to_yaml()) != schema:
            raise AssertionError("the schema does not read back as it was written")


class Tables(Loader):
    """CSV files: opened, encoded by a schema, and one in ten drafted."""

    name, share = "csv", 0.04

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.schema = Schema.from_yaml(PLAIN)

    def input(self, rng: Random) -> bytes:
        return bytes([rng.randrange(10)]) + mutation.text(rng, CSVS)

    def attempt(self, data: bytes) -> None:
        place = self.written("records.csv", data[1:])
        match data[0]:
            case 0:
                penstock.draft(place)
            case 1:
                read(place, header="none").frame()
            case _:
                open_engine(place, self.schema, engine="memory").counts([("sex", "age")])


def _releases() -> dict[str, Release]:
    """One small release of each kind of data."""
    people = pl.DataFrame({"sex": ["f", "m"] * 50, "age": list(range(100)), "income": [10.5, None] * 50})
    places = pl.DataFrame({"lon": [float(i) for i in range(100)], "lat": [i / 2 for i in range(100)]})
    visits = pl.DataFrame({"pages": ["home news", "home sport news", "news"] * 30})
    baskets = pl.DataFrame({"basket": ["bread;milk", "eggs", "bread;butter;eggs"] * 30})
    made = {
        "table": (people, PLAIN, None, {}),
        "points": (places, POINTS, None, {}),
        "sequences": (visits, SEQUENCES, None, {}),
        "selection": (baskets, ITEMSETS, "select-items", {"c": 2}),
    }
    return {
        name: penstock.release(
            records, Schema.from_yaml(schema), epsilon=10, method=method, parameters=given, seed=1
        )
        for name, (records, schema, method, given) in made.items()
    }


class Folders(Loader):
    """Release folders of every kind: one file is changed, and its fingerprint corrected as a forger would."""

    name, share = "folder", 0.02

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.places = []
        for name, made in _releases().items():
            place = made.save(folder / name)
            package = json.loads((place / "datapackage.json").read_text())
            for dull in ("report.html", "synthetic.csv"):  # long, and only compared with their fingerprints
                package["resources"] = [each for each in package["resources"] if each["path"] != dull]
                (place / dull).unlink(missing_ok=True)
            (place / "datapackage.json").write_text(json.dumps(package))
            self.places.append(place)
        self.good = {
            place: {each.name: each.read_bytes() for each in place.iterdir()} for place in self.places
        }

    def input(self, rng: Random) -> bytes:
        number = rng.randrange(len(self.places))
        files = self.good[self.places[number]]
        name = rng.choice(sorted(files))
        if name.endswith(".json") and rng.random() < 0.9:
            data = mutation.document(rng, files[name])
        elif name.endswith(".parquet") and rng.random() < 0.7:
            data = _changed_table(rng, files[name])
        elif name.endswith(".yaml"):
            data = mutation.text(rng, [files[name]])
        else:
            data = mutation.damaged(rng, files[name])
        return json.dumps([number, name]).encode() + b"\n" + data

    def attempt(self, data: bytes) -> None:
        head, _, content = data.partition(b"\n")
        number, name = json.loads(head)
        place = self.places[number]
        (place / name).write_bytes(content)
        try:
            if name != "datapackage.json":
                self._forge(place, name, content)
            made = load(place)
            example = made.example()
            if example is not None:
                made.query(example)
            if made.can_sample:
                made.sample(3)
        finally:
            for each in (name, "datapackage.json"):
                (place / each).write_bytes(self.good[place][each])

    def _forge(self, place: Path, name: str, content: bytes) -> None:
        package = json.loads(self.good[place]["datapackage.json"])
        for resource in package["resources"]:
            if resource["path"] == name:
                resource["bytes"] = len(content)
                resource["hash"] = f"sha256:{hashlib.sha256(content).hexdigest()}"
        (place / "datapackage.json").write_text(json.dumps(package))


def _changed_table(rng: Random, data: bytes) -> bytes:
    """A Parquet table in which a column, a row or a value is changed."""
    frame = pl.read_parquet(BytesIO(data))
    name = rng.choice(frame.columns)
    match rng.randrange(6):
        case 0:
            frame = frame.drop(name)
        case 1:
            frame = frame.rename({name: rng.choice(("x", "", "code", "*"))})
        case 2:
            frame = frame.with_columns(
                frame[name].cast(rng.choice((pl.String, pl.Float64, pl.Int8)), strict=False)
            )
        case 3:
            frame = frame.sample(
                fraction=rng.choice((0.0, 0.5, 1.0)), shuffle=True, seed=rng.randrange(2**32)
            )
        case 4:
            frame = pl.concat([frame] * rng.choice((2, 3)))
        case _ if frame.height and frame[name].dtype.is_numeric():
            values = frame[name].to_list()
            extremes = (None, -1, 0, 2**31, 2**62, float("nan"), float("inf"), -1e308)
            values[rng.randrange(len(values))] = rng.choice(extremes)
            frame = frame.with_columns(pl.Series(name, values, strict=False))
    out = BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


QUESTIONS = {
    "table": (
        b"age < 30 and income > 2000",
        b"not (sex = 'f' or age = 20..40) and income is not missing",
        b"sex in ('f', 'm') and age not in (1, 2, 3)",
        b'"age" >= 1e1 and sex != m or income <= .5',
    ),
    "points": (b"0,5,2,8", b"lon=-74..-73,lat=40..41", b"lon=170..-170", b"lon > 3 and lat < 1"),
    "sequences": (b"home,news", b"$,home,'news',&", b"20", b'"home",sport'),
    "selection": (b"bread", b"'milk'"),
}


class Questions(Loader):
    """Questions as they are typed, to a release of each kind, in every way it can be asked."""

    name, share = "query", 0.75

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.releases = _releases()
        self.ways: list[tuple[str, Callable[[str], object]]] = []
        for kind, made in self.releases.items():
            self.ways.append((kind, made.query))
            self.ways += [(kind, each.ask) for name, each in made.questions().items() if name != "map"]

    def input(self, rng: Random) -> bytes:
        number = rng.randrange(len(self.ways))
        return bytes([number]) + mutation.text(rng, QUESTIONS[self.ways[number][0]])

    def attempt(self, data: bytes) -> None:
        self.ways[data[0]][1](data[1:].decode("utf-8", "replace"))


FILES = {
    "table": (b"age < 30\nsex = 'f'\n", b'condition,note\n"age < 30",a\n"sex = f",b\n'),
    "points": (
        b"lon_low,lon_high,lat_low,lat_high\n0,5,2,8\n-10,10,0,1\n",
        b"0,5,2,8\n1,2,3,4\n",
        b"0,5,2,8\n",
    ),
    "sequences": (b"home,news\nsport\n", b'string,note\n"home,news",a\nhome,b\n'),
    "selection": (b"bread\nmilk\n", b"item,note\nbread,a\nmilk,b\n"),
}


class QuestionFiles(Loader):
    """Files of many questions: conditions, boxes, strings."""

    name, share = "questions in a file", 0.07

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.ways = [
            (kind, each.many)
            for kind, made in _releases().items()
            for each in made.questions().values()
            if each.many is not None
        ]

    def input(self, rng: Random) -> bytes:
        number = rng.randrange(len(self.ways))
        return bytes([number]) + mutation.text(rng, FILES[self.ways[number][0]])

    def attempt(self, data: bytes) -> None:
        self.ways[data[0]][1](str(self.written("questions.csv", data[1:])))


URLS = (
    b"sqlite:///people.db",
    b"sqlite:///ledger.db",
    b"ledger.db",
    b"duckdb:///people.duckdb?access_mode=read_only",
    b"postgresql://ann:SECRET@host:5432/base?sslmode=require",
    b"mysql+pymysql://ann:SECRET@host/base",
    b"mssql://host/base?user=ann&password=SECRET;token=SECRET",
    b"snowflake://ann:SE/CR@ET@account/base",
)


NETWORK = {
    "postgres": "psycopg",
    "postgresql": "psycopg",
    "mysql": "MySQLdb",
    "mssql": "pyodbc",
    "oracle": "oracledb",
    "snowflake": "snowflake",
    "bigquery": "google",
    "trino": "trino",
    "clickhouse": "clickhouse_connect",
    "pyspark": "pyspark",
    "databricks": "databricks",
}
"""The drivers that would ask a server; where one is installed, its URLs are only looked at."""


PASSWORD = "postgresql://ann:SECRET@"


class Urls(Loader):
    """URLs of databases with a table, and of ledgers; whatever they are, no password is ever shown."""

    name, share = "url", 0.04

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.written("people.db", b"")
        Ledger.create(folder / "ledger.db").set_limit("people", 1)
        connection = sqlite3.connect(folder / "people.db")
        connection.execute("create table people (age integer)")
        connection.execute("insert into people values (31)")
        connection.commit()
        connection.close()

    def input(self, rng: Random) -> bytes:
        return bytes([rng.randrange(2)]) + mutation.text(rng, URLS)

    def attempt(self, data: bytes) -> None:
        url = data[1:].decode("utf-8", "replace")
        secret = url.startswith(PASSWORD) and "SECRET" not in url.removeprefix(PASSWORD)
        if secret and "SECRET" in without_password(url):
            raise AssertionError("a password is shown")
        scheme, _, rest = url.partition("://")
        driver = NETWORK.get(scheme.partition("+")[0].strip().lower())
        if ".." in rest or rest.startswith("//") or (driver is not None and find_spec(driver) is not None):
            return  # a file outside the folder, or a server: not for a study to open
        with chdir(self.folder):
            if data[0]:
                read(url, table="people").frame()
            else:
                Ledger.open(url).balances()


LOADERS: dict[str, type[Loader]] = {
    each.name: each for each in (Schemas, Folders, Tables, Questions, QuestionFiles, Urls)
}
