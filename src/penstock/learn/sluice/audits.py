"""Audits of the default for item sets, both ways, on a few items."""

from __future__ import annotations

from penstock.audit.hostile import Ground
from penstock.audit.methods import Audits, MethodAudit
from penstock.kinds.itemsets.audits import BASKETS, FOUR, LARGE, PAIR, SINGLES, seen_items

AUDITS = Audits(
    (
        MethodAudit("sluice", PAIR, SINGLES, parameters={"way": "cells"}, read_off=seen_items),
        MethodAudit("sluice", FOUR, LARGE, label="auto", copies=()),
        MethodAudit("sluice", FOUR, LARGE, parameters={"way": "columns"}, label="columns", copies=()),
        MethodAudit(
            "sluice", FOUR, LARGE, parameters={"way": "columns", "columns": 2}, label="frequent", copies=()
        ),
    ),
    grounds=(
        Ground("sets as rows", PAIR, BASKETS, parameters={"way": "columns"}),
        Ground(
            "frequent items of users as columns",
            f"unit: {{protects: user, column: person, at_most: 2}}{FOUR}",
            LARGE,
            parameters={"way": "columns", "columns": 2},
        ),
        Ground("frequent items as columns", FOUR, LARGE, parameters={"way": "columns", "columns": 2}),
    ),
)
