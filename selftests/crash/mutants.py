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


def judge(tree, name, edits):
    """(killed, how): the first run that ends in a failure, shortest first.

    The two words of the control's pair may be met in any mixture but are met
    in other pairs of places, so pairs that are not reached do not count.
    """
    explore = edit_list.build(tree, edits, "crash",
                              ("shim", "crash", "world"), "explore")
    for length in ("1", "2"):
        begin = time.monotonic()
        done = subprocess.run([explore, "--len", length, "--workers", "1"],
                              capture_output=True, text=True, check=False)
        took = time.monotonic() - begin
        if "FAILURE" in done.stderr or done.returncode not in (0, 1):
            why = done.stderr.split("\n", 1)[0].removeprefix("FAILURE: ")
            return True, f"{length} steps, {took:.1f} s: {why}"
        if name != "control" and done.returncode:
            said = [line for line in done.stdout.splitlines()
                    if line.startswith("LINT: ")] or ["a pair not reached"]
            return True, f"{length} steps, {took:.1f} s: {said[0]}"
    for start in "one leaf", "long prefix":
        done = subprocess.run([explore, "--len", "0", "--preemptions", "1",
                               "--start", start, "--workers", "1"],
                              capture_output=True, text=True, check=False)
        if "FAILURE" in done.stderr:
            why = done.stderr.split("\n", 1)[0].removeprefix("FAILURE: ")
            return True, f"beside each other: {why}"
    return False, "survives"


if __name__ == "__main__":
    sys.exit(edit_list.run(__doc__, HERE / "mutants.txt",
                           ROOT / "build/mutants", judge))
