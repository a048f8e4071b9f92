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
import re
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


def crash_lists():
    """The deliberate bugs that the explorer finds: the list of all, and those of
    the engines."""
    return [ROOT / "selftests/crash/mutants.txt",
            *sorted(ROOT.glob("selftests/engines/*-mutants.txt"))]


def crash_mutants():
    return [mutant for path in crash_lists() for mutant in parse(path)]


def engines():
    """The names of the engines, the default first."""
    table = (ROOT / "uapi/linux/wort_engines.h").read_text()
    return re.findall(r'^\tX\(\w+, "(\w+)", WORT_ENGINE_', table, re.M)


def engine_of(bug, edits):
    """The engine that the name of a bug begins with, or whose files the edits change;
    else the default."""
    if bug.partition("-")[0] in engines():
        return bug.partition("-")[0]
    for name, _, _ in edits:
        for engine in engines():
            if re.fullmatch(rf"kmod/engine/{engine}(_\w+)?\.[ch]", name):
                return engine
    return engines()[0]


class Stale(SystemExit):
    """The text of a bug does not occur once.  A program that does not catch this
    prints it and ends."""


def apply(tree, edits):
    """Replace in a copy of the sources; each old text must occur once."""
    for name, old, new in edits:
        path = tree / name
        text, want = path.read_text(), "\n".join(old)
        if text.count(want) != 1:
            raise Stale(f"{name}: {text.count(want)} times, not once:\n{want}")
        path.write_text(text.replace(want, "\n".join(new)))


class Base:
    """A program of a folder of selftests, built once from a copy of the sources.

    parts are the folders of selftests that it is built from.
    """

    def __init__(self, work, folder, parts, program):
        self.work, self.folder, self.program = work, folder, program
        tree = work / "unchanged"
        shutil.rmtree(tree, ignore_errors=True)
        for part in ("kmod", "uapi", "userlib/lib",
                     *(f"selftests/{part}" for part in parts)):
            shutil.copytree(ROOT / part, tree / part)
        self.make(tree, os.cpu_count())

    def make(self, tree, jobs):
        """O is relative: the copy of a build folder is up to date as well.  To compile
        takes longer than to find a bug: what halves it makes the search a tenth longer.
        The lint of the explorer goes by the functions that are inlined, thus -g1.
        """
        subprocess.run(["make", "-s", f"-j{jobs}",
                        "-C", tree / "selftests" / self.folder,
                        "O=../../build", "CFLAGS=-w", "OPTIMIZE=-O1 -g1",
                        f"../../build/{self.program}"], check=True)

    def build(self, name, edits):
        """The program with a bug: only what includes it is compiled again."""
        tree = self.work / name
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(self.work / "unchanged", tree)
        apply(tree, edits)
        self.make(tree, 1)
        return tree / "build" / self.program


def arguments(description, work):
    """The options that all lists of bugs have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--build", default=work, type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser


def chosen(bugs, names):
    """Those that are named, or all."""
    unknown = set(names) - {bug[0] for bug in bugs}
    if unknown:
        sys.exit(f"no such bug: {' '.join(sorted(unknown))}")
    return [bug for bug in bugs if not names or bug[0] in names]


def run(args, mutants, base, judge):
    """Judge each mutant; what ends the program.

    judge(program, name) tells whether it was killed, and how.  One that is
    called control has to survive, for which it takes the longest: it is first.
    """
    mutants.sort(key=lambda mutant: mutant[0] != "control")

    def one(mutant):
        name, what, edits = mutant
        try:
            dead, how = judge(base.build(name, edits), name)
        except (Stale, RuntimeError) as error:
            dead, how = name == "control", str(error)
        shutil.rmtree(base.work / name)
        return name, what, dead, how

    killed = wrong = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        judged = [pool.submit(one, mutant) for mutant in mutants]
        for future in concurrent.futures.as_completed(judged):
            name, what, dead, how = future.result()
            expected = dead != (name == "control")
            wrong += not expected
            killed += dead
            print(f"{'ok' if expected else 'NOT OK'} {name}: {what}\n    {how}",
                  flush=True)
    print(f"{killed} killed, {len(mutants) - killed} survived"
          f" ({'as it should be' if not wrong else f'{wrong} wrong'})")
    return 1 if wrong else 0
