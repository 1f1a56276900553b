"""What bins and totals of a card say of labelled rows: counts, rates, weights of evidence."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.utils import Bunch

# Rows of each kind that a bin without events, or without others, is taken to have more.
_EMPTY = 0.5


def binning_table(named, X, is_event) -> Bunch:
    """The bins of a card with what rows say of them; see `ScorecardClassifier.binning_table`.

    Parameters
    ----------
    named : NamedCard
        Of a card for two classes.
    X : float64 array of shape (n_rows, n_columns)
    is_event : bool array of shape (n_rows,)
        Both kinds of rows are there.
    """
    import pandas as pd

    terms, lines, features = named.card.terms, [], []
    n_events, n_others = is_event.sum(), (~is_event).sum()
    for part in named.parts():
        (at,) = (i for i, term in enumerate(terms) if term is part.term)
        which, n = part.line_of()[terms[at].bins(X)], len(part.lines)
        rows, events = np.bincount(which, minlength=n), np.bincount(which[is_event], minlength=n)
        others = rows - events
        # a logarithm of nothing is no number
        more = np.where((events == 0) | (others == 0), _EMPTY, 0.0)
        of_events, of_others = (events + more) / n_events, (others + more) / n_others
        evidence = np.where(rows > 0, np.log(of_events / of_others), 0.0)
        value = np.where(rows > 0, (of_events - of_others) * evidence, 0.0)
        features.append((part.name, float(value.sum()), part.span))
        for k, line in enumerate(part.lines):
            if rows[k] or line.is_told:
                rate = events[k] / rows[k] if rows[k] else np.nan
                own = (rows[k], rows[k] / len(X), events[k], rate, evidence[k], value[k])
                lines.append((part.name, line.text, float(line.points[0]), *own))
    heads = ["feature", "bin", "points", "rows", "share", "events", "rate", "woe", "iv"]
    totals = named.card.scores(X)[:, 0]
    false, true, _ = roc_curve(is_event, totals)
    return Bunch(
        bins=pd.DataFrame(lines, columns=heads),
        features=pd.DataFrame(features, columns=["feature", "iv", "span"]),
        ks=float(np.max(true - false)),
        gini=float(2.0 * roc_auc_score(is_event, totals) - 1.0),
    )
