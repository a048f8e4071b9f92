# SPDX-License-Identifier: GPL-2.0-only
"""Deliberate bugs as text: which lines of which files become which others.

    = NAME<tab>what is wrong
    @ FILE
    - line as it is
    + line instead

Lines after "-" must occur exactly once in the file, in a row.  Anything else
is a comment.
"""

import sys


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
