"""`penstock query`: one number from a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import Folder, Json

if TYPE_CHECKING:
    from penstock.release import Answer, Release


def query(
    folder: Folder,
    expression: Annotated[
        str | None,
        typer.Argument(
            metavar="EXPRESSION", show_default=False, help="A condition on the fields of the release."
        ),
    ] = None,
    box: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH,…",
            show_default=False,
            help="For points: the number inside a box, low,high for each dimension.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask a release how many records meet a condition, at no further privacy cost.

    [bold]Examples[/bold]

        penstock query people-release "age < 30 and income > 2000"
        penstock query people-release "district in ('Seaby', 'Old Town')" --json
        penstock query rides-release --box 0,5,2,8
    """
    from penstock.cli.screen import print_json, screen
    from penstock.errors import UsageError
    from penstock.release import load

    if (expression is None) == (box is None):
        raise UsageError("Ask one question: either an EXPRESSION or a --box.")
    opened = load(folder)
    if box is not None:
        answer = _count_in(opened, box)
    else:
        assert expression is not None
        answer = opened.query(expression)
    if as_json:
        print_json({"question": expression if box is None else f"box {box}", **answer.to_dict()})
    else:
        screen().print(str(answer), markup=False)


def _count_in(opened: Release, box: str) -> Answer:
    """The number of points in a box, for releases of points."""
    from penstock.errors import QueryError
    from penstock.spatial.box import Box

    count = getattr(opened, "count", None)
    if opened.kind != "points" or count is None:
        raise QueryError(
            f"--box is for releases of points, and this one is of kind '{opened.kind}'; "
            "ask it with an EXPRESSION."
        )
    answer: Answer = count(Box.parse(box))
    return answer
