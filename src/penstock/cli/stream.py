"""`penstock stream`: a living release that is fed line by line, asked now and then, and private at every
moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock import catalogue
from penstock.cli.options import AccountName, Epsilon, HoldsAtMost, Json, LedgerUrl, SchemaFile, Seed
from penstock.cli.screen import paragraphs

if TYPE_CHECKING:
    from penstock.kinds.stream.living import Living

_KIND = next(info.name for info in catalogue.every_kind() if info.living)
_SKETCHES = ", ".join(info.name for info in catalogue.sketches(_KIND))
_QUESTIONS = ", ".join(dict.fromkeys(name for info in catalogue.sketches(_KIND) for name in info.questions))

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help=paragraphs("""Count a stream of updates without keeping it.

    Its state is private at every moment: whoever seizes it learns next to nothing about one id.

    [bold]Examples[/bold]

        penstock stream open visitors.state --schema visitors.schema.yaml \\
            --epsilon 3 --answers 24
        tail -f access.log | penstock stream feed visitors.state --field 1
        penstock stream ask visitors.state
        penstock stream close visitors.state
    """),
)

State = Annotated[str, typer.Argument(metavar="STATE", show_default=False, help="The folder of a stream.")]


def open_(
    state: Annotated[
        str, typer.Argument(metavar="STATE", show_default=False, help="A new folder for the stream.")
    ],
    schema: SchemaFile,
    epsilon: Epsilon,
    answers: Annotated[
        int, typer.Option("--answers", "-n", min=1, metavar="N", help="How many answers that is to pay for.")
    ] = 1,
    state_share: Annotated[
        str,
        typer.Option("--state-share", metavar="SHARE", help="Which part of epsilon pays for the counters."),
    ] = "1/2",
    sketch: Annotated[
        str, typer.Option("--sketch", metavar="NAME", help=f"What remembers the stream: {_SKETCHES}.")
    ] = catalogue.default_sketch(_KIND).name,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            show_default=False,
            help="A parameter of the sketch; may be repeated.",
        ),
    ] = None,
    ledger: LedgerUrl = None,
    account: AccountName = None,
    holds_at_most: HoldsAtMost = None,
    seed: Seed = None,
) -> None:
    """Begin a stream: pay for the noise of its counters, and make the folder STATE.

    The schema says how many ids there may be, how large a total gets at most, and which neighbours are
    compared: 'replace' (updates move from one id to another) or 'add-remove' (all updates of an id).

    [bold]Examples[/bold]

        penstock stream open visitors.state -s visitors.schema.yaml -e 3 -n 24
        penstock stream open visitors.state -s visitors.schema.yaml -e 3 -n 24 \\
            --param width=65536 --ledger ledger.db --account visitors
        penstock stream open visits.state -s visits.schema.yaml -e 2 \\
            --sketch pp-incidence
    """
    from penstock.cli.screen import ACCENT, clean, note
    from penstock.kinds.stream.living import living_class
    from penstock.schema import Schema

    found = living_class(sketch)
    made = found(
        Schema.load(schema),
        epsilon=epsilon,
        answers=answers,
        state_share=state_share,
        folder=state,
        ledger=ledger,
        account=account,
        holds_at_most=holds_at_most,
        seed=seed,
        **_parameters(param or [], found.sketch_class.parameters(), sketch),
    )
    note(f"[{ACCENT}]{clean(state)}[/]: {clean(made.guarantee)}.")
    note(f"{made.left}; feed it with 'penstock stream feed {clean(state)}'.")
    if made.receipt.ledger is None:
        note("Booked in no ledger: nobody adds this stream up with other releases about the same people.")
    _note_seed(made)


def _parameters(given: list[str], known: Any, sketch: str) -> dict[str, Any]:
    from penstock.errors import UsageError

    by_name = {each.name: each for each in known}
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in by_name:
            raise UsageError(
                f"'{text:.60}' sets no parameter of {sketch}; write NAME=VALUE with {', '.join(by_name)}. "
                "Nothing was spent."
            )
        found[name] = by_name[name].read(value)
    return found


def feed(
    state: State,
    lines: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", show_default=False, help="Read this instead of standard input."),
    ] = None,
    field: Annotated[
        int | None,
        typer.Option(
            "--field",
            "-f",
            min=1,
            metavar="N",
            show_default=False,
            help="The id is the Nth word of each line, as in a log; every line is one insert.",
        ),
    ] = None,
    every: Annotated[
        float,
        typer.Option("--write-every", metavar="SECONDS", min=0.0, help="How far the disk may lag behind."),
    ] = 1.0,
    step_every: Annotated[
        float | None,
        typer.Option(
            "--step-every",
            metavar="SECONDS",
            min=0.0,
            show_default=False,
            help="End a step of a running count after so many seconds, again and again.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Feed the lines of standard input, or of a file, to a stream, until they end.

    A line is an id, which is then inserted once; or an id, a tab and a whole number, such as -1 to take it
    out again. Each line is forgotten as soon as it is counted, and read by itself: one that is no update is
    left out, and told of. Ctrl-C ends the feeding, and whatever was read until then has been counted.

    [bold]Examples[/bold]

        tail -f access.log | penstock stream feed visitors.state --field 1
        penstock stream feed visitors.state yesterday.log --field 1
        cut -d, -f1 log.csv | penstock stream feed visitors.state
        tail -f clicks.log | penstock stream feed clicks.state --step-every 60
    """
    import sys
    from contextlib import nullcontext

    from penstock.cli.screen import clean, note, print_json
    from penstock.kinds.stream.feeding import feed as pour
    from penstock.kinds.stream.feeding import opened
    from penstock.kinds.stream.living import load

    with load(state) as living:
        living.refuse_change()
        if lines is None and sys.stdin.isatty():
            note("Reading from the terminal; end with Ctrl-D.")
        with nullcontext(sys.stdin.buffer) if lines is None else opened(lines) as source:
            fed = pour(
                living,
                source.fileno(),
                field=field,
                every=every,
                step=step_every,
                say=lambda text: note(clean(text)),
            )
        if step_every is not None:
            _write_page(living, state)
    if as_json:
        print_json(
            {
                "state": state,
                "updates": fed.updates,
                "left_out": fed.left_out,
                "interrupted": fed.interrupted,
            }
        )
    else:
        odd = f", {fed.left_out:,} left out" if fed.left_out else ""
        ended = ", then interrupted" if fed.interrupted else ""
        note(f"{clean(state)}: {fed.updates:,} updates fed{odd}{ended}.")
    if fed.interrupted:
        raise typer.Exit(130)


def ask(
    state: State,
    question: Annotated[
        str | None,
        typer.Argument(metavar="[QUESTION]", show_default=False, help=f"One of {_QUESTIONS}."),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            "--at", metavar="NUMBER", show_default=False, help="The number that belongs to the question."
        ),
    ] = None,
    share: Annotated[
        str | None,
        typer.Option(
            "--share",
            metavar="SHARE",
            show_default=False,
            help="Instead of --at: that number is this share of the weight of the whole stream.",
        ),
    ] = None,
    ledger: LedgerUrl = None,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Ask a stream, and pay for the answer; another process may go on feeding it.

    Every answer stands in the stream's book and on its page, STATE/report.html, with its error bar.

    [bold]Examples[/bold]

        penstock stream ask visitors.state
        penstock stream ask visitors.state density --json
        penstock stream ask visits.state incidence --at 3
        penstock stream ask visits.state heavy-hitters --share 1/100
    """
    from penstock.cli.screen import clean, note, print_json, screen
    from penstock.errors import UsageError
    from penstock.kinds.stream.living import load

    living = load(state, writing=False)
    if share is not None:
        if at is not None:
            raise UsageError("Give --at or --share, not both. Nothing was spent.")
        at = living.threshold(share)
    reading = living.answer(question, at, ledger=ledger, seed=seed)
    _write_page(living, state)
    if as_json:
        print_json({"state": state, **reading.to_dict(), "answers_left": living.answers_left})
        return
    screen().print(clean(reading))
    note(f"{living.left}. Report: {clean(state)}/report.html")
    _note_seed(living)


def close(state: State, as_json: Json = False) -> None:
    """End a stream: its counters are overwritten and removed, its answers and its receipt stay.

    [bold]Examples[/bold]

        penstock stream close visitors.state
    """
    from penstock.cli.screen import clean, note, print_json
    from penstock.kinds.stream.living import load

    with load(state) as living:
        receipt = living.close()
        _write_page(living, state)
    if as_json:
        print_json({"state": state, "closed": living.book.closed, "receipt": receipt.to_dict()})
        return
    note(f"{clean(state)}: closed; {clean(receipt.guarantee)}. Report: {clean(state)}/report.html")


def show(state: State, as_json: Json = False) -> None:
    """Show what a stream was asked and what was paid; costs nothing.

    [bold]Examples[/bold]

        penstock stream show visitors.state
        penstock stream show visitors.state --json
    """
    from rich.table import Table

    from penstock.cli.screen import clean, print_json, screen
    from penstock.kinds.stream.living import load

    living = load(state, writing=False)
    if as_json:
        print_json(
            {
                "state": state,
                "sketch": living.info().name,
                "parameters": living.book.parameters,
                "answers": [reading.to_dict() for reading in living.history],
                "answers_left": living.answers_left,
                "closed": living.book.closed,
                "receipt": living.receipt.to_dict(),
            }
        )
        return
    out = screen()
    out.print(f"{clean(living.info().name)}: {clean(living.guarantee)}.")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for title in ("asked", "question", "answer", "epsilon"):
        table.add_column(title)
    for reading in living.history:
        asked = reading.question + ("" if reading.at is None else f" {reading.at}")
        table.add_row(clean(reading.asked), clean(asked), clean(reading), clean(reading.epsilon))
    out.print(table)
    out.print(f"{living.left}." if living.book.closed is None else "Closed.")


def step(state: State, seed: Seed = None, as_json: Json = False) -> None:
    """End a step of a running count, and tell the count until then; it was paid for at the opening.

    [bold]Examples[/bold]

        penstock stream step clicks.state
    """
    from penstock.cli.screen import clean, print_json, screen
    from penstock.kinds.stream.living import load

    with load(state) as living:
        reading = living.step(seed=seed)
        _write_page(living, state)
    if as_json:
        print_json({"state": state, **reading.to_dict()})
    else:
        screen().print(clean(reading))


def rerandomise(state: State, ledger: LedgerUrl = None, seed: Seed = None) -> None:
    """Draw new noise after an intrusion that was noticed; costs the state's share of epsilon once more.

    [bold]Examples[/bold]

        penstock stream rerandomise visitors.state
    """
    from penstock.cli.screen import clean, note
    from penstock.kinds.stream.living import load

    with load(state) as living:
        living.rerandomise(ledger=ledger, seed=seed)
    note(f"{clean(state)}: drawn anew; {clean(living.guarantee)}.")


def _write_page(living: Living[Any], state: str) -> None:
    from penstock.cli.screen import clean, note
    from penstock.kinds.stream.page import write_page

    if problem := write_page(living, state):
        note(clean(problem))


def _note_seed(living: Living[Any]) -> None:
    from penstock.cli.screen import note

    if not living.receipt.publishable:
        note(
            "[bold red]NOT PUBLISHABLE:[/] noise came from a fixed seed, and whoever knows the seed can take "
            "it "
            "off again."
        )


for _command in (open_, feed, ask, step, show, rerandomise, close):
    app.command(_command.__name__.rstrip("_"), help=paragraphs(_command.__doc__))(_command)
