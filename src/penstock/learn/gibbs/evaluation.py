"""Drawn rules compared with the records: as all linear predictors are."""

from __future__ import annotations

from penstock.learn.linear.evaluation import PredictorEvaluation


class RuleEvaluation(PredictorEvaluation):
    """How many labels a drawn rule gets right."""
