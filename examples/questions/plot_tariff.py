"""
A tariff of a gradient boosting model
=====================================

Insurers file tariffs: a base rate, and a relativity for each answer of a client, which are
multiplied. A model predicts better than most tariffs, but cannot be filed.
:class:`~ensemble_simplify.ScorecardRegressor` with ``link="log"`` makes a tariff of it. This page
does so for simulated claims, measures what is lost, and compares the tariff with the one before.
"""

# %%
# Claims
# ------
# 20,000 policies, each at risk for a part of a year. The number of claims is drawn from a Poisson
# law, whose rate is known here.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator

from ensemble_simplify import Domain, ScorecardRegressor, dislocation, verify

rng = np.random.default_rng(0)
n = 20_000
X = pd.DataFrame(
    {
        "age": rng.integers(18, 80, n).astype(float),
        "power": (10 * rng.integers(4, 20, n)).astype(float),
        "years without claim": rng.integers(0, 11, n).astype(float),
        "region": pd.Categorical(rng.choice(["city", "town", "country"], n, p=[0.3, 0.4, 0.3])),
    }
)
# some did not say for how long they have had no claim
X.loc[rng.random(n) < 0.1, "years without claim"] = -1
rate = 0.12 * np.exp(
    0.9 * (X["age"] < 25)
    + 0.3 * (X["age"] >= 70)
    + 0.004 * (X["power"] - 100)
    + np.where(X["years without claim"] < 0, 0.2, -0.06 * X["years without claim"])
    + X["region"].map({"city": 0.3, "town": 0.0, "country": -0.2}).astype(float)
)
exposure = rng.uniform(0.1, 1.0, n)
claims = rng.poisson(rate * exposure)
old, new = np.arange(n) < n // 2, np.arange(n) >= n // 2

# %%
# The model and its tariff
# ------------------------
# The model is fitted to claims for a year at risk, weighted by the time at risk. The tariff is made
# of the model: relativities are 1.00 where most time at risk is.

model = HistGradientBoostingRegressor(
    loss="poisson", max_iter=80, max_leaf_nodes=8, min_samples_leaf=100, random_state=0
).fit(X[old], claims[old] / exposure[old], sample_weight=exposure[old])
tariff = ScorecardRegressor(
    FrozenEstimator(model),
    link="log",
    max_bins=18,
    min_samples_bin=200,
    special_codes={"years without claim": -1},
    monotone={"age": "valley", "power": "rising", "years without claim": "falling"},
    random_state=0,
).fit(X[old], claims[old], exposure=exposure[old])
tariff

# %%

tariff.plot()
plt.show()

# %%
# What is lost
# ------------
# On policies that neither has seen: the Poisson deviance, and the Gini index of the ordered Lorenz
# curve. The table has the observed rates of each bin beside those of tariff and model.

table = tariff.binning_table(X[new], claims[new], exposure=exposure[new])
print(f"deviance: tariff {table.deviance:.4f}, model {table.model_deviance:.4f}")
print(f"Gini index: tariff {table.gini:.3f}, model {table.model_gini:.3f}")
heads = ["bin", "relativity", "exposure", "observed", "card", "model"]
print(table.bins.query("feature == 'age'")[heads].round(3).to_string(index=False))

# %%
# How far can a premium be from the model's, for any client in the ranges of the table? This is not
# measured, but proven.

domain = Domain.from_rows(X[old])
for ratio in (0.5, 1.0, 2.0, 4.0):
    proof = verify(model, tariff, rtol=ratio, domain=domain, max_boxes=100_000)
    print(f"never over {ratio:.0%} beside the tariff's: {proof.equal}")
print(f"claims a year: never over {proof.max_difference_bound:.2f} beside the tariff's")

# %%
# Who pays more
# -------------
# The tariff of last year asked for age and region only.

last_year = tariff.with_bins({"power": None, "years without claim": None, "age": [30]})
report = dislocation(
    last_year, tariff, X[new], exposure=exposure[new], by=["region", "years without claim"]
)
print(f"all premiums together: {report.change:+.1%}")
print(report.segments.round(3).to_string(index=False))

# %%

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.hist(100 * report.rows, 40, weights=exposure[new] / exposure[new].sum(), color="#0072b2")
ax.axvline(0, color="0.3", lw=0.8)
ax.set(xlabel="change of the premium (%)", ylabel="share of the exposure")
plt.show()
