"""Running the cells that are not there yet, in this process or in two."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from frame.data import data_of
from frame.results import Results
from frame.store import Store
from frame.study import Cell, Method, Metric, Study

MOST_PROCESSES = 2

Report = Callable[[int, int, Cell, float], None]


def run(
    study: Study,
    *,
    repetitions: int | None = None,
    jobs: int = 1,
    seconds: float | None = None,
    folder: Path | None = None,
    report: Report | None = None,
) -> Results:
    """Compute what is missing and return all results; what is on disk already is not run again.

    With `seconds` no new cell is started after that time; the results then say how many runs they have.
    """
    store = Store(study, folder)
    finished = store.finished()
    waiting = [cell for cell in study.cells(repetitions) if cell not in finished]
    end = None if seconds is None else time.monotonic() + seconds
    done = 0

    def keep(cell: Cell, values: Mapping[str, float], took: float) -> None:
        nonlocal done
        store.append(cell, values, took)
        done += 1
        if report is not None:
            report(done, len(waiting), cell, took)

    if jobs <= 1 or len(waiting) < 2:
        for cell in waiting:
            if end is not None and time.monotonic() > end:
                break
            keep(cell, *compute(*_task(study, cell)))
    else:
        _in_processes(study, waiting, min(jobs, MOST_PROCESSES), end, keep)
    return Results.read(study, store, repetitions)


Task = tuple[str, Cell, Method, Mapping[str, Metric], int]


def compute(
    name: str, cell: Cell, method: Method, metrics: Mapping[str, Metric], seed: int
) -> tuple[dict[str, float], float]:
    """One cell: the values of all metrics that apply, and the CPU seconds that the method took."""
    dataset = data_of(cell.dataset)
    started = time.process_time()
    outcome = method(dataset, cell.epsilon, seed)
    took = time.process_time() - started
    values: dict[str, float] = {}
    for label, metric in metrics.items():
        found: Any = metric(dataset, outcome, seed)
        if found is None:
            continue
        if isinstance(found, Mapping):
            values |= {f"{label} {part}".strip(): float(value) for part, value in found.items()}
        else:
            values[label] = float(found)
    return values, took


def _task(study: Study, cell: Cell) -> Task:
    return study.name, cell, study.methods[cell.method], study.metrics, study.seed(cell)


def _in_processes(
    study: Study,
    cells: Sequence[Cell],
    jobs: int,
    end: float | None,
    keep: Callable[[Cell, Mapping[str, float], float], None],
) -> None:
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        rest = iter(cells)
        running: dict[Future[tuple[dict[str, float], float]], Cell] = {}
        while True:
            if end is None or time.monotonic() < end:
                for cell in islice(rest, jobs + 1 - len(running)):
                    running[pool.submit(compute, *_task(study, cell))] = cell
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                keep(running.pop(future), *future.result())
