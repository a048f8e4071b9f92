#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""names.py WORT-STUB: how pools are named, with what sysfs tells of them.

The stub serves one pool, /dev/wort0, on the image that WORT_STUB names; what
pools there are is taken from a folder that looks as sysfs does.
"""
import os
import pathlib
import shutil
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


def gone(program):
    """A dead pool is detached by the path that went with its device."""
    device = os.environ["WORT_STUB"]
    for path in (device.rsplit("/", 1)[1], "disk/by-wort-uuid/" + UUID + "0",
                 "disk/by-wort-label/a\\x20b"):
        subprocess.run([program, "attach", device], capture_output=True,
                       check=False)
        machine = Machine(program, wort0=("dead", "a b"))
        machine.expect(3, "is dead", "stat", "/dev/" + path)
        machine.expect(0, "", "detach", "/dev/" + path)
        machine = Machine(program, wort0=("active", "a b"))
        machine.expect(1, "no such pool", "detach", "/dev/" + path)


def twins(program):
    """Another device with a pool of the same label is told of."""
    device = os.environ["WORT_STUB"]
    subprocess.run([program, "detach", "0"], capture_output=True, check=False)
    machine = Machine(program)
    root = pathlib.Path(machine.folder.name)
    for name, dax in ("pmem7", "1"), ("sda", "0"):
        (root / "sys/block" / name / "queue").mkdir(parents=True)
        (root / "sys/block" / name / "queue/dax").write_text(dax + "\n")
        (root / "sys/class/block" / name).mkdir(parents=True)
    (root / "dev").mkdir()
    (root / "dev/wort-control").touch()
    machine.expect(0, "", "format", "-f", "-L", "twin", device)
    for name in "pmem7", "sda":
        (root / "dev" / name).write_bytes(pathlib.Path(device).read_bytes())
    for label, told in ("twin", 1), ("other", 0), ("", 0):
        for args in ("format", "-f", "-L", label, device), ("attach", device):
            if args[0] == "attach":
                machine.add(root / "sys/class/wort/wort0", "active", label,
                            UUID + "0")
            _, said = machine(*args)
            if said.count("too; UUID=") != told or "sda" in said or \
                    told and "/dev/pmem7 has the label twin" not in said:
                wrong(f"wort {args}: {said!r}")
        subprocess.run([program, "detach", "0"], capture_output=True, check=False)
        shutil.rmtree(root / "sys/class/wort")


def reasons(program):
    """What is said of a pool that cannot be written names how it is attached."""
    device = os.environ["WORT_STUB"]
    subprocess.run([program, "attach", device], capture_output=True, check=False)
    machine = Machine(program, wort0=("active", "data"))
    machine.expect(0, "", "create", "0", "a")
    machine.expect(0, "", "detach", "0")
    machine.expect(0, "", "attach", "-r", device)
    for state in "readonly", "readonly walking":
        machine = Machine(program, wort0=(state, "data"))
        for args in ("put", "0", "a", "k", "v"), ("create", "0", "b"), \
                ("check", "--clear", "0"):
            machine.expect(4, "attached read-only: with --read-only", *args)
    Machine(program, wort0=("damaged", "data")).expect(
        4, "because damage was found", "put", "0", "a", "k", "v")
    machine.expect(0, "", "detach", "0")
    machine.expect(0, "", "attach", device)


def main():
    program = sys.argv[1]
    for args in ["detach", "0"], ["format", "-f", os.environ["WORT_STUB"]], \
            ["attach", os.environ["WORT_STUB"]]:
        subprocess.run([program, *args], capture_output=True, check=False)
    labels(program)
    states(program)
    gone(program)
    twins(program)
    reasons(program)
    print(f"{len(LABELS)} labels")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
