"""The level sizes of Adult with the taxonomies of DiffGen, as the specification prints them."""

from __future__ import annotations

SIZES = {
    "age": (1, 2, 4, 8, 16),
    "workclass": (1, 2, 3, 5, 8),
    "fnlwgt": (1, 6, 11),
    "education": (1, 3, 7, 17),
    "education-num": (1, 2, 4),
    "marital-status": (1, 2, 3, 7),
    "occupation": (1, 3, 14),
    "relationship": (1, 4, 6),
    "race": (1, 2, 5),
    "sex": (1, 2),
    "capital-gain": (1, 5, 20),
    "capital-loss": (1, 2, 5, 10),
    "hours-per-week": (1, 5, 10),
    "native-country": (1, 6, 19, 41),
}
"""The number of nodes at every level of every hierarchy."""

MULTICLASS = {**{name: sizes for name, sizes in SIZES.items() if name != "marital-status"}, "income": (1, 2)}
"""The same where marital status is to be predicted and income is known."""
