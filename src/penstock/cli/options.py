"""Arguments and options that several commands share, and how their text becomes values."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from penstock.catalogue import ENGINES, MethodInfo
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.releases import Release

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, Parquet or Arrow file, a folder or pattern of them, or a database URL (with --table).",
        show_default=False,
    ),
]
Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="The folder of a release.", show_default=False)]
TableName = Annotated[str | None, typer.Option("--table", help="The table, when FILE is a database URL.")]
HeaderNames = Annotated[
    str | None,
    typer.Option(
        "--header",
        metavar="NAMES",
        show_default=False,
        help="Names for the columns of a text file that has none: name,age,income. "
        "'first' insists that its first row holds the names.",
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first row of the text file is a record; its columns are called column_1, column_2, …",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
LedgerUrl = Annotated[
    str | None,
    typer.Option("--ledger", metavar="URL", help="The ledger to book in: a file name or an SQLAlchemy URL."),
]
AccountName = Annotated[
    str | None,
    typer.Option("--account", metavar="NAME", help="The account in the ledger: your own name for the data."),
]
HoldsAtMost = Annotated[
    int | None,
    typer.Option(
        "--holds-at-most",
        min=1,
        metavar="N",
        show_default=False,
        help="For an account about another unit than the release: one of the account's (a user, say) has a "
        "part in at most N of what is protected here (records, say) in these data. Booked at the price of N, "
        "or of 2 N where units overlap (patients and hospitals).",
    ),
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
    str,
    typer.Option(
        "--engine",
        metavar="|".join(("auto", *ENGINES)),
        help="Where to count a table: in memory, in DuckDB when it is large, or on Spark (Parquet alone).",
    ),
]
Spill = Annotated[
    str | None,
    typer.Option(
        "--spill",
        metavar="FOLDER",
        show_default=False,
        help="Where DuckDB writes records that do not fit into memory: in clear, in a folder that only you "
        "can read, until the end. An encrypted disk is a good place.",
    ),
]
NoSpill = Annotated[
    bool,
    typer.Option("--no-spill", help="Never write records to disk; refuse what does not fit into memory."),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        show_default=False,
        help="At most so much memory for the command, such as 4GiB; longer files are then counted in DuckDB.",
    ),
]


def _tell_libraries(threads: int | None) -> int | None:
    """Libraries that ask the environment once, when they are loaded, are told before that."""
    if threads is not None:
        for name in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
            os.environ[name] = str(threads)
    return threads


Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        show_default=False,
        callback=_tell_libraries,
        help="At most so many processors.",
    ),
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


def header(names: str | None, none: bool) -> str | None:
    """What --header and --no-header say together."""
    if none and names is not None:
        raise UsageError("--header gives names, and --no-header says that there are none; drop one of them.")
    return "none" if none else names


def parameters(pairs: Sequence[str], info: MethodInfo) -> dict[str, Any]:
    """`--param name=value` pairs as values of the parameters that the method declares."""
    from penstock.contracts.plug import method_class

    declared = {parameter.name: parameter for parameter in method_class(info).parameters()}
    values: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key:
            raise UsageError(f"--param takes name=value, such as --param side=40, not '{pair}'.")
        if key in values:
            raise UsageError(f"--param {key} is given twice; keep one of them.")
        values[key] = declared[key].read(text.strip()) if key in declared else text
    return values


def spilling_to(spill: str | None, no_spill: bool) -> str | Literal[False] | None:
    """What --spill and --no-spill say together."""
    if no_spill and spill is not None:
        raise UsageError("--spill names a folder and --no-spill forbids one; keep one of them.")
    return False if no_spill else spill


def note_caveats(made: Release, command: str) -> None:
    """Say what the guarantee of what was made does not cover, and whether it is one at all."""
    from penstock.cli.screen import note

    if made.receipt.ledger is None:
        note("Booked in no ledger: nobody adds this release up with the others from the same data.")
    if made.unreviewed:
        note(
            f"[bold yellow]Made with {len(made.unreviewed)} unreviewed facts;[/] the guarantee does not "
            "cover what they give away, and the release says so."
        )
    if not made.receipt.publishable:
        note(
            "[bold red]NOT PUBLISHABLE:[/] the noise came from a fixed seed, and whoever knows the seed can "
            f"take it off again. Run 'penstock {command}' without --seed to publish."
        )
    if not made.schema.publishable:
        note(
            "[bold red]NOT PUBLISHABLE:[/] the schema was drafted with a fixed seed, and whoever knows it "
            "can undo the noise of its facts. Draft it again without one."
        )
