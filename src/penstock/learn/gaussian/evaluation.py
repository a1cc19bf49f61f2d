"""Draws of coefficients compared with the records: as all linear predictors are."""

from __future__ import annotations

from penstock.learn.linear.evaluation import PredictorEvaluation


class DrawEvaluation(PredictorEvaluation):
    """How far off the numbers of a drawn predictor are."""
