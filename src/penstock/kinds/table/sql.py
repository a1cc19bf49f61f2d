"""SQL that says what the query language says, answered by the model: counts, sums and means, by groups.

A statement is translated where it is one table, one condition on single columns, at most two columns to group
by, and counts, sums and averages; an order and a limit may follow. Anything else is for synthetic rows, and
the reason is told. SQL knows a third truth besides true and false, for comparisons with NULL: `not` is pushed
down to the comparisons, none of which holds for a missing value, so that both languages mean the same
records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from penstock.errors import QueryError
from penstock.kinds.table.answering import Asked, answer
from penstock.kinds.table.groups import MOST_COLUMNS, MOST_GROUPS, Remembered, told_apart
from penstock.kinds.table.measures import mean_of, total_of
from penstock.releases.answer import Answer
from penstock.releases.sql import Selected, Statement, Tree
from penstock.releases.sql_worker import TABLE
from penstock.schema import Amounts, Condition
from penstock.schema.syntax import And, Expression, Not, Operator, Or, Predicate, outside
from penstock.schema.values import DATE, NotAValueError, parse, written

if TYPE_CHECKING:
    import polars as pl

    from penstock.schema import Schema

_SIGNS: dict[str, Operator] = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "!=",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_OPPOSITE: dict[Operator, Operator] = {
    "=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not in", "not in": "in",
}  # fmt: skip
_TURNED: dict[Operator, Operator] = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
_PLAIN = {"having": None, "sample": None, "qualify": None, "aggregate_handling": "STANDARD_HANDLING"}


class Untranslated(Exception):  # noqa: N818  # no error: the statement goes to synthetic rows
    """Why a statement is none of the query language."""


def selected(release: Asked, statement: Statement) -> Selected | str:
    """The model's answer to a statement, or why it has none."""
    try:
        return _Translation(statement, release.schema).answered(release)
    except Untranslated as why:
        return f"because {why}"
    except QueryError:
        return "because the query language has no such question"


@dataclass(frozen=True)
class _Item:
    """One column of the result: a column to group by, or a measure of one."""

    title: str
    measure: str | None
    column: str | None


class _Translation:
    """A statement in the words of the query language."""

    def __init__(self, statement: Statement, schema: Schema) -> None:
        self.text, self.schema = statement.text, schema
        tree = statement.tree
        _need(tree.get("type") == "SELECT_NODE", "it is no plain SELECT")
        _need(not (tree.get("cte_map") or {}).get("map"), "it has a WITH")
        for key, usual in _PLAIN.items():
            _need(tree.get(key) in (usual, None), f"it has a {key.replace('_', ' ')}")
        source = tree["from_table"]
        _need(
            source.get("type") == "BASE_TABLE" and source.get("sample") is None, "it joins or samples tables"
        )
        _need(source.get("table_name", "").lower() == TABLE, "it reads another table")
        _need(not source.get("column_name_alias"), "it renames columns")
        self.alias = (source.get("alias") or TABLE).lower()
        self.names = {name.lower(): name for name in schema.names}
        _need(len(self.names) == len(schema.names), "columns differ only in capitals")
        self.groups = tuple(dict.fromkeys(self._grouped(tree)))
        self.items = [self._item(item) for item in tree["select_list"]]
        for item in self.items:
            plain = item.measure is not None or item.column in self.groups
            _need(plain, "it lists rows, and does not count them")
        _need(any(item.measure for item in self.items), "it lists rows, and does not count them")
        where = tree.get("where_clause")
        self.condition = Condition(
            "where" if where is None else "the WHERE clause",
            And(()) if where is None else self._truth(where, True),
            schema.codecs,
        )
        _ = self.condition.bound
        self.modifiers = tree.get("modifiers") or []

    def _grouped(self, tree: Tree) -> list[str]:
        expressions = tree.get("group_expressions") or []
        sets = tree.get("group_sets") or []
        _need(sets in ([], [list(range(len(expressions)))]), "it groups in several ways")
        _need(len(expressions) <= MOST_COLUMNS, f"it groups by more than {MOST_COLUMNS} columns")
        found = []
        for each in expressions:
            if each.get("class") == "CONSTANT":
                place = _whole(each)
                listed = tree["select_list"]
                _need(place is not None and 1 <= place <= len(listed), "a GROUP BY is unclear")
                assert place is not None
                each = listed[place - 1]
            found.append(self._column(each))
        return found

    def _column(self, tree: Tree) -> str:
        _need(tree.get("class") == "COLUMN_REF", "it shows more than columns, counts, sums and averages")
        path = [str(name).lower() for name in tree["column_names"]]
        _need(len(path) == 1 or (len(path) == 2 and path[0] == self.alias), "it names another table")
        _need(path[-1] in self.names, "it names a column that is not there")
        return self.names[path[-1]]

    def _item(self, tree: Tree) -> _Item:
        alias = str(tree.get("alias") or "")
        if tree.get("class") != "FUNCTION":
            column = self._column(tree)
            return _Item(alias or column, None, column)
        name = str(tree.get("function_name")).lower()
        given = _arguments(tree)
        plain = not tree.get("distinct") and tree.get("filter") is None
        plain = plain and not (tree.get("order_bys") or {}).get("orders") and not tree.get("schema")
        _need(plain, "an aggregate is narrowed by itself")
        if name == "count_star" or (name == "count" and not given):
            return _Item(alias or "count_star()", "count", None)
        measure = {"count": "count", "sum": "sum", "avg": "mean", "mean": "mean"}.get(name)
        _need(measure is not None and len(given) == 1, f"the query language has no '{name}'")
        column = self._column(given[0])
        shown = column if column.isidentifier() and column.lower() == column else f'"{column}"'
        return _Item(alias or f"{name}({shown})", measure, column)

    # Conditions -------------------------------------------------------------------------------------

    def _truth(self, tree: Tree, holds: bool) -> Expression:
        """What must hold so that the tree is true; or, where it must not hold, so that it is false."""
        kind, kind_of = str(tree.get("type")), tree.get("class")
        if kind_of == "CONJUNCTION":
            parts = tuple(self._truth(part, holds) for part in tree["children"])
            return And(parts) if (kind == "CONJUNCTION_AND") is holds else Or(parts)
        if kind == "OPERATOR_NOT":
            return self._truth(tree["children"][0], not holds)
        if kind in ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"):
            absent = self._absent(self._column(tree["children"][0]))
            return absent if (kind == "OPERATOR_IS_NULL") is holds else Not(absent)
        if kind in ("COMPARE_IN", "COMPARE_NOT_IN"):
            name = self._column(tree["children"][0])
            values = tuple(self._value(name, each) for each in tree["children"][1:])
            return self._predicate(name, "in" if (kind == "COMPARE_IN") is holds else "not in", values)
        if kind_of == "BETWEEN":
            name = self._column(tree["input"])
            low, high = (self._value(name, tree[end]) for end in ("lower", "upper"))
            inside = self._predicate(name, "range", (low, high))
            return inside if holds else outside(inside)
        if kind_of == "COMPARISON" and kind in _SIGNS:
            left, right, sign = tree["left"], tree["right"], _SIGNS[kind]
            if left.get("class") != "COLUMN_REF":
                left, right, sign = right, left, _TURNED[sign]
            _need(left.get("class") == "COLUMN_REF", "its WHERE computes")
            name = self._column(left)
            value = self._value(name, right)
            return self._predicate(name, sign if holds else _OPPOSITE[sign], (value,))
        if kind_of == "COLUMN_REF":
            name = self._column(tree)
            _need(self.schema.field(name).type == "boolean", "a column stands for a condition")
            return self._predicate(name, "=", ("true" if holds else "false",))
        raise Untranslated("its WHERE computes")

    def _predicate(self, name: str, operator: Operator, values: tuple[str, ...]) -> Predicate:
        field = self.schema.field(name)
        ordered = operator in ("=", "!=", "in", "not in") or field.type not in ("string", "boolean")
        _need(ordered, f"texts of {name} are compared by their letters")
        if not field.ranged and field.type != "boolean":
            listed = {written(value) for value in field.values}
            _need(all(value in listed for value in values), f"{name} has no such category")
        return Predicate(name, operator, values, 0)

    def _absent(self, name: str) -> Expression:
        """That a column is NULL: missing, or outside of its domain where nothing among its values says so."""
        attribute, field = self.schema.attribute(name), self.schema.field(name)
        unnamed = attribute.other is not None and field.type != "string"
        codes = [attribute.missing, attribute.other if unnamed else None]
        return Or(tuple(Predicate(name, "code", (str(code),), 0) for code in codes if code is not None))

    def _value(self, name: str, tree: Tree) -> str:
        field = self.schema.field(name)
        dated = (
            field.type in ("date", "datetime") and tree.get("class") == "CAST" and not tree.get("try_cast")
        )
        text = _constant(tree["child"] if dated else tree)
        if text is None:
            raise Untranslated("it compares a column with something that is computed")
        if field.type == "datetime" and re.match(DATE, text.strip()):
            return f"{text.strip()}T00:00:00"
        if field.type == "boolean":
            return {"t": "true", "f": "false", "1": "true", "0": "false"}.get(text.lower(), text.lower())
        if field.ranged or field.type == "string":
            return text
        try:
            return written(parse(field.type, text))
        except NotAValueError:
            raise Untranslated(f"{name} has no such category") from None

    # The answer -------------------------------------------------------------------------------------

    def answered(self, release: Asked) -> Selected:
        import polars as pl

        once = Remembered(release)
        groups = self._groups()
        keys: list[tuple[int | str, ...]] = []
        answers: list[dict[str, Answer]] = []
        for key, condition in groups:
            counted = answer(once, condition)
            if self.groups and counted.value <= 0 and counted.rests_on == "declared":
                continue
            keys.append(key)
            answers.append(self._measured(once, condition, counted))
        columns = []
        for item in self.items:
            if item.measure is None:
                place = self.groups.index(item.column or "")
                values = self._shown(self.groups[place], [key[place] for key in keys])
                columns.append(values.alias(item.title))
            else:
                told = [row.get(item.title) for row in answers]
                columns.append(pl.Series(item.title, [None if each is None else each.value for each in told]))
        titles = [item.title for item in self.items]
        _need(len(set(titles)) == len(titles), "two columns have one name")
        frame = pl.DataFrame(columns).with_row_index(_PLACE)
        frame = self._ordered(frame)
        kept = frame[_PLACE].to_list()
        return Selected(
            self.text,
            frame.drop(_PLACE),
            "model",
            tuple(answers[place] for place in kept),
            caveats=(_EXACT, *_notes(answers)),
        )

    def _measured(self, release: Asked, condition: Condition, counted: Answer) -> dict[str, Answer]:
        found = {}
        for item in self.items:
            if item.measure == "count":
                present = None if item.column is None else condition.present(item.column)
                found[item.title] = (
                    counted if present is None or present is condition else answer(release, present)
                )
            elif item.measure is not None and item.column is not None:
                Amounts.of(self.schema.codec(item.column))
                if item.measure == "sum":
                    found[item.title] = total_of(release, condition, item.column)
                elif release.share(condition.present(item.column)) > 0:  # else it is NULL
                    found[item.title] = mean_of(release, condition, item.column)
        return found

    def _groups(self) -> list[tuple[tuple[int | str, ...], Condition]]:
        """Each group with its condition: by the codes of columns, or by single values inside bins."""
        told = [self._told_apart(name) for name in self.groups]
        _need(prod(len(each) for each in told) <= MOST_GROUPS, "it has too many groups")
        found = []
        for chosen in product(*told):
            parts = tuple(predicate for _, predicate in chosen)
            condition = Condition(
                self.condition.text, And((self.condition.expression, *parts)), self.schema.codecs
            )
            found.append((tuple(key for key, _ in chosen), condition))
        return found

    def _told_apart(self, name: str) -> list[tuple[int | str, Predicate]]:
        field, attribute = self.schema.field(name), self.schema.attribute(name)
        by_code = [(code, Predicate(name, "code", (str(code),), 0)) for code in range(attribute.size)]
        _need(attribute.other is None or field.type == "string", f"{name} has values outside of its domain")
        if not field.ranged or field.edges.one_per_value:
            return list(by_code)
        _need(field.type == "integer", f"values of {name} are groups of their own")
        many = int(field.edges.high - field.edges.low) + 1
        _need(many <= MOST_GROUPS, "it has too many groups")
        values = [str(int(field.edges.low) + place) for place in range(many)]
        return [
            *((value, Predicate(name, "=", (value,), 0)) for value in values),
            *by_code[attribute.regular :],
        ]

    def _shown(self, name: str, keys: Sequence[int | str]) -> pl.Series:
        import polars as pl

        if any(isinstance(key, str) for key in keys):
            values = [int(key) if isinstance(key, str) else None for key in keys]
            return pl.Series(name, values, dtype=pl.Int64)
        field = self.schema.field(name)
        if self.schema.attribute(name).other is None or field.type != "string":
            return told_apart(self.schema, name, [int(key) for key in keys])
        import numpy as np

        return self.schema.codec(name).decode(np.array(keys, dtype=np.int64), np.random.default_rng(0))

    def _ordered(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows in the order that is asked for, and no more of them."""
        for modifier in self.modifiers:
            if modifier.get("type") == "ORDER_MODIFIER":
                names, falling = [], []
                for each in modifier["orders"]:
                    _need(each.get("null_order") in ("ORDER_DEFAULT", None), "it orders NULLs")
                    names.append(self._order(each["expression"]))
                    falling.append(each.get("type") == "DESCENDING")
                frame = frame.sort(names, descending=falling, nulls_last=True, maintain_order=True)
            elif modifier.get("type") == "LIMIT_MODIFIER":
                _need(modifier.get("limit_type", "ROW_COUNT") == "ROW_COUNT", "its limit is a share")
                limit = None if modifier.get("limit") is None else _whole(modifier["limit"])
                start = 0 if modifier.get("offset") is None else _whole(modifier["offset"])
                _need(limit is not None and start is not None, "its limit is computed")
                frame = frame.slice(start or 0, limit)
            else:
                raise Untranslated("it is changed by something that the query language does not know")
        return frame

    def _order(self, tree: Tree) -> str:
        place = _whole(tree)
        if place is not None:
            _need(1 <= place <= len(self.items), "an ORDER BY is unclear")
            return self.items[place - 1].title
        if tree.get("class") == "COLUMN_REF":
            last = str(tree["column_names"][-1]).lower()
            for item in self.items:
                if item.title.lower() == last or (
                    item.measure is None and (item.column or "").lower() == last
                ):
                    return item.title
        if tree.get("class") == "FUNCTION":
            wanted = self._item(tree)
            for item in self.items:
                if (item.measure, item.column) == (wanted.measure, wanted.column):
                    return item.title
        raise Untranslated("it is ordered by what it does not show")


MOST_NOTES = 12
_LITERALS = ("STRING", "INTEGER", "NUMERIC", "FLOAT", "BOOLEAN")
_PLACE = "\0place"
_EXACT = "Answered by the query language on the release's counts and its model; no rows were drawn."


def _notes(answers: Sequence[Mapping[str, Answer]]) -> list[str]:
    """What to keep in mind of all answers: what is said of one, and how many others say something else."""
    told = list(dict.fromkeys(note for row in answers for each in row.values() for note in each.caveats))
    return told[:MOST_NOTES] + (
        [f"{len(told) - MOST_NOTES} further notes are with the answers."] if len(told) > MOST_NOTES else []
    )


def _need(fits: bool, why: str) -> None:
    if not fits:
        raise Untranslated(why)


def _arguments(tree: Tree) -> list[Tree]:
    """What a function is given, as DuckDB 1 and DuckDB 2 write it."""
    if "arguments" in tree:
        return [each["expression"] for each in tree["arguments"]]
    return list(tree.get("children") or [])


def _constant(tree: Tree) -> str | None:
    """A value as text, as DuckDB 1 and DuckDB 2 write it; None where it is none."""
    if tree.get("class") != "CONSTANT":
        return None
    if "literal" in tree:
        literal: Mapping[str, Any] = tree["literal"]
        return str(literal["text"]) if literal.get("kind") in _LITERALS else None
    value = tree.get("value") or {}
    if value.get("is_null", True):
        return None
    told, scale = value.get("value"), ((value.get("type") or {}).get("type_info") or {}).get("scale")
    if isinstance(scale, int) and isinstance(told, int):  # 2.50 is 250 with two decimals
        return format(told / 10**scale, f".{scale}f")
    return str(told)


def _whole(tree: Tree) -> int | None:
    text = _constant(tree) if tree.get("class") == "CONSTANT" else None
    return int(text) if text is not None and text.isdigit() else None
