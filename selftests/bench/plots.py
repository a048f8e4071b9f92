#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
#
# Measures and draws: plots.py --help.

"""Measures this index beside others and draws what it found, as PNG and SVG."""

import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
INTEGERS = ["dense", "sparse", "clustered"]
OPS = ["insert", "lookup", "scan-100", "delete"]

# Lines flushed by an insert, as table 1 (b) of the WORT paper (FAST'17) prints
# them; by workload, of 128 million keys.
PAPER_LINES = {
    "WORT (paper)": [2.2, 2.4, 2.3],
    "WOART (paper)": [2.4, 3.5, 3.7],
    "FPTree (paper)": [4.8, 4.8, 4.8],
    "wB+-tree (paper)": [6.0, 6.0, 6.0],
}


class Bench:
    """Runs the benchmark and keeps its figures."""

    def __init__(self, args):
        self.program = os.path.join(args.build, "bench")
        self.build = args.build
        self.data = os.path.join(args.out, "data")
        self.turns = args.turns
        self.again = args.again
        os.makedirs(self.data, exist_ok=True)

    def rows(self, name, program, *options):
        """The rows of a run; those of an earlier one if they are there."""
        path = os.path.join(self.data, name + ".csv")
        if self.again or not os.path.exists(path):
            print("measuring:", name, flush=True)
            subprocess.run([program, *options, "-c", path + ".new"],
                           check=True, stdout=subprocess.DEVNULL)
            os.replace(path + ".new", path)
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def run(self, name, keys, peers, plugins=(), workloads=INTEGERS, ops=OPS,
            turns=None):
        """Peers beside each other."""
        options = ["-n", str(keys), "-P", ",".join(peers),
                   "-w", ",".join(workloads), "-o", ",".join(ops),
                   "-r", str(turns or self.turns)]
        for plugin in plugins:
            options += ["-p", plugin]
        return self.rows(name, self.program, *options)

    def threads(self, keys):
        """Threads beside each other."""
        return self.rows("threads", os.path.join(self.build, "threads"),
                         "-n", str(keys), "-r", str(self.turns))

    def attach(self, keys):
        """What is waited for after a power cut."""
        return self.rows(f"attach-{keys}", os.path.join(self.build, "attach"),
                         "-n", str(keys))

    def plugin(self, name):
        """A peer that is built beside the benchmark."""
        return os.path.join(self.build, name + ".so")

    def misses(self, keys, workload, op):
        """Misses of the last level cache by operation, as callgrind has them."""
        path = os.path.join(self.data, f"misses-{workload}-{keys}.txt")
        if self.again or not os.path.exists(path):
            print("simulating caches:", workload, keys, flush=True)
            simulate(self.program, keys, workload, path)
        with open(path, encoding="utf-8") as file:
            found = dict(line.split() for line in file)
        return float(found[op])


def simulate(program, keys, workload, path):
    """Write the misses of a run, a line for each operation."""
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "profile")
        subprocess.run(
            ["valgrind", "-q", "--tool=callgrind", "--cache-sim=yes",
             "--collect-atstart=no", "--callgrind-out-file=" + profile,
             program, "-n", str(keys), "-r", "1", "-P", "wort", "-w", workload,
             "-o", "lookup"], check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        with open(path + ".new", "w", encoding="utf-8") as out:
            for name in os.listdir(folder):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                op = re.search(r"Client Request: (\S+)", text)
                events = re.search(r"^events: (.*)", text, re.M)
                totals = re.search(r"^totals: (.*)", text, re.M)
                if not (op and events and totals):
                    continue
                count = dict(zip(events[1].split(),
                                 map(int, totals[1].split())))
                missed = count.get("DLmr", 0) + count.get("DLmw", 0)
                out.write(f"{op[1]} {missed / keys}\n")
    os.replace(path + ".new", path)


def median(rows, what, **where):
    """The median of a column over the turns, or None; per operation."""
    found = [row for row in rows
             if all(row[name] == value for name, value in where.items())]
    if not found:
        return None
    if what == "bytes":
        values = [float(row[what]) / float(row["keys"]) for row in found]
    elif what == "ns":
        values = [float(row[what]) for row in found]
    else:
        values = [float(row[what]) / float(row["ops"]) for row in found]
    return statistics.median(values)


def names(rows, column):
    """What a column holds, in the order of its first occurrence."""
    return list(dict.fromkeys(row[column] for row in rows))


def caption(rows):
    """What every figure has to say."""
    row = rows[0]
    turns = len(names(rows, "turn")) if "turn" in row else 1
    return (f"{row['processor']}; {row['memory']}; {row['flush']}, sfence, "
            f"{row['added_ns']} ns added a line; seed {row['seed']}; "
            f"medians of {turns}")


def figures(value):
    """Three figures at least, and never an exponent."""
    if not value:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def bars(axes, groups, series, label):
    """Groups of bars; a series without a value in a group has none there."""
    width = 0.8 / max(len(series), 1)
    for i, (name, values) in enumerate(series.items()):
        at = [j + (i - (len(series) - 1) / 2) * width
              for j in range(len(groups))]
        drawn = axes.bar(at, [value or 0 for value in values], width,
                         label=name)
        axes.bar_label(drawn, [figures(value) for value in values],
                       fontsize=6, rotation=90, padding=2)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel(label)
    axes.margins(y=0.4)  # labels, and the names of the series above them


def save(figure, out, name, rows):
    """Draw a figure as PNG and SVG."""
    figure.text(0.01, 0.005, caption(rows), fontsize=6)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    for kind in ("png", "svg"):
        path = os.path.join(out, f"{name}.{kind}")
        figure.savefig(path, dpi=150)
        print(path)
    plt.close(figure)


def draw_peers(rows, out, name, title, ops):
    """A panel for each operation: ns of each peer by workload."""
    measured = names(rows, "op")
    ops = [op for op in ops if op in measured]
    figure, panels = plt.subplots(len(ops), 1, figsize=(9, 2.6 * len(ops)),
                                  squeeze=False)
    groups = names(rows, "workload")
    for axes, op in zip(panels[:, 0], ops):
        series = {}
        for peer in names(rows, "peer"):
            values = [median(rows, "ns", peer=peer, op=op, workload=group)
                      for group in groups]
            if any(values):
                series[peer] = values
        bars(axes, groups, series, f"{op}: ns")
        seen = [value for values in series.values() for value in values
                if value]
        if max(seen) > 20 * min(seen):
            axes.set_yscale("log")
        axes.legend(fontsize=6, ncol=6)
    panels[0, 0].set_title(f"{title}, {int(rows[0]['keys']):,} keys")
    save(figure, out, name, rows)


def draw_lines(rows, out):
    """Lines flushed by an insert, beside what the paper prints."""
    figure, axes = plt.subplots(figsize=(9, 4))
    series = {}
    for peer in names(rows, "peer"):
        values = [median(rows, "lines", peer=peer, op="insert", workload=group)
                  for group in INTEGERS]
        if any(values):
            series[peer] = values
    bars(axes, INTEGERS, series | PAPER_LINES, "lines flushed an insert")
    axes.legend(fontsize=6, ncol=4)
    axes.set_title("Lines flushed an insert; the paper's of 128 million keys")
    save(figure, out, "lines", rows)


def draw_growth(bench, out, sizes, simulated):
    """Time and misses by the number of keys; of the largest one turn: minutes."""
    figure, panels = plt.subplots(2, len(INTEGERS), figsize=(11, 6),
                                  sharex=True)
    rows = []
    for column, workload in enumerate(INTEGERS):
        runs = {n: bench.run(f"growth-{workload}-{n}", n, ["wort"],
                             workloads=[workload], ops=["lookup"],
                             turns=3 if n <= 10000000 else 1)
                for n in sizes}
        rows = rows or next(iter(runs.values()))
        for op in ("insert", "lookup"):
            panels[0, column].plot(
                sizes, [median(runs[n], "ns", op=op) for n in sizes],
                marker="o", label=op)
            panels[1, column].plot(
                simulated, [bench.misses(n, workload, op) for n in simulated],
                marker="o", label=op + ": misses, simulated")
        panels[1, column].plot(
            sizes, [median(runs[n], "loads", op="lookup") for n in sizes],
            linestyle="--", label="lookup: lines loaded")
        panels[0, column].set_title(workload)
        panels[1, column].set_xlabel("keys")
        panels[0, column].set_xscale("log")
    panels[0, 0].set_ylabel("ns")
    panels[1, 0].set_ylabel("last level cache, an operation")
    for axes in panels.flat:
        axes.legend(fontsize=6)
        axes.set_ylim(bottom=0)
    save(figure, out, "growth", rows)


def draw_threads(rows, out):
    """Operations a second by the number of threads."""
    figure, axes = plt.subplots(figsize=(9, 4))
    counts = names(rows, "threads")
    for op in names(rows, "op"):
        found = [(int(count), median(rows, "ns", op=op, threads=count))
                 for count in counts]
        found = [(count, 1000 / ns) for count, ns in found if ns]
        axes.plot(*zip(*found), marker="o", label=op)
    axes.set_xlabel("threads")
    axes.set_xticks([int(count) for count in counts])
    axes.set_ylabel("million operations a second")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=6)
    axes.set_title(f"One index, {int(rows[0]['keys']):,} uniform keys")
    save(figure, out, "threads", rows)


def draw_attach(bench, out, sizes):
    """What is waited for after a power cut, by the number of keys."""
    runs = [[row for row in bench.attach(n) if row["keys"] == str(n)][-1]
            for n in sizes]
    figure, (waits, walk) = plt.subplots(1, 2, figsize=(9, 4))
    for column, label in (("attach_us", "attach"),
                          ("first_lookup_us", "first lookup"),
                          ("first_insert_us", "first insert")):
        waits.plot(sizes, [float(row[column]) for row in runs], marker="o",
                   label=label)
    walk.plot(sizes, [float(row["walk_s"]) for row in runs], marker="o",
              label="walk in the background")
    waits.set_ylabel("microseconds")
    walk.set_ylabel("seconds")
    walk.set_yscale("log")
    for axes in (waits, walk):
        axes.set_xscale("log")
        axes.set_xlabel("keys")
        axes.legend(fontsize=6)
    waits.set_ylim(bottom=0)
    figure.suptitle("After a power cut, caches cold")
    save(figure, out, "attach", runs)


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(TOP, "build/bench"),
                        help="where the benchmark was built")
    parser.add_argument("--out", default=os.path.join(TOP, "build/plots"),
                        help="where plots and figures go")
    parser.add_argument("-p", "--plugin", action="append", default=[],
                        help="a further peer (see peer.h); may be repeated")
    parser.add_argument("-n", "--keys", type=int, default=1000000)
    parser.add_argument("-r", "--turns", type=int, default=5)
    parser.add_argument("--largest", type=int, default=10000000,
                        help="number of keys up to which growth is measured")
    parser.add_argument("--again", action="store_true",
                        help="measure again what was measured before")
    return parser.parse_args()


def powers(least, most):
    """Powers of ten."""
    sizes = []
    while least <= most:
        sizes.append(least)
        least *= 10
    return sizes


def main():
    """Measure what is not there yet, and draw all of it."""
    args = parse()
    bench = Bench(args)
    few = min(args.keys, 10000)

    rows = bench.run("memory", args.keys, ["wort", "wort-mapped", "floor"],
                     args.plugin)
    draw_peers(rows, args.out, "memory", "Indexes in memory", OPS)
    draw_lines(rows, args.out)
    rows = bench.run("strings", args.keys, ["wort", "wort-mapped"],
                     args.plugin, ["sequential", "random", "paths"])
    draw_peers(rows, args.out, "strings", "Strings", OPS)
    loose = [bench.plugin(name) for name in ("lmdb", "rocksdb", "sqlite")]
    rows = bench.run("stores", min(args.keys, 100000), ["wort"], loose,
                     turns=3)
    draw_peers(rows, args.out, "stores",
               "Beside stores that a power cut sets back", OPS)
    strict = [bench.plugin(name + "-sync")
              for name in ("lmdb", "rocksdb", "sqlite")]
    rows = bench.run("durable", few, ["wort"], strict, turns=3)
    draw_peers(rows, args.out, "durable", "Beside stores that are durable, too",
               OPS)
    ycsb = ["ycsb-" + letter for letter in "abcdef"]
    rows = bench.run("ycsb", args.keys, ["wort"], args.plugin + loose[:1],
                     ["sparse"], ycsb, turns=3)
    draw_peers(rows, args.out, "ycsb", "YCSB", ycsb)
    draw_threads(bench.threads(args.keys), args.out)
    draw_attach(bench, args.out,
                powers(max(min(10000, args.keys), 1000), args.largest))
    draw_growth(bench, args.out, powers(min(10000, args.keys), args.largest),
                powers(min(10000, args.keys), min(1000000, args.largest)))


if __name__ == "__main__":
    sys.exit(main())
