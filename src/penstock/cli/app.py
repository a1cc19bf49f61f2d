"""The `penstock` command: its subcommands, and what becomes of whatever goes wrong in them.

Exit codes: 0 done, 1 the input or the request is wrong, 2 the command line is wrong, 70 a bug in
Penstock, 130 interrupted (by another signal than Ctrl-C: 128 and its number). A traceback can quote
records, so none is shown unless `--debug` asks.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from penstock import __version__
from penstock.cli.screen import complain, paragraphs
from penstock.cli.signals import Heard, listening
from penstock.errors import PenstockError, PenstockWarning, UsageError

WRONG_INPUT, WRONG_USAGE, BUG, INTERRUPTED = 1, 2, 70, 130
_NO = ("", "0", "f", "false", "n", "no", "off")  # as the parser reads an environment variable

PANELS = {
    "draft": "Release",
    "review": "Release",
    "release": "Release",
    "select": "Release",
    "recover": "Release",
    "inspect": "Use a release",
    "sample": "Use a release",
    "query": "Use a release",
    "predict": "Use a release",
    "evaluate": "Keep watch",
    "audit": "Keep watch",
    "explain": "Find out",
    "methods": "Find out",
    "demo": "Find out",
    "ledger": "Keep watch",
    "stream": "Release",
}
"""Every command, a module of this room each, and where the help lists it."""

# The family of exceptions that the command-line parser raises; its home differs between versions of Typer.
_ParserError: type[Exception] = next(
    kind
    for kind in typer.BadParameter.__mro__
    if kind.__name__ == "ClickException" and issubclass(kind, Exception)
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"penstock {__version__}")
        raise typer.Exit


def penstock(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop."),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            envvar="PENSTOCK_DEBUG",
            help="Show tracebacks. They may quote your records: keep them to yourself.",
        ),
    ] = False,
) -> None:
    """Release sensitive data under differential privacy.

    Synthetic data, queryable models, and a receipt that says exactly what was spent.

    [bold]A first release[/bold]

        penstock draft people.csv
        penstock release people.csv --schema people.schema.yaml \\
            --epsilon 1 --out people-release
        penstock inspect people-release

    or see all of it on made-up data: [bold]penstock demo[/bold]
    """


@cache
def commands(only: str | None = None) -> Any:
    """All commands, or the one of a name: whoever asks for one need not wait for the others to be loaded.

    Put together once: whoever runs several in one process need not wait for it again.
    """
    app = typer.Typer(
        name="penstock",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Documentation is in docs/; every command has examples: [bold]penstock release --help[/bold].",
    )
    app.callback(help=paragraphs(penstock.__doc__))(penstock)
    for name in PANELS if only is None else (only,):
        module = import_module(f"penstock.cli.{name}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name, rich_help_panel=PANELS[name])
        else:
            command = getattr(module, name)
            app.command(name, rich_help_panel=PANELS[name], help=paragraphs(command.__doc__))(command)
    return typer.main.get_command(app)


def asked(arguments: Sequence[str]) -> Any:
    """What is to read a command line: one command where it names one, else all, who know what it may mean."""
    first = next((word for word in arguments if not word.startswith("-")), None)
    return commands(first if first in PANELS else None)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code. Every failure is a sentence or two on stderr."""
    debug = "--debug" in arguments or os.environ.get("PENSTOCK_DEBUG", "").lower() not in _NO
    with warnings.catch_warnings():
        if not debug:
            # A library's warning can quote records; ours are written for the terminal.
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", PenstockWarning)
            warnings.showwarning = _remark
        with listening() as heard:
            code = _run(arguments, debug=debug, heard=heard)
        return code if heard.number is None else 128 + heard.number


def _remark(message: Warning | str, *_: object, **__: object) -> None:
    complain(str(message))


def _run(arguments: Sequence[str], *, debug: bool, heard: Heard) -> int:
    try:
        code = asked(arguments)(list(arguments), prog_name="penstock", standalone_mode=False)
        sys.stdout.flush()
    except PenstockError as problem:
        if debug:
            raise
        complain(str(problem))
        return WRONG_USAGE if isinstance(problem, UsageError) else WRONG_INPUT
    except _ParserError as problem:
        return _explain_usage(problem)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`penstock … | head`): not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as problem:
        if heard.number is not None:  # a library made something else of the interruption
            return _interrupted()
        if debug:
            raise
        complain(
            f"Penstock failed in a way it should not ({type(problem).__name__}). Please report it with the "
            "command you ran; 'penstock --debug …' shows where it happened, but read that before you share "
            "it, because it may quote your records."
        )
        return BUG
    # Newer versions of Typer make this code of an interruption themselves.
    if code == INTERRUPTED:
        return _interrupted()
    return code if isinstance(code, int) else 0


def _interrupted() -> int:
    complain("Interrupted. Nothing is left half-written; what the ledger has booked stays booked.")
    return INTERRUPTED


def _explain_usage(problem: Exception) -> int:
    """The parser's complaint as one sentence, with the command whose help is worth reading."""
    context = getattr(problem, "ctx", None)
    command = context.command_path if context is not None else "penstock"
    if type(problem).__name__ == "NoArgsIsHelpError":
        print(getattr(context, "get_help", lambda: "")())
        return WRONG_USAGE
    message = getattr(problem, "format_message", lambda: str(problem))().strip().rstrip(".")
    complain(f"{message}{'' if message.endswith('?') else '.'} See '{command} --help'.")
    return WRONG_USAGE


def main() -> None:
    """The entry point of the `penstock` script."""
    sys.exit(run(sys.argv[1:]))
