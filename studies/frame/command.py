"""The command line that every study script ends with."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from frame.data import MissingDataError
from frame.page import Page
from frame.plot import page as plot
from frame.run import MOST_PROCESSES, run
from frame.store import RESULTS, Store
from frame.study import Cell, Study
from frame.table import report


def main(study: Study | Callable[[], Study], arguments: Sequence[str] | None = None) -> None:
    """Run a study as the arguments say, print its table, write its plot."""
    parser = argparse.ArgumentParser(
        description=(study.title if isinstance(study, Study) else study.__doc__),
        epilog="What is finished is kept under studies/results/ and not run again.",
    )
    parser.add_argument("--full", action="store_true", help="as many repetitions as the paper")
    parser.add_argument("--repetitions", type=int, help="how often each cell is run")
    parser.add_argument("--dataset", action="append", help="only this dataset; can be given several times")
    parser.add_argument("--budget", action="append", help="only this epsilon; can be given several times")
    parser.add_argument("--method", action="append", help="only this method; can be given several times")
    parser.add_argument("--jobs", type=int, default=1, help=f"processes, at most {MOST_PROCESSES}")
    parser.add_argument("--seconds", type=float, help="start no further run after this time")
    parser.add_argument("--show", action="store_true", help="run nothing, only show what is there")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results of this study")
    given = parser.parse_args(arguments)
    try:
        whole = study if isinstance(study, Study) else study()
        chosen = narrowed(whole, given.dataset, given.budget, given.method)
    except MissingDataError as missing:
        raise SystemExit(str(missing)) from None
    repetitions = chosen.full if given.full else given.repetitions
    if given.fresh:
        Store(chosen).path.unlink(missing_ok=True)
    try:
        results = run(
            chosen,
            repetitions=repetitions,
            jobs=given.jobs,
            seconds=0 if given.show else given.seconds,
            report=None if given.show else _progress,
        )
    except MissingDataError as missing:
        raise SystemExit(str(missing)) from None
    text = report(results)
    print(text)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{chosen.name}.md").write_text(text, encoding="utf-8")
    plot(results, RESULTS / f"{chosen.name}.html")
    print(f"plot: {_near(RESULTS / f'{chosen.name}.html')}")


def all_of(studies: Sequence[str], page: Callable[[], Page], arguments: Sequence[str]) -> None:
    """Run studies by the names of their modules; with --write, make the pages of what is there."""
    for name in studies:
        main(import_module(name).study, [argument for argument in arguments if argument != "--write"])
    if "--write" in arguments:
        page().write()


def narrowed(
    study: Study,
    datasets: Sequence[str] | None,
    budgets: Sequence[str] | None,
    methods: Sequence[str] | None = None,
) -> Study:
    """The study on some of its datasets and budgets only, with some of its methods."""
    from dataclasses import replace

    for given, known, what in (
        (datasets, study.datasets, "dataset"),
        (budgets, study.budgets, "budget"),
        (methods, study.methods, "method"),
    ):
        for one in given or ():
            if one not in known:
                raise SystemExit(f"{study.name} has no {what} '{one}'; it has {', '.join(known)}.")
    return replace(
        study,
        datasets=datasets or study.datasets,
        budgets=budgets or study.budgets,
        methods={name: study.methods[name] for name in methods or study.methods},
    )


def _progress(done: int, total: int, cell: Cell, seconds: float) -> None:
    run = f"{cell.dataset} {cell.method} ε {cell.epsilon} #{cell.repetition + 1}"
    text = f"{done}/{total} {run}: {seconds:.1f} s"
    print(
        f"\r{text:<78}" if sys.stderr.isatty() else text,
        end="" if sys.stderr.isatty() else "\n",
        file=sys.stderr,
    )
    if done == total and sys.stderr.isatty():
        print(file=sys.stderr)


def _near(path: Path) -> str:
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
