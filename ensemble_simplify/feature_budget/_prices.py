"""What features cost: a price each, and prices that a group of them shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np

from ensemble_simplify.base import product
from ensemble_simplify.reading import column_index
from ensemble_simplify.writing import plain


@dataclass(frozen=True, eq=False)
class Prices:
    """Resources that rows pay for: features, and groups of features."""

    price: np.ndarray  # of each resource, above zero
    # Of shape (n_features, 2): resources of a feature and of its group; -1: nothing to pay for.
    resources: np.ndarray
    names: list  # of the resources

    @classmethod
    def read(cls, feature_costs, groups, group_costs, n_features, names=None):
        """Prices as the parameters of `FeatureBudgetPruner` state them.

        Raises
        ------
        ValueError
            If a column or group is unknown, a group has no price, a column is in two groups, a
            price is negative or not finite, or all are zero.
        """
        costs = read_feature_costs(feature_costs, n_features, names)
        resources = np.full((n_features, 2), -1, dtype=np.int32)
        prices, labels = [], []
        for k in np.flatnonzero(costs > 0):
            resources[k, 0] = len(prices)
            prices.append(costs[k])
            labels.append(f"feature {k}" if names is None else str(names[k]))
        owner, groups = {}, groups or {}
        if group_costs is not None and not groups:
            raise ValueError(f"group_costs={group_costs!r} needs groups. Pass groups, too.")
        for name, members in groups.items():
            if isinstance(group_costs, Mapping):
                if name not in group_costs:
                    raise ValueError(f"group_costs has no price for the group {name!r}. Add one.")
                cost = group_costs[name]
            elif group_costs is None:
                raise ValueError(
                    f"groups={list(groups)!r} have no prices. Give group_costs: one number, "
                    "or a dict with a price for each."
                )
            else:
                cost = group_costs
            cost = read_price(cost, f"group_costs[{name!r}]")
            if isinstance(members, str) or not isinstance(members, Iterable):
                raise ValueError(f"groups[{name!r}]={members!r} is not a list of columns.")
            for key in members:
                k = column_index(key, f"groups[{name!r}]", n_features, names)
                if k in owner:
                    raise ValueError(
                        f"The column {key!r} is in the groups {owner[k]!r} and {name!r}. A column "
                        "can be in one group only."
                    )
                owner[k] = name
                if cost > 0:
                    resources[k, 1] = len(prices)
            if cost > 0:
                prices.append(cost)
                labels.append(f"group {name}")
        if isinstance(group_costs, Mapping):
            unknown = [name for name in group_costs if name not in groups]
            if unknown:
                raise ValueError(
                    f"group_costs has a price for {unknown[0]!r}, which is not among the groups "
                    f"{list(groups)!r}."
                )
        if not prices:
            raise ValueError(
                "feature_costs are all zero: nothing can be saved. Give at least one feature or "
                "group a positive price."
            )
        return cls(np.array(prices), resources, labels)

    def of_set(self, features) -> float:
        """What a row pays that uses all of these features."""
        used = np.unique(self.resources[features])
        return float(self.price[used[used >= 0]].sum())

    def as_parameters(self):
        """The same prices as `feature_costs`, `groups` and `group_costs`."""
        priced = np.append(self.price, 0.0)  # -1: nothing to pay for
        groups = {
            int(g): np.flatnonzero(self.resources[:, 1] == g).tolist()
            for g in np.unique(self.resources[:, 1])
            if g >= 0
        }
        return {
            "feature_costs": priced[self.resources[:, 0]],
            "groups": groups or None,
            "group_costs": {g: float(self.price[g]) for g in groups} or None,
        }

    def alone(self) -> np.ndarray:
        """What each feature costs if it is the only one, its group included."""
        return np.array([self.of_set([k]) for k in range(len(self.resources))])

    def paid(self, acquired):
        """What each row pays for the features that it uses by a mask (n_rows, n_features)."""
        return product(self.bought(acquired).astype(float), self.price)

    def bought(self, acquired):
        """Which resources each row pays for, a mask of shape (n_rows, n_resources)."""
        used = np.zeros((acquired.shape[0], len(self.price)), dtype=bool)
        for j in range(2):
            has = np.flatnonzero(self.resources[:, j] >= 0)
            np.logical_or.at(used.T, self.resources[has, j], acquired.T[has])
        return used


def read_price(cost, name) -> float:
    """A price as a float; `name` is for the error."""
    if not isinstance(cost, Real) or not np.isfinite(cost) or cost < 0:
        raise ValueError(
            f"{name}={plain(cost)!r} is not a price. Give a finite number, zero or more."
        )
    return float(cost)


def read_feature_costs(costs, n_features, names=None):
    """Prices of all features from an array, a dict by column, or None (1 each).

    Columns that a dict does not name cost nothing.
    """
    if costs is None:
        return np.ones(n_features)
    if isinstance(costs, Mapping):
        prices = np.zeros(n_features)
        for key, cost in costs.items():
            k = column_index(key, "feature_costs", n_features, names)
            prices[k] = read_price(cost, f"feature_costs[{key!r}]")
        return prices
    prices = np.asarray(costs, dtype=np.float64)
    if prices.shape != (n_features,):
        raise ValueError(
            f"feature_costs has shape {prices.shape}, but X has {n_features} features. "
            "Give one price per feature."
        )
    for k, cost in enumerate(prices):
        read_price(cost, f"feature_costs[{k}]")
    return prices
