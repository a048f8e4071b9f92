#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""backup.py WORT-STUB WORT: what backup copies, restore makes again; a
file of which a byte is not as it was written is refused, and then nothing is
changed.  WORT_STUB names the image of the stub.
"""
import hashlib
import os
import pathlib
import random
import subprocess
import sys
import tempfile

OLD = pathlib.Path(__file__).parent / "old"
DEVICE = pathlib.Path(os.environ["WORT_STUB"])
NAMES = [b"a", b"odd \xff\n\x1b[2J", b"x" * 111, b"empty"]
failures = 0


def wrong(text):
    global failures
    print(f"backup.py: {text!a}")
    failures += 1


def run(program, *args, data=b"", status=0):
    done = subprocess.run([program, *args], input=data, capture_output=True,
                          check=False)
    if done.returncode != status:
        wrong(f"wort {args}: status {done.returncode}, not {status}: "
              f"{done.stdout[:200]} {done.stderr}")
    return done.stdout + done.stderr


def fresh(wort):
    subprocess.run([wort, "detach", "0"], capture_output=True, check=False)
    run(wort, "format", "-f", "-L", "label", DEVICE)
    run(wort, "attach", DEVICE)


def state(wort, pool):
    """Indexes in their order, with engine and records."""
    names = run(wort, "list", pool).split(b"\n")[:-1]
    names = [b" ".join(line.split()[1:2]) for line in names]
    return names, [run(wort, "dump", "-q", "-x", pool, name) for name in NAMES]


def fill(wort, rng):
    for name in NAMES:
        run(wort, "create", "0", name)
    for name in NAMES[:-1]:
        records = {rng.randbytes(rng.choice([1, 8, 40, 1024])):
                   rng.randbytes(rng.choice([0, 8, 300, 5000]))
                   for _ in range(300)}
        records[b"long"] = bytes(65536)
        run(wort, "load", "-q", "-x", "0", name, data=b"".join(
            f"{key.hex()}\t{value.hex()}\n".encode()
            for key, value in records.items()))


def copies(wort, offline, folder):
    """Of an attached pool and of its image: the same; to a file and to a pipe."""
    before = state(wort, "0")
    nr = sum(text.count(b"\n") for text in before[1])
    said = run(wort, "backup", "-v", "0", folder / "file")
    if b"4 indexes, %d records" % nr not in said or \
            b"backup: %d records" % nr not in said:
        wrong(said)
    (folder / "image").write_bytes(DEVICE.read_bytes())
    run(offline, "backup", "-q", folder / "image", folder / "of image")
    text = (folder / "file").read_bytes()
    piped = subprocess.run([wort, "backup", "-q", "0", "-"], capture_output=True,
                           check=True).stdout
    for name, other in ("image", (folder / "of image").read_bytes()), \
            ("pipe", piped):
        # All but the time and what is summed up of it.
        if other[:96] != text[:96] or other[104:-16] != text[104:-16]:
            wrong(f"another file of the {name}")
    if sorted(os.listdir(folder)) != ["file", "image", "of image"]:
        wrong(os.listdir(folder))
    run(wort, "put", "0", "a", "thawed", "v")
    fresh(wort)
    said = run(wort, "restore", "-v", folder / "file", "0")
    if b"4 indexes, %d records" % nr not in said or \
            b": %d of %d records" % (nr, nr) not in said:
        wrong(said)
    if state(wort, "0") != before:
        wrong("what was restored is something else")
    if b"clean" not in run(wort, "check", "0"):
        wrong("what was restored is damaged")
    said = run(wort, "restore", folder / "file", "0", status=3)
    if b"index of this name" not in said or state(wort, "0") != before:
        wrong(said)


def before(wort):
    """What was written of engines that had another number then."""
    for numbers in "2-3", "5-6":
        restore_before(wort, OLD / f"engines-{numbers}.backup")


def restore_before(wort, backup):
    """The engines are those of the names, whatever numbers they had."""
    fresh(wort)
    run(wort, "restore", "-q", backup, "0")
    listed = run(wort, "list", "0")
    for name, engine in map(bytes.split, (OLD / "engines.txt").open("rb")):
        want = b"".join(b"key%d\tvalue%d-of-%s\n" % (nr, nr, name)
                        for nr in range(1, 10))
        if run(wort, "dump", "-q", "0", name) != want:
            wrong(f"records of {name} are something else")
        if not any(line.split()[1:2] == [engine] and line.endswith(b" " + name)
                   for line in listed.split(b"\n")):
            wrong(listed)


def refused(wort, folder):
    """Every byte counts, and no byte may be missing or be one too many."""
    fresh(wort)
    run(wort, "create", "0", "a")
    run(wort, "put", "0", "a", "key", "value")
    run(wort, "backup", "-q", "0", folder / "small")
    fresh(wort)
    image = hashlib.sha256(DEVICE.read_bytes()).digest()
    text = (folder / "small").read_bytes()
    bad = folder / "bad"
    for at in range(len(text)):
        changed = bytearray(text)
        changed[at] ^= 1 << at % 8
        bad.write_bytes(changed)
        said = run(wort, "restore", "-q", bad, "0", status=3)
        if b"nothing was restored" not in said and b"another version" not in said:
            wrong(f"byte {at}: {said}")
    for size in range(len(text)):
        bad.write_bytes(text[:size])
        run(wort, "restore", "-q", bad, "0", status=3)
    bad.write_bytes(text + b"\0")
    run(wort, "restore", "-q", bad, "0", status=3)
    if hashlib.sha256(DEVICE.read_bytes()).digest() != image:
        wrong("a file that was refused has changed the pool")
    if run(wort, "list", "0"):
        wrong("a file that was refused has made an index")
    run(wort, "restore", "-q", folder / "small", "0")
    return 2 * len(text) + 1


def no_space(wort, folder):
    """All indexes, or none."""
    fresh(wort)
    run(wort, "create", "0", "full")
    run(wort, "load", "-q", "-F", "tsv", "0", "full", data=b"".join(
        b"%d\t%s\n" % (nr, b"v" * 60000) for nr in range(400)), status=3)
    said = run(wort, "restore", "-q", folder / "file", "0", status=3)
    if b"full" not in said or run(wort, "list", "0").count(b"\n") != 1:
        wrong(said)
    run(wort, "destroy", "0", "full")
    run(wort, "backup", "-q", "0", "/dev/full/x", status=3)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([wort, "backup", "-q", "0", "-"], stdout=full,
                              stderr=subprocess.PIPE, check=False)
    if done.returncode != 3 or b"cannot write" not in done.stderr:
        wrong(f"a full disk: {done.returncode}, {done.stderr}")


def damaged(wort, offline, folder):
    """Of a pool that cannot be read as a whole there is no copy."""
    fresh(wort)
    run(wort, "create", "0", "a")
    run(wort, "put", "0", "a", "a key of one", "v")
    run(wort, "put", "0", "a", "a key of two", "v")
    (folder / "image").write_bytes(
        DEVICE.read_bytes().replace(b"a key of one", b"a kex of one"))
    run(offline, "backup", "-q", folder / "image", folder / "none", status=4)
    if (folder / "none").exists() or (folder / "none.part").exists():
        wrong("a copy of a part is left")


def main():
    wort, offline = sys.argv[1:3]
    seed = random.randrange(2**32)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        fresh(wort)
        fill(wort, random.Random(seed))
        copies(wort, offline, folder)
        before(wort)
        nr = refused(wort, folder)
        no_space(wort, folder)
        damaged(wort, offline, folder)
    print(f"a pool there and back (seed {seed}), {nr} files refused")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
