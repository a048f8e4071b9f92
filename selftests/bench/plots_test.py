#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
#
# plots_test.py [FOLDER]: draws made-up figures, in FOLDER to be looked at, and
# checks what a reader relies on.  It runs no benchmark.

"""Checks plots.py and draw.py with figures that are made up."""

import contextlib
import csv
import io
import itertools
import os
import random
import re
import sys
import tempfile
import unittest
import unittest.mock

from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer

import draw
import plots

PLUGINS = ["/x/theirs.so", "/x/p-art.so", "/x/hot.so", "/x/fast_fair.so"]
# ns of a change, of a read, of a record in a scan
COSTS = {"wort": (300, 140, 30), "wort-mapped": (300, 220, 30),
         "floor": (320, 0, 0), "lmdb": (3900, 650, 20),
         "rocksdb": (4200, 1900, 90),
         "sqlite": (9000, 4100, 200), "lmdb-sync": (2760000, 190, 20),
         "rocksdb-sync": (150000, 1700, 90), "sqlite-sync": (140000, 3900, 200),
         "theirs": (310, 180, 33), "p-art": (560, 170, 40),
         "hot": (420, 210, 50), "fast_fair": (530, 270, 12)}
SETTING = {"processor": "Made Up", "memory": "plain DRAM in huge pages",
           "flush": "clwb", "added_ns": "0", "seed": "1"}
DURABLE = {"lmdb": "a power cut may damage it: MDB_NOSYNC",
           "lmdb-sync": "each operation: fdatasync()"}


def option(command, letter):
    """The values of an option."""
    return [command[i + 1] for i, word in enumerate(command) if word == letter]


def bench_rows(command, dice):
    """What bench would write."""
    peers = option(command, "-P")[0].split(",") + [
        os.path.basename(path)[:-3] for path in option(command, "-p")]
    keys = int(option(command, "-n")[0])
    ops = ["insert"] + option(command, "-o")[0].split(",")
    for workload, peer, op, turn in itertools.product(
            option(command, "-w")[0].split(","), peers, dict.fromkeys(ops),
            range(int(option(command, "-r")[0]))):
        change, read, scan = COSTS.get(peer, (340, 150, 40))
        if op.startswith(("lookup", "scan", "ycsb")) and not read:
            continue
        ns = {"scan-100": scan, "lookup": read, "ycsb-c": read,
              "ycsb-e": 50 * scan}.get(op, change)
        ns *= dice.uniform(0.9, 1.2) * max(1, keys / 1e6) ** 0.3
        if peer.endswith("-sync"):
            ns *= dice.uniform(0.3, 4)
        yield {"workload": workload, "keys": keys, "peer": peer,
               "durability": DURABLE.get(peer, "each operation"), "op": op,
               "turn": turn, "ops": 1000, "ns": f"{ns:.2f}",
               "lines": 2130 if op == "insert" else 0, "loads": 2650}


def threads_rows():
    """What threads would write."""
    for op, n, turn in itertools.product(
            ("inserts", "lookups", "lookups with a writer"), (1, 2), range(3)):
        yield {"op": op, "threads": n, "keys": 1000, "turn": turn,
               "ns": (300 if op == "inserts" else 150) / n + turn}


def attach_rows(command, dice):
    """What attach would write."""
    n = int(option(command, "-n")[0])
    for keys in (1000, n, n // 2):
        yield {"pool": "made up", "keys": keys,
               "attach_us": dice.uniform(550, 700),
               "first_lookup_us": dice.uniform(4, 6),
               "first_insert_us": dice.uniform(4, 6), "walk_s": keys / 16e6}


def make_up(run, data):
    """Write the figures of a run."""
    dice = random.Random(run.name)
    if run.simulate:
        with open(run.file(data), "w", encoding="utf-8") as file:
            file.write(f"insert {dice.uniform(1, 3)}\nlookup 1.5\n")
        return
    program = os.path.basename(run.command[0])
    rows = list({"bench": lambda: bench_rows(run.command, dice),
                 "threads": threads_rows,
                 "attach": lambda: attach_rows(run.command, dice)}[program]())
    with open(run.file(data), "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, [*rows[0], *SETTING])
        out.writeheader()
        out.writerows(row | SETTING for row in rows)


class Plots(unittest.TestCase):
    """All figures, from one set of made-up rows."""

    out = None
    look = False

    @classmethod
    def setUpClass(cls):
        cls.args = plots.parse(["--out", cls.out, "--build", "/x"] +
                               [word for path in PLUGINS
                                for word in ("-p", path)])
        cls.data = os.path.join(cls.out, "data")
        cls.plan = plots.make_plan(cls.args)
        os.makedirs(cls.data, exist_ok=True)
        for run in cls.plan.runs.values():
            make_up(run, cls.data)
        with unittest.mock.patch("plots.filesystem", lambda folder: "the fs of " + folder):
            cls.figures = dict(plots.figures(cls.plan, cls.args, cls.data))
        if cls.look:
            for name, figure in cls.figures.items():
                figure.savefig(os.path.join(cls.out, name + ".png"), dpi=80,
                               bbox_inches="tight", pad_inches=0.15)

    def panels(self):
        """Each pair of axes with the name of its figure."""
        for name, figure in self.figures.items():
            for axes in figure.axes:
                yield name, axes

    def test_kept(self):
        """What was measured in another way is not taken for what is asked for."""
        words = ["--out", self.out, "--build", "/x"]
        plan = plots.make_plan(plots.parse(words + ["-p", "other.so"]))
        for name in ("memory", "strings", "ycsb"):
            self.assertNotEqual(plan.runs[name].file(self.data),
                                self.plan.runs[name].file(self.data))
        self.assertEqual(plan.runs["threads"].file(self.data),
                         self.plan.runs["threads"].file(self.data))

    def test_titles(self):
        """Each figure says its unit and which direction is better."""
        for name, figure in self.figures.items():
            words = " ".join(text.get_text() for text in figure.findobj(
                draw.matplotlib.text.Text))
            self.assertRegex(words, "(lower|higher) is better", name)
            self.assertRegex(words, r"\bper (operation|record|insert|second)|"
                             ": us, ", name)

    def test_per_record(self):
        """Scans are per record."""
        titles = [axes.get_title() for _, axes in self.panels()]
        self.assertIn("scan-100: ns per record, lower is better", titles)
        self.assertIn("insert: ns per operation, lower is better", titles)

    def test_fewer_keys(self):
        """A workload that has fewer keys than the title says tells how many."""
        rows = [{"workload": name, "keys": nr}
                for name, nr in (("random", "1000"), ("paths", "700"))]
        self.assertEqual(draw.workload_labels(rows),
                         {"random": "random", "paths": "paths, 700 keys"})

    def test_colors(self):
        """A peer has one colour and hatch in every figure, and no other peer
        has it."""
        seen = {}
        for name, axes in self.panels():
            legend = axes.get_legend()
            if name in ("threads", "attach", "growth") or not legend:
                continue
            for patch in legend.get_patches():
                peer = draw.base(patch.get_label().split("\n")[0])
                seen.setdefault(peer, set()).add(
                    (to_hex(patch.get_facecolor()), patch.get_hatch() or ""))
        self.assertEqual({peer for peer, looks in seen.items()
                          if len(looks) > 1}, set())
        looks = [next(iter(found)) for found in seen.values()]
        self.assertEqual(len(looks), len(set(looks)))
        self.assertIn("lmdb", seen)

    def test_medium(self):
        """The legend says where peers with files keep them."""
        labels = [patch.get_label() for _, axes in self.panels()
                  if axes.get_legend()
                  for patch in axes.get_legend().get_patches()]
        lmdb = [label.replace("\n", " ") for label in labels
                if label.startswith("lmdb")]
        self.assertTrue(lmdb)
        for label in lmdb:
            self.assertIn("files in the fs of /var/tmp", label)

    def test_refusals(self):
        """What would not end, or fail after hours."""
        for words in (["-n", "0"], ["-n", "-5"], ["-r", "0"], ["-n", "many"]):
            with self.assertRaises(SystemExit), \
                    contextlib.redirect_stderr(io.StringIO()):
                plots.parse(words)
        with self.assertRaisesRegex(SystemExit, "/x/.* is not there"):
            plots.require(self.plan.runs.values())

    def test_nothing_under_the_legend(self):
        """Neither bars nor their figures are under a legend, and the figures
        are within the axes."""
        for name, figure in self.figures.items():
            figure.canvas.draw()
            for axes in figure.axes:
                inside = axes.get_window_extent()
                legend = axes.get_legend()
                if legend:
                    covered = legend.get_window_extent()
                    self.assertFalse(covered.overlaps(inside), name)
                for text in axes.texts:
                    self.assertLessEqual(text.get_window_extent().y1,
                                         inside.y1 + 1, name)

    def test_scales(self):
        """Linear from 0 below a range of 20, else logarithmic."""
        kinds = set()
        for name, axes in self.panels():
            heights = [y for found in axes.containers
                       for segment in getattr(found, "errorbar", found)
                       .lines[2][0].get_segments() for _, y in segment]
            wide = max(heights) >= 20 * min(heights)
            kinds.add(axes.get_yscale())
            self.assertEqual(axes.get_yscale(), "log" if wide else "linear",
                             name)
            if not wide:
                self.assertEqual(axes.get_ylim()[0], 0, name)
        self.assertEqual(kinds, {"linear", "log"})

    def test_error_bars(self):
        """Each bar and each point has one, from the least to the largest."""
        for name, axes in self.panels():
            drawn = [found for found in axes.containers
                     if not isinstance(found, ErrorbarContainer)]
            bars_of = [found.errorbar for found in drawn] or axes.containers
            self.assertTrue(bars_of, name)
            for bar in bars_of:
                self.assertTrue(bar and bar.has_yerr, name)
        rows = [{"op": "insert", "ns": ns} for ns in ("3", "1", "9")]
        self.assertEqual(draw.value(rows, "ns", op="insert"), (3, 1, 9))

    def test_ycsb_is_one_chart(self):
        """A group for each workload."""
        axes, = self.figures["ycsb"].axes
        self.assertEqual([label.get_text()[0] for label in
                          axes.get_xticklabels()], list("ABCDEF"))

    def test_attach_has_four_decades(self):
        """From a thousand to ten million."""
        sizes = plots.attach_sizes(self.args)
        self.assertEqual(sizes[-1] // sizes[0], 10000)
        line = self.figures["attach"].axes[0].get_lines()[0]
        self.assertEqual(list(line.get_xdata()), sizes)

    def test_progress(self):
        """It says how far it is, corrects its guesses by what runs took, and
        knows those of the last time."""
        runs = [plots.Run(name, 10) for name in "abc"]
        with tempfile.TemporaryDirectory() as data:
            said = io.StringIO()
            progress = plots.Progress(runs, data)
            self.assertEqual(progress.ahead(), 30)
            with contextlib.redirect_stdout(said):
                for run in runs[:2]:
                    progress.begin(run)
                    progress.end(run, 30)
                progress.begin(runs[2])
            self.assertEqual(progress.ahead(), 30)
            self.assertEqual(re.findall(r"\[.*?\]", said.getvalue()),
                             ["[1/3]", "[2/3]", "[3/3]"])
            self.assertEqual(plots.Progress(runs, data).ahead(), 70)

    def test_progress_of_a_disk(self):
        """What waits for a disk says nothing about the rest."""
        runs = [plots.Run(name, 10) for name in "ab"]
        runs[0].disk = True
        with tempfile.TemporaryDirectory() as data:
            progress = plots.Progress(runs, data)
            progress.end(runs[0], 100)
            self.assertEqual(progress.ahead(), 10)
        self.assertEqual([name for name, run in self.plan.runs.items()
                          if run.disk], ["durable"])

    def test_kept_figures_are_not_measured(self):
        """All are there, so nothing is run: /x has no program."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            plots.measure(self.plan, self.data, False)
        self.assertIn(f"0 of {len(self.plan.runs)} runs", said.getvalue())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Plots.out, Plots.look = sys.argv.pop(1), True
        unittest.main()
    with tempfile.TemporaryDirectory() as made:
        Plots.out = made
        unittest.main()
