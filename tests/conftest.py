"""Shared by all tests: helper modules beside this file, Hypothesis profiles, the order of files.

The default profile draws the same few examples every time, so that a failure means a change.
For a night, many that nobody has seen: ``pytest --hypothesis-profile=nightly``. A failure prints
how to reproduce it; its example goes into the test as an ``@example``.
"""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# pytest runs a process for each processor. Threads of OpenMP and BLAS in each of them would only
# wait for one another: some files took three times the processor time.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# The benchmarks, at the end: where the package is installed, its sources must not stand in for it.
sys.path.append(str(HERE.parent))

# Started in the background (nohup, `&`), Python ignores Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "ensemble_simplify",
    deadline=None,
    max_examples=30,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "nightly",
    settings.get_profile("ensemble_simplify"),
    derandomize=False,
    max_examples=1000,
    print_blob=True,
)
settings.load_profile("ensemble_simplify")


@pytest.fixture(scope="module")
def few_votes():
    """GENESIM's forest for the out-of-bag votes, nearly all of its time, with 20 trees for 200.

    For a whole module, so that what is fitted once for all of its tests has as many.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_OOB_TREES", "_LEAST_OOB_TREES"):
            patch.setattr(f"ensemble_simplify.genesim._first_trees.{name}", 20)
        yield


@pytest.fixture
def all_votes(monkeypatch):
    """As many trees as there are, for one test of a module that has few."""
    for name, n_trees in (("_OOB_TREES", 200), ("_LEAST_OOB_TREES", 50)):
        monkeypatch.setattr(f"ensemble_simplify.genesim._first_trees.{name}", n_trees)


# Files that take longest, the longest first: begun last, one of them would run on alone.
LONGEST = [
    "test_common.py",
    "test_promises.py",
    "test_planted_faults.py",
    "born_again/test_near.py",
    "representer/test_estimator.py",
    "test_processes.py",
    "evidence/test_document.py",
    "feature_budget/test_tables.py",
    "genesim/test_estimator.py",
    "born_again/test_estimator.py",
    "front/test_any_table.py",
    "audit/test_audit.py",
    "faithful_pruning/test_estimator.py",
]


def pytest_collection_modifyitems(items):
    place = {HERE / path: i for i, path in enumerate(LONGEST)}
    if gone := [str(path) for path in place if not path.exists()]:
        raise FileNotFoundError(
            f"LONGEST in tests/conftest.py names files that are not there: {gone}"
        )
    items.sort(key=lambda item: place.get(item.path, len(LONGEST)))
