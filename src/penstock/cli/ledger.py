"""`penstock ledger`: what was spent on which data, kept by the custodian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from penstock.cli.options import Json
from penstock.cli.screen import paragraphs

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.privacy.ledger.entries import Balance
    from penstock.privacy.ledger.ledger import Ledger
    from penstock.privacy.unit import Unit

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help=paragraphs("""Keep account of what was spent on which data, and what is left.

    [bold]Examples[/bold]

        penstock ledger init ledger.db
        penstock ledger limit ledger.db people --epsilon 3
        penstock ledger show ledger.db
    """),
)

LedgerPlace = Annotated[
    str, typer.Argument(metavar="LEDGER", help="A file name or an SQLAlchemy URL.", show_default=False)
]


def init(ledger: LedgerPlace) -> None:
    """Open a new, empty ledger.

    [bold]Examples[/bold]

        penstock ledger init ledger.db
        penstock ledger init postgresql+psycopg://host/privacy
    """
    from penstock.cli.screen import clean, note
    from penstock.privacy.ledger.ledger import Ledger
    from penstock.releases.custodian import refuse_inside_release

    file = _file(ledger)
    if file is not None:
        refuse_inside_release(file, "a ledger")
    made = Ledger.create(ledger)
    note(f"{clean(made.place)}: an empty ledger. Open an account with 'penstock ledger limit'.")


def _file(ledger: str) -> str | None:
    """The file that a ledger's name or SQLite URL means; None for a ledger that a server keeps."""
    if "://" not in ledger:
        return ledger
    scheme, _, rest = ledger.partition(":///")
    return rest.partition("?")[0] if scheme.partition("+")[0].lower() == "sqlite" and rest else None


def limit(
    ledger: LedgerPlace,
    account: Annotated[
        str, typer.Argument(metavar="ACCOUNT", show_default=False, help="Your own name for the data.")
    ],
    epsilon: Annotated[
        str,
        typer.Option(
            "--epsilon",
            "-e",
            metavar="E",
            show_default=False,
            help="The most that all releases together may cost.",
        ),
    ],
    delta: Annotated[str, typer.Option(metavar="D", help="The same for delta.")] = "0",
    relation: Annotated[
        Literal["add-remove", "replace"], typer.Option(help="The relation under which the account is kept.")
    ] = "add-remove",
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            show_default=False,
            help="Whom the account is about: record, user:COLUMN, ...; when not given, whatever its first "
            "release protects.",
        ),
    ] = None,
    holds_at_most: Annotated[
        int | None,
        typer.Option(
            "--holds-at-most",
            min=1,
            metavar="N",
            show_default=False,
            help="To move an account with entries to another --unit, of which each has a part in at most N "
            "of what the account was about.",
        ),
    ] = None,
) -> None:
    """Decide what the data of an account may cost in all; opens the account when there is none.

    Raising a limit is a decision about people's privacy: the ledger keeps it, and does not ask why.

    [bold]Examples[/bold]

        penstock ledger limit ledger.db people --epsilon 3
        penstock ledger limit ledger.db visits --epsilon 1/2 --delta 1e-6
        penstock ledger limit ledger.db patients --epsilon 3 --unit user:patient_id
    """
    from penstock.cli.screen import clean, note
    from penstock.privacy.budgets.amounts import plain
    from penstock.privacy.ledger.ledger import Ledger

    opened = Ledger.open(ledger)
    opened.set_limit(account, epsilon, delta, relation, unit=unit, holds_at_most=holds_at_most)
    balance = opened.account(account).balance()
    note(f"{clean(account)}: epsilon {plain(balance.left[0])} left of {plain(balance.limit[0])}.")


def show(
    ledger: LedgerPlace,
    account: Annotated[
        str | None,
        typer.Option(
            "--account", metavar="NAME", show_default=False, help="Only this account, with every entry."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the accounts: limit, spent and left; with --account every entry of one.

    [bold]Examples[/bold]

        penstock ledger show ledger.db
        penstock ledger show ledger.db --account people
        penstock ledger show ledger.db --json
    """
    from penstock.cli.screen import print_json, screen
    from penstock.privacy.ledger.ledger import Ledger

    opened = Ledger.open(ledger)
    balances = opened.balances() if account is None else [opened.account(account).balance()]
    if as_json:
        print_json(
            {
                "ledger": opened.place,
                "accounts": [
                    {
                        **balance.to_dict(),
                        "ledger": [entry.to_dict() for entry in opened.account(balance.account).entries()],
                    }
                    for balance in balances
                ],
            }
        )
        return
    out = screen()
    if not balances:
        out.print("No accounts yet. Open one with 'penstock ledger limit'.")
        return
    _accounts(out, balances)
    if account is not None:
        _entries(out, opened, account)


def _accounts(out: Console, balances: list[Balance]) -> None:
    from rich.table import Table

    from penstock.cli.screen import ACCENT, clean
    from penstock.privacy.budgets.amounts import plain

    with_delta = any(balance.limit[1] for balance in balances)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for title in ("account", "unit", "relation", "entries", "limit", "spent", "left", ""):
        words = title in ("account", "unit", "relation", "")
        table.add_column(title, justify="left" if words else "right")
    for balance in balances:
        cells = [
            _amount(plain(pair[0]), plain(pair[1]), with_delta)
            for pair in (balance.limit, balance.spent, balance.left)
        ]
        share = float(balance.spent[0] / balance.limit[0]) if balance.limit[0] else 1.0
        filled = round(min(1.0, share) * 20)
        bar = f"[{ACCENT}]{'█' * filled}[/][dim]{'░' * (20 - filled)}[/]"
        unit = "-" if balance.unit is None else clean(balance.unit.name)
        table.add_row(clean(balance.account), unit, balance.relation.value, str(balance.entries), *cells, bar)
    out.print(table)


def _amount(epsilon: str, delta: str, with_delta: bool) -> str:
    return f"{epsilon}, {delta}" if with_delta else epsilon


def _entries(out: Console, opened: Ledger, account: str) -> None:
    from rich.table import Table

    from penstock.cli.screen import clean
    from penstock.privacy.budgets.amounts import plain

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for title in ("entry", "when", "epsilon", "delta", "of each", "counted", "status", "for"):
        table.add_column(title, justify="right" if title in ("epsilon", "delta") else "left")
    lines = opened.account(account)
    whom = lines.balance().unit
    for entry in lines.entries():
        counted = entry.counted(whom)
        table.add_row(
            clean(entry.name),
            clean(entry.time.replace("T", " ")[:16]),
            plain(entry.epsilon),
            plain(entry.delta),
            "not recorded" if entry.unit is None else clean(_unit(entry.unit)),
            "" if counted == 1 else f"{counted} times",
            clean(entry.status),
            clean(entry.release or entry.label),
        )
    out.print()
    out.print(table)


def _unit(unit: Unit) -> str:
    return unit.entity.name + ("" if unit.at_most is None else f", at most {unit.at_most}")


for _command in (init, limit, show):
    app.command(_command.__name__, help=paragraphs(_command.__doc__))(_command)
