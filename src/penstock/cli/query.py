"""`penstock query`: one number from a release, or a short list."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.options import Folder, Json

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from penstock.releases import Answer, Release


def query(
    folder: Folder,
    expression: Annotated[
        str | None,
        typer.Argument(
            metavar="EXPRESSION", show_default=False, help="A condition on the fields of the release."
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="For tables and points: all conditions of a file. One in each line, or a CSV or Parquet "
            "file with a column 'condition'.",
        ),
    ] = None,
    box: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH,…",
            show_default=False,
            help="For points: the number inside a box, low,high for each numeric field, or by name: "
            "x=0..5,y=2..8.",
        ),
    ] = None,
    boxes: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="For points: the numbers inside all boxes of a CSV or Parquet file with the columns "
            "x_low, x_high, and so on; as CSV, or with --json.",
        ),
    ] = None,
    geojson: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", show_default=False, help="For trees of points: write the map with its counts."
        ),
    ] = None,
    count: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            show_default=False,
            help="For sequences: how often a string of symbols occurs; $ in front for the beginning of a "
            "sequence, & at the back for its end.",
        ),
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="For sequences: how often all strings of a file occur. One in each line, written as for "
            "--count, or a CSV or Parquet file with a column 'string'.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="K", min=1, show_default=False, help="For sequences: the K most frequent strings."
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            "--next",
            metavar="A,B,…",
            show_default=False,
            help="For sequences: what comes after a string of symbols.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask a release how many records meet a condition, at no further privacy cost.

    [bold]Examples[/bold]

        penstock query people-release "age < 30 and income > 2000"
        penstock query people-release "district in ('Seaby', 'Old Town')" --json
        penstock query rides-release --box 0,5,2,8
        penstock query rides-release --box lon=-74..-73,lat=40..41
        penstock query rides-release --boxes districts.csv > counts.csv
        penstock query visits-release --count home,news,home
        penstock query visits-release --top 20
        penstock query visits-release --next home,news
        penstock query visits-release --counts strings.csv > counts.csv
        penstock query people-release --file conditions.txt --json

    Many questions from a file (--boxes, --counts, --file) are answered as CSV, the columns of the file with
    count and error added, or as JSON.
    """
    from penstock.cli.screen import print_json, screen
    from penstock.errors import UsageError
    from penstock.releases import load

    questions = (expression, file, box, boxes, geojson, count, counts, top, after)
    if sum(question is not None for question in questions) != 1:
        raise UsageError(
            "Ask one question: an EXPRESSION, --box, --count, --top or --next; or many with --file, --boxes "
            "or --counts; or write the map with --geojson."
        )
    opened = load(folder)
    if boxes is not None:
        _refuse_unless_points(opened, "--boxes")
        _print_many(opened.count_boxes(boxes), as_json)  # type: ignore[attr-defined]  # as `count` below
        return
    if counts is not None:
        _print_many(_count_strings(opened, counts), as_json)
        return
    if file is not None:
        _print_many(_count_conditions(opened, file), as_json)
        return
    if geojson is not None:
        _write_map(opened, geojson)
        return
    if top is not None:
        _show(_of_sequences(opened, "top", "--top")(top), f"top {top}", as_json)
        return
    if after is not None:
        _show(_of_sequences(opened, "next", "--next")(after), f"next {after}", as_json)
        return
    if box is not None:
        answer = _count_in(opened, box)
    elif count is not None:
        answer = _of_sequences(opened, "count", "--count")(count)
    else:
        assert expression is not None
        answer = opened.query(expression)
    if as_json:
        question = (
            expression if expression is not None else f"box {box}" if count is None else f"count {count}"
        )
        print_json({"question": question, **answer.to_dict()})
    else:
        screen().print(str(answer), markup=False)


def _of_sequences(opened: Release, verb: str, option: str) -> Callable[[str | int], Any]:
    """How a release of sequences is asked with an option, or why it cannot be."""
    from penstock.errors import QueryError

    if opened.kind != "sequences":
        raise QueryError(
            f"{option} is for releases of sequences, and this one is of kind '{opened.kind}'; "
            "ask it with an EXPRESSION."
        )
    ask: Callable[[str | int], Any] | None = getattr(opened, verb, None)
    if ask is None:
        raise QueryError(
            f"A {opened.method} release cannot be asked with {option}; it has the --top strings."
        )
    return ask


def _show(rows: pl.DataFrame, question: str, as_json: bool) -> None:
    from penstock.cli.screen import print_json, screen

    if as_json:
        print_json({"question": question, "rows": rows.to_dicts()})
    else:
        screen().print(_listed(rows))


def _listed(rows: pl.DataFrame) -> Table:
    """Rows as a table for the screen: words to the left, numbers to the right."""
    from rich.table import Table

    from penstock.cli.screen import clean
    from penstock.report.numbers import percent, readable

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    shown = [name for name in rows.columns if not rows[name].is_null().all()]
    for name in shown:
        table.add_column(
            "±" if name == "error" else name, justify="right" if rows[name].dtype.is_numeric() else "left"
        )
    for row in rows.iter_rows(named=True):
        cells = []
        for name in shown:
            value = row[name]
            if isinstance(value, float):
                cells.append(percent(value) if name == "share" else readable(value))
            else:
                cells.append(clean(str(value)))
        table.add_row(*cells)
    return table


def _count_in(opened: Release, box: str) -> Answer:
    """The number of points in a box, for releases of points."""
    from penstock.kinds.points.box import Box
    from penstock.kinds.points.questions import parse_box

    _refuse_unless_points(opened, "--box")
    asked = parse_box(box, opened.schema)
    if not isinstance(asked, Box):
        return opened.query(asked)
    answer: Answer = opened.count(asked)  # type: ignore[attr-defined]  # every release of points has it
    return answer


def _count_strings(opened: Release, path: str) -> pl.DataFrame:
    """How often all strings of a file occur."""
    from penstock.releases.batch import answered

    ask = _of_sequences(opened, "count", "--counts")
    is_symbol = "string" in getattr(opened, "alphabet", ())
    return answered(path, "string", ask, named=not is_symbol)


def _count_conditions(opened: Release, path: str) -> pl.DataFrame:
    """The answers to all conditions of a file."""
    from penstock.errors import QueryError
    from penstock.releases.batch import answered

    if opened.kind == "sequences":
        raise QueryError("--file is for conditions on fields; strings of symbols are counted with --counts.")
    return answered(path, "condition", opened.query)


def _print_many(answers: pl.DataFrame, as_json: bool) -> None:
    from penstock.cli.screen import print_json

    if as_json:
        print_json(answers.to_dicts())
    else:
        print(answers.write_csv(), end="")


def _write_map(opened: Release, path: str) -> None:
    from penstock.cli.screen import clean, note
    from penstock.errors import QueryError

    save = getattr(opened, "save_geojson", None)
    if save is None:
        raise QueryError(f"--geojson is for trees of points, and this is a release of {opened.method}.")
    save(path)
    note(f"{clean(path)}: the released map.")


def _refuse_unless_points(opened: Release, option: str) -> None:
    from penstock.errors import QueryError

    if opened.kind != "points" or not hasattr(opened, "range_counts"):
        raise QueryError(
            f"{option} is for releases of points, and this one is of kind '{opened.kind}'; "
            "ask it with an EXPRESSION."
        )
