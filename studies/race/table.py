"""The race as a table and as a page: what it cost, what came out, and what is guaranteed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from frame.page import LONGEST_TABLE, Page, listed
from frame.table import markdown, number
from race.peers import EARLIER, PEERS, Peer

if TYPE_CHECKING:
    from race.run import Run

Bounds = Mapping[str, Mapping[str, float]]

SCORES = ("2-way", "3-way", "accuracy")
HEADS = ("", "guarantee", "of", "runs", "wall s", "CPU s", "× ours", "MiB", *SCORES)
TITLES = {
    "nltcs": "NLTCS: 16 columns of two values, 17,259 records",
    "adult-race": "Adult, as the MST papers bin it: 15 columns of 2 to 42 values, 39,073 records",
}


HOW = """## How the runs of November 2026 were made

- The column `of` says when. The runs of 16 November were not kept: their figures are carried over as they
  were printed (`studies/race/race.jsonl`). Ours, and *smartnoise MST* on NLTCS, ran anew on 17 November, ours
  because confluence has changed: on a machine that was very busy, so that wall seconds say nothing and CPU
  seconds are some tenths more than on one that is not.
- On 16 November at ε 1 every entry had one core of a machine with two. The slow ones (the AIMs, all pairs,
  DataSynthesizer with its automatic degree) ran on one of them while the others ran, one after another, on
  the other one.
- Most peers ran **once**, ours several times (the column `runs`). Until 16 November *smartnoise MST*, the
  fastest other one on NLTCS, took 14.5 CPU seconds there in the mean of six, and confluence as it was then
  1.1: it takes longer now.
- *smartnoise* took the values of a column from the records on 16 November, which leaves out those of Adult
  that do not occur; its driver gives it the public domain now.
- The slow ones were stopped after 900 to 1,500 seconds, all pairs after 300 and 600, DataSynthesizer with its
  automatic degree on Adult after 300.
- At ε 0.1 the slow ones and DataSynthesizer were left out; peers ran once.
- One run says little about an error: that of ours varies by up to a tenth between runs on Adult.
- Peers keep their defaults but for this. *mbi MST*: the mechanism is our driver's, after the paper. *OpenDP
  MST*: ε is lowered by less than 1e-14, else it stops on a rounding error. *dpmm*: its own binning is off, as
  the table is coded already. *DataSynthesizer*: NumPy 1, because with NumPy 2 it stopped with a NameError
  after 299 CPU seconds; two parents where `k = 2` is said.
"""

MEASURES = """## What was measured

Every entry is one process: it reads 80 % of the table as integer codes with the public domain, fits, draws
45,222 rows and writes them. CPU seconds are those of the whole process and its children, imports included.
Compare within one table: machines differ. Those with an approximate guarantee get δ = 1e-5.

`2-way` and `3-way` are mean total variation distances of all pairs and triples from the training part (lower
is better); `accuracy` is that of a gradient boosting classifier trained on the synthetic rows and tried on
the other 20 % of the original."""

GUARANTEES = """## What each one really guarantees

What the software does, found by reading and attacking it, and not what it claims.

{}"""

EARLIER_RUNS = """## Measured earlier, not in these runs

Figures from before this race existed, at ε 1, on another machine of the same size and by other drivers.
OpenDP's AIM came out closer there than in our one run of it, which goes with its defaults, and smartnoise's
less close; MST on NLTCS took 14-15 s with both libraries. Ours was not measured there."""

INSTALLED = """smartnoise-synth is installed without torch, which it asks for and neither of its two entries
imports: 1 GB instead of 6."""


class Standing:
    """The runs of one table and budget, by peer."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = runs

    def done(self, peer: Peer) -> list[Run]:
        return [run for run in self.runs if run.peer == peer.name and not run.failure]

    def count(self, peer: Peer) -> int:
        return sum(run.runs for run in self.done(peer))

    def mean(self, peer: Peer, figure: Callable[[Run], float]) -> float:
        return sum(run.runs * figure(run) for run in self.done(peer)) / self.count(peer)

    def cpu(self, peer: Peer) -> float:
        return self.mean(peer, lambda run: run.cpu)

    def score(self, peer: Peer, name: str) -> float:
        return self.mean(peer, lambda run: run.scores[name])

    @property
    def finished(self) -> list[Peer]:
        return [peer for peer in PEERS if self.done(peer)]

    @property
    def failed(self) -> list[tuple[Peer, Run]]:
        last = {run.peer: run for run in self.runs if run.failure}
        return [(peer, last[peer.name]) for peer in PEERS if peer.name in last and not self.done(peer)]


def table(name: str, epsilon: str, runs: Sequence[Run], bounds: Bounds) -> str:
    """Means over runs, then what was found, then what failed: for the terminal."""
    return "\n\n".join([figures(name, epsilon, runs, bounds), *outcome(runs)]) + "\n"


def figures(name: str, epsilon: str, runs: Sequence[Run], bounds: Bounds) -> str:
    """Means over runs."""
    standing = Standing(runs)
    base = standing.cpu(PEERS[0]) if standing.done(PEERS[0]) else None
    rows = []
    for peer in standing.finished:
        cpu = standing.cpu(peer)
        rows.append(
            [
                peer.name,
                peer.short,
                standing.done(peer)[0].race[:10],
                str(standing.count(peer)),
                f"{standing.mean(peer, lambda run: run.wall):.1f}",
                f"{cpu:.1f}",
                f"{cpu / base:.1f}" if base else "",
                f"{standing.mean(peer, lambda run: run.memory):.0f}",
                *(number(standing.score(peer, score)) for score in SCORES),
            ]
        )
    rows += [
        [label, *[""] * 7, *(number(known[score]) for score in SCORES)] for label, known in bounds.items()
    ]
    return "\n\n".join([f"**{name}, ε {epsilon}**", "\n".join(markdown(HEADS, rows))])


def outcome(runs: Sequence[Run]) -> list[str]:
    """What was found, and what failed."""
    standing = Standing(runs)
    parts = ["\n".join(findings(standing))]
    if standing.failed:
        lines = [
            f"- {peer.name}: {run.failure}; it had used {run.cpu:.0f} CPU seconds."
            for peer, run in standing.failed
        ]
        parts.append("Did not end with rows:\n\n" + "\n".join(lines))
    return [part for part in parts if part]


def findings(standing: Standing) -> list[str]:
    """Who is faster and who is closer, from these runs alone."""
    mine = [peer for peer in standing.finished if peer.ours and peer.method != "independent"]
    others = [peer for peer in standing.finished if not peer.ours]
    if not mine or not others:
        return []
    fastest = min(others, key=standing.cpu)
    found = [
        f"- {peer.name}: {standing.cpu(fastest) / standing.cpu(peer):.0f} times less CPU than the fastest "
        f"other, {fastest.name}."
        for peer in mine
    ]
    best = mine[0]
    for score in SCORES:
        own, sign = standing.score(best, score), -1 if score == "accuracy" else 1
        what = "teaches a classifier better" if score == "accuracy" else f"is closer in {score} marginals"
        found += [
            f"- {peer.name}, {peer.short}, {what} than {best.name}: "
            f"{number(standing.score(peer, score))} against {number(own)}."
            for peer in others
            if sign * standing.score(peer, score) < sign * own
        ] or [f"- Nobody else {what} than {best.name}."]
    return found


def in_short(standings: Mapping[str, Standing]) -> list[str]:
    """The goals of the race at epsilon 1, and whether they were met in these runs."""
    found = []
    for name, standing in standings.items():
        mine = [peer for peer in standing.finished if peer.ours and peer.method != "independent"]
        others = [peer for peer in standing.finished if not peer.ours]
        if not mine or not others:
            continue
        fastest = min(others, key=standing.cpu)
        least = min(standing.cpu(fastest) / standing.cpu(peer) for peer in mine)
        found.append(
            f"- {name}: ten times less CPU than the fastest other, with confluence and privbayes, at pure ε: "
            f"**{'holds' if least >= 10 else 'does not hold'}** ({least:.0f} times for the slowest of ours)."
        )
        if name == "nltcs":
            error = standing.score(mine[0], "3-way")
            found.append(
                f"- {name}: an error of triples of at most .057, the best pure peer known: "
                f"**{'holds' if error <= 0.057 else 'does not hold'}** ({number(error)})."
            )
    return found


def shortened(standings: Mapping[str, Standing], bounds: Mapping[str, Bounds]) -> str:
    """Our default, then the others from the closest on: triples, classifier, CPU seconds on every table."""
    shown, tables = SCORES[1:], " / ".join(standings)
    rows: list[tuple[float, list[str]]] = []
    for peer in (peer for peer in PEERS if peer == PEERS[0] or not peer.ours):
        known = [standing if standing.done(peer) else None for standing in standings.values()]
        if any(known):
            cells = [[number(one.score(peer, score)) if one else "–" for one in known] for score in shown]
            cells.append([f"{one.cpu(peer):.1f}" if one else "–" for one in known])
            first = known[0].score(peer, shown[0]) if known[0] else inf
            row = [peer.name, peer.short, *(" / ".join(pair) for pair in cells)]
            rows.append((-1.0 if peer == PEERS[0] else first, row))
    closest = [row for _, row in sorted(rows, key=lambda row: row[0])][: LONGEST_TABLE - 1]
    ceiling = [bounds[name]["original, resampled"] for name in standings]
    last = [
        "original, resampled",
        "",
        *(" / ".join(number(one[score]) for one in ceiling) for score in shown),
        "",
    ]
    return "\n".join(markdown([tables, "guarantee", *shown, "CPU s"], [*closest, last]))


def behind(standings: Mapping[tuple[str, str], Standing]) -> list[str]:
    """Where others are better than our default: one line for each table, budget and score."""
    lines = []
    for (name, epsilon), standing in standings.items():
        if not standing.done(PEERS[0]):
            continue
        for score in SCORES:
            own, sign = standing.score(PEERS[0], score), -1 if score == "accuracy" else 1
            better = [
                f"{peer.name}, {peer.short}, {number(standing.score(peer, score))}"
                for peer in standing.finished
                if not peer.ours and sign * standing.score(peer, score) < sign * own
            ]
            if better:
                lines.append(f"{name}, ε {epsilon}, {score}: {'; '.join(better)}; ours {number(own)}")
    return lines


def page(races: Mapping[tuple[str, str], Sequence[Run]], bounds: Mapping[str, Bounds]) -> Page:
    """The pages of the documentation, from the last runs of everybody."""
    earlier = markdown(
        ("table", "peer", "CPU s", "2- / 3-way"),
        [[entry.table, entry.peer, entry.cpu, entry.scores] for entry in EARLIER],
    )
    standings = {place: Standing(runs) for place, runs in races.items()}
    main = {name: standing for (name, epsilon), standing in standings.items() if epsilon == "1"}
    lost = behind(standings)
    details = ["## What was found"]
    for (name, epsilon), runs in races.items():
        details += [f"### {TITLES[name]}, ε {epsilon}", *outcome(runs)]
    return Page(
        name="race",
        title="The race",
        asked="""What do you get from Penstock, and what from the software that you might pick instead, on the
            same table and budget: how close, how fast, and with which guarantee that really holds?""",
        found=[
            "At ε 1 (`3-way`: mean distance of all triples, lower is better; a dash: it did not finish):",
            "\n".join(in_short(main)),
            shortened(main, bounds),
            *(["Others are better than our default here:", listed(lost)] if lost else []),
        ],
        again="""`python studies/race/run.py --all --epsilon 1 --epsilon 0.1` (hours; every peer in an
            environment of its own), then `--show --write` for these pages.""",
        rests_on="""One core of a machine with two. Ours of 17 November 2026 (two or three runs), the others,
            all but smartnoise MST on NLTCS, of 16 November (most of them **one** run;
            [how](#how-the-runs-of-november-2026-were-made)). NLTCS and Adult, 80 % of each for training.""",
        details=[
            MEASURES,
            *details,
            HOW,
            GUARANTEES.format("\n".join(guarantees())),
            EARLIER_RUNS,
            "\n".join(earlier),
            INSTALLED,
        ],
        tables=[
            part
            for (name, epsilon), runs in races.items()
            for part in (f"## {TITLES[name]}, ε {epsilon}", figures(name, epsilon, runs, bounds[name]))
        ],
    )


def guarantees() -> list[str]:
    return [f"- **{peer.name}**: {peer.guarantee}." for peer in PEERS]
