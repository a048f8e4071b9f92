#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Type what Documentation/tutorial.rst says, on the host and in guests, and
compare what it prints.  A line "..." stands for any lines, within a line for
any text."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "Documentation/tutorial.rst"
BOOT = "$ make vm-shell IMAGE=pmem.img"
RESET = "/proc/sysrq-trigger"
NO_WORD = 90  # of run.sh: the guest ended without one


def parse(text):
    """Commands with their prompt, each with the lines it is to print."""
    commands, current = [], None
    for line in text.splitlines():
        if line and not line.startswith("\t"):
            current = None
        elif re.match(r"\t[#$] ", line):
            current = (line[1:], [])
            commands.append(current)
        elif line and current:
            current[1].append(line[1:])
    return commands


def pattern(lines):
    return "".join("(?:.*\n)*" if line == "..." else
                   re.escape(line).replace(re.escape("..."), ".*") + "\n"
                   for line in lines)


def run_guest(flavour, image, commands):
    """Their outputs, in order, as far as the guest came."""
    script = "".join(f"echo '@@'\n{{ {command[2:]}\n}} 2>&1\n"
                     for command, _ in commands)
    done = subprocess.run(
        [ROOT / "selftests/vm/shell.sh", "-k", flavour, "-i", image,
         "-c", script + "echo '@@'\n"],
        stdout=subprocess.PIPE, text=True, check=False)
    reset = commands and RESET in commands[-1][0]
    if done.returncode != (NO_WORD if reset else 0):
        sys.exit(f"{done.stdout}\nthe guest ended with {done.returncode}")
    lines = [line + "\n" for line in done.stdout.split("\n")
             if not re.match(r"\[ *\d+\.\d+\]", line)]
    return "".join(lines).split("@@\n")[1:len(commands) + 1]


def run_host(image, command):
    done = subprocess.run(command[2:].replace("pmem.img", str(image)),
                          shell=True, cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout


def run_all(flavour, image, commands):
    """Each command with what it printed."""
    while commands:
        command = commands.pop(0)
        if command[0] != BOOT:
            yield command, run_host(image, command[0])
            continue
        guest = []
        while commands and commands[0][0].startswith("#"):
            guest.append(commands.pop(0))
        outputs = run_guest(flavour, image, guest)
        # A machine that is killed may not come to print what it does last.
        if len(outputs) < len(guest) - (RESET in guest[-1][0]):
            sys.exit(f"the guest ended before \"{guest[len(outputs)][0]}\"")
        yield from zip(guest, outputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", "--flavour", default="6.1")
    args = parser.parse_args()
    commands = parse(PAGE.read_text())
    typed = wrong = 0
    with tempfile.TemporaryDirectory(prefix="wort-tutorial-") as temp:
        image = pathlib.Path(temp) / "pmem.img"
        for (command, lines), output in run_all(args.flavour, image, commands):
            typed += 1
            if re.fullmatch(pattern(lines), output):
                continue
            wrong += 1
            print(f"{command}\n  should print:\n" + "\n".join(lines) +
                  f"\n  prints:\n{output}")
    print(f"{typed} commands, {wrong} print something else")
    return 1 if wrong or not typed else 0


if __name__ == "__main__":
    sys.exit(main())
