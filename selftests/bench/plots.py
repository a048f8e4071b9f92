#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
#
# Measures and draws: plots.py --help.

"""Measures this index beside others and draws what it found, as PNG and SVG.
It keeps the figures.  A further run takes those that the same programs measured with
the same options, and measures the others."""

import argparse
import csv
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import draw

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OPS = ["insert", "lookup", "scan-100", "delete"]
STRINGS = ["sequential", "random", "paths"]
STORES = ["lmdb", "rocksdb", "sqlite"]
ATTACHES = 3  # of each size, for error bars

# Microseconds of a change and of a read, to guess how long a run takes before
# there is one; a sync is one of a disk.
GUESS = {"lmdb": (4, 0.8), "rocksdb": (4, 2), "sqlite": (9, 4)}
GUESS_SYNC = (400, 2)
GUESS_OTHER = (0.5, 0.3)
GUESS_SIMULATED = 60  # times as long under callgrind


@functools.cache
def content(path):
    """What a program is, as a few digits; nothing of what is no file."""
    if not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Run:
    """One file of figures, and how to get it."""

    def __init__(self, name, guess, command=None, simulate=None):
        self.name = name
        self.guess = guess
        self.command = command
        self.simulate = simulate  # (program, keys, workload)
        self.disk = False

    def digest(self):
        """Changes with what is measured: options, the program, and peers that are
        plug-ins."""
        words = [str(word) for word in self.simulate or self.command]
        told = [content(word) or word for word in words]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]

    def file(self, data):
        """Where its figures are kept."""
        return os.path.join(data, f"{self.name}-{self.digest()}" +
                            (".txt" if self.simulate else ".csv"))

    def measure(self, data):
        """Write the figures; they have their name when they are whole."""
        path = self.file(data)
        if self.simulate:
            simulate(*self.simulate, path + ".new")
        else:
            subprocess.run([*self.command, "-c", path + ".new"], check=True,
                           stdout=subprocess.DEVNULL)
        os.replace(path + ".new", path)

    def rows(self, data):
        """The figures of a benchmark."""
        with open(self.file(data), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def simulate(program, keys, workload, path):
    """Misses of the last level cache as callgrind has them, a line for each
    operation."""
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "profile")
        # Otherwise the program would begin again, which it cannot under valgrind.
        env = os.environ | {"GLIBC_TUNABLES": ""}
        subprocess.run(
            ["valgrind", "-q", "--tool=callgrind", "--cache-sim=yes",
             "--collect-atstart=no", "--callgrind-out-file=" + profile,
             program, "-n", str(keys), "-r", "1", "-P", "wort", "-w", workload,
             "-o", "lookup"], check=True, env=env,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(path, "w", encoding="utf-8") as out:
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


def guess(keys, peers, workloads, ops, turns):
    """Seconds that a run of the benchmark may take."""
    reads = sum(op.startswith(("lookup", "scan", "ycsb")) for op in ops)
    changes = len(set(ops) | {"insert"}) - reads + \
        0.5 * sum(op in ("ycsb-a", "ycsb-f") for op in ops)
    total = 0
    for peer in peers:
        store = draw.base(peer)
        change, read = GUESS.get(store, GUESS_OTHER)
        if store != peer:
            change, read = GUESS_SYNC
        # Keys are made and memory is cleared in each turn, too.
        total += keys * (change * changes + read * reads + 0.5)
    return 0.2 + total * turns * len(workloads) / 1e6


class Plan:
    """All runs, in the order in which they are measured."""

    def __init__(self, args):
        self.build = args.build
        self.dir = args.dir
        self.turns = args.turns
        self.runs = {}

    def add(self, name, guessed, **how):
        """A run by its name."""
        self.runs[name] = Run(name, guessed, **how)

    def bench(self, name, keys, peers, plugins=(), workloads=None, ops=None,
              turns=None):
        """Peers beside each other."""
        workloads, ops = workloads or draw.INTEGERS, ops or OPS
        turns = turns or self.turns
        command = [os.path.join(self.build, "bench"), "-n", str(keys),
                   "-P", ",".join(peers), "-w", ",".join(workloads),
                   "-o", ",".join(ops), "-r", str(turns), "-d", self.dir]
        for plugin in plugins:
            command += ["-p", plugin]
        plugged = [os.path.basename(plugin)[:-3] for plugin in plugins]
        self.add(name, guess(keys, [*peers, *plugged], workloads, ops, turns),
                 command=command)
        self.runs[name].disk = any(draw.base(peer) != peer for peer in plugged)

    def plugin(self, name):
        """A peer that is built beside the benchmark."""
        return os.path.join(self.build, name + ".so")

    def growth(self, workload, keys, simulated):
        """Of the largest one turn, which takes minutes."""
        self.bench(f"growth-{workload}-{keys}", keys, ["wort"], (), [workload],
                   ["lookup"], 3 if keys <= 10000000 else 1)
        if simulated:
            seconds = guess(keys, ["wort"], [workload], ["lookup"], 1)
            self.add(f"misses-{workload}-{keys}", GUESS_SIMULATED * seconds,
                     simulate=(os.path.join(self.build, "bench"), keys,
                               workload))

    def programs(self, keys, sizes):
        """Threads beside each other; what is waited for after a power cut."""
        self.add("threads", 0.2 + keys * self.turns * 5e-6,
                 command=[os.path.join(self.build, "threads"), "-n", str(keys),
                          "-r", str(self.turns)])
        for n in sizes:
            for i in range(ATTACHES):
                self.add(f"attach-{n}-{i}", 3 + n * 2e-6,
                         command=[os.path.join(self.build, "attach"), "-n",
                                  str(n)])


def powers(least, most):
    """Powers of ten."""
    sizes = []
    while least <= most:
        sizes.append(least)
        least *= 10
    return sizes


def growth_sizes(args):
    """Numbers of keys: those measured, and those simulated."""
    sizes = powers(min(10000, args.keys), args.largest)
    return sizes, [n for n in sizes if n <= 1000000]


def attach_sizes(args):
    """Four decades, since attach must not depend on the number."""
    return powers(1000, max(args.largest, 1000))


def engines():
    """The engines of the module, the default first."""
    with open(os.path.join(TOP, "uapi/linux/wort_engines.h"),
              encoding="utf-8") as file:
        table = file.read().split("#define WORT_ENGINES(X)")[1].split("\n\n")[0]
    return re.findall(r'X\(\w+, "(\w+)"', table)


def make_plan(args):
    """What all figures need."""
    plan = Plan(args)
    plan.bench("engines", args.keys, engines())
    plan.bench("engines-strings", args.keys, engines(), workloads=STRINGS)
    plan.bench("memory", args.keys, ["wort", "wort-mapped", "floor"],
               args.plugin)
    plan.bench("strings", args.keys, ["wort", "wort-mapped"], args.plugin,
               STRINGS)
    loose = [plan.plugin(name) for name in STORES]
    plan.bench("stores", min(args.keys, 100000), ["wort"], loose, turns=3)
    plan.bench("durable", min(args.keys, 10000), ["wort"],
               [plan.plugin(name + "-sync") for name in STORES], turns=3)
    plan.bench("ycsb", args.keys, ["wort"], args.plugin + loose[:1],
               ["sparse"], list(draw.YCSB), 3)
    plan.programs(args.keys, attach_sizes(args))
    sizes, simulated = growth_sizes(args)
    for workload in draw.INTEGERS:
        for n in sizes:
            plan.growth(workload, n, n in simulated)
    return plan


# ---- how far it is ----

def told(seconds):
    """A time in words."""
    return (f"{seconds:.0f} s" if seconds < 100
            else f"{seconds / 60:.0f} min")


class Progress:
    """Says what is being measured and how long the rest takes: by the times of
    an earlier time on this machine, else by guesses, corrected by what the runs
    before took."""

    def __init__(self, runs, data):
        self.path = os.path.join(data, "seconds.json")
        self.taken = {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.taken = json.load(file)
        self.left = {run.name: self.taken.get(run.name, run.guess)
                     for run in runs}
        self.nr = len(runs)
        self.expected = self.spent = 0

    def ahead(self):
        """Seconds that the rest may take."""
        rest = sum(self.left.values())
        # Short runs say nothing about the machine.
        if self.expected < 5:
            return rest
        return rest * self.spent / self.expected

    def begin(self, run):
        """A run begins."""
        at = self.nr - len(self.left) + 1
        print(f"[{at}/{self.nr}] {run.name}: about "
              f"{told(self.left[run.name])}, in all {told(self.ahead())} left",
              flush=True)

    def end(self, run, seconds):
        """A run took so long; keep that."""
        expected = self.left.pop(run.name)
        # The disk says nothing about the processor.
        if not run.disk:
            self.expected += expected
            self.spent += seconds
        self.taken[run.name] = round(seconds, 1)
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.taken, file, indent=1)
        os.replace(self.path + ".new", self.path)


def filesystem(folder):
    """The type of the filesystem that a folder is in."""
    best, kind = "", "a filesystem"
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for line in file:
            at, found = line.split()[1:3]
            under = os.path.realpath(folder) + "/"
            if under.startswith(at.rstrip("/") + "/") and len(at) >= len(best):
                best, kind = at, found
    return kind


def require(runs):
    """End before hours of measuring if a program or a plug-in is missing."""
    for path in sorted({word for run in runs for word in run.command or []
                        if word == run.command[0] or word.endswith(".so")}):
        if not os.path.isfile(path):
            sys.exit(f"{path} is not there: \"make bench\" builds the bench and its peers")
    if any(run.simulate for run in runs) and not shutil.which("valgrind"):
        sys.exit("valgrind is missing, which counts the misses: "
                 "selftests/scripts/deps.sh bench installs it")


def measure(plan, data, again):
    """Measure what is not there."""
    os.makedirs(data, exist_ok=True)
    runs = [run for run in plan.runs.values()
            if again or not os.path.exists(run.file(data))]
    progress = Progress(runs, data)
    print(f"{len(runs)} of {len(plan.runs)} runs to measure, "
          f"about {told(progress.ahead())}", flush=True)
    require(runs)
    for run in runs:
        progress.begin(run)
        begun = time.monotonic()
        run.measure(data)
        progress.end(run, time.monotonic() - begun)


# ---- figures ----

def figures(plan, args, data):
    """The name and the figure of each plot."""
    rows = {name: run.rows(data) for name, run in plan.runs.items()
            if not run.simulate}
    misses = {}
    for run in plan.runs.values():
        if run.simulate:
            _, keys, workload = run.simulate
            with open(run.file(data), encoding="utf-8") as file:
                misses |= {(workload, keys, op): float(number) for op, number
                           in (line.split() for line in file)}
    # The peers with files of these runs keep them there.
    folder = filesystem(plan.dir)
    draw.learn(row["peer"] for found in rows.values() for row in found
               if "peer" in row)
    for name, title in (
            ("engines", "The engines"),
            ("engines-strings", "The engines with strings"),
            ("memory", "Indexes in memory"), ("strings", "Strings"),
            ("stores", "Beside stores that a power cut sets back"),
            ("durable", "Beside stores that are durable, too")):
        yield name, draw.draw_peers(rows[name], title, OPS, folder)
    yield "lines", draw.draw_lines(rows["memory"])
    yield "ycsb", draw.draw_ycsb(rows["ycsb"], folder)
    yield "threads", draw.draw_threads(rows["threads"])
    yield "attach", draw.draw_attach({
        n: [[row for row in rows[f"attach-{n}-{i}"]
             if row["keys"] == str(n)][-1] for i in range(ATTACHES)]
        for n in attach_sizes(args)})
    yield "growth", draw.draw_growth(
        {(workload, n): rows[f"growth-{workload}-{n}"]
         for workload in draw.INTEGERS for n in growth_sizes(args)[0]}, misses)


def save(out, name, figure):
    """As PNG and SVG."""
    for kind in ("png", "svg"):
        path = os.path.join(out, f"{name}.{kind}")
        figure.savefig(path, dpi=150, bbox_inches="tight", pad_inches=0.15)
        print(path)
    draw.plt.close(figure)


def number(least, most):
    """A whole number of an option, within bounds."""
    def read(text):
        found = int(text)
        if not least <= found <= most:
            raise argparse.ArgumentTypeError(f"{text} is not from {least} to {most}")
        return found
    read.__name__ = "number"
    return read


def parse(argv=None):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(TOP, "build/bench"),
                        help="where the benchmark was built")
    parser.add_argument("--out", default=os.path.join(TOP, "build/plots"),
                        help="where plots and figures go")
    parser.add_argument("-p", "--plugin", action="append", default=[],
                        help="a further peer (see peer.h); may be repeated")
    parser.add_argument("-n", "--keys", type=number(64, 10**9), default=1000000)
    parser.add_argument("-r", "--turns", type=number(1, 100), default=5)
    parser.add_argument("--largest", type=number(64, 10**9), default=10000000,
                        help="number of keys up to which growth is measured")
    parser.add_argument("-d", "--dir", default="/var/tmp",
                        help="for peers that keep files (/var/tmp)")
    parser.add_argument("--again", action="store_true",
                        help="measure again what was measured before")
    parser.add_argument("--plan", action="store_true",
                        help="print the runs and how long each may take")
    args = parser.parse_args(argv)
    if args.largest < min(10000, args.keys):
        parser.error("--largest is below the least number of keys, "
                     f"{min(10000, args.keys)}")
    return args


def main(argv=None):
    """Measure what is not there yet, and draw all of it."""
    args = parse(argv)
    data = os.path.join(args.out, "data")
    plan = make_plan(args)
    if args.plan:
        for run in plan.runs.values():
            print(f"{told(run.guess):>8}  {run.name}")
        seconds = sum(run.guess for run in plan.runs.values())
        print(f"{told(seconds):>8}  in all")
        return
    measure(plan, data, args.again)
    for name, figure in figures(plan, args, data):
        save(args.out, name, figure)


if __name__ == "__main__":
    sys.exit(main())
