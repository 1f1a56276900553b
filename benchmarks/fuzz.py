"""Broken ensembles and node arrays: each is refused with a clear error or answered for exactly.

``python -m benchmarks.fuzz --seconds 300`` changes nodes and attributes of fitted ensembles, what
HistGradientBoosting keeps and what LightGBM and XGBoost save (where they are installed), and node
arrays for the writer, at random (``tests/malformed.py``), and gives them to the readers, the
writer and the public functions. Worker processes take turns, so that a crash or a hang is
reported with its seed.
"""

import argparse
import collections
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from malformed import CHECKS

from benchmarks._record import environment
from benchmarks._workers import run_seeds

CHUNK = 500  # seeds that a worker takes


def check(name, seed):
    """Which functions refused the input of a seed."""
    return sorted(CHECKS[name](seed))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    options = parser.parse_args()
    print(f"{environment()}\n")
    failures = []
    for name in CHECKS:
        refused, bad = collections.Counter(), len(failures)
        seed, begin = options.first, time.monotonic()
        while time.monotonic() - begin < options.seconds / len(CHECKS):
            for at, names, error in run_seeds(partial(check, name), range(seed, seed + CHUNK)):
                if error:
                    failures.append((name, at, error))
                else:
                    refused.update(names or ["(answered)"])
            seed += CHUNK
        print(f"{name}: {seed - options.first} cases, {len(failures) - bad} failures")
        for what, count in sorted(refused.items()):
            print(f"    {count:7} {what}{'' if what == '(answered)' else ' refused'}")
    for name, seed, error in failures:
        print(f"\n{name}, seed {seed}:\n{error}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
