#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Build the stress with one deliberate bug after the other and demand that it
finds each; the control, which is no bug, has to survive.  Threads meet by
chance, so each is given many runs: of those with readers one in six finds memory
that is used again too early."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "selftests/scripts"))
import edits as edit_list  # pylint: disable=wrong-import-position

RUNS = (("-w", "-k", "48"), ("-k", "48"), ("-w",), ("-k", "600"))
TRIES = 20


def judge(stress, name, engine):
    """(killed, how) by the first run that fails, or does not end."""
    for number in range(1 if name == "control" else TRIES):
        for run in RUNS:
            options = (*run, "-s", str(number + 1))
            command = [stress, *options, "-e", engine, "-t", "1000"]
            try:
                done = subprocess.run(command, capture_output=True, text=True,
                                      check=False, timeout=60)
            except subprocess.TimeoutExpired:
                return True, f"{' '.join(options)}: does not end"
            if done.returncode:
                said = [line[2:] for line in done.stdout.splitlines()
                        if line.startswith("# ")]
                return True, (f"{' '.join(options)}: "
                              f"{said[-1] if said else done.stderr[-80:]}")
    return False, "survives"


def main():
    args = edit_list.arguments(__doc__, ROOT / "build/stress-mutants").parse_args()
    mutants = edit_list.chosen(edit_list.parse(HERE / "mutants.txt"), args.names)
    base = edit_list.Base(args.build, "stress",
                          ("shim", "threads", "stress", "lib", "engines",
                           "kselftest"),
                          "stress")
    engines = {name: edit_list.engine_of(name, changes)
               for name, _, changes in mutants}
    return edit_list.run(args, mutants, base, lambda stress, name:
                         judge(stress, name, engines[name]))


if __name__ == "__main__":
    sys.exit(main())
