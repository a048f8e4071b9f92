#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""completion-tty.py WORT-STUB: completion in a bash on a terminal.

What bash inserts for the name of an index is one word with that name, and
nothing in a name is run or expanded on the way.  WORT_STUB names the image of
the stub.
"""
import os
import pathlib
import pty
import select
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
COMPLETION = HERE.parent / "completion" / "wort"
# what is typed, the name that it becomes
NAMES = [("bl", "bl ank"), ("'bl", "bl ank"), ('"bl', "bl ank"),
         ("qu", "qu'ote"), ("se", "se;touch evil"), ("st", "st*"),
         ("re", "re>evil"), ("am", "am&touch evil"), ("ex", "ex!1"),
         ("um", "uml\u00e4ut"), ("pl", "plain")]
HOSTILE = ["$(touch evil)", "`touch evil`", "$((a[$(touch evil)]))",
           "<(touch evil)", "\x1b[2J"]
# The command itself, but for what is completed: its arguments are shown.
SETUP = """
wort() {{ if [ "$1 $2" = "get wort0" ]; then printf 'ARG<%s>' "$@"; echo END;
	else '{wort}' "$@"; fi; }}
. '{completion}'; PS1='READY> '; bind 'set enable-bracketed-paste off'
"""


class Shell:
    def __init__(self, wort, folder):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        for line in SETUP.format(wort=wort, completion=COMPLETION).splitlines():
            self.send(line + "\n")
        self.until("READY> ")

    def send(self, text):
        os.write(self.fd, text.encode())

    def until(self, text, seconds=20):
        said = ""
        end = time.monotonic() + seconds
        while text not in said and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                said += os.read(self.fd, 65536).decode(errors="replace")
        return said

    def complete(self, typed):
        """The argument that the completed line has."""
        self.send(f"wort get wort0 {typed}\t")
        time.sleep(0.4)
        self.send("\n")
        said = self.until("END\r\nREADY> ")
        return said.rsplit("ARG<", 1)[-1].split(">END", 1)[0]


def main():
    wort = os.path.realpath(sys.argv[1])

    def run(*args):
        subprocess.run([wort, *args], capture_output=True, check=False)

    run("detach", "0")
    run("format", "-f", os.environ["WORT_STUB"])
    run("attach", os.environ["WORT_STUB"])
    for _, name in NAMES:
        run("create", "-k", "0", "--", name)
    for name in HOSTILE:
        run("create", "-k", "0", "--", name)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(wort, folder)
        for typed, name in NAMES:
            got = shell.complete(typed)
            if got != name:
                print(f"{typed!r} becomes {got!a}, not {name!r}")
                failures += 1
        shell.send("wort get wort0 \t\t")
        said = shell.until("plain") + shell.until("nothing", 2)
        if "plain" not in said or "[2J" in said:
            print(f"shown: {said!a}")
            failures += 1
        if os.listdir(folder):
            print(f"a name was run: {os.listdir(folder)}")
            failures += 1
        os.close(shell.fd)
    print(f"{len(NAMES)} words on a terminal")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
