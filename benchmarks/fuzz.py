"""Broken ensembles and node arrays: each is refused with a clear error or answered for exactly.

``python -m benchmarks.fuzz --seconds 300`` changes nodes and attributes of fitted ensembles, what
HistGradientBoosting keeps and what LightGBM and XGBoost save (where they are installed), and node
arrays for the writer, at random (``tests/malformed.py``), and gives them to the readers, the
writer and the public functions. Worker processes take turns, so that a crash or a hang is
reported with its seed.
"""

import argparse
import collections
import multiprocessing
import resource
import sys
import time
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from malformed import CHECKS

from benchmarks._record import environment

# Seeds a worker takes, seconds it may need for one, and bytes of memory it may use.
CHUNK, PATIENCE, MEMORY = 500, 120, 8 << 30


def work(name, first, last, pipe):
    """Check seeds one by one; send what became of each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore", RuntimeWarning)
    for seed in range(first, last):
        try:
            pipe.send((seed, sorted(CHECKS[name](seed)), None))
        except Exception:
            pipe.send((seed, [], traceback.format_exc(limit=-4)))


def check_chunk(name, first, refused, failures):
    """Check the seeds from `first` on in a new process; return the next seed to check."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(name, first, first + CHUNK, theirs))
    process.start()
    theirs.close()
    seed, error = first, None
    try:
        while seed < first + CHUNK and error is None:
            if not ours.poll(PATIENCE):
                error = f"no answer within {PATIENCE} s"
                process.kill()
                break
            seed, names, failed = ours.recv()
            refused.update(names or ["(answered)"])
            if failed:
                failures.append((name, seed, failed))
            seed += 1
    except EOFError:
        process.join()
        error = f"crash, exit code {process.exitcode}"
    process.join()
    if error:
        failures.append((name, seed, error))
        seed += 1
    return seed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    options = parser.parse_args()
    print(f"{environment()}\n")
    failures, bad = [], 0
    for name in CHECKS:
        refused = collections.Counter()
        seed, begin = options.first, time.monotonic()
        while time.monotonic() - begin < options.seconds / len(CHECKS):
            seed = check_chunk(name, seed, refused, failures)
        print(f"{name}: {seed - options.first} cases, {len(failures) - bad} failures")
        for what, count in sorted(refused.items()):
            print(f"    {count:7} {what}{'' if what == '(answered)' else ' refused'}")
        bad = len(failures)
    for name, seed, error in failures:
        print(f"\n{name}, seed {seed}:\n{error}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
