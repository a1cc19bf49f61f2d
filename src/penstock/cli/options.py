"""Arguments and options that several commands share, and how their text becomes values."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isfinite
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import typer

from penstock.errors import UsageError

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="CSV or Parquet file, or a database URL (with --table).", show_default=False
    ),
]
Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="The folder of a release.", show_default=False)]
TableName = Annotated[str | None, typer.Option("--table", help="The table, when FILE is a database URL.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
LedgerUrl = Annotated[
    str | None,
    typer.Option("--ledger", metavar="URL", help="The ledger to book in: a file name or an SQLAlchemy URL."),
]
AccountName = Annotated[
    str | None,
    typer.Option("--account", metavar="NAME", help="The account in the ledger: your own name for the data."),
]
SchemaFile = Annotated[
    str,
    typer.Option("--schema", "-s", metavar="SCHEMA.yaml", show_default=False, help="The reviewed schema."),
]
Epsilon = Annotated[
    str,
    typer.Option(
        "--epsilon",
        "-e",
        metavar="E",
        show_default=False,
        help="What it may cost: 1, 0.1, 7/10. Smaller is more private.",
    ),
]
EngineName = Annotated[
    Literal["auto", "memory", "duckdb"],
    typer.Option("--engine", help="Where to count a table: in memory, or in DuckDB when it is large."),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        show_default=False,
        help="Reproducible noise for tests and studies. What is made with it protects nobody and is marked "
        "as not publishable.",
    ),
]
AcceptDraft = Annotated[
    bool,
    typer.Option(
        "--accept-unreviewed-draft",
        help="Go on although the schema holds facts that nobody reviewed. The release says so, for ever.",
    ),
]


def parameters(pairs: Sequence[str], method: type[Any], name: str) -> dict[str, Any]:
    """`--param name=value` pairs as values of the types that the method declares."""
    declared = {key: hint for key, hint in get_type_hints(method).items() if get_origin(hint) is not ClassVar}
    values: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key:
            raise UsageError(f"--param takes name=value, such as --param side=40, not '{pair}'.")
        if key in values:
            raise UsageError(f"--param {key} is given twice; keep one of them.")
        values[key] = (
            _parse(text.strip(), declared[key], f"--param {key} of {name}") if key in declared else text
        )
    return values


_READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    int: (int, "a whole number"),
    float: (lambda text: _finite(float(text)), "a number"),
    Fraction: (lambda text: _fraction(text), "a number or a fraction such as 3/10"),
    bool: (
        lambda text: {"true": True, "yes": True, "false": False, "no": False}[text.lower()],
        "true or false",
    ),
    str: (str, "text"),
}


def _finite(number: float) -> float:
    if not isfinite(number):
        raise ValueError
    return number


def _fraction(text: str) -> Fraction:
    """As budgets are read: expanding an exponent such as 1e999999999 would never end."""
    from penstock.errors import BudgetError
    from penstock.privacy.budgets.amounts import exact

    try:
        return exact(text)
    except BudgetError:
        raise ValueError from None


def _parse(text: str, hint: Any, what: str) -> Any:
    """The text as a value of the hinted type; the first alternative that accepts it wins."""
    if get_origin(hint) in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not types.NoneType]
        if len(options) < len(get_args(hint)) and text.lower() in ("none", ""):
            return None
        for option in options[:-1]:
            try:
                return _parse(text, option, what)
            except UsageError:
                continue
        return _parse(text, options[-1], what)
    if get_origin(hint) is Literal:
        for choice in get_args(hint):
            if str(choice) == text:
                return choice
        raise UsageError(f"{what} must be one of {', '.join(map(str, get_args(hint)))}, not '{text}'.")
    if get_origin(hint) in (tuple, list):
        inner = get_args(hint)[0]
        return tuple(_parse(part.strip(), inner, what) for part in text.split(",")) if text else ()
    reader, words = _READERS.get(hint, _READERS[str])
    try:
        return reader(text)
    except (ValueError, KeyError, ZeroDivisionError):
        raise UsageError(f"{what} must be {words}, not '{text}'.") from None
