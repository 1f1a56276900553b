"""Survival models of scikit-survival, by the risk score, or the time, that they predict."""

from __future__ import annotations

from typing import Any

from ensemble_simplify.reading.families.forests import mean_of, tree_of
from ensemble_simplify.reading.families.gradient_boosting import GradientBoosting
from ensemble_simplify.reading.families.held import StandsFor
from ensemble_simplify.reading.family import PACKAGE, Family
from ensemble_simplify.reading.program import Link
from ensemble_simplify.reading.trees import Reading


class RiskScore(StandsFor):
    """A survival model as a regressor of what its ``predict`` answers."""


class Survival(Family):
    """The mean of cumulative hazards, added up over the times of events; or boosting of a score."""

    kinds = (f"{PACKAGE}.RiskScore",)
    stand_ins = tuple(
        (f"sksurv.{name}", RiskScore)
        for name in (
            "RandomSurvivalForest",
            "ExtraSurvivalTrees",
            "GradientBoostingSurvivalAnalysis",
        )
    )
    title = "forests and boosted trees of scikit-survival"
    methods = ("predict",)

    def trees(self, rows: Any = None) -> Reading:
        model = self.estimator.model
        if hasattr(model, "learning_rate"):
            if hasattr(model, "_scale"):
                raise ValueError(
                    f"{type(model).__name__} was fitted with dropout_rate={model.dropout_rate}, "
                    "which is not supported. Fit it with dropout_rate=0."
                )
            reading = GradientBoosting(model).trees(rows)
            if not model._predict_risk_score:  # a time
                reading.vote = reading.vote.behind(Link("exp"))
            return reading
        trees = []
        for member in model.estimators_:
            tree, hazard = tree_of(member, member.tree_.__getstate__()["nodes"]), member.tree_.value
            if model.low_memory:
                tree.value = hazard[:, 0, :1].copy()
            else:
                tree.value = hazard[..., 0][:, member.is_event_time_].sum(1)[:, None]
            tree.estimator = None  # whose values are others
            trees.append(tree)
        return mean_of(trees, None)
