#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""bench.py POOL: what the package costs, beside py-lmdb if that is installed.

Nanoseconds for a record, of the median of rounds in which both take turns.  The
index "bench" must not be in the pool; it is destroyed in the end, also after an error.
LMDB's files are in a folder of --lmdb, where it does not wait for the disk unless --sync
is given; a change of wort is durable.
"""
import argparse
import errno
import random
import statistics
import sys
import tempfile
import time

import wort

try:
    import lmdb
except ImportError:
    lmdb = None


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pool", help="/dev/wortN, or a plain file with a pool")
    parser.add_argument("--process", action="store_true",
                        help="a plain file: no change waits for the disk")
    parser.add_argument("-n", "--records", type=positive, default=1000000)
    parser.add_argument("-r", "--rounds", type=positive, default=3)
    parser.add_argument("--lmdb", default="/dev/shm", metavar="FOLDER")
    parser.add_argument("--sync", action="store_true")
    return parser.parse_args()


class Wort:
    """The calls that a program would choose; each returns how many records."""

    def __init__(self, args, keys):
        self.how = {"sync": "process"} if args.process else {}
        self.pool = wort.Pool(args.pool, write=True, **self.how)
        self.keys = keys
        self.pairs = [(key, key) for key in keys]
        self.index = self.reader = self.mapped = None

    def fresh(self):
        """An empty index, and one more handle of it in a mapping."""
        self.drop()
        try:
            self.index = self.pool.index("bench", exclusive=True)
        except wort.Error as err:
            if err.errno != errno.EEXIST:
                raise
            sys.exit(f'{self.pool.path} has an index "bench", which would be destroyed')
        self.reader = wort.Pool(args.pool, **self.how)
        try:
            self.reader.map()
            self.mapped = self.reader.index("bench")
        except wort.Error:
            self.mapped = None

    def drop(self):
        """The index of the round before."""
        for handle in self.index, self.reader, self.mapped:
            if handle is not None:
                handle.close()
        if self.index is not None:
            self.pool.destroy("bench")
        self.index = self.reader = self.mapped = None

    def load(self):
        self.fresh()
        self.index.update(self.pairs)
        return len(self.pairs)

    def put(self):
        with self.index.batch() as batch:
            put = batch.put
            for key in self.keys:
                put(key, key)
        return len(self.keys)

    def iterate(self):
        return sum(1 for _ in self.index.scan())

    def keys_only(self):
        return sum(1 for _ in self.index)

    def get(self):
        get = self.index.get
        for key in self.keys:
            get(key)
        return len(self.keys)

    def get_many(self):
        return len(self.index.get_many(self.keys))

    def mapped_get(self):
        if self.mapped is None:
            return 0
        get = self.mapped.get
        for key in self.keys:
            get(key)
        return len(self.keys)

    def prefix(self):
        return sum(1 for first in range(0, 256, 8)
                   for _ in self.index.scan(prefix=bytes([first])))

    def close(self):
        self.drop()
        self.pool.close()


class Lmdb:
    """The same; reads are made in one transaction."""

    def __init__(self, args, keys):
        self.folder = tempfile.TemporaryDirectory(dir=args.lmdb)
        self.env = lmdb.open(self.folder.name, map_size=200 * args.records + (64 << 20),
                             sync=args.sync, metasync=args.sync)
        self.keys = keys
        self.pairs = [(key, key) for key in keys]

    def load(self):
        database = self.env.open_db()
        with self.env.begin(write=True) as txn:
            txn.drop(database, delete=False)
        with self.env.begin(write=True) as txn:
            txn.cursor().putmulti(self.pairs)
        return len(self.pairs)

    def put(self):
        with self.env.begin(write=True) as txn:
            put = txn.put
            for key in self.keys:
                put(key, key)
        return len(self.keys)

    def iterate(self):
        with self.env.begin() as txn:
            return sum(1 for _ in txn.cursor())

    def keys_only(self):
        with self.env.begin() as txn:
            return sum(1 for _ in txn.cursor().iternext(values=False))

    def get(self):
        with self.env.begin() as txn:
            get = txn.get
            for key in self.keys:
                get(key)
        return len(self.keys)

    def get_many(self):
        with self.env.begin() as txn:
            return len(txn.cursor().getmulti(self.keys))

    mapped_get = get

    def prefix(self):
        number = 0
        with self.env.begin() as txn:
            cursor = txn.cursor()
            for first in range(0, 256, 8):
                prefix = bytes([first])
                if not cursor.set_range(prefix):
                    continue
                for key, _ in cursor:
                    if not key.startswith(prefix):
                        break
                    number += 1
        return number

    def close(self):
        self.env.close()
        self.folder.cleanup()


ROWS = (("load", "update(pairs)", "load"), ("put", "in a batch", "put"),
        ("iterate", "pairs", "iterate"), ("iterate", "keys", "keys_only"),
        ("get", "get(key)", "get"), ("get", "get_many(keys)", "get_many"),
        ("mapped get", "get(key)", "mapped_get"),
        ("scan", "of a prefix", "prefix"))


def cost(store, name):
    """Nanoseconds for a record; None: it cannot be done here."""
    begin = time.perf_counter_ns()
    number = getattr(store, name)()
    return (time.perf_counter_ns() - begin) / number if number else None


def median(times):
    return None if None in times else statistics.median(times)


def show(args, costs):
    print(f"{args.records} records with keys and values of 8 bytes, Python "
          f"{sys.version.split()[0]}, wort {wort.version()}, " +
          (f"py-lmdb {lmdb.__version__} with sync={args.sync}" if lmdb
           else "py-lmdb is not installed") + "; ns for a record")
    print(f"{'':26}{'wort':>8}{'py-lmdb':>9}{'ratio':>7}")
    for (what, how, name) in ROWS:
        found = [median(costs[kind, name]) for kind in (Wort, Lmdb)
                 if (kind, name) in costs]
        line = "".join(f"{'-' if ns is None else round(ns):>{8 + nr}}"
                       for nr, ns in enumerate(found))
        ratio = f"{found[0] / found[1]:7.2f}" if None not in found[:2] and \
            len(found) == 2 else ""
        print(f"{what + ', ' + how:26}{line}{ratio}")


def main(args):
    rng = random.Random(1)
    keys = [rng.randbytes(8) for _ in range(args.records)]
    stores = [kind(args, keys) for kind in ([Wort, Lmdb] if lmdb else [Wort])]
    costs = {}
    try:
        for _ in range(args.rounds):
            for _, _, name in ROWS:
                for store in stores:
                    costs.setdefault((type(store), name), []).append(
                        cost(store, name))
    finally:
        for store in stores:
            store.close()
    show(args, costs)


if __name__ == "__main__":
    args = arguments()
    main(args)
