"""Pictures of released sequences: frequent strings, transitions, lengths, the tree of contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.kinds.sequences.release import END_LABEL, MarkovRelease
from penstock.report import diagrams, pictures
from penstock.report.numbers import percent, readable
from penstock.report.picture import Picture

if TYPE_CHECKING:
    from penstock.kinds.sequences.release import SequenceRelease
    from penstock.kinds.sequences.suffix_tree import SuffixTreeRelease

BEGINNING_LABEL = "(beginning)"
SHOWN_STRINGS = 16
SHOWN_SYMBOLS = 30
SHOWN_CONTEXTS = 60
SHOWN_LENGTHS = 60
SHOWN_FROM = 20_000
SHOWN_SHARE = 0.995  # of the sequences: the few longest would squeeze the others


def strings(release: SequenceRelease) -> Picture:
    """The most frequent strings and how often they occur."""
    top = release.top(SHOWN_STRINGS)
    labels = [text.replace(",", " → ") for text in top["string"]]
    told = "No string is known to occur."
    if labels:
        told = f"The {len(labels)} most frequent strings of symbols; {labels[0]} leads with "
        told += f"{readable(top['count'][0])} occurrences."
    return pictures.bars(
        "Most frequent strings",
        labels,
        top["count"].to_numpy(),
        caption=told,
        amount="occurrences",
        most=SHOWN_STRINGS,
    )


def lengths(release: MarkovRelease) -> Picture:
    """How long sequences are."""
    found = release.lengths(of=SHOWN_FROM)
    shares = found["share"].to_numpy()
    mean = float(shares @ found["length"].to_numpy())
    most = min(SHOWN_LENGTHS, int(np.searchsorted(np.cumsum(shares), SHOWN_SHARE)))
    shown, longer = shares[: most + 1], float(shares[most + 1 :].sum())
    told = f"Sequences have {mean:.3g} symbols on average"
    told += f"; {percent(longer)} of them, not shown, have more than {most}." if longer else "."
    return pictures.histogram(
        "Lengths of sequences",
        (np.arange(len(shown) + 1) - 0.5).tolist(),
        100 * shown,
        caption=told,
        amount="percent of sequences",
        axis="number of symbols",
        labels=[str(length) for length in range(len(shown))],
    )


def transitions(release: MarkovRelease) -> Picture:
    """What follows each symbol, in percent."""
    model, labels = release.markov, release.alphabet
    order = np.sort(np.argsort(-model.weights[0, : model.mark], kind="stable")[:SHOWN_SYMBOLS])
    nodes = [model.node((model.mark,)), *(model.node((symbol,)) for symbol in order)]
    shares = model.shares[nodes][:, [*order, model.mark]]
    named = [labels[symbol] for symbol in order]
    left_out = len(labels) - len(order)
    row, column = np.unravel_index(int(np.argmax(shares)), shares.shape)
    rows, columns = [BEGINNING_LABEL, *named], [*named, END_LABEL]
    told = (
        f"What comes next after each symbol; the surest step is from {rows[row]} to {columns[column]}, with "
        f"{percent(float(shares[row, column]))}."
    )
    if left_out:
        told += f" The {left_out} rarest symbols are not shown."
    return pictures.heatmap(
        "What follows what",
        rows,
        columns,
        100 * shares,
        caption=told,
        amount="percent",
        row_name="after",
        column_name="comes",
    )


def context_tree(release: SuffixTreeRelease) -> Picture:
    """The contexts that the release tells apart; the most frequent ones are drawn."""
    totals, parents = release.markov.totals, release.shape.parents
    chosen: set[int] = {0}
    for node in np.argsort(-totals, kind="stable")[: 4 * SHOWN_CONTEXTS].tolist():
        branch = []
        while node not in chosen:
            branch.append(node)
            node = int(parents[node])
        chosen.update(branch)
    kept = sorted(chosen)
    place = {node: number for number, node in enumerate(kept)}
    labels = (*release.alphabet, BEGINNING_LABEL)
    names = [_short([labels[code] for code in release.context(node)]) for node in kept]
    return diagrams.tree(
        "The contexts that were told apart",
        names,
        [place.get(int(parents[node]), -1) for node in kept],
        [float(totals[node]) for node in kept],
        caption=f"Tree of {len(release.shape):,} contexts, of which the most frequent are drawn: to the "
        "right, one symbol more of what came before is known. The value is how often a context occurs.",
        amount="occurrences",
        most=SHOWN_CONTEXTS,
    )


def _short(words: list[str]) -> str:
    """What a context knows more than its parent, which is drawn to its left."""
    if not words:
        return "anything"
    return words[0] if len(words) == 1 else f"{words[0]} → …"
