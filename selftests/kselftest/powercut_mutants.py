#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Build modules that drop or move a flush or a fence, each by one deliberate
bug of crash/mutants.txt, and demand that the sweep of power cuts in the kernel
finds each of them, and nothing in the module as it is.  Of those mutants it
takes all but the ones between whose stores there is neither: the simulator does
not look there, the explorer does."""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "selftests/scripts"))
import edits  # pylint: disable=wrong-import-position

MUTANTS = """leaf-noflush value-noflush node-noflush publish-early
record-fence-dropped publish-fence-dropped replace-fence-dropped
split-fence-dropped fence-dropped-pair commit-noflush fence-by-unlock
flush-rounddown flush-wrong-addr extent-word-late extent-word-noflush
update-wide super-magic-early round-contents round-unfenced
gathered-unflushed""".split()

# What is done with each module, in one guest.
GUEST = """
cd /wort-tests
for name in *; do
	[ -e $name/wort.ko ] || continue
	insmod $name/wort.ko || exit 4
	if ./powercut -x -n 4 >/tmp/log; then
		echo "MUTANT $name survived: $(tail -n 1 /tmp/log)"
	elif grep -q 'power lost' /tmp/log; then
		echo "MUTANT $name killed: $(grep -m 1 'power lost' /tmp/log)"
	else
		echo "MUTANT $name lost no power: $(tail -n 1 /tmp/log)"
	fi
	rmmod wort || exit 4
done
"""


def build(flavour, name, changes, out):
    with tempfile.TemporaryDirectory(prefix="wort-mutant-") as temp:
        tree = pathlib.Path(temp)
        for part in ("kmod", "uapi", "selftests/lint", "selftests/scripts"):
            shutil.copytree(ROOT / part, tree / part, symlinks=True)
        shutil.copy(ROOT / "Kbuild", tree)
        edits.apply(tree, changes)
        subprocess.run([tree / "selftests/lint/kbuild.sh", "-n", "-t", "-o",
                        out / name, flavour, "gcc"], check=True)


def run_guest(flavour, out):
    done = subprocess.run(
        [ROOT / "selftests/vm/run.sh", "-k", flavour, "-t", "1800",
         "-a", "rcupdate.rcu_expedited=1", "-l", "libcrc32c",
         "-f", f"{out}:/wort-tests", "-c", GUEST],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    found = dict(re.findall(r"^MUTANT (\S+) (.*)$", done.stdout, re.M))
    if done.returncode:
        print(done.stdout[-4000:])
        sys.exit(f"the guest failed ({done.returncode})")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("-k", "--flavour", default="6.1")
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build/powercut-mutants")
    args = parser.parse_args()
    known = {name: (what, changes) for name, what, changes
             in edits.crash_mutants()}
    shutil.rmtree(args.build, ignore_errors=True)
    args.build.mkdir(parents=True)
    build(args.flavour, "as-it-is", [], args.build)
    mutants = args.names or MUTANTS
    for name in mutants:
        build(args.flavour, name, known[name][1], args.build)
    subprocess.run(["make", "-s", "-C", ROOT / "selftests/kselftest",
                    f"OUTPUT={args.build}"], check=True)
    crash = ROOT / "build/crash"
    subprocess.run(["make", "-s", "-C", ROOT / "selftests/crash",
                    f"O={crash}"], check=True)
    subprocess.run([crash / "explore", "--write-starts",
                    args.build / "starts"], check=True)
    found = run_guest(args.flavour, args.build)
    wrong = 0
    for name in ["as-it-is", *mutants]:
        how = found.get(name, "was not run")
        good = how.startswith("survived" if name == "as-it-is" else "killed")
        wrong += not good
        print(f"{'ok' if good else 'NOT OK'} {name}: {how}")
    killed = sum(how.startswith("killed") for how in found.values())
    print(f"{killed} killed, {len(found) - killed} survived")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
