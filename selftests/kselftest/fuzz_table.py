#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""fuzz_table.py HEADER >fuzz_table.h: what wort.h says of its ioctls, as tables
in C: number, kind of descriptor, and each field of the argument with its place
and what it is by its name.  The compiler adds sizes and offsets.
"""

import pathlib
import re
import sys

KINDS = {"/dev/wort-control": "ON_CONTROL", "/dev/wortN": "ON_POOL",
         "an index": "ON_INDEX"}


def commands(text):
    """[(name, kind)] in the order of the header."""
    found, kind = [], None
    for line in text.splitlines():
        where = re.match(r"/\* on (.*) \*/$", line)
        if where:
            kind = KINDS[where[1]]
        number = re.match(r"#define WORT_IOC_(\w+)\s+_IO\(WORT_IOC_TYPE,", line)
        if number:
            found.append((number[1], kind))
    return found


def fields(text, struct):
    """[(name, kind)] of the fields of a struct."""
    body = re.search(rf"^struct {struct} {{\n(.*?)^}};", text, re.S | re.M)[1]
    found = []
    for name, array in re.findall(r"(\w+)(\[.*\])?;", body):
        if name in ("size", "flags"):
            kind = f"FIELD_{name.upper()}"
        elif name == "__reserved":
            kind = "FIELD_RESERVED"
        elif name.startswith("out_"):
            kind = "FIELD_OUT"
        elif name.endswith("_ptr"):
            kind = "FIELD_PTR"
        elif name.endswith("_len"):
            kind = "FIELD_LEN"
        else:
            kind = "FIELD_BYTES" if array else "FIELD_NUMBER"
        found.append((name, kind))
    return found


def flags(text, name, names):
    """The flags of a command, as an expression."""
    found = re.findall(rf"#define (WORT_{name}_F_(?!ALL)\w+)\s", text)
    if "old_ptr" in names:
        found.append("WORT_F_FETCH")
    return " | ".join(found) or "0"


def peer(names, name):
    """The length that goes with a pointer, or the number of what it leads to."""
    if not name.endswith("_ptr"):
        return -1
    length = name[:-3] + "len"
    return names.index(length if length in names else "nr_" + name[:-4])


def print_fields(text, name):
    struct = f"wort_{name.lower()}_arg"
    rows = fields(text, struct)
    names = [field for field, _ in rows]
    print(f"static const struct field {name.lower()}_fields[] = {{")
    for field, kind in rows:
        print(f"\tFIELD({struct}, {field}, {kind}, {peer(names, field)}),")
    print("};\n")
    return f"{name.lower()}_fields, {struct}, {flags(text, name, names)}"


def main():
    text = pathlib.Path(sys.argv[1]).read_text()
    print("/* made by fuzz_table.py */")
    rows = [f"\tCOMMAND({name}, {kind}, {print_fields(text, name)}),"
            for name, kind in commands(text)]
    print("static const struct command commands[] = {", *rows, "};\n", sep="\n")
    errnos = re.findall(r"^ \*\t(E[A-Z0-9, ]+)\t", text, re.M)
    names = {name for row in errnos for name in re.split(r",\s*", row)}
    print("static const int errnos[] = {", *sorted(f"\t{name}," for name in names),
          "};", sep="\n")


main()
