"""Loans of a library that does not exist: what each reader borrowed in a year, as a set of subjects."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

SUBJECTS = (
    *("novels", "crime", "poetry", "travel", "cooking", "gardening", "history", "biography", "art", "music"),
    *(
        "science",
        "computing",
        "law",
        "medicine",
        "languages",
        "comics",
        "fairy-tales",
        "school",
        "sports",
        "maps",
    ),
)
_TASTES = {  # what belongs together, and how likely each is for a reader of that taste
    "leisure": (0.30, {"novels": 0.85, "crime": 0.6, "biography": 0.3, "poetry": 0.12}),
    "family": (0.25, {"fairy-tales": 0.8, "comics": 0.55, "school": 0.5, "cooking": 0.4, "sports": 0.2}),
    "outdoors": (0.18, {"travel": 0.75, "maps": 0.55, "languages": 0.4, "gardening": 0.35}),
    "study": (0.15, {"science": 0.6, "computing": 0.5, "law": 0.2, "medicine": 0.25, "languages": 0.35}),
    "culture": (0.12, {"history": 0.7, "art": 0.6, "music": 0.5, "poetry": 0.35, "biography": 0.4}),
}
_ANYWAY = 0.03


def loans(readers: int = 8_000) -> pl.DataFrame:
    """One row for each reader: the subjects borrowed, with blanks between them.

    >>> loans(3).columns
    ['borrowed']
    """
    import polars as pl

    rng = np.random.default_rng(20_250_701)
    shares = np.array([share for share, _ in _TASTES.values()])
    chances = np.array([[likes.get(each, _ANYWAY) for each in SUBJECTS] for _, likes in _TASTES.values()])
    which = rng.choice(len(shares), readers, p=shares / shares.sum())
    held = rng.random((readers, len(SUBJECTS))) < chances[which]
    also = rng.random(readers) < 0.35  # a second taste in the household
    held |= also[:, None] & (rng.random(held.shape) < 0.6 * chances[rng.permutation(which)])
    names = np.array(SUBJECTS)
    return pl.DataFrame({"borrowed": [" ".join(names[row]) for row in held if row.any()]})


def loans_schema() -> str:
    """The schema as its custodian has reviewed it, in YAML."""
    return files(__package__).joinpath("loans.schema.yaml").read_text(encoding="utf-8")
