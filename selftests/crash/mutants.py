#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Build the explorer with one deliberate bug after the other and demand that
it finds each; the control, which is no bug, has to survive."""

import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "selftests/scripts"))
import edits as edit_list  # pylint: disable=wrong-import-position


# Who comes by what is used again, or in flight; with as many preemptions as it
# takes.
PAIRS = (("large values", "move a 0; look a 0", "1"),
         ("node of two", "move a 0; look a 1", "1"),
         ("node of two", "move a 0; get a 1", "1"),
         ("node of two", "move a 0; del a 1", "1"),
         ("node of three", "del a 4; scan a 0", "1"),
         ("ends", "put a 1 2; scan a 0", "1"),
         ("every kind of value", "put a 1 1; scan a 0", "2"),
         ("odd place", "put a 1 1; scan a 0 1", "2"),
         ("one leaf", "put a 0 3; look a 0", "2"),
         ("all keys, not walked", "settle; del a 8", "1"),
         ("not walked", "settle; put a 8 1", "1"),
         ("two trees", "batch a 7; put a 7 1; get a 7", "1"),
         ("root of many", "put a 1 1; get a 1", "1"))


def failure(explore, *options):
    """What the explorer says when it fails; None if it does not."""
    done = subprocess.run([explore, *options, "--workers", "1"],
                          capture_output=True, text=True, check=False)
    if "FAILURE" not in done.stderr:
        return None
    why = done.stderr.split("\n", 1)[0].removeprefix("FAILURE: ")
    return f"beside each other: {why}"


def pair_beside(explore):
    for start, steps, preemptions in PAIRS:
        yield failure(explore, "--models", "x86", "--start", start, "--steps",
                      steps, "--preemptions", preemptions)


def change_beside(explore):
    for start in "one leaf", "long prefix", "odd place":
        yield failure(explore, "--len", "0", "--preemptions", "1", "--start",
                      start)


def alone(explore, name, length):
    """What goes wrong with sequences of steps; None if nothing does."""
    begin = time.monotonic()
    done = subprocess.run([explore, "--len", length, "--workers", "1"],
                          capture_output=True, text=True, check=False)
    took = f"{length} steps, {time.monotonic() - begin:.1f} s"
    if "FAILURE" in done.stderr or done.returncode not in (0, 1):
        why = done.stderr.split("\n", 1)[0].removeprefix("FAILURE: ")
        return f"{took}: {why}"
    if name != "control" and done.returncode:
        said = [line for line in done.stdout.splitlines()
                if line.startswith("LINT: ")] or ["a pair not reached"]
        return f"{took}: {said[0]}"
    return None


def runs(explore, name):
    """The fastest first."""
    yield alone(explore, name, "1")
    yield from pair_beside(explore)
    yield from change_beside(explore)
    yield alone(explore, name, "2")


def judge(tree, name, edits):
    """(killed, how): the first run that ends in a failure.

    The two words of the control's pair may be met in any mixture but are met
    in other pairs of places, so pairs that are not reached do not count.
    """
    explore = edit_list.build(tree, edits, "crash",
                              ("shim", "crash", "world"), "explore")
    why = next(filter(None, runs(explore, name)), None)
    return bool(why), why or "survives"


if __name__ == "__main__":
    sys.exit(edit_list.run(__doc__, HERE / "mutants.txt",
                           ROOT / "build/mutants", judge))
