#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which deliberate bug turns which test red: Documentation/mutants.rst, from the
lists that the tests go by.  Without an option, fails if the page is another, or if
the code that a bug replaces does not occur exactly once; with --write the page is
written."""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "selftests/scripts"),
                str(ROOT / "selftests/kselftest")]
import edits  # pylint: disable=wrong-import-position
import powercut_mutants  # pylint: disable=wrong-import-position

PAGE = ROOT / "Documentation/mutants.rst"

HEAD = """.. SPDX-License-Identifier: GPL-2.0-only
.. Written by selftests/lint/mutant-matrix.py --write

===============
Deliberate bugs
===============

Each line is a deliberate bug.  It is built into a copy of the source, and the test in its
column must fail with it.  *survives* marks a change that is no bug: the test must pass with
it, otherwise the test would be too strict.  :doc:`testing` describes the tests, and how to
add a bug.

"""


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width
                       in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule, ""])


def section(title, text, rows):
    return f"{title}\n{'=' * len(title)}\n\n{text}\n\n{table(rows)}\n"


def files(changes):
    return ", ".join(sorted({pathlib.Path(name).name
                             for name, _, _ in changes}))


def crash():
    rows = [("bug", "where", "what is wrong", "explorer", "in the kernel")]
    for name, what, changes in edits.crash_mutants():
        control = name == "control"
        rows.append((name, files(changes), what,
                     "survives" if control else "red",
                     "red" if name in powercut_mutants.MUTANTS else ""))
    return section(
        "Durability", "The crash explorer (``make check-mutants``), and the "
        "sweep of power cuts in the kernel\n"
        "(``make check-powercut-mutants``), which sees flushes and fences only.",
        rows)


def stress():
    rows = [("bug", "where", "what is wrong", "stress")]
    for name, what, changes in edits.parse(
            ROOT / "selftests/stress/mutants.txt"):
        rows.append((name, files(changes), what,
                     "survives" if name == "control" else "red"))
    return section("Concurrency", "The stress (``make check-mutants``).", rows)


def model():
    text = (ROOT / "selftests/model/alloc_model.c").read_text()
    rows = [("bug", "what is wrong", "model")]
    for name, what in re.findall(r'^\tm\(([A-Z_]+), \w+, "(.*?)"\)', text, re.M):
        rows.append((name.lower().replace("_", "-"), what, "red"))
    return section("Protocol of the allocator",
                   "``selftests/model/alloc_model.c`` (``make check-unit``).",
                   rows)


def breakages():
    rows = [("bug", "where", "what is wrong", "step that is red")]
    for name, what, changes in edits.parse(
            ROOT / "selftests/breakages/breakages.txt"):
        step, what = what.split(": ", 1)
        rows.append((name, files(changes), what, step))
    return section("The rest", "``make check-breakages`` runs the step that "
                   "has to be red.", rows)


def stale():
    """The bugs whose code is not there, or several times."""
    names = []
    for path in (*edits.crash_lists(),
                 ROOT / "selftests/stress/mutants.txt",
                 ROOT / "selftests/breakages/breakages.txt"):
        for name, _, changes in edits.parse(path):
            names += [name for file, want, _ in changes
                      if (ROOT / file).read_text().count("\n".join(want)) != 1]
    return names


def unknown():
    """What the sweep of power cuts takes for a bug, and no list has."""
    return set(powercut_mutants.MUTANTS) - {name for name, _, _
                                            in edits.crash_mutants()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    text = HEAD + crash() + stress() + model() + breakages()
    text = text.rstrip("\n") + "\n"
    if args.write:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit(f"{PAGE.relative_to(ROOT)} is out of date: "
                 "selftests/lint/mutant-matrix.py --write")
    if unknown():
        sys.exit(f"in no list: {' '.join(sorted(unknown()))}")
    if stale():
        sys.exit("deliberate bugs that the code has left behind: "
                 + " ".join(stale()))


if __name__ == "__main__":
    main()
