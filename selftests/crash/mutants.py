#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Build the explorer with one deliberate bug after the other and demand that
it finds each; the control, which is no bug, has to survive."""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "selftests/scripts"))
import edits as edit_list  # pylint: disable=wrong-import-position


def build(work, name, edits):
    tree = work / name
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "kmod", tree / "kmod")
    shutil.copytree(ROOT / "uapi", tree / "uapi")
    (tree / "selftests").mkdir()
    for part in ("shim", "crash", "world"):
        shutil.copytree(ROOT / "selftests" / part, tree / "selftests" / part)
    edit_list.apply(tree, edits)
    subprocess.run(["make", "-s", "-C", tree / "selftests/crash",
                    f"O={tree}/build", "CFLAGS=-w"], check=True)
    return tree / "build/explore"


def judge(explore, control):
    """(killed, how): the first run that ends in a failure, shortest first.

    The two words of the control's pair may be met in any mixture but are met
    in other pairs of places, so pairs that are not reached do not count.
    """
    for length in ("1", "2"):
        begin = time.monotonic()
        done = subprocess.run([explore, "--len", length, "--workers", "1"],
                              capture_output=True, text=True, check=False)
        took = time.monotonic() - begin
        if "FAILURE" in done.stderr or done.returncode not in (0, 1):
            why = done.stderr.split("\n", 1)[0].removeprefix("FAILURE: ")
            return True, f"{length} steps, {took:.1f} s: {why}"
        if not control and done.returncode:
            return True, f"{length} steps, {took:.1f} s: a pair not reached"
    return False, "survives"


def one(work, mutant):
    name, what, edits = mutant
    explore = build(work, name, edits)
    killed, how = judge(explore, name == "control")
    shutil.rmtree(work / name)
    return name, what, killed, how


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--build", default=ROOT / "build/mutants",
                        type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    mutants = [m for m in edit_list.parse(HERE / "mutants.txt")
               if not args.names or m[0] in args.names]
    killed = wrong = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, what, dead, how in pool.map(lambda m: one(args.build, m),
                                              mutants):
            expected = dead != (name == "control")
            wrong += not expected
            killed += dead
            print(f"{'ok' if expected else 'NOT OK'} {name}: {what}\n    {how}",
                  flush=True)
    print(f"{killed} killed, {len(mutants) - killed} survived"
          f" ({'as it should be' if not wrong else f'{wrong} wrong'})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
