"""The page about the soak, from its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from frame.page import wrapped
from frame.table import markdown

PLACE = Path(__file__).resolve().parents[1] / "docs" / "studies" / "soak.md"

HARMS = {
    "none": "nothing",
    "kill -9": "the process gets the signal at a random step: the *n*-th time that it opens, makes, renames "
    "or removes a file, or asks its ledger",
    "kill": "the same with SIGTERM",
    "Ctrl-C": "the same with SIGINT",
    "full disk, faked": "from a random step on, whatever Python would write is refused with `ENOSPC`",
    "full disk, real": "`RLIMIT_FSIZE`: the kernel refuses every byte of a file beyond a random size, in "
    "SQLite and Polars too",
    "lost lock": "the lock on the destination vanishes at a random step, and the next release goes to the "
    "same place",
}

_KEPT = """\
The limit of the ledger was not passed, no folder was half-written, no file was left that others could
read or that held a record, and every entry was accounted for: no promise was broken."""

_FOUND = """\
**Found.** {begun:,} releases were begun, four in five of them harmed at a random step. {counted:,} were
paid for: {finished:,} became releases at once, {kept:,} were interrupted with their model complete and were
all finished by `penstock recover`, and {lost:,} stopped between their charge and their model, which the
ledger shows as open and counts as spent. {verdict}"""

_PAGE = """\
# The soak

**Asked.** What is left of releases that are killed, interrupted or out of disk while they share a ledger?

{found}

**Run it again.** `python studies/soak.py --write` (five minutes on two cores). The tests run a short one.

**Rests on.** `studies/soak.py`, seed 1, four releases at a time, one machine, a local disk. A power cut
cannot be staged this way: that what was written reached the disk rests on `fsync`, which the tests of folders
and ledgers count.

## What happened to the releases

{ends}

A release that was refused met the limit of its ledger, another release at its destination, or a full disk.
What had been paid by then is among the figures below. Those that finished in spite of their harm met it too
late, or never needed what was taken from them.

## What became of what was paid

{figures}

## What is done to them

Every release is a process of its own that runs `penstock release`. All but a few are forked from a process
that has loaded everything, and write a short report in the place of the long one; the others are started as
programs, and get their signal at a random moment.

{harms}

## What is checked afterwards

- The entries that count add up to what the ledger says, and to no more than the limit.
- Every visible folder loads, and its fingerprints are right. No two releases claim one entry, and every
  release is in the ledger.
- Every model that is kept can be finished with `penstock recover`, also where its destination was taken.
- Every entry is a release, a finished model, or listed by `penstock recover --ledger` as open.
- Hidden files and folders are their owner's alone while they wait; after the recovery and one more release,
  none is left.
- No file but the input holds a name that only the records hold; no message shows one, nor a traceback.

The first runs found what is mended since: a trial of the destination left an empty folder that looked like a
release; an interruption right after the last rename made a second copy of a finished release; the lock of a
process that was killed while it made it was never removed; a kept model was readable for others during its
last step.
"""


def ends_table(ends: Counter[tuple[str, str]]) -> list[str]:
    """How the releases ended, by what was done to them."""
    columns = sorted({end for _, end in ends})
    rows = [[harm, *(str(ends[harm, end]) for end in columns)] for harm in HARMS]
    return markdown(["what happened", *columns], rows)


def figures_table(figures: Mapping[str, int]) -> list[str]:
    """What became of what was paid."""
    return markdown(["", "number"], [[what, str(number)] for what, number in figures.items()])


def page(figures: Mapping[str, int], ends: Counter[tuple[str, str]], wrong: Sequence[str]) -> str:
    """The whole page."""
    begun, counted, finished, kept, lost, _, broken = figures.values()
    found = _FOUND.format(
        begun=begun,
        counted=counted,
        finished=finished,
        kept=kept,
        lost=lost,
        verdict=_KEPT if not broken else f"**{broken} promises were broken:** " + "; ".join(wrong[:10]),
    )
    return _PAGE.format(
        found=wrapped(" ".join(found.split())),
        ends="\n".join(ends_table(ends)),
        figures="\n".join(figures_table(figures)),
        harms="\n".join(markdown(["harm", "how"], [[harm, how] for harm, how in HARMS.items()])),
    )
