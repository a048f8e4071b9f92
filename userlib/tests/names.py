#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""names.py WORT-STUB: how pools are named, with what sysfs tells of them.

The stub serves one pool, /dev/wort0, on the image that WORT_STUB names; what
pools there are is taken from a folder that looks as sysfs does.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

UUID = "11111111-2222-4333-8444-55555555555"
LABELS = ["data", "a/b", "../../etc/passwd", "two\nlines", "end\n", " ", "a b",
          "7", "wort7", "LABEL=x", "/dev/wort1", "'$(touch x)`", "\x1b[2J",
          "\u202eabc", "\udc9b", UUID + "1", "x" * 63, "y" * 64]
failures = 0


def wrong(text):
    global failures
    print(f"names.py: {text!a}")
    failures += 1


class Machine:
    """Pools by their minors: (state, label)."""

    def __init__(self, program, **pools):
        self.program = program
        self.folder = tempfile.TemporaryDirectory()
        for name, (state, label) in pools.items():
            self.add(pathlib.Path(self.folder.name) / "sys/class/wort" / name,
                     state, label, UUID + name[-1])

    def add(self, pool, state, label, uuid):
        pool.mkdir(parents=True)
        device = pathlib.Path(os.environ["WORT_STUB"]).name
        for file, text in (("state", state), ("label", label), ("uuid", uuid),
                           ("device", device), ("pool_size", "16777216")):
            (pool / file).write_bytes(os.fsencode(text + "\n"))

    def __call__(self, *args):
        done = subprocess.run([self.program, *args], capture_output=True,
                              check=False, env={**os.environ, "WORT_SYSROOT":
                                                self.folder.name})
        return done.returncode, os.fsdecode(done.stdout + done.stderr)

    def expect(self, status, text, *args):
        got, said = self(*args)
        if got != status or text not in said:
            wrong(f"wort {args}: status {got}, not {status}, or no {text!r} "
                  f"in {said!r}")


def labels(program):
    """Each of them names its pool, whatever is in it, and no other one."""
    for label in LABELS:
        machine = Machine(program, wort0=("active", label),
                          wort1=("active", "other"), wort2=("active", ""))
        machine.expect(0, "extents", "stat", "LABEL=" + label)
        for other in (label[:-1], label + "x", ""):
            machine.expect(1, "no such pool", "stat", "LABEL=" + other)
        machine.expect(0, "extents", "stat", "UUID=" + UUID + "0")
        machine.expect(1, "no such pool", "stat", "")
        _, said = machine("list")
        if said.count("\n") != 3 or set("\x1b\u202e\udc9b") & set(said):
            wrong(f"list: {said!r}")
    Machine(program, wort0=("active", "data")).expect(0, "extents", "stat",
                                                      "data")


def states(program):
    """The live one of several, which the stub has as wort0."""
    device = os.environ["WORT_STUB"]
    names = ["data", "LABEL=data"]
    machine = Machine(program, wort0=("active", "data"), wort1=("dead", "data"),
                      wort2=("dead", "data"))
    for name in [*names, device]:
        machine.expect(0, "extents", "stat", name)
    machine.expect(3, "LABEL=data: attached already", "attach", "LABEL=data")
    machine = Machine(program, wort0=("dead", "data"), wort1=("active", "data"))
    for name in names:
        machine.expect(1, "no such pool", "stat", name)
    machine = Machine(program, wort0=("dead", "data"))
    for name in names:
        machine.expect(3, "wort detach 0", "stat", name)
        machine.expect(3, "is dead", "get", name, "a", "k")
    machine.expect(3, "not attached", "put", device, "a", "k", "v")
    machine.expect(1, "no device that is free", "attach", "LABEL=data")
    for state in "active", "dead":
        machine = Machine(program, wort0=(state, "data"), wort1=(state, "data"))
        machine.expect(3, "several pools", "stat", "data")
        machine.expect(3, "several pools", "detach", "data")


def main():
    program = sys.argv[1]
    for args in ["detach", "0"], ["format", "-f", os.environ["WORT_STUB"]], \
            ["attach", os.environ["WORT_STUB"]]:
        subprocess.run([program, *args], capture_output=True, check=False)
    labels(program)
    states(program)
    print(f"{len(LABELS)} labels")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
