#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Break the project in named ways, one after the other, in a copy, and demand
that the step of the tests named with each turns red, and that it is green in
a copy that is not broken."""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "selftests/scripts"))
import edits  # pylint: disable=wrong-import-position

# Two commands for each step: the first builds, and must succeed; the second must fail.
GUEST = ("""
selftests/lint/kbuild.sh -n -o build/guest 6.1 gcc &&
make -s -C selftests/kselftest OUTPUT=$PWD/build/guest &&
cp selftests/kselftest/run_all.sh build/guest
""", """
selftests/vm/run.sh -k 6.1 -l libcrc32c -t 600 \\
    -f $PWD/build/guest:/wort-tests -c 'sh /wort-tests/run_all.sh WHICH'
""")

STEPS = {
    "explore": ("make -s -C selftests/crash O=$PWD/build/crash",
                "build/crash/explore --len 1 --models x86"),
    "exchange": ("make -s -C selftests/crash O=$PWD/build/crash",
                 "selftests/crash/pairs.sh build/crash/explore 'exchange|del_if'"),
    "build": ("true", "selftests/lint/kbuild.sh -n 6.1 gcc"),
    "unit": ("make -s -C selftests/unit O=$PWD/build/unit $PWD/build/unit/unit",
             "set -f; timeout 1800 build/unit/unit WHICH"),
    "fuzz": ("make -s -C selftests/fuzz O=$PWD/build/fuzz",
             "build/fuzz/fuzz -t 60 -j $(nproc)"),
    "old": ("make -s -C userlib O=$PWD/build/userlib all "
            "$PWD/build/userlib/tests/old-images",
            "userlib/tests/old.sh build/userlib/wort build/userlib/tests/old-images"),
    "attributes": ("make -s -C userlib O=$PWD/build/userlib "
                   "$PWD/build/userlib/tests/attributes",
                   "build/userlib/tests/attributes"),
    "doctor": ("make -s -C userlib O=$PWD/build/userlib all "
               "$PWD/build/userlib/tests/mkimage",
               "userlib/tests/doctor.py build/userlib/wort "
               "build/userlib/tests/mkimage"),
    "stub": ("make -s -C userlib O=$PWD/build/userlib all stub "
             "$PWD/build/userlib/tests/wort-made-up",
             "userlib/tests/stub.sh build/userlib"),
    "file": ("make -s -C userlib O=$PWD/build/userlib all tests "
             "$PWD/build/userlib/tests/file-threads",
             "userlib/tests/file.sh build/userlib 2"),
    "sync": ("make -s -C userlib O=$PWD/build/userlib "
             "$PWD/build/userlib/tests/file-sync",
             "build/userlib/tests/file-sync build/sync.img"),
    "image": ("make -s -C userlib O=$PWD/build/userlib "
              "$PWD/build/userlib/tests/image-crash",
              "build/userlib/tests/image-crash build/image.img"),
    "race": ("make -s -C userlib O=$PWD/build/userlib "
             "$PWD/build/userlib/tests/format-race",
             "build/userlib/tests/format-race build/race.img"),
    "bench": ("make -s -C selftests/bench O=$PWD/build/bench "
              "$PWD/build/bench/bench",
              "build/bench/bench -n 500 -r 1 -w dense -o all "
              "-P wort,wort-mandatory"),
    "figures": ("true", "selftests/figures/figures_test.py"),
    "hibernate": ("selftests/lint/kbuild.sh -n -o build/guest 6.12 gcc && "
                  "make -s -C userlib O=$PWD/build/userlib static && "
                  "cp build/userlib/wort-static build/guest",
                  "selftests/load/hibernate.sh -k 6.12 -p build/guest"),
}


def commands(step):
    """Of "unit PATTERN" and "kselftest PROGRAM", too."""
    name, _, which = step.partition(" ")
    return [command.replace("WHICH", which)
            for command in STEPS.get(name, GUEST)]


def copy(tree):
    shutil.copytree(ROOT, tree, symlinks=True,
                    ignore=shutil.ignore_patterns(".git", "build", "*.o",
                                                  "*.ko", ".*.cmd"))
    (tree / "build").mkdir()


def run(tree, step, log, changes=()):
    """How the step ends with the changes, which are taken back: "green", "red", or
    "not built".

    What was built stays: a step builds what depends on a change, and then on
    its being taken back.
    """
    before = {name: (tree / name).read_text() for name, _, _ in changes}
    edits.apply(tree, changes)
    said, how = "", "green"
    for command, failed in zip(commands(step), ("not built", "red")):
        done = subprocess.run(["bash", "-c", command], cwd=tree,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        said += done.stdout
        if done.returncode:
            how = failed
            break
    for name, text in before.items():
        (tree / name).write_text(text)
    log.write_text(said)
    return how


def run_all(tree, chosen):
    """How many (passed, failed)."""
    logs = ROOT / "build/log"
    logs.mkdir(parents=True, exist_ok=True)
    passed = failed = 0
    for step in sorted({what.split(":", 1)[0] for _, what, _ in chosen}):
        how = run(tree, step, logs / f"unbroken-{step}".replace(" ", "-"))
        ok = how == "green"
        passed, failed = passed + ok, failed + (not ok)
        print(f"{'ok' if ok else 'NOT OK'} {step} as it is: {how}", flush=True)
    for name, what, changes in chosen:
        step = what.split(":", 1)[0]
        how = run(tree, step, logs / f"breakage-{name}", changes)
        ok = how == "red"
        passed, failed = passed + ok, failed + (not ok)
        print(f"{'ok' if ok else 'NOT OK'} {name}: {step} is {how}:"
              f" {what.split(': ')[1]}", flush=True)
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these")
    args = parser.parse_args()
    here = pathlib.Path(__file__).resolve().parent
    chosen = edits.chosen(edits.parse(here / "breakages.txt"), args.names)
    with tempfile.TemporaryDirectory(prefix="wort-breakage-") as temp:
        tree = pathlib.Path(temp) / "tree"
        copy(tree)
        passed, failed = run_all(tree, chosen)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
