#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""schema.py WORT-STUB WORT WORT-MADE-UP: what the command prints with -o json is what
Documentation/json.rst says, member by member, for every verb; and each of the
members documented is met.  WORT_STUB names the image of the stub.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DOC = HERE.parent.parent / "Documentation" / "json.rst"
FORMS = {"An array": "array", "Without an argument, an array": "array",
         "An object": "object", "Lines of objects": "lines"}
U64 = range(1 << 64)

TYPES = {
    "string": lambda val: isinstance(val, str),
    "bytes": lambda val: isinstance(val, str),
    "u64": lambda val: type(val) is int and val in U64,
    "number": lambda val: type(val) in (int, float),
    "bool": lambda val: isinstance(val, bool),
    "null": lambda val: val is None,
    "strings": lambda val: all(isinstance(item, str) for item in val),
    "key": lambda val: isinstance(val, str) or
    type(val) is int and val in U64,
}


def wrong(text):
    sys.exit(f"schema.py: {text}")


def columns(rule):
    return [match.span() for match in re.finditer("=+", rule)]


def rows(lines):
    """Rows of the first table, with continued cells joined."""
    start = next(i for i, line in enumerate(lines) if line.startswith("=="))
    (a, b), (c, d), (e, _) = columns(lines[start])
    table = []
    for line in lines[start + 3:]:
        if line.startswith("=="):
            return table
        cells = [line[a:b].strip(), line[c:d].strip(), line[e:].strip()]
        if cells[0]:
            table.append(cells)
        else:
            table[-1] = [f"{old} {new}".strip()
                         for old, new in zip(table[-1], cells)]
    return wrong("a table has no end")


def read_sections():
    """{title: (form, {member: [types]})}"""
    text = DOC.read_text()
    parts = re.split(r"^(\w[\w ]*)\n=+\n\n", text, flags=re.M)[1:]
    sections = {}
    # The first is the page itself, with the table of types.
    for title, body in zip(parts[2::2], parts[3::2]):
        form = next((FORMS[begin] for begin in FORMS
                     if body.startswith(begin)), "object")
        sections[title] = form, {
            name: kinds.split(", ")
            for name, kinds, _ in rows(body.splitlines())}
    return sections


SECTIONS = read_sections()
SEEN = set()


def match(title, obj, where):
    members = dict(SECTIONS[title][1])
    for name, val in obj.items():
        known = name
        if name not in members and name.endswith("_hex"):
            known = name[:-4]
            if not {"bytes", "key"} & set(members.get(known, [])) or \
                    not re.fullmatch("([0-9a-f]{2})*", val):
                wrong(f"{where}: {name} is no {known} in hexadecimal")
        if known not in members:
            wrong(f"{where}: {name} is not documented in {title!r}")
        member(title, known, members.pop(known), val, where)
    absent = [name for name, kinds in members.items()
              if "optional" not in kinds]
    if absent:
        wrong(f"{where}: {', '.join(absent)} are not there")


def member(title, name, kinds, val, where):
    SEEN.add((title, name))
    if "operations" in kinds:
        for operation, cost in val.items():
            match("operations", cost, f"{where}: {operation}")
    elif "attributes" in kinds:
        for attr in val:
            match("attributes", attr, where)
    elif "chosen" in kinds:
        for attr in val:
            match("chosen", attr, where)
    elif "answers" in kinds:
        for answer in val:
            match("answers", answer, where)
    elif "sizes" in kinds:
        for size in val:
            match("sizes", size, where)
    elif not any(TYPES[kind](val) for kind in kinds if kind in TYPES):
        wrong(f"{where}: {name} is {val!r}, not {' or '.join(kinds)}")


class Command:
    def __init__(self, program):
        self.program = program

    def __call__(self, title, *args, status=0, **env):
        """Runs it; what it prints is as the section says."""
        where = f"wort {' '.join(args)}"
        done = subprocess.run([self.program, args[0], "-o", "json", *args[1:]],
                              capture_output=True, text=True,
                              env={**os.environ, **env})
        if done.returncode != status:
            wrong(f"{where}: status {done.returncode}, not {status}:\n"
                  f"{done.stdout}{done.stderr}")
        complaints = [line for line in done.stderr.splitlines()
                      if line.startswith("{")]
        if status > 1 and title != "check" and not complaints:
            wrong(f"{where}: no complaint in:\n{done.stderr}")
        for line in complaints:
            match("errors", json.loads(line), where)
        return self.answer(title, done.stdout, where) if title else None

    @staticmethod
    def answer(title, text, where):
        form = SECTIONS[title][0]
        if form == "lines":
            val = [json.loads(line) for line in text.splitlines()]
        else:
            val = json.loads(text)
        if (form == "object") == isinstance(val, list):
            wrong(f"{where}: not {form}")
        for obj in val if isinstance(val, list) else [val]:
            match(title, obj, where)
        return val


def use(wort, device):
    """Every verb, with strings and with bytes that are none."""
    wort("detach", "detach", "0")
    wort("format", "format", "-f", "-L", "me", device)
    wort("attach", "attach", device)
    wort("list", "list")
    for engine in wort("engines", "engines"):
        wort("create", "create", "-e", engine["name"], "0", "a")
        wort("stat POOL INDEX", "stat", "0", "a")
        wort("destroy", "destroy", "0", "a")
    wort("create", "create", "0", "a")
    wort("create", "create", "-k", "0", "a")
    wort("list POOL", "list", "0")
    wort("list POOL", "list", "-l", "0")
    wort("put", "put", "0", "a", "key", "value")
    wort("put", "put", "-x", "0", "a", "ff00", "fe")
    wort("put", "put", "-n", "0", "a", "18446744073709551615")
    wort("put", "put", "-O", "0", "a", "key", "value")
    wort("put", "put", "-O", "-c", "0", "a", "key", "value", status=3)
    wort("cas", "cas", "-O", "0", "a", "key", "value", "value")
    wort("cas", "cas", "-O", "0", "a", "key", "other", "value", status=1)
    wort("get", "get", "0", "a", "key")
    wort("get", "get", "-x", "0", "a", "ff00")
    wort("get", "get", "-n", "0", "a", "18446744073709551615")
    batch = pathlib.Path(f"{device}.batch")
    batch.write_text("put\ta\tkey\tvalue\nget\ta\tkey\nget\ta\tnone\n")
    wort("atomic", "atomic", "0", str(batch))
    batch.write_text("get\ta\t6b6579\nget\ta\tff00\n")
    wort("atomic", "atomic", "-x", "0", str(batch))
    batch.write_text("get\ta\tkey\nabsent\ta\tkey\n")
    wort("atomic", "atomic", "0", str(batch), status=1)
    batch.unlink()
    wort("scan", "scan", "0", "a")
    wort("scan", "scan", "-k", "0", "a")
    wort("scan", "scan", "-p", "none", "0", "a")
    wort("count", "count", "0", "a")
    wort("dump", "dump", "0", "a")
    wort("dump", "dump", "-x", "0", "a")
    wort("load", "load", "0", "a", "/dev/null")
    wort("stat", "stat", "0")
    wort("stat POOL INDEX", "stat", "0", "a")
    wort("check", "check", "0")
    copy = f"{device}.copy"
    wort("backup", "backup", "0", copy)
    wort("destroy", "destroy", "0", "a")
    wort("restore", "restore", copy, "0")
    pathlib.Path(copy).unlink()
    wort("del", "del", "-O", "-e", "other", "0", "a", "key", status=1)
    wort("del", "del", "0", "a", "key", "absent", status=1)
    file = f"{device}.file"
    wort("format", "format", "--size", "1M", file)
    wort("grow", "grow", "--size", "2M", file)
    pathlib.Path(file).unlink()
    wort("rename", "rename", "0", "a", "renamed")
    wort("rename", "rename", "0", "renamed", "a")
    wort("destroy", "destroy", "0", "a")


def fail(wort):
    """Complaints are objects, whatever is wrong."""
    wort(None, "get", "0", "none", "key", status=1)
    wort(None, "get", "-x", "0", "none", "00", status=1)
    wort(None, "put", "0", "none", "k" * 1025, status=2)
    wort(None, "stat", "7", status=1)
    wort(None, "create", "0", "n" * 112, status=3)
    wort(None, "attach", "LABEL=none", status=1)
    wort(None, "get", "-n", "0", "a", "no number", status=2)


def offline(wort, device):
    image = pathlib.Path(f"{device}.image")
    image.write_bytes(pathlib.Path(device).read_bytes())
    wort("check", "check", str(image))
    wort("probe", "probe", str(image))
    image.unlink()


def damaged(wort, device):
    """An index in which a leaf is overwritten."""
    image = pathlib.Path(f"{device}.image")
    image.write_bytes(pathlib.Path(device).read_bytes().replace(
        b"a key of the damaged leaf", b"a kex of the damaged leaf"))
    wort("check", "check", str(image), status=4)
    image.unlink()


def verbs(program):
    said = subprocess.run([program, "help"], capture_output=True, text=True,
                          check=True).stdout
    return re.findall(r"^  (\w+) ", said, flags=re.M)


def main():
    stub, program, made_up = map(Command, sys.argv[1:])
    device = os.environ["WORT_STUB"]
    undocumented = set(verbs(program.program)) - set(SECTIONS)
    if undocumented:
        wrong(f"not in json.rst: {', '.join(sorted(undocumented))}")
    use(stub, device)
    fail(stub)
    stub("create", "create", "0", "d")
    for key in "a key of the damaged leaf", "a key of another":
        stub("put", "put", "0", "d", key, "v")
    offline(program, device)
    damaged(program, device)
    made_up("engines", "engines")
    program("doctor", "doctor", "/dev/null", status=1)
    never = {(title, name) for title, (_, members) in SECTIONS.items()
             for name in members} - SEEN
    if never:
        wrong(f"never met: {sorted(never)}")
    print(f"{len(SEEN)} members of {len(SECTIONS)} objects")


if __name__ == "__main__":
    main()
