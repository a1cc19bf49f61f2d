"""`penstock demo`: the whole of it on made-up data, with the commands printed as they run."""

from __future__ import annotations

import shlex
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
            help="table: a household survey; points: bicycle rides on a map; calls: phones in a city.",
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
        penstock demo --data-only survey.csv
    """
    from penstock.cli.draft import write
    from penstock.cli.screen import clean, note, screen
    from penstock.errors import UsageError
    from penstock.releases import check_destination

    story = next((each for each in _STORIES if each.kind == kind), None)
    if story is None:
        known = " or ".join(each.kind for each in _STORIES)
        raise UsageError(f"The demo has made-up data of kind {known}, not '{kind}'.")
    if data_only is not None:
        if Path(data_only).exists():
            raise UsageError(f"'{data_only}' exists already; choose another file.")
        write(Path(data_only), story.data().write_csv())
        note(f"{clean(data_only)}: {story.what}")
        return
    check_destination(out)
    office = Path(f"{out.rstrip('/')}-custodian")
    office.mkdir(parents=True, exist_ok=True)
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
    if not ledger.exists():
        step("Open a ledger, and decide what these data may cost in all", "ledger", "init", str(ledger))
    step("", "ledger", "limit", str(ledger), account, "--epsilon", "10")
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
    step(story.first, "query", out, story.counted)
    step(story.then, "query", out, story.assumed)
    step("Anybody can draw as many rows as they like", "sample", out, "-n", "5")
    step(
        "Only you can compare it with the records",
        "evaluate",
        out,
        str(data),
        "--out",
        str(office / "evaluation.html"),
    )
    step("And the ledger remembers", "ledger", "show", str(ledger))
    endings = (
        ("The release, to publish", f"{out.rstrip('/')}/"),
        ("Its report", Path(out).resolve() / "report.html"),
        ("For your eyes only", (office / "evaluation.html").resolve()),
    )
    tell.print()
    for what, place in endings:
        tell.print(f"{what + ':':25} [bold]{clean(place)}[/]", soft_wrap=True)


def step(remark: str, *arguments: str) -> None:
    """Print a command the way a user would type it, and run it."""
    from penstock.cli.app import app
    from penstock.cli.screen import ACCENT, clean, screen

    out = screen()
    if remark:
        out.print(f"\n[bold]{remark}[/]")
    out.print(f"[{ACCENT}]$ penstock {clean(' '.join(map(_typed, arguments)))}[/]", soft_wrap=True)
    app(list(arguments), prog_name="penstock", standalone_mode=False)


def _typed(word: str) -> str:
    """A word as one would type it in a shell."""
    return f'"{word}"' if " " in word and not set(word) & set('"$`\\') else shlex.quote(word)


@dataclass(frozen=True)
class _Story:
    kind: str
    what: str
    file: str
    counted: str
    assumed: str
    made_up: str
    first: str = "Anybody can ask it: what was counted has an error bar"
    then: str = "What rests on an assumption has none"

    def data(self) -> pl.DataFrame:
        from penstock.demo import DATASETS

        return DATASETS[self.made_up][0]()

    def schema(self) -> str:
        from penstock.demo import DATASETS

        return DATASETS[self.made_up][1]()


_STORIES = (
    _Story(
        "table",
        "The Lindland household survey: 10,000 people who never lived, 12 columns.",
        "survey.csv",
        "commute = 'bicycle'",
        "income > 2000 and commute = 'bicycle'",
        "survey",
    ),
    _Story(
        "points",
        "Bicycle rides: 20,000 starting points in a town that does not exist.",
        "rides.csv",
        "x_km < 10 and y_km >= 7",
        "x_km < 8.3",
        "rides",
    ),
    _Story(
        "calls",
        "A week of phone calls: 5,000 callers in a city that does not exist.",
        "phones.csv",
        "lat=40.6..40.9,lon=-74.2..-73.8 at 9",
        "lat=40.6..40.9,lon=-74.2..-73.8 at 21",
        "phones",
        "Anybody can ask it: how many calls are made in the core at 9 in the morning",
        "And how many at 9 in the evening",
    ),
)
