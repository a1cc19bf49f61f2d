"""Predictors that were searched for, compared with the records: as all linear predictors are."""

from __future__ import annotations

from penstock.learn.linear.evaluation import PredictorEvaluation


class SearchEvaluation(PredictorEvaluation):
    """How near the answers of a searched predictor are."""
