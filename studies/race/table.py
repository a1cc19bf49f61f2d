"""The race as a table: what it cost, what came out, and what is guaranteed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING

from frame.table import markdown, number
from race.peers import PEERS

if TYPE_CHECKING:
    from race.run import Run

SCORES = ("2-way", "3-way", "accuracy")
HEADS = ("", "runs", "wall s", "CPU s", "× ours", "MiB", *SCORES)


def table(name: str, epsilon: str, runs: Sequence[Run], bounds: Mapping[str, Mapping[str, float]]) -> str:
    """Means over runs; the last failure where none succeeded."""
    ours = [run.cpu for run in runs if run.peer == PEERS[0].name and not run.failure]
    base = mean(ours) if ours else None
    rows, failed, guarantees = [], [], []
    for peer in PEERS:
        mine = [run for run in runs if run.peer == peer.name]
        done = [run for run in mine if not run.failure]
        if not mine:
            continue
        guarantees.append(f"- {peer.name}: {peer.guarantee}.")
        if not done:
            failed.append(f"- {peer.name}: {mine[-1].failure}.")
            continue
        cpu = mean(run.cpu for run in done)
        rows.append(
            [
                peer.name,
                str(len(done)),
                f"{mean(run.wall for run in done):.1f}",
                f"{cpu:.1f}",
                f"{cpu / base:.1f}" if base else "",
                f"{mean(run.memory for run in done):.0f}",
                *(number(mean(run.scores[score] for run in done)) for score in SCORES),
            ]
        )
    rows += [
        [label, *[""] * 5, *(number(known[score]) for score in SCORES)] for label, known in bounds.items()
    ]
    parts = [f"**{name}, ε {epsilon}**", "\n".join(markdown(HEADS, rows))]
    parts += ["Failed:\n\n" + "\n".join(failed)] if failed else []
    parts.append("What each one guarantees:\n\n" + "\n".join(guarantees))
    return "\n\n".join(parts) + "\n"
