"""Results of a study: means over repetitions, beside what others measured."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frame.study import Reference, Study

if TYPE_CHECKING:
    from frame.store import Store

Key = tuple[str, str, str, str]  # dataset, method, epsilon, metric


@dataclass(frozen=True)
class Summary:
    """Mean and standard deviation over runs."""

    mean: float
    deviation: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        mean = math.fsum(values) / len(values)  # exact sums, so that their order does not matter
        spread = math.fsum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
        return cls(mean, math.sqrt(spread), len(values))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / math.sqrt(self.runs)


@dataclass(frozen=True)
class Compared:
    """One of our figures beside a reference."""

    reference: Reference
    ours: Summary
    tolerance: float
    lower_is_better: bool

    @property
    def ratio(self) -> float:
        return self.ours.mean / self.reference.value if self.reference.value else math.inf

    @property
    def agrees(self) -> bool:
        """Within three standard errors of both sides plus the tolerance."""
        reference = self.reference
        theirs = reference.deviation if reference.deviation is not None else self.ours.deviation
        room = 3 * math.hypot(self.ours.error, theirs / math.sqrt(reference.runs))
        return abs(self.ours.mean - reference.value) <= room + self.tolerance * abs(reference.value)

    @property
    def better(self) -> bool:
        """Beyond the tolerance, and on the right side."""
        ahead = self.ours.mean < self.reference.value
        return not self.agrees and ahead == self.lower_is_better


class Results:
    """All that is known of a study."""

    def __init__(
        self, study: Study, summaries: Mapping[Key, Summary], seconds: Mapping[Key, Summary]
    ) -> None:
        self.study, self._summaries, self._seconds = study, dict(summaries), dict(seconds)

    @classmethod
    def read(cls, study: Study, store: Store, repetitions: int | None = None) -> Results:
        """From the lines of a store; repetitions beyond those asked for are left aside."""
        limit = repetitions or math.inf
        values: dict[Key, dict[int, float]] = defaultdict(dict)
        seconds: dict[Key, dict[int, float]] = defaultdict(dict)
        cells = {(cell.dataset, cell.method, cell.epsilon) for cell in study.cells(1)}
        for line in store.lines():
            place = (line["dataset"], line["method"], line["epsilon"])
            if line["repetition"] >= limit or place not in cells:
                continue
            seconds[*place, "seconds"][line["repetition"]] = line["seconds"]
            for metric, value in line["values"].items():
                values[*place, metric][line["repetition"]] = value
        return cls(
            study,
            {key: Summary.of(list(runs.values())) for key, runs in values.items()},
            {key: Summary.of(list(runs.values())) for key, runs in seconds.items()},
        )

    def beside(self, others: Mapping[Key, Summary]) -> Results:
        """These, and others for figures that were not measured."""
        return Results(self.study, {**others, **self._summaries}, self._seconds)

    def __contains__(self, key: Key) -> bool:
        return key in self._summaries

    def get(self, dataset: str, method: str, epsilon: str, metric: str) -> Summary | None:
        return self._summaries.get((dataset, method, epsilon, metric))

    def mean(self, dataset: str, method: str, epsilon: str, metric: str) -> float:
        """The mean of a figure; not a number where it was not measured."""
        found = self.get(dataset, method, epsilon, metric)
        return math.nan if found is None else found.mean

    def average(self, keys: Iterable[Key]) -> Summary | None:
        """The mean of several figures, as uncertain as if they moved together; None if one is missing."""
        found = [self._summaries.get(key) for key in keys]
        known = [one for one in found if one is not None]
        if not known or len(known) < len(found):
            return None
        means, deviations = ([one.mean for one in known], [one.deviation for one in known])
        return Summary(sum(means) / len(known), sum(deviations) / len(known), min(one.runs for one in known))

    def seconds(self, dataset: str, method: str, epsilon: str) -> Summary | None:
        return self._seconds.get((dataset, method, epsilon, "seconds"))

    def metrics(self, dataset: str) -> list[str]:
        """The metrics measured on a dataset, in the order of the study; parts of one in its own order."""
        found = dict.fromkeys(metric for where, _, _, metric in self._summaries if where == dataset)
        order = list(self.study.metrics)
        return sorted(
            found, key=lambda name: next((i for i, m in enumerate(order) if name.startswith(m)), 99)
        )

    def methods(self, dataset: str, metric: str) -> list[str]:
        """The methods measured, in the order of the study."""
        found = {m for where, m, _, what in self._summaries if (where, what) == (dataset, metric)}
        return [method for method in self.study.methods if method in found]

    def budgets(self, dataset: str, metric: str) -> list[str]:
        found = {e for where, _, e, what in self._summaries if (where, what) == (dataset, metric)}
        return [epsilon for epsilon in self.study.budgets if epsilon in found]

    def runs(self) -> tuple[int, int]:
        """The fewest and the most runs behind a figure, fixed methods aside."""
        counts = [s.runs for (_, m, _, _), s in self._summaries.items() if m not in self.study.fixed]
        return (min(counts), max(counts)) if counts else (0, 0)

    def compared(self) -> list[Compared]:
        """Every reference for which we have a figure."""
        study, found = self.study, []
        for reference in study.references:
            ours = self.get(reference.dataset, reference.method, reference.epsilon, reference.metric)
            if ours is not None:
                tolerance = study.tolerance if reference.runs > 5 else study.few_runs_tolerance
                lower = reference.metric not in study.higher_is_better
                found.append(Compared(reference, ours, tolerance, lower))
        return found
