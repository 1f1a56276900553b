"""Decision thresholds and calibrations, as they are read, against their own predict.

``python -m benchmarks.cut_offs --rows 100000`` fits a model of each kind on four columns.
Around it stand decision thresholds at probabilities and scores that it answers, one float beside
them and elsewhere, for both classes; and calibrations, with thresholds on these. Rows lie on the
thresholds of the trees, on the floats next to them and between. The program prints, for each kind,
how many wrappers were read, and on how many rows in all the classes that were read differ from
``predict``.
"""

import argparse
import warnings

import numpy as np
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemble_simplify.reading import Model

# scikit-learn scales by a temperature from 1.8 on
IS_NEW = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
METHODS = ["sigmoid", "isotonic", *["temperature"] * IS_NEW]


def kinds():
    """An unfitted model of each kind, by name."""
    forest = RandomForestClassifier(10, random_state=0)
    small = RandomForestClassifier(5, max_depth=3, random_state=0)
    extra = ExtraTreesClassifier(7, max_depth=4, random_state=0)
    yield "random forest", forest
    yield "bagging of forests", BaggingClassifier(small, 5, random_state=0)
    members = [("a", small), ("b", extra)]
    yield "soft votes", VotingClassifier(members, voting="soft", weights=[0.3, 0.7])
    yield "AdaBoost", AdaBoostClassifier(n_estimators=15, random_state=0)
    yield "gradient boosting", GradientBoostingClassifier(n_estimators=20, random_state=0)
    exponential = GradientBoostingClassifier(n_estimators=20, loss="exponential", random_state=0)
    yield "gradient boosting, exponential", exponential
    yield "histogram gradient boosting", HistGradientBoostingClassifier(max_iter=15)
    yield "pipeline", make_pipeline(StandardScaler(), forest)
    try:
        import lightgbm

        yield "LightGBM", lightgbm.LGBMClassifier(n_estimators=15, verbose=-1, n_jobs=1)
    except ImportError:
        pass
    try:
        import xgboost

        yield "XGBoost", xgboost.XGBClassifier(n_estimators=15, max_depth=3, n_jobs=1)
    except ImportError:
        pass


def rows_beside(model, n_rows, rng):
    """Rows of float32 numbers on the thresholds of a model, next to them, and between."""
    forest = Model.of(model, check=False).forest
    columns = []
    for j in range(forest.n_features):
        cuts = np.unique(forest.threshold[forest.feature == j]).astype(np.float32)
        sides = [np.nextafter(cuts, np.float32(end)) for end in (-9, 9)]
        between = rng.uniform(0, 1, 50).astype(np.float32)
        columns.append(rng.choice(np.concatenate([cuts, *sides, between]), n_rows))
    return np.column_stack(columns).astype(np.float64)


def wrappers(model, X, y, rows):
    """Thresholds and calibrations around a fitted model, and thresholds on calibrations."""
    inside = [FrozenEstimator(model)]
    for method in METHODS:
        calibrated = CalibratedClassifierCV(inside[0], method=method).fit(X, y)
        yield calibrated
        inside.append(FrozenEstimator(calibrated))
    for one in inside:
        for response in ("predict_proba", "decision_function"):
            if not hasattr(one, response):
                continue
            answers = getattr(one, response)(rows[:5000])
            for label in (0, 1):
                sign = 1 if label else -1
                own = np.unique(answers[:, label] if answers.ndim == 2 else sign * answers)
                at = own[len(own) // 2]
                for threshold in (at, np.nextafter(at, own[0]), np.nextafter(at, own[-1]), 0.3):
                    cut = FixedThresholdClassifier(
                        one, threshold=threshold, pos_label=label, response_method=response
                    )
                    yield cut.fit(X, y)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="rows for each wrapper")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (400, 4)).astype(np.float32).astype(np.float64)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=400) > 1).astype(int)
    for name, model in kinds():
        model.fit(X, y)
        rows = rows_beside(model, arguments.rows, rng)
        n_wrappers = n_differences = 0
        for wrapper in wrappers(model, X, y, rows):
            forest = Model.of(wrapper).forest
            found = forest.classes[forest.predict_index(rows)]
            n_wrappers += 1
            n_differences += int((found != wrapper.predict(rows)).sum())
        print(f"{name}: {n_wrappers} wrappers, {n_differences} differences", flush=True)


if __name__ == "__main__":
    main()
