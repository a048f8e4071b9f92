#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Build the explorer with one deliberate bug after the other and demand that
it finds each; the control, which is no bug, has to survive."""

import pathlib
import re
import shlex
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "selftests/scripts"))
import edits as edit_list  # pylint: disable=wrong-import-position


PINS = HERE / "killers.txt"
WRITING = threading.Lock()
HEAD = """\
# What kills each deliberate bug of mutants.txt: options of the explorer, which
# is run with them first.  Written by mutants.py --pin.
"""


def read_pins():
    """{name: options as one text}"""
    lines = PINS.read_text().splitlines() if PINS.exists() else []
    return dict(line.split("\t", 1) for line in lines
                if line and not line.startswith("#"))


def write_pin(name, options):
    """At once: who ends a long search early keeps what it has found."""
    with WRITING:
        pins = {**read_pins(), name: options}
        names = [mutant[0] for mutant in edit_list.crash_mutants()]
        PINS.write_text(HEAD + "".join(f"{name}\t{pins[name]}\n"
                                       for name in names if name in pins))


class Explorer:
    """The explorer with a bug, and how it was killed."""

    def __init__(self, program, name, engine):
        self.program, self.name, self.engine = program, name, engine
        self.how = self.pin = None

    def explore(self, options):
        """True if the explorer fails with these options.

        The two words of the control's pair may be met in any mixture but are
        met in other pairs of places, so pairs that are not reached do not
        count.
        """
        begin = time.monotonic()
        done = subprocess.run([self.program, "--engine", self.engine,
                               *shlex.split(options), "--workers", "1"],
                              capture_output=True, text=True, check=False)
        if done.returncode == 2:
            return False        # it was not run: a stale pin shows nothing
        failed = "FAILURE" in done.stderr or \
            re.search("^LINT: ", done.stdout, re.M)
        unreached = "not reached in all mixtures" in done.stdout
        if done.returncode and not failed and not unreached:
            raise RuntimeError(f"{self.name}: nobody knows what the explorer found: "
                               f"status {done.returncode}, {done.stderr}")
        if not failed and (not done.returncode or self.name == "control"):
            return False
        said = re.search(r"^FAILURE: (.*)$", done.stderr, re.M) or \
            re.search(r"^LINT: (.*)$", done.stdout, re.M)
        why = said[1] if said else done.stderr.split("\n", 1)[0]
        self.how = (f"{time.monotonic() - begin:.1f} s: "
                    f"{why or 'a pair not reached'}")
        self.pin = pin_of(done.stderr) or options
        return True


def pin_of(said):
    """All crash points of the sequence that failed, by every schedule."""
    replay = re.search(r"replay: explore (?:--engine \w+ )?(.*) --at ", said)
    return replay and re.sub(r" --schedule '.*'", "", replay[1])


def searches(engine, name):
    """The fastest first; an engine may have some of its own.

    The control changes how a pool is formatted, which sequences of one step show
    as well as longer ones.
    """
    yield "--len 1"
    if name == "control":
        return
    path = ROOT / f"selftests/engines/{engine}-searches.txt"
    for line in path.read_text().splitlines() if path.exists() else []:
        if not line.startswith("#"):
            yield line
    yield "--len 2"


def judge(program, name, engine, pins, found):
    """(killed, how): by what killed it before, or else by the first search,
    which is put into found."""
    explorer = Explorer(program, name, engine)
    if name == "control" and explorer.explore("--no-such-option"):
        return True, "what the explorer does not run kills"
    if name in pins and explorer.explore(pins[name]):
        return True, explorer.how
    if not any(map(explorer.explore, searches(engine, name))):
        return False, "survives"
    found[name] = explorer.pin
    return True, f"{explorer.how}\n    found by a search: {explorer.pin}"


def main():
    parser = edit_list.arguments(__doc__, ROOT / "build/mutants")
    parser.add_argument("--pin", action="store_true",
                        help="write what kills those without a pin, or with a "
                             "stale one")
    args = parser.parse_args()
    pins, found = read_pins(), {}
    mutants = edit_list.chosen(edit_list.crash_mutants(), args.names)
    base = edit_list.Base(args.build, "crash", ("shim", "crash", "engines", "lib", "world"),
                          "explore")

    engines = {name: edit_list.engine_of(name, changes)
               for name, _, changes in mutants}

    def one(program, name):
        answer = judge(program, name, engines[name], pins, found)
        if args.pin and name in found:
            write_pin(name, found[name])
        return answer

    failed = edit_list.run(args, mutants, base, one)
    if found and not args.pin:
        print("stale pins, or none; mutants.py --pin writes them: "
              f"{' '.join(found)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
