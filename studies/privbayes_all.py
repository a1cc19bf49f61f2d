"""All PrivBayes studies one after the other, and their reports in one file.

python studies/privbayes_all.py                # about half an hour on two cores
python studies/privbayes_all.py --jobs 2 --seconds 600     # at most ten minutes for each
python studies/privbayes_all.py --show         # only what is there
"""

from __future__ import annotations

import sys
from importlib import import_module

from frame import main
from frame.store import RESULTS

STUDIES = (
    "privbayes_network",
    "privbayes_encodings",
    "privbayes_parameters",
    "privbayes_error",
    "privbayes_marginals",
    "privbayes_svm",
    "privbayes_overlap",
)


def everything(arguments: list[str]) -> None:
    for name in STUDIES:
        main(import_module(name).study, arguments)
    reports = [(RESULTS / f"{name}.md").read_text(encoding="utf-8") for name in STUDIES]
    (RESULTS / "privbayes.md").write_text("\n".join(reports), encoding="utf-8")


if __name__ == "__main__":
    everything(sys.argv[1:])
