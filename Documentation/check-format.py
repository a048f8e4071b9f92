#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the tables of format.rst with uapi/linux/wort_format*.h: each struct
has a table, and sizes, offsets and types are those that the compiler has."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
UAPI = TOP / "uapi"
HEADERS = sorted(UAPI.glob("linux/wort_format*.h"))
PAGE = TOP / "Documentation/format.rst"


def tables(text):
    """{struct: [(offset, size, type, member)]}, and its size first."""
    found, rows = {}, None
    for line in text.splitlines():
        head = re.fullmatch(r"\t(struct \w+), (\d+) bytes", line)
        row = re.fullmatch(r"\t +(\d+) +(\d+)  (__\w+) +(\w+)", line)
        if head:
            rows = found[head[1]] = [int(head[2])]
        elif row:
            rows.append((int(row[1]), int(row[2]), row[3], row[4]))
    return found


def members(text):
    """{struct: {member: type}} as the header declares them."""
    found = {}
    for name, body in re.findall(r"^(struct \w+) \{\n(.*?)^\};", text,
                                 re.M | re.S):
        found[name] = {m: t for t, m in
                       re.findall(r"^\t(__\w+) (\w+)(?:\[\w*\])?;", body, re.M)}
    return found


def program(page):
    """C that does not compile where the page is wrong."""
    lines = ["#include <stddef.h>", *(f'#include "{h}"' for h in HEADERS)]
    for struct, (size, *rows) in page.items():
        lines.append(f'_Static_assert(sizeof({struct}) == {size}, "{struct}");')
        for off, length, _, member in rows:
            where = f'"{struct}.{member}"'
            lines.append(f"_Static_assert(offsetof({struct}, {member})"
                         f" == {off}, {where});")
            if length:
                lines.append(f"_Static_assert(sizeof((({struct} *)0)->"
                             f"{member}) == {length}, {where});")
    return "\n".join(lines) + "\n"


def main():
    page, header = tables(PAGE.read_text()), members(
        "\n".join(h.read_text() for h in HEADERS))
    for struct, declared in header.items():
        told = {row[3]: row[2] for row in page.get(struct, [0])[1:]}
        if told != declared:
            sys.exit(f"format.rst: {struct}: {told}, not {declared}")
    with tempfile.TemporaryDirectory() as work:
        source = pathlib.Path(work) / "format.c"
        source.write_text(program(page))
        subprocess.run([os.environ.get("CC", "cc"), "-fsyntax-only",
                        f"-I{UAPI}", source],
                       check=True)
    print(f"{len(page)} structs, as in the header")


if __name__ == "__main__":
    main()
