"""Audits of clusters, on tiny maps."""

from __future__ import annotations

from penstock.audit.hostile import Ground
from penstock.audit.methods import CRUDE, Audits, MethodAudit
from penstock.kinds.points.audits import CORNERS, ENDS, LINE, ON_THE_EDGE, SQUARE

AUDITS = Audits(
    (
        MethodAudit(
            "kmeans",
            SQUARE,
            CORNERS,
            parameters={"k": 2, "preset": "dplloyd", "rounds": 1},
            effort=0.01,
            copies=CRUDE,
        ),
        MethodAudit("kmeans", SQUARE, CORNERS, label="chosen-k", copies=()),
        MethodAudit("gupt-kmeans", LINE, ENDS, parameters={"k": 1}, effort=0.01, copies=CRUDE),
        MethodAudit(
            "privgene-kmeans", LINE, ENDS, parameters={"k": 1, "rounds": 1}, effort=0.005, copies=CRUDE
        ),
    ),
    grounds=(
        Ground("two clusters", SQUARE, ON_THE_EDGE, parameters={"k": 2}),
        Ground("rounds on a line", LINE, ENDS, parameters={"k": 2, "preset": "dplloyd"}),
    ),
)
