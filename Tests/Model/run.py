#!/usr/bin/env python3
"""Compares an agent with a model under random acts. Run by `.ci/model`, whose head describes it."""

import argparse
import collections
import concurrent.futures
import pathlib
import random
import shutil
import sys
import tempfile
import time
import traceback

import edits  # noqa: F401
import ends  # noqa: F401
import files  # noqa: F401
import history
from agent import Failure
from trial import ACTS, Trial


class Outcome:
    """The findings of a run."""

    def __init__(self, trial, failure):
        self.description = str(trial.character)
        self.counts = trial.counts
        self.journal = trial.journal
        self.failure = failure


def live(trial, seconds, acts):
    """Lets acts happen for some time, and then checks what is left."""
    end = time.monotonic() + seconds
    trial.begin()
    weights = [act.weight for act in acts]
    while time.monotonic() < end:
        act, = trial.chance.choices(acts, weights)
        trial.counts[act.name] += 1
        trial.counts["acts"] += 1
        act.function(trial)
        if trial.counts["acts"] % 25 == 0:
            trial.check()
    trial.say("the end")
    for _ in range(2):
        trial.check()
        history.check_the_history(trial)
        trial.check_secrets()
        trial.end()
        trial.start()
    trial.check()
    trial.end()
    trial.check_remains()


def run(seed, options):
    """Makes one run; returns its outcome. Leaves no file and no process."""
    place = tempfile.mkdtemp(prefix="defaultsd-model-")
    trial = Trial(seed, place)
    failure = None
    try:
        live(trial, options.seconds, options.acts)
    except Failure as problem:
        failure = str(problem)
    except Exception:
        failure = traceback.format_exc() + trial.home.last_words()
    finally:
        trial.home.discard()
        if failure and options.artifacts:
            shutil.copytree(place, options.artifacts / f"seed-{seed}", symlinks=True, ignore=ignored)
        shutil.rmtree(place, ignore_errors=True)
    return Outcome(trial, failure)


def ignored(_, names):
    """The names that can't be copied."""
    return [name for name in names if name in ("socket", "notify")]


def seeds(options):
    if options.random is not None:
        return [random.SystemRandom().randrange(1 << 32) for _ in range(options.random)]
    if options.seeds is not None:
        first, last = map(int, options.seeds.split(":"))
        return range(first, last + 1)
    return [options.seed]


def arguments():
    parser = argparse.ArgumentParser(prog=".ci/model", description="Compare an agent with a model under random acts.")
    names = ", ".join(sorted(act.name for act in ACTS))
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed", type=int, default=1, help="the only seed (default: 1)")
    which.add_argument("--seeds", metavar="A:B", help="the first and the last seed")
    which.add_argument("--random", type=int, metavar="N", help="this many seeds, chosen at random")
    parser.add_argument("--seconds", type=float, default=30, help="how long each run takes (default: 30)")
    parser.add_argument("--workers", type=int, default=1, help="how many runs at the same time (default: 1)")
    parser.add_argument("--without", default="", metavar="ACTS", help="leave out these acts, separated by commas")
    parser.add_argument("--only", default="", metavar="ACTS", help=f"only these acts: {names}")
    parser.add_argument("--acts", type=int, default=40, dest="last", help="how many acts a failure shows (default: 40)")
    parser.add_argument("--artifacts", type=pathlib.Path, metavar="DIR", help="copy the home of each failed run to DIR")
    options = parser.parse_args()
    chosen = set(filter(None, options.only.split(","))) or {act.name for act in ACTS}
    chosen -= set(options.without.split(","))
    options.acts = [act for act in ACTS if act.name in chosen]
    if not options.acts:
        parser.error("No act is left.")
    return options


def show(seed, outcome, options):
    """Prints a line for a run; for a failure, also the last acts."""
    counts = outcome.counts
    ended = sum(count for name, count in counts.items() if name.startswith("ends by"))
    verdict = "FAILED" if outcome.failure else "passed"
    print(
        f"seed {seed}: {verdict}: {counts['acts']} acts, {counts['checks']} checks, {ended} ends"
        f" ({outcome.description})", flush=True)
    if outcome.failure:
        for line in [*outcome.journal[-options.last:], outcome.failure]:
            print("    " + line.replace("\n", "\n    "))
        print(f"    To repeat: .ci/model --seed {seed} --seconds {options.seconds:g}", flush=True)


def main():
    options = arguments()
    totals = collections.Counter()
    failed = passed = 0
    with concurrent.futures.ProcessPoolExecutor(options.workers) as pool:
        runs = {pool.submit(run, seed, options): seed for seed in seeds(options)}
        for finished in concurrent.futures.as_completed(runs):
            outcome = finished.result()
            show(runs[finished], outcome, options)
            totals += outcome.counts
            failed += outcome.failure is not None
            passed += outcome.failure is None
    print("; ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(totals.items())))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
