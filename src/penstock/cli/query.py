"""`penstock query`: one number from a release, or a short list.

What can be asked is declared by the release (`penstock.releases.question`); which option stands for which
question is in the catalogue, beside the kind of data. So nothing here knows a kind.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock import catalogue
from penstock.catalogue import OptionInfo
from penstock.cli.options import Folder, Json

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from penstock.releases import Question, Release


def query(folder: Folder, expression: str | None = None, as_json: Json = False, **asked: str | None) -> None:
    """Ask a release how many records meet a condition, and more, at no further privacy cost.

    [bold]Examples[/bold]

        penstock query people-release "age < 30 and income > 2000"
        penstock query people-release "district in ('Seaby', 'Old Town')" --json
        penstock query people-release "age between 18 and 30 and income is not missing"
        penstock query people-release "age > 60" --mean income --by district
        penstock query people-release "age > 60" --by sex,district
        penstock query people-release --quantiles income=0.1,0.5,0.9
        penstock query people-release --histogram age --json
        penstock query people-release --sql "select district, avg(income) from release group by district"
        penstock query rides-release --box 0,5,2,8
        penstock query rides-release --box lon=-74..-73,lat=40..41
        penstock query rides-release --boxes districts.csv > counts.csv
        penstock query visits-release --count home,news,home
        penstock query visits-release --top 20
        penstock query visits-release --next home,news
        penstock query visits-release --counts strings.csv > counts.csv
        penstock query people-release --file conditions.txt --json

    Every answer says what it rests on: counted (with a 95 % error bar), spread evenly inside a bin, or the
    model (with a range where one is known, and whether that is counted or estimated). In a sum or a mean a
    bin counts with its mean. SQL says whether the model or a sample of rows has answered. Many questions
    from a file (--boxes, --counts, --file) are answered as CSV, the columns of the file with count, error,
    covers, low, high, range, rests_on and caveats added, or as JSON.
    """
    from penstock.errors import UsageError
    from penstock.releases import load

    given = {name.replace("_", "-"): text for name, text in asked.items() if text is not None}
    narrowed = [name for name in given if options()[name].narrowed]
    by = given.pop(BY) if BY in given and len(narrowed) == 2 else None
    if len(given) + (expression is not None and not narrowed) != 1:
        names = ", ".join(f"--{name}" for name in options())
        raise UsageError(f"Ask one question: an EXPRESSION, or one of {names}.")
    opened = load(folder)
    if not given:
        assert expression is not None
        show(opened.query(expression), expression, as_json)
        return
    ((name, text),) = given.items()
    option = options()[name]
    question = _declared(opened, option)
    if expression is not None or by is not None:
        if question.narrowed is None:
            raise UsageError(f"--{name} is asked of all records; leave the EXPRESSION out.")
        words = [f"{name} {text}", *([f"by {by}"] if by else []), *([expression] if expression else [])]
        show(question.narrowed(text, expression, by), ", ".join(words), as_json)
    elif option.many:
        if question.many is None:
            raise TypeError(f"--{name} takes a file, and the question takes none")
        _print_many(question.many(text), as_json)
    else:
        show(question.ask(text), f"{name} {text}", as_json)


BY = "by"
"""The option that tells records apart, and may stand beside another one that is narrowed."""


def options() -> dict[str, OptionInfo]:
    """The options that ask something, by name, in the order of the kinds."""
    return {option.name: option for kind in catalogue.kinds() for option in kind.options}


def _kinds_of(option: OptionInfo) -> list[str]:
    return [kind.name for kind in catalogue.kinds() if option in kind.options]


def with_options() -> None:
    """Give the command the options of all kinds, in place of the mapping that collects them."""
    query.__signature__ = None  # type: ignore[attr-defined]  # that of the function itself
    plain = inspect.signature(query)
    fixed = {name: each for name, each in plain.parameters.items() if name != "asked"}
    expression = typer.Argument(
        metavar="EXPRESSION", show_default=False, help="A condition on the fields of the release."
    )
    fixed["expression"] = fixed["expression"].replace(annotation=Annotated[str | None, expression])
    added = {
        name: inspect.Parameter(
            name.replace("-", "_"),
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                str | None,
                typer.Option(
                    f"--{name}",
                    metavar=option.metavar,
                    show_default=False,
                    help=f"For {' and '.join(_kinds_of(option))}: {option.help}",
                ),
            ],
        )
        for name, option in options().items()
    }
    as_json = fixed.pop("as_json").replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=Json)
    fixed["folder"] = fixed["folder"].replace(annotation=Folder)
    parameters = [*fixed.values(), *added.values(), as_json]
    query.__signature__ = plain.replace(parameters=parameters)  # type: ignore[attr-defined]
    query.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": None}


with_options()

MOST_NOTES = 8
"""Sentences below a list of answers."""


def _declared(opened: Release, option: OptionInfo) -> Question:
    """The question that an option stands for, or why this release cannot be asked so."""
    from penstock.errors import QueryError

    found = opened.questions()
    if option.question in found:
        return found[option.question]
    kinds, instead = _kinds_of(option), _instead(opened, found, option.many)
    if opened.kind not in kinds:
        raise QueryError(
            f"--{option.name} is for releases of {' and '.join(kinds)}, and this one is of kind "
            f"'{opened.kind}'; {instead}."
        )
    raise QueryError(f"A {opened.method} release cannot be asked with --{option.name}; {instead}.")


def _instead(opened: Release, found: Mapping[str, Question], many: bool) -> str:
    """What can be asked, and how: with a file where a file was given."""
    known = [option for option in options().values() if opened.kind in _kinds_of(option)]
    ways = []
    for name, question in found.items():
        able = [option for option in known if option.question == name]
        able.sort(key=lambda option: option.many is not many)
        fits = able and (able[0].many is many or not able[0].many)
        ways.append(f"{question.words} with {f'--{able[0].name}' if fits else 'an EXPRESSION'}")
    return ", ".join(ways) if ways else "there is nothing that it can be asked"


def show(answer: Any, question: str, as_json: bool) -> None:
    """A number, a list, or what was written."""
    from penstock.cli.screen import clean, note, print_json, screen
    from penstock.releases import Answer, Written
    from penstock.releases.sql import Selected

    if isinstance(answer, Selected):
        if as_json:
            print_json(answer.to_dict())
        else:
            screen().print(_listed(answer.shown()))
            for caveat in answer.caveats:
                screen().print(f"  {clean(caveat)}", style="dim")
    elif isinstance(answer, Written):
        if as_json:
            print_json({"question": question, "written": str(answer.path), "holds": answer.text})
        note(f"{clean(answer.path)}: {answer.text}.")
    elif isinstance(answer, Answer):
        if as_json:
            print_json({"question": question, **answer.to_dict()})
        else:
            screen().print(str(answer), markup=False)
            for caveat in answer.caveats:
                screen().print(f"  {clean(caveat)}", style="dim")
    elif as_json:
        print_json({"question": question, "rows": answer.to_dicts()})
    else:
        screen().print(_listed(_told(answer)))
        for caveat in _caveats(answer):
            screen().print(f"  {clean(caveat)}", style="dim")


def _caveats(rows: pl.DataFrame) -> list[str]:
    """What is said of all answers of a list, each sentence once."""
    told = rows["caveats"].to_list() if "caveats" in rows.columns else []
    return list(dict.fromkeys(text for text in told if text))[:MOST_NOTES]


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    """A list of answers for people: what they rest on in one column, caveats below the list."""
    import polars as pl

    from penstock.releases.batch import ANSWERED
    from penstock.report.numbers import readable

    if not {"low", "high", "range", "rests_on"} <= set(rows.columns):
        return rows
    ranges = []
    for row in rows.iter_rows(named=True):
        likely = "likely " if row["range"] == "estimated" else ""
        ends = "" if row["low"] is None else f"{likely}{readable(row['low'])} to {readable(row['high'])}"
        ranges.append(ends)
    hidden = [name for name in ANSWERED if name not in ("error", "rests_on")]
    told = rows.drop(hidden)
    if any(ranges):
        told = told.insert_column(told.width - 1, pl.Series("between", ranges))
    return told.rename({"rests_on": "rests on"})


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


def _print_many(answers: pl.DataFrame, as_json: bool) -> None:
    from penstock.cli.screen import print_json

    if as_json:
        print_json(answers.to_dicts())
    else:
        print(answers.write_csv(), end="")
