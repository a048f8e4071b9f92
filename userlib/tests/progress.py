#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""progress.py WORT-STUB: what is shown of a check that takes long, and where.

The stub's check sleeps first; how far it has come is taken from a folder that
looks as sysfs does.
"""
import os
import pathlib
import pty
import subprocess
import sys
import tempfile

# arguments, is stderr a terminal, is progress shown
CASES = [((), True, True), ((), False, False), (("-q",), True, False),
         (("-o", "json"), True, False), (("-v",), False, True)]


def read_all(fd):
    said = b""
    while True:
        try:
            got = os.read(fd, 4096)
        except OSError:     # a terminal that nobody has open any more
            return said
        if not got:
            return said
        said += got


def said_of_check(program, folder, args, terminal):
    ours, theirs = pty.openpty() if terminal else os.pipe()
    with subprocess.Popen([program, "check", *args, "0"], stderr=theirs,
                          stdout=subprocess.PIPE,
                          env={**os.environ, "WORT_SYSROOT": folder,
                               "WORT_STUB_CHECK_SECONDS": "3"}) as check:
        os.close(theirs)
        said = read_all(ours)
        out = check.stdout.read()
    os.close(ours)
    if check.returncode or b"clean" not in out:
        sys.exit(f"progress.py: {args}: status {check.returncode}, {out!r}")
    return said


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        pool = pathlib.Path(folder) / "sys/class/wort/wort0"
        pool.mkdir(parents=True)
        (pool / "check_records").write_text("123456\n")
        for args, terminal, shown in CASES:
            said = said_of_check(program, folder, args, terminal)
            if shown != (b"check: 123456 records" in said) or \
                    (said and not shown):
                sys.exit(f"progress.py: check {args}, terminal {terminal}: "
                         f"{said!r}")


if __name__ == "__main__":
    main(sys.argv[1])
