#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
#
# figures_test.py [FOLDER]: makes pages from made-up values, in FOLDER to be looked
# at, and checks what a reader relies on.  It runs no benchmark.

"""Checks figures.py, and the descriptions of all papers."""

import contextlib
import glob
import io
import os
import sys
import tempfile
import unittest

import figures
from figures import draw, plots

SETTING = {"processor": "Made Up", "memory": "plain DRAM in huge pages",
           "flush": "clwb", "seed": "1"}
OPS = 1000  # of each made-up row


def papers():
    """All that are described."""
    for path in sorted(glob.glob(os.path.join(figures.HERE, "*/paper.toml"))):
        yield figures.Paper(os.path.dirname(path))


def row(peer, workload, turn, **columns):
    """A line of what the bench writes."""
    return SETTING | {"peer": peer, "workload": workload, "turn": str(turn),
                      "ops": str(OPS), "op": "insert", "added_ns": "0"} | columns


def described(text, trees='wort = "WORT"\nfort = "FORT"'):
    """A paper with one figure."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "paper.toml"), "w",
                  encoding="utf-8") as file:
            file.write('title = "T"\nsource = "S"\nsetting = "M"\n'
                       f'figures = ["one"]\n[trees]\n{trees}\n')
        with open(os.path.join(folder, "one.toml"), "w",
                  encoding="utf-8") as file:
            file.write('what = "Table 1"\ntitle = "lines"\npage = 1\n'
                       'read = "a table"\nunit = "lines per insert"\n'
                       'better = "lower"\nop = "insert"\nturns = 3\n' + text)
        paper = figures.Paper(folder)
    figures.learn(paper)
    return paper, paper.figures[0]


LINES = """
column = "lines"
groups = ["dense", "sparse"]
keys = {wort = 8000, fort = 500}
[published]
wort = [2.2, 2.4]
fort = [2.4, 3.5]
[[difference]]
trees = ["wort"]
groups = ["sparse"]
text = "Because of this."
"""


class Descriptions(unittest.TestCase):
    """Of all papers."""

    def test_fields(self):
        """Each figure says what it is, and has a value for each group."""
        self.assertTrue(list(papers()))
        for paper in papers():
            for figure in paper.figures:
                where = f"{paper.name}/{figure.name}"
                self.assertIn(figure.better, ("lower", "higher"), where)
                self.assertRegex(figure.unit, r" per ", where)
                self.assertTrue(figure.read and figure.page, where)
                self.assertLessEqual(set(figure.published), set(paper.trees))
                for values in figure.published.values():
                    self.assertEqual(len(values), len(figure.groups), where)
                for tree in paper.trees:
                    self.assertGreater(figure.keys_of(tree), 0, where)

    def test_differences(self):
        """A reason is about trees and groups that are there."""
        for paper in papers():
            for figure in paper.figures:
                for told in figure.difference:
                    self.assertLessEqual(set(told["trees"]), set(paper.trees))
                    self.assertLessEqual(set(told.get("groups", [])),
                                         set(figure.groups))

    def test_files(self):
        """No description is forgotten."""
        for paper in papers():
            folder = os.path.join(figures.HERE, paper.name)
            self.assertEqual(
                {"paper.toml"} | {figure.name + ".toml" for figure
                                  in paper.figures}, set(os.listdir(folder)))


class Values(unittest.TestCase):
    """What is taken from the rows of the bench."""

    def test_counts_are_per_operation(self):
        """Times are so already."""
        _, figure = described(LINES)
        rows = [row("wort", "dense", turn, lines="2130") for turn in range(3)]
        value = figures.measured(figure, rows, "wort", "dense", 0)
        self.assertEqual(value, (2.13, 2.13, 2.13))
        figure.column = "ns"
        rows = [row("wort", "dense", turn, ns=str(ns))
                for turn, ns in enumerate((300, 100, 200))]
        self.assertEqual(figures.measured(figure, rows, "wort", "dense", 0),
                         (200, 100, 300))

    def test_other_rows_do_not_count(self):
        """Other peers, keys, operations and latencies."""
        _, figure = described(LINES)
        rows = [row("wort-mapped", "dense", 0, lines="1"),
                row("wort", "clustered", 0, lines="1"),
                row("wort", "dense", 0, lines="1", op="delete"),
                row("wort", "dense", 0, lines="1", added_ns="200")]
        self.assertEqual(figures.values_of(figure, rows, ["wort"]), {})

    def test_levels_are_added(self):
        """Those that the smaller tree lacks."""
        _, figure = described(LINES)
        figure.add = 1
        rows = [row("wort", "dense", 0, lines="6000")]
        self.assertEqual(
            figures.measured(figure, rows, "wort", "dense", 0).mid, 7)

    def test_ratio_of_one_turn(self):
        """A group is divided by others of the same turn."""
        _, figure = described(LINES.replace('["dense", "sparse"]',
                                            '["clustered"]'))
        figure.over, figure.column = ["dense", "sparse"], "ns"
        rows = [row("wort", workload, turn, ns=str(ns * (turn + 1)))
                for turn in range(3)
                for workload, ns in (("dense", 100), ("sparse", 300),
                                     ("clustered", 300))]
        self.assertEqual(
            figures.measured(figure, rows, "wort", "clustered", 0),
            (1.5, 1.5, 1.5))


class Page(unittest.TestCase):
    """What a reader sees."""

    def section(self, dense, sparse):
        """The section of one figure, of which one tree is built."""
        paper, figure = described(LINES)
        rows = [row("wort", "dense", 0, lines=str(dense)),
                row("wort", "sparse", 0, lines=str(sparse))]
        values = figures.values_of(figure, rows, ["wort"])
        return (figures.figure_section(paper, figure, values, None),
                list(figures.differences(figure, values)))

    def test_published_measured_ratio(self):
        """A row for each tree and group; a tree that is not built has none of
        its own values."""
        text, _ = self.section(2200, 2640)
        self.assertRegex(text, r"WORT +sparse +2\.4 +2\.64 +1\.10")
        self.assertRegex(text, r"FORT +dense +2\.4 +-- +--")
        self.assertIn("Unit: lines per insert; lower is better.", text)

    def test_a_difference_is_explained(self):
        """By the words of the description, with its place."""
        text, found = self.section(2200, 2640)
        self.assertIn("* *WORT, sparse*: Because of this.", text)
        self.assertEqual(found, [(("wort", "sparse"), "Because of this.")])

    def test_a_difference_without_reason(self):
        """It is said on the page, and found."""
        text, found = self.section(2130, 2400)
        self.assertIn("* *WORT, dense*: **This is not explained.**", text)
        self.assertEqual(found, [(("wort", "dense"), None)])

    def test_rounding_is_no_difference(self):
        """The paper has one digit."""
        self.assertEqual(self.section(2240, 2360)[1], [])

    def test_absent_trees(self):
        """They are named."""
        self.assertIn("**Not measured: FORT**", figures.tell_setting(
            [row("wort", "dense", 0)], ["FORT"]).replace("\n", " "))

    def test_trial(self):
        """A page of fewer keys than it names says so."""
        text = figures.tell_setting([row("wort", "dense", 0)], [], 100)
        self.assertIn("trial with 1/100 of the keys", text.replace("\n", " "))

    def test_fastest(self):
        """What the paper says is ahead is, or is not."""
        paper, figure = described(LINES)
        figure.fastest = [{"tree": "fort", "text": "FORT is best."}]
        values = {(tree, group, 0): draw.Value(v, v, v) for tree, group, v in (
            ("wort", "dense", 2), ("wort", "sparse", 3),
            ("fort", "dense", 1), ("fort", "sparse", 4))}
        said, = figures.tell_fastest(paper, figure, values)
        self.assertIn("dense: holds.  sparse: does not hold.", said)
        said, = figures.tell_fastest(paper, figure, {
            place: v for place, v in values.items() if place[0] == "fort"})
        self.assertIn("Not tested", said)


class Made(unittest.TestCase):
    """Pages and pictures of all papers from made-up values."""

    out = None

    def test_all(self):
        """One tree is not built.  Each picture has a title with unit and
        direction, and is the same when it is drawn again."""
        for paper in papers():
            trees = list(paper.trees)[:-1]
            args = figures.parse([paper.name, "--out", self.out, "--data",
                                  os.path.join(self.out, "data")])
            os.makedirs(args.data, exist_ok=True)
            plan, names = figures.make_plan(paper, trees, args)
            for run in plan.runs.values():
                self.make_up(run, args.data)
            with contextlib.redirect_stdout(io.StringIO()):
                figures.make(paper, trees, plan, names, args)
                before = self.pictures()
                figures.make(paper, trees, plan, names, args)
            self.assertEqual(before, self.pictures())
            for figure in paper.figures:
                text = before[f"{paper.name}-{figure.name}.svg"]
                self.assertIn(f"{figure.unit}, {figure.better} is better", text)
                self.assertNotIn(paper.trees[list(paper.trees)[-1]] + "<", text)
            with open(os.path.join(self.out, paper.name + ".rst"),
                      encoding="utf-8") as file:
                page = file.read()
            self.assertIn("**Not measured:", page)
            for line in page.splitlines():
                if not line.startswith(".. ") and "  " not in line:
                    self.assertLessEqual(len(line), figures.WIDTH, line)

    def pictures(self):
        """{name: text} of all pictures."""
        found = {}
        for path in glob.glob(os.path.join(self.out, "*.svg")):
            with open(path, encoding="utf-8") as file:
                found[os.path.basename(path)] = file.read()
        return found

    @staticmethod
    def make_up(run, data):
        """Write what the bench would."""
        option = dict(zip(run.command[1::2], run.command[2::2]))
        with open(run.file(data), "w", encoding="utf-8") as file:
            rows = [row(peer, workload, turn, op=op, added_ns=option["-a"],
                        ns=str(300 + int(option["-a"]) * 2 + turn),
                        lines="2300", nodes="6000")
                    for peer in option["-P"].split(",")
                    for workload in option["-w"].split(",")
                    for op in {"insert", *option["-o"].split(",")}
                    for turn in range(int(option["-r"]))]
            out = plots.csv.DictWriter(file, list(rows[0]))
            out.writeheader()
            out.writerows(rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Made.out = sys.argv.pop(1)
        unittest.main()
    with tempfile.TemporaryDirectory() as made:
        Made.out = made
        unittest.main()
