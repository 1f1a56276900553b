"""One cheap instance of every public estimator, for what all of them have to pass."""

from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import ensemble_simplify
from ensemble_simplify import (
    BornAgainClassifier,
    BornAgainRegressor,
    BudgetForestClassifier,
    CultivatedForestClassifier,
    FaithfulPruner,
    FeatureBudgetPruner,
    GenesimClassifier,
    InterpretableSingleModel,
    RepresenterTree,
    ScorecardClassifier,
    ScorecardRegressor,
    SelectiveTreeClassifier,
    SelectiveTreeRegressor,
)

FOREST = RandomForestClassifier(5, max_depth=2, random_state=0)

#: Name of the class -> unfitted instance that answers alike on every fit.
ESTIMATORS = {
    type(estimator).__name__: estimator
    for estimator in (
        BornAgainClassifier(FOREST, random_state=0),
        BornAgainRegressor(random_state=0),
        BudgetForestClassifier(n_estimators=5, max_depth=4, random_state=0),
        CultivatedForestClassifier(max_depth=4),
        FaithfulPruner(
            RandomForestClassifier(3, max_depth=3, random_state=3), max_changes=1, random_state=0
        ),
        FeatureBudgetPruner(FOREST),
        GenesimClassifier(
            n_bootstraps=3,
            population_size=8,
            tournament_size=3,
            n_iter=3,
            n_crossovers=3,
            random_state=0,
        ),
        InterpretableSingleModel(FOREST, max_depth=4, random_state=0),
        RepresenterTree(FOREST, n_samples=500, random_state=0),
        ScorecardClassifier(FOREST, max_bins=6, n_samples=500, random_state=0),
        ScorecardRegressor(
            RandomForestRegressor(5, random_state=0), max_bins=6, n_samples=500, random_state=0
        ),
        SelectiveTreeClassifier(FOREST, random_state=0),
        SelectiveTreeRegressor(
            RandomForestRegressor(5, max_depth=2, random_state=0), random_state=0
        ),
    )
}
for _name in ensemble_simplify.__all__:
    _public = getattr(ensemble_simplify, _name)
    if isinstance(_public, type) and issubclass(_public, BaseEstimator):
        # what is made of a fitted model is none to be fitted
        if _public not in (
            ensemble_simplify.ImportedEnsemble,
            ensemble_simplify.AnomalyScore,
            ensemble_simplify.OneOutput,
            ensemble_simplify.AdditiveScorecard,
            ensemble_simplify.SimplifiedModel,
        ):
            ESTIMATORS.setdefault(_name, _public())

#: Those that take an ensemble as `estimator`.
SIMPLIFIERS = [
    estimator for estimator in ESTIMATORS.values() if "estimator" in estimator.get_params()
]
