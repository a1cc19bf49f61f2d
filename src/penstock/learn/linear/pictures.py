"""Pictures of linear predictors, drawn from the effects alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.report.numbers import readable
from penstock.report.picture import Picture
from penstock.report.pictures import bars

if TYPE_CHECKING:
    from penstock.learn.linear.release import LinearRelease

MOST_COLUMNS = 12
MOST_CODES = 24


def pictures(release: LinearRelease) -> Sequence[Picture]:
    """How much each column moves the answer, and what each value of the strongest ones adds."""
    strength = release.strength()
    if not strength:
        return [
            bars(
                f"{release.target}: the same for every row",
                release.labels if len(release.intercepts) > 1 else (release.target,),
                [float(each) for each in release.intercepts],
                amount="score",
                caption="There is no other column that could tell rows apart.",
            )
        ]
    shown = list(strength)[:MOST_COLUMNS]
    found = [
        bars(
            f"How far each column moves {release.target}",
            shown,
            [strength[name] for name in shown],
            amount="score",
            caption="The difference of the scores of two rows that differ in this column alone, as far "
            "apart as they can be.",
        )
    ]
    for name in shown:
        labels, effects = release.schema.attribute(name).labels, release.effects_of(name)
        if len(labels) > MOST_CODES:
            continue
        columns = release.labels if effects.shape[1] > 1 else (release.target,)
        series = {each: effects[:, place] for place, each in enumerate(columns)}
        told = _told(labels, effects[:, 0], "" if effects.shape[1] == 1 else f" for {columns[0]}")
        title = f"{name}: what each value adds"
        found.append(bars(title, labels, series, amount="score", caption=told))
    return found


def _told(labels: Sequence[str], effects: NDArray[np.float64], of: str) -> str:
    """Which value raises the score most, and which one lowers it or raises it least."""
    most, least = int(np.argmax(effects)), int(np.argmin(effects))
    ends = ((labels[most], float(effects[most])), (labels[least], float(effects[least])))
    told = [f"{'raises' if effect >= 0 else 'lowers'} it by {readable(abs(effect))}" for _, effect in ends]
    return f"Of all values{of}, {ends[0][0]} {told[0]} and {ends[1][0]} {told[1]}, on the scale of the score."
