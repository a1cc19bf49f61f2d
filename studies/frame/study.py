"""What a study is made of. Nothing here runs anything."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from frame.data import Dataset
    from frame.results import Results
    from frame.statements import Statement


class Method(Protocol):
    """Turns a dataset and a budget into an outcome that metrics can look at.

    A method is a frozen dataclass: its `repr` says everything that decides its result, and results
    of a method whose `repr` has changed are computed anew.
    """

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Any: ...


class Metric(Protocol):
    """One number, or several named ones, for an outcome; None where it does not apply."""

    def __call__(self, dataset: Dataset, outcome: Any, seed: int) -> float | Mapping[str, float] | None: ...


@dataclass(frozen=True)
class Cell:
    """One run of one method."""

    dataset: str
    method: str
    epsilon: str
    repetition: int

    def seed(self, study: str) -> int:
        """The same for the same cell on every machine, and unrelated to all other cells."""
        text = "\x1f".join((study, self.dataset, self.method, self.epsilon, str(self.repetition)))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "little")


@dataclass(frozen=True)
class Reference:
    """A figure that somebody else measured: the mean, its standard deviation over runs, the runs."""

    dataset: str
    method: str
    epsilon: str
    metric: str
    value: float
    deviation: float | None = None
    runs: int = 1


@dataclass(frozen=True)
class Study:
    """Datasets x methods x budgets x metrics x repetitions, with references and statements.

    `budgets` are written as they are given to `Budget`. Datasets named in `fewer`, by themselves or with a
    method or a budget, are repeated that often by default. `skip` leaves out cells (by dataset, method and
    budget) that are not part of the experiment. A method of which every run gives the same (`fixed`) is run
    once. Metrics are errors unless they are in `higher_is_better`. In a `paired` study all methods get the
    same seeds, which makes small differences visible. A method that was measured under another name, given
    in `formerly`, keeps its seeds, and with them its figures. A `summary` takes the place of the tables for
    each dataset and metric.
    """

    name: str
    title: str
    datasets: Sequence[str]
    methods: Mapping[str, Method]
    budgets: Sequence[str]
    metrics: Mapping[str, Metric]
    repetitions: int = 3
    full: int = 100
    fewer: Mapping[str | tuple[str, str], int] = field(default_factory=dict)
    skip: frozenset[tuple[str, str, str]] = frozenset()
    fixed: frozenset[str] = frozenset()
    paired: bool = False
    formerly: Mapping[str, str] = field(default_factory=dict)
    references: Sequence[Reference] = ()
    source: str = "published"
    tolerance: float = 0.05
    few_runs_tolerance: float = 0.15
    statements: Sequence[Statement] = ()
    higher_is_better: frozenset[str] = frozenset()
    notes: Sequence[str] = field(default=())
    summary: Callable[[Results], str] | None = None

    def cells(self, repetitions: int | None = None) -> Iterator[Cell]:
        """Every run of the study; the first repetition of all cells before the second of any."""
        most = max([self.repetitions, *self.fewer.values()]) if repetitions is None else repetitions
        for repetition in range(most):
            for dataset in self.datasets:
                for epsilon in self.budgets:
                    for method in self.methods:
                        wanted = repetitions or self._often(dataset, method, epsilon)
                        once = method in self.fixed and repetition > 0
                        if repetition < wanted and not once and (dataset, method, epsilon) not in self.skip:
                            yield Cell(dataset, method, epsilon, repetition)

    def _often(self, dataset: str, method: str, epsilon: str) -> int:
        """How often a cell is run by default: what is said of it most precisely."""
        named = [self.fewer[key] for key in ((dataset, method), (dataset, epsilon)) if key in self.fewer]
        return min(named) if named else self.fewer.get(dataset, self.repetitions)

    def seed(self, cell: Cell) -> int:
        known = "" if self.paired else self.formerly.get(cell.method, cell.method)
        return replace(cell, method=known).seed(self.name)

    def recipe(self, method: str) -> str:
        """What decides a method's result, in words."""
        return repr(self.methods[method])
