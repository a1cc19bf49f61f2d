"""The frame that published experiments are re-run in.

A study is data: datasets x methods x budgets x metrics x repetitions, the published figures beside
them, and statements that are checked one by one. `Study` holds that data, `run` computes the cells that
are missing, `main` is the command line that every study script ends with.
"""

from frame.command import all_of, main
from frame.data import Dataset, MissingDataError, load
from frame.results import Results, Summary
from frame.run import run
from frame.statements import Statement, Verdict
from frame.study import Cell, Method, Metric, Reference, Study

__all__ = [
    "Cell",
    "Dataset",
    "Method",
    "Metric",
    "MissingDataError",
    "Reference",
    "Results",
    "Statement",
    "Study",
    "Summary",
    "Verdict",
    "all_of",
    "load",
    "main",
    "run",
]
