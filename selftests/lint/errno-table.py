#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""errno-table.py [--self-test]: every errno of the table at the top of
uapi/linux/wort.h has a test.

The table has three parts: of every ioctl ("ioctl"), of operations on pools and
indexes ("operation"), of format and attach ("device").  A test that reaches a
line says so in the comment before it:

    errno-table: PART ERRNO...

and what follows, up to the next line that begins with a brace, names -ERRNO.
Lines without a test, and tests of lines that are not there, are errors.  The
self-test takes one of either away after the other and demands a complaint.
"""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
HEADER = TOP / "uapi/linux/wort.h"
TESTS = sorted((TOP / "selftests").glob("kselftest/*.c")) + \
    sorted((TOP / "selftests").glob("unit/*.c"))
PARTS = {"every ioctl": "ioctl", "operations": "operation",
         "format and attach": "device"}


def table(text):
    """{(part, errno)} of the header."""
    part, lines = None, set()
    for line in text[:text.index("*/\n#ifndef")].splitlines():
        head = re.match(r" \* Errors of (.*):$", line)
        if head:
            part = next(short for name, short in PARTS.items()
                        if head[1].startswith(name))
        row = re.match(r" \*\t(E[A-Z0-9, ]+)\t", line)
        if row:
            lines |= {(part, name) for name in re.split(r",\s*", row[1])}
    return lines


def claims(path, text):
    """[(place, (part, errno), whether what follows names it)]"""
    found = []
    for mark in re.finditer(r"errno-table: (\w+)((?: E[A-Z0-9]+)+)", text):
        body = text[mark.end():]
        body = body[:body.index("\n}")] if "\n}" in body else ""
        place = f"{path.name}:{text.count(chr(10), 0, mark.start()) + 1}"
        for name in mark[2].split():
            named = re.search(rf"-{name}\b", body)
            found.append((place, (mark[1], name), bool(named)))
    return found


def complaints(lines, found):
    said = []
    for place, line, named in found:
        if line not in lines:
            said.append(f"{place}: not in the table: {' '.join(line)}")
        elif not named:
            said.append(f"{place}: the test does not name -{line[1]}")
    tested = {line for _, line, named in found if named}
    for line in sorted(lines - tested):
        said.append(f"wort.h: no test reaches {' '.join(line)}")
    return said


def self_test(lines, found):
    for line in lines:
        rest = [claim for claim in found if claim[1] != line]
        if not complaints(lines, rest) or not complaints(lines - {line}, found):
            sys.exit(f"errno-table: {' '.join(line)} is not missed")
    unnamed = [(place, line, False) for place, line, _ in found]
    if len(lines) < 20 or len(complaints(lines, unnamed)) < len(lines):
        sys.exit("errno-table: tests that name nothing are not seen")


def main():
    lines = table(HEADER.read_text())
    found = [claim for path in TESTS for claim in claims(path, path.read_text())]
    said = complaints(lines, found)
    print("\n".join(said))
    if said:
        sys.exit(1)
    if sys.argv[1:] == ["--self-test"]:
        self_test(lines, found)
    print(f"{len(lines)} errnos, {len(found)} tests of them")


main()
