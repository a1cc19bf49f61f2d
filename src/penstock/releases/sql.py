"""SQL on a release: one SELECT statement about a table called `release`, read and run by DuckDB.

A statement is read by DuckDB's own parser, and its tree is looked at before anything runs: one SELECT, over
the table `release`, names that the statement itself gives (WITH), and lists of values. Everything else is
refused, functions that make tables (files, settings, other statements) above all. It runs in a process and a
database of its own in memory that holds synthetic rows and nothing else, without access to files or the
network, with its configuration locked, and is killed when it takes too long. What is asked here is public
already, so this protects the machine of whoever asks, not anybody's privacy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from html import escape
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Any, Literal

from penstock.errors import QueryError
from penstock.releases.answer import Answer
from penstock.releases.sql_process import answered, first_line
from penstock.releases.sql_worker import TABLE, database
from penstock.report.numbers import readable

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

LONGEST = 10_000
MOST_ROWS = 250_000
"""Synthetic rows that are drawn for a statement, unless somebody asks for more."""
MOST_SHOWN = 100_000
"""Rows of a result."""
SECONDS = 60.0
_TOO_DEEP = "The SQL is nested too deeply; write it with fewer brackets and signs."
_SAMPLES = {10_000: 8, MOST_ROWS: 4}
"""How many samples of up to so many rows tell how far drawing moves a number."""
_T = {8: 2.365, 4: 3.182}  # Student's quantile of 97.5 %, with one degree of freedom less

_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE"}
_TABLES = {"BASE_TABLE", "SUBQUERY", "JOIN", "EMPTY", "EMPTY_FROM", "EXPRESSION_LIST"}
_REFUSED = (
    "current_setting",
    "getenv",
    "getvariable",
    "nextval",
    "currval",
    "sleep_ms",
    "error",
    "write_log",
)
_AGGREGATES = {
    "count", "count_star", "count_if", "sum", "avg", "mean", "min", "max", "median", "mode", "stddev",
    "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "corr", "quantile", "quantile_cont",
    "quantile_disc", "covar_pop", "covar_samp", "skewness", "kurtosis", "entropy", "product",
}  # fmt: skip

Tree = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Statement:
    """One SELECT statement that may be run, as it is written and as DuckDB reads it."""

    text: str
    tree: Tree = field(repr=False)

    @classmethod
    def read(cls, text: str) -> Statement:
        """The statement in a text; QueryError says what is wrong with it, or why it is refused.

        >>> Statement.read("select count(*) from release").tree["type"]
        'SELECT_NODE'
        >>> Statement.read("drop table release")
        Traceback (most recent call last):
        penstock.errors.QueryError: Only a SELECT statement can be asked, and this is another one.
        """
        if not isinstance(text, str) or not text.strip():
            raise QueryError('The SQL is empty; try "select count(*) from release".')
        if len(text) > LONGEST:
            raise QueryError(f"The SQL has {len(text):,} characters; ask with at most {LONGEST:,}.")
        return cls._read(text)

    @classmethod
    @lru_cache(maxsize=64)
    def _read(cls, text: str) -> Statement:
        """Remembered: to open a database takes longer than to read, and a statement says nothing of rows."""
        import duckdb

        try:
            with database() as opened:
                (told,) = opened.execute("select json_serialize_sql(?::varchar)", [text]).fetchone()
            found = json.loads(told or "{}")
        except RecursionError:
            raise QueryError(_TOO_DEEP) from None
        except duckdb.Error as problem:
            raise QueryError(f"DuckDB cannot read this: {first_line(problem)}.") from None
        if found.get("error", True):
            if found.get("error_type") == "not implemented":
                raise QueryError("Only a SELECT statement can be asked, and this is another one.")
            raise QueryError(
                f"This is no SQL that DuckDB understands: {first_line(found.get('error_message'))}."
            )
        statements = found["statements"]
        if len(statements) != 1:
            raise QueryError("Ask one SELECT statement at a time; there are several, or none.")
        try:
            _refuse_foreign(statements[0])
        except RecursionError:
            raise QueryError(_TOO_DEEP) from None
        return cls(text.strip().rstrip("; \t\r\n"), statements[0]["node"])

    def run(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What the statement says about some rows."""
        import polars as pl

        limited = f"select * from (\n{self.text}\n) limit {MOST_SHOWN + 1}"
        try:
            found = pl.from_arrow(answered(limited, rows.to_arrow(), SECONDS))
        except pl.exceptions.PolarsError:
            raise QueryError(
                "The result holds values that cannot be shown, such as intervals; cast them to text."
            ) from None
        assert isinstance(found, pl.DataFrame)
        if found.height > MOST_SHOWN:
            raise QueryError(f"The result has more than {MOST_SHOWN:,} rows; add a LIMIT, or group them.")
        return found.with_columns(pl.col(pl.Decimal, pl.Int128).cast(pl.Float64))

    @cached_property
    def whole(self) -> Statement:
        """The same statement without its order and limit: what it would list if it listed all.

        >>> Statement.read("select a, count(*) from release group by a order by 2 limit 3").whole.text
        'SELECT a, count_star() FROM "release" GROUP BY a'
        """
        listed = self.tree.get("modifiers", [])
        kept = [each for each in listed if not str(each.get("type")).startswith(("ORDER", "LIMIT"))]
        if len(kept) == len(listed):
            return self
        tree = {**self.tree, "modifiers": kept}
        facts = {"error": False, "statements": [{"node": tree, "named_param_map": []}]}
        with database() as opened:
            (text,) = opened.execute("select json_deserialize_sql(?::json)", [json.dumps(facts)]).fetchone()
        return Statement(text, tree)

    @cached_property
    def measured(self) -> tuple[bool, ...] | None:
        """Which columns of the result are computed from many rows; None where that is not plain."""
        if self.tree.get("type") != "SELECT_NODE":
            return None
        listed = self.tree["select_list"]
        if any(item.get("class") == "STAR" for item in listed):
            return None
        told = tuple(any(_is_aggregate(part) for part in _trees(item)) for item in listed)
        return told if any(told) else None


def _is_aggregate(part: Tree) -> bool:
    return part.get("class") == "FUNCTION" and str(part.get("function_name")).lower() in _AGGREGATES


@dataclass(frozen=True, eq=False)
class Selected:
    """What a SQL statement says about a release: its rows, and what they rest on.

    Where the statement is one of the query language, `rests_on` is "model" and `answers` holds for each row
    the answer behind each of its numbers, with its own bar or range. Else it is "sample": the statement was
    run on `drawn` synthetic rows, and `errors` holds for each number how far drawing other rows moves it,
    with 95 % confidence, where that could be found.
    """

    sql: str
    rows: pl.DataFrame
    rests_on: Literal["model", "sample"]
    answers: tuple[Mapping[str, Answer], ...] = ()
    drawn: int | None = None
    errors: tuple[Mapping[str, float], ...] = ()
    caveats: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "sql": self.sql,
            "rests_on": self.rests_on,
            "sample": self.drawn,
            "rows": [{name: _plain(value) for name, value in row.items()} for row in self.rows.to_dicts()],
            "answers": [{name: each.to_dict() for name, each in row.items()} for row in self.answers],
            "errors": [dict(row) for row in self.errors],
            "caveats": list(self.caveats),
        }

    def shown(self) -> pl.DataFrame:
        """The rows for people: every number with its bar or range."""
        import polars as pl

        columns = []
        for name in self.rows.columns:
            values = self.rows[name].to_list()
            cells = [
                "" if value is None else self._cell(number, name, value)
                for number, value in enumerate(values)
            ]
            columns.append(pl.Series(name, cells, dtype=pl.String))
        return pl.DataFrame(columns)

    def _cell(self, row: int, name: str, value: object) -> str:
        if self.answers and name in self.answers[row]:
            answer = self.answers[row][name]
            return f"{answer.number.removesuffix(answer.text).strip()} ({answer.basis})"
        text = readable(value) if isinstance(value, float) else f"{value:,}" if _whole(value) else str(value)
        if self.errors and name in self.errors[row]:
            return f"{text} ± {readable(self.errors[row][name])}"
        return text

    def __str__(self) -> str:
        told = self.shown()
        widths = [max(len(name), *map(len, told[name].to_list()), 0) for name in told.columns]
        lines = [told.columns, *(list(row) for row in told.iter_rows())]
        shown = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
        ]
        return "\n".join([*(line.rstrip() for line in shown), *self.caveats])

    def _repr_html_(self) -> str:
        told = self.shown()
        head = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in told.columns)
        body = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in told.iter_rows()
        )
        notes = "".join(f'<div style="opacity:.7">{escape(caveat)}</div>' for caveat in self.caveats)
        return f"<table><tr>{head}</tr>{body}</table>{notes}"


def _plain(value: object) -> object:
    """A value that JSON can hold: it knows no infinity, and no number that is none."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    return None if isinstance(value, float) and not isfinite(value) else value


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def by_sample(
    statement: Statement, draw: Callable[[int, int], pl.DataFrame], size: int, rows: int | None, why: str
) -> Selected:
    """The statement run on synthetic rows: `draw` gives so many for a seed, `size` is the usual number.

    Those of seed 0 give the answer, other samples of as many rows say how far drawing moves each number.
    """
    wanted = min(max(0, size), MOST_ROWS) if rows is None else rows
    first = draw(wanted, 0)
    found = statement.run(first)
    told = [f"Run on a sample of {first.height:,} synthetic rows, {why}."]
    errors: tuple[Mapping[str, float], ...] = ()
    many = next((many for most, many in _SAMPLES.items() if wanted <= most), None)
    if many is not None and found.height and _told_apart(statement, found):
        others = [statement.whole.run(draw(wanted, seed)) for seed in range(1, many)]
        errors = _errors(statement, found, others, _T[many])
    if any(errors):
        told.append(
            f"± is how far drawing moves a number, by {many} samples of as many rows, with 95 % confidence; "
            "how far the model is off is not in it."
        )
        if len({len(each) for each in errors}) > 1:
            told.append("A number without ± is of a group that not every sample has.")
    else:
        told.append(
            "How far drawing other rows would move the numbers, and how far the model is off, is not told."
        )
    if rows is None and size > wanted:
        told.append(
            f"The release tells of {size:,} records: counts are {size / wanted:.4g} times as large there."
        )
    elif rows is not None and rows != size and size:
        told.append(f"The release tells of {size:,} records, and counts are of {wanted:,} rows.")
    return Selected(statement.text, found, "sample", (), first.height, errors, tuple(told))


def _told_apart(statement: Statement, found: pl.DataFrame) -> bool:
    """Whether rows of two results can be compared: by columns that are not computed, each once."""
    measured = statement.measured
    if measured is None or len(measured) != found.width:
        return False
    keys = [name for name, computed in zip(found.columns, measured, strict=True) if not computed]
    return found.height == 1 if not keys else not found.select(keys).is_duplicated().any()


def _errors(
    statement: Statement, found: pl.DataFrame, others: Sequence[pl.DataFrame], quantile: float
) -> tuple[Mapping[str, float], ...]:
    """For each number of a result how far it varies over several results, where all of them have it."""
    measured = statement.measured or ()
    keys = [name for name, computed in zip(found.columns, measured, strict=True) if not computed]
    numbers = [name for name in found.columns if name not in keys and found[name].dtype.is_numeric()]
    seen: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for result in (found, *others):
        for row in result.iter_rows(named=True):
            values = seen.setdefault(tuple(row[name] for name in keys), {name: [] for name in numbers})
            for name in numbers:
                if row[name] is not None:
                    values[name].append(float(row[name]))
    told = []
    for row in found.iter_rows(named=True):
        values = seen[tuple(row[name] for name in keys)]
        told.append(
            {name: quantile * _deviation(values[name]) for name in numbers if len(values[name]) > len(others)}
        )
    return tuple(told)


def _deviation(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _trees(part: object) -> Iterator[Tree]:
    """All trees inside a tree."""
    if isinstance(part, Mapping):
        yield part
        for each in part.values():
            yield from _trees(each)
    elif isinstance(part, list):
        for each in part:
            yield from _trees(each)


def _refuse_foreign(statement: Tree) -> None:
    """Refuse what reads anything but the table, the statement's own names, and plain values."""
    if statement.get("named_param_map"):
        raise QueryError("The SQL has parameters ($1, ?); write the values into it.")
    own = {
        str(entry.get("key")).lower()
        for tree in _trees(statement)
        for entry in (tree.get("cte_map") or {}).get("map", ())
    }
    for tree in _trees(statement):
        kind = str(tree.get("type"))
        if kind.endswith("_NODE") and kind not in _NODES:
            raise QueryError(
                "A statement that refers to itself (WITH RECURSIVE) is refused; write it without."
            )
        if tree.get("class") == "FUNCTION" and "function_name" in tree:
            name = str(tree["function_name"]).lower()
            if name in _REFUSED or name.startswith(("pragma_", "duckdb_", "pg_", "read_", "json_execute")):
                raise QueryError(f"The function '{name}' is refused: it does not speak of the release.")
        if "class" in tree or not {"alias", "sample"} <= set(tree):
            continue
        if kind not in _TABLES:
            raise QueryError(
                f"Only the table '{TABLE}' can be read, and no function or file that makes another one."
            )
        if kind == "BASE_TABLE":
            name = str(tree.get("table_name"))
            place = (tree.get("catalog_name") or "", tree.get("schema_name") or "")
            known = name.lower() == TABLE and place in (("", ""), ("", "main"))
            if not known and not (name.lower() in own and place == ("", "")):
                raise QueryError(f"There is no table '{name}'; the only one is '{TABLE}'.")
