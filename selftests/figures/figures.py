#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
#
# figures.py FOLDER: figures.py --help.

"""Measures what a paper has measured, and sets it beside what the paper prints:
a page with tables, and pictures.  FOLDER describes the paper (paper.toml) and
each figure; Documentation/figures.rst says how."""

import argparse
import os
import re
import statistics
import subprocess
import sys
import textwrap
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "selftests/bench"))
import draw  # pylint: disable=wrong-import-position
import plots  # pylint: disable=wrong-import-position

WIDTH = 100
# Of Okabe and Ito; a tree has one colour, and a hatch where it is published.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9"]
SPDX = "GPL-2.0-only"


class Figure:
    """What a paper shows, and what of it is measured: the fields of a file."""

    variant = ""  # of the peers of the bench
    over = ()  # groups whose mean the others are divided by
    add = 0  # to what is measured
    precision = 0.05  # of published values: half of their last digit
    added = {"ns": [0], "at": [None]}  # of the latency of writes
    notes = ""
    difference = ()
    fastest = ()

    def __init__(self, path):
        self.name = os.path.basename(path).removesuffix(".toml")
        with open(path, "rb") as file:
            vars(self).update(tomllib.load(file))

    def keys_of(self, tree):
        """How many keys a tree is measured with."""
        return self.keys[tree] if isinstance(self.keys, dict) else self.keys

    def published_at(self, tree, group, i):
        """What the paper has for a tree, a group and a latency, or None."""
        if tree not in self.published:
            return None
        found = self.published[tree][self.groups.index(group)]
        return found[i] if isinstance(found, list) else found

    def explained(self, tree, group):
        """Why a value differs from the published one, or None."""
        for told in self.difference:
            if tree in told["trees"] and group in told.get("groups", [group]):
                return told["text"].strip()
        return None

    def workloads(self):
        """Those of the bench that it takes."""
        return [*self.over, *self.groups]


class Paper:
    """A paper and its figures: the files of a folder."""

    def __init__(self, folder):
        self.name = os.path.basename(os.path.normpath(folder))
        path = os.path.join(folder, "paper.toml")
        if not os.path.isfile(path):
            sys.exit(f"{path} is not there, which describes a paper")
        with open(path, "rb") as file:
            vars(self).update(tomllib.load(file))
        self.figures = [Figure(os.path.join(folder, name + ".toml"))
                        for name in self.figures]


# ---- what is measured ----

def peers_of(program):
    """The names of all peers that are built into the bench."""
    said = subprocess.run([program, "--list"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    said = said.partition("peers (-P):\n")[2].partition("\nworkloads")[0]
    return re.findall(r"^  (\S+)", said, re.M)


def runs_of(figure, trees):
    """(keys, ns added, peers, turns) of each run; trees with as many keys take
    turns in one."""
    for keys in dict.fromkeys(figure.keys_of(tree) for tree in trees):
        peers = tuple(tree + figure.variant for tree in trees
                      if figure.keys_of(tree) == keys)
        for added in figure.added["ns"]:
            yield keys, added, peers, figure.turns


def make_plan(paper, trees, args):
    """All runs, and the names of those that each figure takes: figures with the
    same keys and peers share a run."""
    runs = {}
    for figure in paper.figures:
        for run in runs_of(figure, trees):
            runs.setdefault(run, []).append(figure)
    plan, names = plots.Plan(args), {}
    for (keys, added, peers, turns), taking in runs.items():
        keys = max(keys // args.divide, 64)
        ops = list(dict.fromkeys(figure.op for figure in taking))
        name = "_".join([*peers, *ops, str(keys), str(added), str(turns)])
        plan.bench(name, keys, peers, ops=ops, turns=turns, workloads=list(
            dict.fromkeys(sum((figure.workloads() for figure in taking), []))))
        plan.runs[name].command += ["-a", str(added)]
        for figure in taking:
            names.setdefault(figure.name, []).append(name)
    return plan, names


def of_one_turn(figure, rows, tree, group, added):
    """{turn: the value} of a tree."""
    found = {row["turn"]: row for row in rows
             if (row["peer"], row["workload"], row["op"], row["added_ns"]) ==
             (tree + figure.variant, group, figure.op, str(added))}
    by = {turn: 1 if figure.column == "ns" else float(row["ops"])
          for turn, row in found.items()}
    return {turn: float(row[figure.column]) / by[turn] + figure.add
            for turn, row in found.items()}


def measured(figure, rows, tree, group, added):
    """The median of the turns, the least and the largest, or None."""
    values = of_one_turn(figure, rows, tree, group, added)
    if figure.over:
        base = [of_one_turn(figure, rows, tree, other, added)
                for other in figure.over]
        values = {turn: value / statistics.mean(found[turn] for found in base)
                  for turn, value in values.items()}
    return draw.of_turns(values.values())


def values_of(figure, rows, trees):
    """{(tree, group, index of the latency): value} of what was measured."""
    found = {(tree, group, i): measured(figure, rows, tree, group, added)
             for tree in trees for group in figure.groups
             for i, added in enumerate(figure.added["ns"])}
    return {place: value for place, value in found.items() if value}


def differences(figure, values):
    """((tree, group), why or None) of what differs from the paper."""
    for (tree, group, i), value in values.items():
        published = figure.published_at(tree, group, i)
        if published and abs(value.mid - published) > figure.precision:
            yield (tree, group), figure.explained(tree, group)


# ---- pictures ----

def learn(paper):
    """Give each tree a colour."""
    for name, color in zip(paper.trees.values(), COLORS):
        draw.STYLES[name] = draw.Style(color)
        draw.STYLES[name + ", published"] = draw.Style(color, "////")


def draw_bars(paper, figure, values):
    """Groups of bars: each tree as published and as measured."""
    picture, axes = draw.plt.subplots(figsize=(8, 3.2))
    series = {}
    for tree, name in paper.trees.items():
        published = [figure.published_at(tree, group, 0)
                     for group in figure.groups]
        series[name + ", published"] = [value and draw.Value(value, value, value)
                                        for value in published]
        series[name] = [values.get((tree, group, 0)) for group in figure.groups]
    series = {name: found for name, found in series.items() if any(found)}
    draw.bars(axes, figure.groups, series)
    axes.set_ylabel(figure.unit, fontsize=8)
    return picture, lambda: draw.peer_legend(axes, series, [], "")


def draw_lines(paper, figure, values):
    """A panel for each group: lines by the latency of writes."""
    picture, panels = draw.plt.subplots(1, len(figure.groups), figsize=(9, 3.2),
                                        sharey=True, squeeze=False)
    at = figure.added["at"]
    for axes, group in zip(panels[0], figure.groups):
        series = {name: [values.get((tree, group, i)) for i in range(len(at))]
                  for tree, name in paper.trees.items()}
        draw.lines(axes, at, {name: found for name, found in series.items()
                              if any(found)})
        axes.set_title(group, fontsize=9)
        axes.set_xlabel(figure.added["label"], fontsize=8)
        axes.set_xticks(at)
    draw.scale(panels[0, 0], values.values())
    panels[0, 0].set_ylabel(figure.unit, fontsize=8)
    return picture, lambda: draw.line_legend(panels[0, -1])


def draw_figure(paper, figure, rows, values):
    """A picture, or None if there is nothing to draw."""
    if not values:
        return None
    kind = draw_lines if len(figure.added["ns"]) > 1 else draw_bars
    picture, legend = kind(paper, figure, values)
    picture.suptitle(f"{figure.what}: {figure.title}\n{figure.unit}, "
                     f"{figure.better} is better", fontsize=10)
    draw.caption(picture, rows)
    draw.arrange(picture)
    legend()
    return picture


def save(picture, path):
    """As SVG that depends on what is drawn only."""
    draw.matplotlib.rcParams["svg.hashsalt"] = "wort"
    picture.savefig(path, bbox_inches="tight", pad_inches=0.15,
                    metadata={"Date": None})
    draw.plt.close(picture)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = text.replace("?>\n", "?>\n<!-- SPDX-License-Identifier: "
                        f"{SPDX} -->\n", 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line.rstrip() + "\n" for line in text.splitlines()))


# ---- the page ----

def filled(text, **indents):
    """A paragraph in lines."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False,
                         fix_sentence_endings=True, **indents)


def wrapped(text):
    """Text in lines; the paragraphs of a description stay."""
    return "\n\n".join(filled(part) for part in text.strip().split("\n\n"))


def listed(text):
    """An item of a list."""
    return filled(text, initial_indent="* ", subsequent_indent="  ")


def heading(text, mark):
    """A heading with its line."""
    return f"{text}\n{mark * len(text)}"


def table(head, rows):
    """A simple table of reStructuredText."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    line = "  ".join("=" * width for width in widths)

    def row(cells):
        return "  ".join(cell.ljust(width) for cell, width
                         in zip(cells, widths)).rstrip()

    return "\n".join([line, row(head), line, *map(row, rows), line])


def number(value):
    """A value with its spread, if it has one."""
    if not value:
        return "--"
    mid, low, high = (f"{v:.2f}" if v < 10 else draw.figures(v) for v in value)
    return mid if low == high else f"{mid} ({low} to {high})"


def figure_table(paper, figure, values):
    """Published, measured, and one divided by the other."""
    heads, rows = ["tree", "keys"], []
    for at in figure.added["at"]:
        at = "" if at is None else f", {at} ns"
        if figure.published:
            heads += ["published" + at, "measured" + at, "ratio"]
        else:
            heads += ["measured" + at]
    for tree, name in paper.trees.items():
        if tree not in {*figure.published, *(place[0] for place in values)}:
            continue
        for group in figure.groups:
            cells = [name, group]
            for i in range(len(figure.added["ns"])):
                value = values.get((tree, group, i))
                published = figure.published_at(tree, group, i)
                if figure.published:
                    cells += [str(published or "--"), number(value),
                              f"{value.mid / published:.2f}"
                              if value and published else "--"]
                else:
                    cells += [number(value)]
            rows.append(cells)
    return table(heads, rows)


def tell_differences(paper, figure, values):
    """Why values differ from the paper, each reason once."""
    places = {}
    for (tree, group), why in differences(figure, values):
        places.setdefault(why, {}).setdefault(paper.trees[tree], []).append(group)
    for why, where in places.items():
        where = "; ".join(f"{tree}, {', '.join(dict.fromkeys(groups))}"
                          for tree, groups in where.items())
        yield listed(f"*{where}*: {why or '**This is not explained.**'}")


def tell_fastest(paper, figure, values):
    """Whether a tree is ahead of the others where the paper says so."""
    for told in figure.fastest:
        tree = told["tree"]
        ahead = {group: all(values[tree, group, 0].mid <= values[other, group, 0].mid
                            for other in paper.trees
                            if (other, group, 0) in values)
                 for group in figure.groups if (tree, group, 0) in values}
        if not ahead or len({place[0] for place in values}) < 2:
            held = "Not tested: the trees are not all there."
        else:
            held = "  ".join(f"{group}: {'holds' if found else 'does not hold'}."
                             for group, found in ahead.items())
        yield listed(f"{told['text']}.  {held}")


def figure_section(paper, figure, values, image):
    """A section of the page."""
    title = f"{figure.what}: {figure.title}"
    parts = [heading(title, "=")]
    if image:
        parts += [".. container:: wide", f"   .. image:: {image}\n"
                  f"      :alt: {figure.what}, drawn"]
    parts += [figure_table(paper, figure, values),
              wrapped(f"Unit: {figure.unit}; {figure.better} is better.  In the "
                      f"paper: page {figure.page}, {figure.read}.")]
    if figure.notes:
        parts += [wrapped(figure.notes)]
    told = [*tell_differences(paper, figure, values),
            *tell_fastest(paper, figure, values)]
    if told:
        parts += ["\n".join(told)]
    return "\n\n".join(parts)


def tell_setting(rows, absent, divide=1):
    """On what it was measured, and what was not."""
    row = rows[0]
    text = (f"Measured: {row['processor']}; {row['memory']}; {row['flush']} and "
            f"sfence; seed {row['seed']}.  Times are medians of the turns of one "
            "run, with the least and the largest.")
    if divide > 1:
        text += (f"  **This is a trial with 1/{divide} of the keys**: neither times nor "
                 "counts are those of the numbers of keys that the page names.")
    if absent:
        text += (f"  **Not measured: {', '.join(absent)}**, which the bench did "
                 "not have.")
    return wrapped(text)


def page(paper, sections, rows, absent, divide):
    """The whole page."""
    title = paper.title
    line = "=" * len(title)
    return "\n\n".join([
        f".. SPDX-License-Identifier: {SPDX}",
        f".. Made by \"make figures FIG={paper.name}\" from "
        f"selftests/figures/{paper.name}: change that.",
        f"{line}\n{title}\n{line}",
        wrapped(paper.source), wrapped("The paper: " + paper.setting.strip()),
        tell_setting(rows, absent, divide), *sections]) + "\n"


# ---- a paper ----

def make(paper, trees, plan, names, args):
    """Write page and pictures; return what is not explained."""
    learn(paper)
    os.makedirs(args.out, exist_ok=True)
    sections, unexplained, every = [], [], []
    for figure in paper.figures:
        rows = [row for name in names[figure.name]
                for row in plan.runs[name].rows(args.data)]
        values = values_of(figure, rows, trees)
        picture = draw_figure(paper, figure, rows, values)
        image = f"{paper.name}-{figure.name}.svg" if picture else None
        if picture:
            save(picture, os.path.join(args.out, image))
        sections.append(figure_section(paper, figure, values, image))
        unexplained += [f"{figure.what}: {paper.trees[tree]}, {group}"
                        for (tree, group), why in differences(figure, values)
                        if not why]
        every += rows
    absent = [name for tree, name in paper.trees.items() if tree not in trees]
    path = os.path.join(args.out, paper.name + ".rst")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page(paper, sections, every, absent, args.divide))
    print(path)
    return unexplained


def parse(argv=None):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="with the description of a paper")
    parser.add_argument("--build", default=os.path.join(TOP, "build/bench"),
                        help="where the bench was built")
    parser.add_argument("--out", help="where page and pictures go "
                        "(build/figures; of a trial build/figures/trial)")
    parser.add_argument("--data", help="where measured values are kept "
                        "(build/figures/data)")
    parser.add_argument("--divide", type=plots.number(1, 10**6), default=1,
                        metavar="N",
                        help="measure with an Nth of the keys, as a trial")
    parser.add_argument("--again", action="store_true",
                        help="measure again what was measured before")
    args = parser.parse_args(argv)
    args.out = args.out or os.path.join(TOP, "build/figures",
                                        "trial" if args.divide > 1 else "")
    args.data = args.data or os.path.join(TOP, "build/figures/data")
    args.dir, args.turns = "/var/tmp", None
    return args


def main(argv=None):
    """Measure what is not there yet, and write all of it."""
    args = parse(argv)
    paper = Paper(args.folder)
    bench = os.path.join(args.build, "bench")
    if not os.path.isfile(bench):
        sys.exit(f"{bench} is not there: \"make bench\" builds it")
    built = peers_of(bench)
    trees = [tree for tree in paper.trees if tree in built]
    for tree, name in paper.trees.items():
        if tree not in trees:
            print(f"{name}: the bench has no peer {tree}; it is left out",
                  file=sys.stderr)
    if not trees:
        sys.exit(f"{paper.name}: the bench has none of its trees")
    plan, names = make_plan(paper, trees, args)
    plots.measure(plan, args.data, args.again)
    unexplained = make(paper, trees, plan, names, args)
    if unexplained:
        sys.exit("not explained in {}: {}".format(
            args.folder, "; ".join(dict.fromkeys(unexplained))))


if __name__ == "__main__":
    main()
