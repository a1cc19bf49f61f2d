"""Audits of the Gibbs learner on tiny tables: a few records, two columns and a label."""

from __future__ import annotations

from fractions import Fraction

from penstock.audit.methods import Audits, MethodAudit
from penstock.learn.classification.audits import COLOUR_RECORDS, COLOURS, SHAPE_RECORDS, SHAPES

AUDITS = Audits(
    (
        MethodAudit(
            "gibbs-rule", COLOURS, COLOUR_RECORDS, epsilon=Fraction(2), copies=("halved-sensitivity",)
        ),
        MethodAudit(
            "gibbs-rule",
            SHAPES,
            SHAPE_RECORDS,
            parameters={"target": "kind", "prior": "rules"},
            label="three-labels",
            copies=(),
        ),
    )
)
