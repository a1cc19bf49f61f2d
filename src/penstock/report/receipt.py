"""A receipt as people read it: areas for the eye, and a table whose lines add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle

from penstock.privacy.budgets.amounts import brief, plain
from penstock.privacy.budgets.charges import Apart, Charge, Concentrated, Entry, Together
from penstock.privacy.budgets.receipt import Receipt
from penstock.report import shapes
from penstock.report.page import Block, Table, Text
from penstock.report.picture import Picture
from penstock.report.theme import PALETTE, figure, ink_on, mixed, safe

FEW_LINES = 40
MOST_LINES = 200
THIN = 0.016
"""Parts of a receipt below this share of the whole are drawn together."""
_DEEP = "#0a2a43"
_ROUNDED = (
    "Amounts with ≈ are rounded here. receipt.json holds the exact fractions, which add up to the total."
)


@dataclass(frozen=True)
class Line:
    """One line of the receipt. `share` is its part of the group above, for drawing."""

    depth: int
    label: str
    how: str
    sensitivity: str
    epsilon: str
    delta: str
    share: float


def lines(receipt: Receipt) -> list[Line]:
    """Every group and every payment, each before its parts."""
    return list(_lines(receipt.paid, 0))


def short(amount: Fraction) -> str:
    """An amount in few characters; the exact fraction is in receipt.json.

    >>> short(Fraction(1, 3)), short(Fraction(1234567, 9876543))
    ('1/3', '≈ 0.125')
    """
    exact = plain(amount)
    return exact if len(exact) <= 9 else f"≈ {float(amount):.4g}"


def receipt_blocks(receipt: Receipt) -> list[Block]:
    """The chart and the table."""
    every = lines(receipt)
    found = every[:MOST_LINES]
    slack = bool(receipt.budget_delta)
    rows = [[line.label, line.sensitivity, line.epsilon] + [line.delta] * slack for line in found]
    for name, epsilon, delta in (
        ("Total", receipt.epsilon, receipt.delta),
        ("Budget", receipt.budget_epsilon, receipt.budget_delta),
    ):
        rows.append([name, "", short(epsilon)] + [short(delta)] * slack)
    many = len(found) > FEW_LINES
    which = f"All {len(found)} lines of the receipt"
    if len(every) > MOST_LINES:
        which = f"The first {MOST_LINES} of {len(every):,} lines of the receipt; receipt.json has all"
    table = Table(
        ["what was looked at", "sensitivity", "epsilon"] + ["delta"] * slack,
        rows,
        indents=[line.depth for line in found] + [0, 0],
        notes=[line.how for line in found] + ["", ""],
        strong=[len(found)],
        right=[1, 2, 3],
        folded=many,
        caption=which if many else "",
    )
    blocks: list[Block] = [receipt_picture(receipt, every), table] if receipt.epsilon else [table]
    if any("≈" in line.epsilon + line.how for line in found):
        blocks.append(Text([_ROUNDED], tone="quiet"))
    return blocks


def receipt_picture(receipt: Receipt, found: Sequence[Line]) -> Picture:
    """The lines of a receipt as areas: the whole on the left, the single payments on the right."""
    areas = _areas(receipt, [line for line in found if line.share])
    leaves = len(areas) - len({area.above for area in areas})
    drawn = figure(
        [
            shapes.icicle(
                ids=[area.name for area in areas],
                labels=[safe(area.label, 40) for area in areas],
                parents=[area.above for area in areas],
                values=[area.share for area in areas],
                text=[safe(area.amount) for area in areas],
                customdata=[safe(area.told, 300) for area in areas],
                marker={"colors": [area.colour for area in areas]},
                textfont={"color": [ink_on(area.colour) for area in areas]},
            )
        ],
        height=min(900, max(150, (34 if leaves < 20 else 24) * leaves)),
    )
    payments = [charge for _, charge in receipt.charges()]
    largest = max(payments, key=lambda charge: charge.epsilon)
    count = f"{len(payments)} {'charge makes' if len(payments) == 1 else 'charges make'} up"
    caption = f"{count} epsilon {short(receipt.epsilon)}." + (
        f" The largest is {largest.label} with {short(largest.epsilon)}." if len(payments) > 1 else ""
    )
    return Picture("Where the privacy budget went", caption, drawn, wide=True)


@dataclass(frozen=True)
class _Area:
    name: str
    above: str
    label: str
    amount: str
    share: float
    colour: str
    told: str = ""


def _areas(receipt: Receipt, found: Sequence[Line]) -> list[_Area]:
    """An area for each line; those that would be too thin to read are put together and named as a group."""
    areas = [_Area("total", "", "Total", f"ε {short(receipt.epsilon)}", 1.0, _DEEP)]
    trail: list[_Area] = []
    thin: dict[str, list[tuple[Line, float, str]]] = {}
    tints = _tints(receipt)
    for number, line in enumerate(found):
        del trail[line.depth :]
        if len(trail) < line.depth:
            continue  # inside one that is too thin
        parent = trail[-1] if trail else areas[0]
        colour = parent.colour if trail else next(tints)
        shade = mixed(colour, "#ffffff", 1.0 if not trail else 0.75)
        share = parent.share * line.share
        if share < THIN:
            thin.setdefault(parent.name, []).append((line, share, shade))
            continue
        amount = f"ε {line.epsilon}" if line.epsilon else line.how
        trail.append(_Area(str(number), parent.name, line.label, amount, share, shade))
        areas.append(trail[-1])
    for above, lines_ in thin.items():
        (first, _, shade), whole = lines_[0], sum(share for _, share, _ in lines_)
        alone = len(lines_) == 1
        label = first.label if alone else f"{len(lines_)} smaller ones"
        amount = f"ε {first.epsilon}" if alone else f"{100 * whole:.1f} % of all"
        told = "" if alone else ", ".join(line.label for line, _, _ in lines_)
        areas.append(_Area(f"thin {above}", above, label, amount, whole, shade, told))
    return areas


def _tints(receipt: Receipt) -> Iterator[str]:
    """A colour for each top part: shades of one colour for a plain list, a colour of its own for each group.

    The dearest group gets the calmest colour, because it fills most of the picture.
    """
    parts = [part for part in receipt.paid.parts if part.cost[0]]
    if all(isinstance(part, Charge) for part in parts):
        return cycle((PALETTE[0], mixed(PALETTE[0], "#ffffff", 0.72)))
    costs = [part.cost[0] for part in parts]
    dearest = costs.index(max(costs))
    others = cycle(PALETTE[1:])
    return (PALETTE[0] if number == dearest else next(others) for number in range(len(costs)))


def _lines(group: Together | Apart, depth: int) -> Iterator[Line]:
    # Disjoint parts share the area of their group: together they cost no more than the dearest.
    costs = [part.cost for part in group.parts]
    whole = sum((epsilon for epsilon, _ in costs), Fraction(0))
    for part, (epsilon, delta) in zip(group.parts, costs, strict=True):
        share = float(epsilon / whole) if whole else 0.0
        sensitivity = part.sensitivity if isinstance(part, Charge) else ""
        yield Line(depth, part.label, _how(part), sensitivity, short(epsilon), short(delta), share)
        if isinstance(part, Concentrated):
            used = sum((portion.rho for portion in part.parts), Fraction(0))
            for portion in part.parts:
                how = f"{portion.mechanism}, rho {short(portion.rho)}"
                share = float(portion.rho / used) if used else 0.0
                yield Line(depth + 1, portion.label, how, portion.sensitivity, "", "", share)
        elif not isinstance(part, Charge):
            yield from _lines(part, depth + 1)


def _how(entry: Entry) -> str:
    if isinstance(entry, Charge):
        return entry.mechanism + (f": {brief(entry.detail)}" if entry.detail else "")
    if isinstance(entry, Concentrated):
        return f"zero-concentrated, rho {short(entry.rho)}: the parts add up in rho"
    if isinstance(entry, Apart):
        dearest = "dearest part counts" if entry.meets == 1 else f"{entry.meets} dearest parts count"
        return f"disjoint records: the {dearest}"
    return "the parts add up"
