"""What is said of random models, held against their own predict.

``python -m benchmarks promises --models 10000 --first 0 --jobs 2`` draws a small model of some
family on a random table for each seed (``tests/random_models.py``) and puts a few questions to the
package (``tests/what_is_said.py``): estimators, proofs, audits, exports. What it says is compared
with what the model itself answers to rows next to its thresholds, with gaps and levels that it
never saw. A question is answered, refused with a sentence, or failed. The table counts them, so
that a family that is always refused is seen. ``--first SEED --models 1`` repeats a failure.
"""

import argparse
import collections
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from random_models import FAMILIES
from what_is_said import CHECKS, look

from benchmarks._record import environment
from benchmarks._workers import run_seeds

CHUNK = 100  # seeds that a worker takes
REPEAT = "python -m benchmarks.promises --models 1 --first {}"


def check(seed):
    """What became of the questions about the model of a seed, and the processor's seconds."""
    begin = time.process_time()
    found = look(seed)
    return found, time.process_time() - begin


def table(counts):
    """Families by questions, in Markdown: how often one was answered, refused and failed."""
    lines = [f"| | {' | '.join(CHECKS)} |", f"|---|{'---|' * len(CHECKS)}"]
    rows = {family: [counts[family, question] for question in CHECKS] for family in FAMILIES}
    columns = zip(*rows.values(), strict=True)
    rows["all"] = [sum(column, collections.Counter()) for column in columns]
    for family, row in rows.items():
        cells = [
            "/".join(str(cell[state]) for state in ("answered", "refused", "failed"))
            if cell
            else ""
            for cell in row
        ]
        lines.append(f"| {family} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # models are small, and every process has one core
    print(f"{environment('xgboost', 'lightgbm', 'treelite', 'onnxruntime')}\n", flush=True)
    seeds = range(options.first, options.first + options.models)
    counts = collections.defaultdict(collections.Counter)
    failures, reasons, seconds, without = 0, collections.Counter(), 0.0, 0
    for seed, answer, error in run_seeds(check, seeds, CHUNK, options.jobs):
        if error:
            failures += 1
            print(f"{REPEAT.format(seed)}: {error}\n", flush=True)
            continue
        found, spent = answer
        seconds += spent
        for outcome in found:
            if outcome.state == "no model":
                without += 1
            elif outcome.state != "not asked":
                counts[outcome.family, outcome.question][outcome.state] += 1
            if outcome.state == "refused":
                reasons[outcome.question, outcome.detail[:90]] += 1
            elif outcome.state == "failed":
                failures += 1
                what = f"{outcome.family}, {outcome.question}: {outcome.detail}"
                print(f"{REPEAT.format(seed)}: {what}\n", flush=True)
    asked = sum(sum(cell.values()) for cell in counts.values())
    print(
        f"Seeds {seeds[0]} to {seeds[-1]}: {len(seeds) - without} models ({without} more were not "
        f"fitted or converted by their library), {asked} questions, {failures} failures, "
        f"{seconds / len(seeds):.2f} s of the processor a model.\n\n"
        "Answered/refused/failed:\n"
    )
    print(table(counts))
    print("\nRefusals, the most frequent:\n")
    for (question, reason), count in reasons.most_common(40):
        print(f"- {count} {question}: {reason}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
