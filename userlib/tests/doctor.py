#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""doctor.py [--update] WORT MKIMAGE [NAME...]: wort doctor on recorded machines.

doctor/NAME.case describes one: what sysfs, procfs and /dev have, most of it
recorded by doctor/record.sh, then a line "==" and what the command has to
print, to the letter, and its status.  --update writes that anew, to be read
by whoever changes it.  Lines of a description, later ones winning:

    include FILE            another description
    device = PATH           the device to look at
    user = UID              who looks, if the test runs as root
    PATH -> TARGET          a link
    PATH = TEXT             a file with this line
    PATH/                   an empty folder
    bytes PATH HEX          a file with these bytes
    mode PATH OCTAL         permissions of a file
    remove PATH             nothing
    contents WHAT           of the device: zero, ext4, swap, pool, or a file of old/

In what is printed @VERSION@ stands for the current media version.
"""
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / "doctor"
WHAT = {
    "ext4": ["mke2fs", "-q", "-F", "-t", "ext4"],
    "swap": ["mkswap", "-q"],
}


def own_version():
    text = (HERE.parents[2] / "uapi/linux/wort_format.h").read_text()
    return re.search(r"^#define WORT_MEDIA_VERSION\s+(\d+)$", text, re.M)[1]


class Case:
    def __init__(self, name):
        self.name = name
        self.device = self.user = self.contents = None
        self.entries = {}
        self.modes = {}
        text, _, self.expected = (HERE / name).read_text().partition("\n==\n")
        self.expected = self.expected.replace("@VERSION@", own_version())
        self.read(text)

    def read(self, text):
        for line in text.splitlines():
            self.line(line)

    def line(self, line):
        word, _, rest = line.partition(" ")
        if not line or line.startswith("#"):
            return
        if word == "include":
            self.read((HERE / rest).read_text().partition("\n==\n")[0])
        elif word == "device":
            self.device = rest[2:]
        elif word == "user":
            self.user = int(rest[2:])
        elif word == "contents":
            self.contents = rest
        elif word == "remove":
            del self.entries[rest]
        elif word == "bytes":
            path, digits = rest.split()
            self.entries[path] = bytes.fromhex(digits)
        elif word == "mode":
            path, mode = rest.split()
            self.modes[path] = int(mode, 8)
        elif " -> " in line:
            path, target = line.split(" -> ")
            self.entries[path] = pathlib.PurePath(target)
        elif " =" in line:
            path, text = line.split(" =", 1)
            self.entries[path] = (text[1:] + "\n").encode()
        elif line.endswith("/"):
            self.entries[line[:-1]] = None
        else:
            raise SystemExit(f"{self.name}: {line}")

    def build(self, root, mkimage):
        for path, entry in self.entries.items():
            path = root / path[1:]
            folder = path if entry is None else path.parent
            folder.mkdir(parents=True, exist_ok=True)
            if isinstance(entry, bytes):
                path.write_bytes(entry)
            elif entry is not None:
                path.symlink_to(entry)
        for path, mode in self.modes.items():
            (root / path[1:]).chmod(mode)
        if self.contents:
            self.fill(root / self.device[1:], mkimage)

    def fill(self, image, mkimage):
        image.parent.mkdir(exist_ok=True)
        if self.contents == "pool":
            subprocess.run([mkimage, image, "8", "0", "1"], check=True)
            return
        if self.contents.endswith(".gz"):
            packed = (HERE.parent / "old" / self.contents).read_bytes()
            image.write_bytes(gzip.decompress(packed))
            return
        image.write_bytes(bytes(8 << 20))
        if self.contents != "zero":
            subprocess.run([*WHAT[self.contents], image], check=True,
                           env={**os.environ, "PATH": os.environ["PATH"] +
                                ":/usr/sbin:/sbin"})

    def run(self, root, wort):
        if self.user and os.getuid() == 0:
            change = {"user": self.user, "group": self.user}
        else:
            change = {}
        done = subprocess.run([wort, "doctor", self.device], text=True,
                              capture_output=True, **change,
                              env={**os.environ, "WORT_SYSROOT": str(root)})
        return f"{done.stdout}{done.stderr}status {done.returncode}\n"


def examine(name, wort, mkimage, update):
    case = Case(name)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        root.chmod(0o755)
        here = shutil.copy(wort, root / "wort")
        case.build(root, mkimage)
        said = case.run(root, here)
    if update:
        text = (HERE / name).read_text().partition("\n==\n")[0]
        (HERE / name).write_text(f"{text.rstrip()}\n==\n{said}")
    elif said != case.expected:
        print(f"{name}: expected\n{case.expected}but got\n{said}")
        return False
    return True


def main():
    args = sys.argv[1:]
    update = args[:1] == ["--update"]
    wort, mkimage, *names = args[update:]
    names = [f"{name}.case" for name in names] or \
        sorted(path.name for path in HERE.glob("*.case"))
    passed = [examine(name, wort, mkimage, update) for name in names]
    print(f"{sum(passed)} of {len(passed)} machines")
    return not all(passed)


if __name__ == "__main__":
    sys.exit(main())
