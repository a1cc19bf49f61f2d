"""`penstock demo`: the whole of it on made-up data, with the commands printed as they run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import polars as pl


def demo(
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="A new folder for the release.")
    ] = "demo-release",
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="table: a household survey; points: bicycle rides on a map; sequences: visits to a site; "
            "itemsets: loans of a library; graph: friendships at a school; calls: phones in a city; "
            "stream: a web server's log.",
        ),
    ] = "table",
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", metavar="E", help="What the release may cost.")
    ] = "1",
    data_only: Annotated[
        str | None,
        typer.Option(
            "--data-only",
            metavar="FILE.csv",
            show_default=False,
            help="Only write the demo's data, to play with yourself.",
        ),
    ] = None,
) -> None:
    """Release a bundled, made-up dataset from end to end, without a network.

    The release goes to FOLDER; what only its custodian should see (the data, the ledger, the
    evaluation) goes to FOLDER-custodian.

    [bold]Examples[/bold]

        penstock demo
        penstock demo --kind points --out rides-release
        penstock demo --kind stream --out readers
        penstock demo --data-only survey.csv
    """
    from penstock.cli.draft import write
    from penstock.cli.screen import clean, screen
    from penstock.errors import UsageError
    from penstock.releases import check_destination

    if kind == _LIVING:
        _live(out, epsilon, data_only)
        return
    story = next((each for each in _STORIES if each.kind == kind), None)
    if story is None:
        known = " or ".join((*(each.kind for each in _STORIES), _LIVING))
        raise UsageError(f"The demo has made-up data of kind {known}, not '{kind}'.")
    if data_only is not None:
        _data_only(data_only, story.data().write_csv(), story.what)
        return
    check_destination(out)
    office = _desk(out)
    data, schema, ledger = (
        office / story.file,
        office / f"{Path(story.file).stem}.schema.yaml",
        office / "ledger.db",
    )
    draft = schema.with_suffix(".draft.yaml")
    account = Path(story.file).stem
    write(data, story.data().write_csv())
    tell = screen()
    tell.print(f"\n[bold]{story.what}[/] Its custodian is you, your desk {clean(office)}/.")

    step(
        "Propose a schema; what was read off the records is marked for review",
        "draft",
        str(data),
        "-o",
        str(draft),
        "--kind",
        kind,
        "--force",
    )
    write(schema, story.schema())
    tell.print(
        f"You compare the draft with what is public anyway, correct it, and keep it as {clean(schema)}."
    )
    _account(ledger, account)
    step(
        "Release: everything is checked first, then paid for, then written",
        "release",
        str(data),
        "--schema",
        str(schema),
        "--epsilon",
        epsilon,
        "--ledger",
        str(ledger),
        "--account",
        account,
        "--out",
        out,
    )
    step("What anybody can see of it", "inspect", out)
    step(story.first, "query", out, *story.counted)
    step(story.then, "query", out, *story.assumed)
    step(
        "Anybody can draw as much as they like of it",
        "sample",
        out,
        *(word.format(desk=office) for word in story.drawn),
    )
    step(
        "Only you can compare it with the records",
        "evaluate",
        out,
        str(data),
        "--out",
        str(office / "evaluation.html"),
    )
    step("And the ledger remembers", "ledger", "show", str(ledger))
    _ending(out, office / "evaluation.html")


def _live(out: str, epsilon: str, data_only: str | None) -> None:
    """The story of a stream: nobody keeps the log, and what remembers it is erased in the end."""
    from penstock.catalogue import default_sketch
    from penstock.cli.draft import write
    from penstock.cli.screen import clean, screen
    from penstock.demo import log_schema, quarters_of_a_day
    from penstock.releases import check_destination

    parts = quarters_of_a_day()
    what = f"A day of a library's web server: {sum(map(len, parts)):,} requests of readers who do not exist."
    if data_only is not None:
        _data_only(data_only, "".join(line for part in parts for line in part), what)
        return
    check_destination(out)
    office = _desk(out)
    schema, ledger = office / "readers.schema.yaml", office / "ledger.db"
    write(schema, log_schema())
    tell = screen()
    tell.print(f"\n[bold]{what}[/] Its custodian is you, your desk {clean(office)}/.")
    tell.print(f"What is public about it you have written down in {clean(schema)}.")
    _account(ledger, "readers", "--unit", default_sketch(_LIVING).unit)
    step(
        "Open the stream: its counters begin as noise, which is paid for",
        *("stream", "open", out, "--schema", str(schema), "--epsilon", epsilon, "--answers", "4"),
        *("--ledger", str(ledger), "--account", "readers"),
    )
    remark = "A server would pipe its log: tail -f access.log | penstock stream feed ... --field 1"
    known: set[str] = set()
    for until, part in zip(("6 in the morning", "noon", "6 in the evening", "midnight"), parts, strict=True):
        requests = office / "requests.log"
        write(requests, "".join(part))
        step(remark, "stream", "feed", out, str(requests), "--field", "1")
        requests.unlink()
        known |= {line.partition(" ")[0] for line in part}
        remark = ""
        step(
            f"How many different readers until {until}? You happen to know: {len(known):,}",
            "stream",
            "ask",
            out,
        )
    step("What anybody may see of it", "stream", "show", out)
    step("Erase the counters; answers and receipt stay", "stream", "close", out)
    step("And the ledger remembers", "ledger", "show", str(ledger))
    _ending(out, None)


def _data_only(path: str, text: str, what: str) -> None:
    from penstock.cli.draft import write
    from penstock.cli.screen import clean, note
    from penstock.errors import UsageError

    if Path(path).exists():
        raise UsageError(f"'{path}' exists already; choose another file.")
    write(Path(path), text)
    note(f"{clean(path)}: {what}")


def _desk(out: str) -> Path:
    """Where the custodian keeps what nobody else should see."""
    office = Path(f"{out.rstrip('/')}-custodian")
    office.mkdir(parents=True, exist_ok=True)
    return office


def _account(ledger: Path, account: str, *more: str) -> None:
    if not ledger.exists():
        step("Open a ledger, and decide what these data may cost in all", "ledger", "init", str(ledger))
    step("", "ledger", "limit", str(ledger), account, "--epsilon", "10", *more)


def _ending(out: str, evaluation: Path | None) -> None:
    from penstock.cli.screen import clean, screen

    tell = screen()
    tell.print()
    endings = [
        ("The release, to publish", f"{out.rstrip('/')}/"),
        ("Its report", Path(out).resolve() / "report.html"),
        *([] if evaluation is None else [("For your eyes only", evaluation.resolve())]),
    ]
    for what, place in endings:
        tell.print(f"{what + ':':25} [bold]{clean(place)}[/]", soft_wrap=True)


def step(remark: str, *arguments: str) -> None:
    """Print a command the way a user would type it, and run it."""
    from penstock.cli.app import asked
    from penstock.cli.screen import ACCENT, clean, screen
    from penstock.releases.public_report import typed

    out = screen()
    if remark:
        out.print(f"\n[bold]{remark}[/]")
    out.print(f"[{ACCENT}]$ penstock {clean(' '.join(map(typed, arguments)))}[/]", soft_wrap=True)
    asked(arguments)(list(arguments), prog_name="penstock", standalone_mode=False)


@dataclass(frozen=True)
class _Story:
    kind: str
    what: str
    file: str
    counted: tuple[str, ...]
    assumed: tuple[str, ...]
    made_up: str
    first: str = "Anybody can ask it: what was counted has an error bar"
    then: str = "What rests on an assumption has none"
    drawn: tuple[str, ...] = ("-n", "5")

    def data(self) -> pl.DataFrame:
        from penstock.demo import DATASETS

        return DATASETS[self.made_up][0]()

    def schema(self) -> str:
        from penstock.demo import DATASETS

        return DATASETS[self.made_up][1]()


_LIVING = "stream"
_STORIES = (
    _Story(
        "table",
        "The Lindland household survey: 10,000 people who never lived, 12 columns.",
        "survey.csv",
        ("commute = 'bicycle'",),
        ("income > 2000 and commute = 'bicycle'",),
        "survey",
    ),
    _Story(
        "points",
        "Bicycle rides: 20,000 starting points in a town that does not exist.",
        "rides.csv",
        ("x_km < 10 and y_km >= 7",),
        ("x_km < 8.3",),
        "rides",
    ),
    _Story(
        "sequences",
        "A month on a library's site: 20,000 visits of people who do not exist.",
        "visits.csv",
        ("--count", "search,book,reserve"),
        ("--next", "search,book"),
        "visits",
        "Anybody can ask it: how often does a search end in a reservation",
        "And what do visitors do after a search that found a book",
    ),
    _Story(
        "itemsets",
        "A year of loans: what 8,000 readers borrowed from a library that does not exist.",
        "loans.csv",
        ("--count", "novels,crime"),
        ("--rules", "5"),
        "loans",
        "Anybody can ask it: how many readers borrow both novels and crime stories",
        "And what goes with what",
    ),
    _Story(
        "graph",
        "Friendships of 600 pupils at a school that does not exist.",
        "friends.csv",
        ("--pattern", "triangle"),
        ("--pattern", "3-star"),
        "friends",
        "Anybody can ask it: how many threes are all friends with each other",
        "And how many pupils stand between three others",
        ("--out", "{desk}/another-graph.csv"),
    ),
    _Story(
        "calls",
        "A week of phone calls: 5,000 callers in a city that does not exist.",
        "phones.csv",
        ("lat=40.6..40.9,lon=-74.2..-73.8 at 9",),
        ("lat=40.6..40.9,lon=-74.2..-73.8 at 21",),
        "phones",
        "Anybody can ask it: how many calls are made in the core at 9 in the morning",
        "And how many at 9 in the evening",
    ),
)
