# SPDX-License-Identifier: GPL-2.0-only
"""Deliberate bugs as text: which lines of which files become which others.

    = NAME<tab>what is wrong
    @ FILE
    - line as it is
    + line instead

Lines after "-" must occur exactly once in the file, in a row.  Anything else
is a comment.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def parse(path):
    """[(name, description, [(file, old, new)])] in the order of the file."""
    mutants, edits = [], None
    for line in path.read_text().splitlines():
        if line.startswith("= "):
            name, what = line[2:].split("\t", 1)
            edits = []
            mutants.append((name, what, edits))
        elif line.startswith("@ "):
            edits.append((line[2:], [], []))
        elif line[:1] == "-":
            edits[-1][1].append(line[2:])
        elif line[:1] == "+":
            edits[-1][2].append(line[2:])
    return mutants


def apply(tree, edits):
    """Replace in a copy of the sources; each old text must occur once."""
    for name, old, new in edits:
        path = tree / name
        text, want = path.read_text(), "\n".join(old)
        if text.count(want) != 1:
            sys.exit(f"mutants: {name}: {text.count(want)} times, not once:\n{want}")
        path.write_text(text.replace(want, "\n".join(new)))


def build(tree, edits, folder, parts, program):
    """Build a program of a folder from a copy of the sources with the bug."""
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "kmod", tree / "kmod")
    shutil.copytree(ROOT / "uapi", tree / "uapi")
    shutil.copytree(ROOT / "userlib/lib", tree / "userlib/lib")
    for part in parts:
        shutil.copytree(ROOT / "selftests" / part, tree / "selftests" / part)
    apply(tree, edits)
    subprocess.run(["make", "-s", "-C", tree / "selftests" / folder,
                    f"O={tree}/build", "CFLAGS=-w",
                    f"{tree}/build/{program}"], check=True)
    return tree / "build" / program


def run(description, path, work, judge):
    """Judge each mutant of a list; what ends the program.

    judge(tree, name, edits) tells whether it was killed, and how.  One that is
    called control has to survive.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--build", default=work, type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    mutants = [m for m in parse(path) if not args.names or m[0] in args.names]

    def one(mutant):
        name, what, edits = mutant
        dead, how = judge(args.build / name, name, edits)
        shutil.rmtree(args.build / name)
        return name, what, dead, how

    killed = wrong = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, what, dead, how in pool.map(one, mutants):
            expected = dead != (name == "control")
            wrong += not expected
            killed += dead
            print(f"{'ok' if expected else 'NOT OK'} {name}: {what}\n    {how}",
                  flush=True)
    print(f"{killed} killed, {len(mutants) - killed} survived"
          f" ({'as it should be' if not wrong else f'{wrong} wrong'})")
    return 1 if wrong else 0
