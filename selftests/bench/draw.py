# SPDX-License-Identifier: GPL-2.0-only

"""Draws what plots.py has measured.  Each function returns a figure and
measures nothing.  A bar or a point is the median of the turns; its error bar
reaches from the least to the largest."""

import itertools
import math
import statistics
import textwrap
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
matplotlib.rcParams["hatch.linewidth"] = 0.6
matplotlib.rcParams["xtick.labelsize"] = 8
matplotlib.rcParams["ytick.labelsize"] = 8
import matplotlib.pyplot as plt  # pylint: disable=wrong-import-position

INTEGERS = ["dense", "sparse", "clustered"]
LINEAR_BELOW = 20  # the range from which an axis is logarithmic
PEERS_OF_FILES = ("lmdb", "rocksdb", "sqlite", "wort-file")

# Lines flushed by an insert, as table 1 (b) of the WORT paper (FAST'17) prints
# them; by workload, of 128 million keys.
PAPER_LINES = {
    "WORT (paper)": [2.2, 2.4, 2.3],
    "WOART (paper)": [2.4, 3.5, 3.7],
    "FPTree (paper)": [4.8, 4.8, 4.8],
    "wB+-tree (paper)": [6.0, 6.0, 6.0],
}

YCSB = {
    "ycsb-a": "A: 50 % lookups,\n50 % updates",
    "ycsb-b": "B: 95 % lookups,\n5 % updates",
    "ycsb-c": "C: lookups",
    "ycsb-d": "D: 95 % lookups of\nlate keys, 5 % inserts",
    "ycsb-e": "E: 95 % scans of\n1 to 100 keys, 5 % inserts",
    "ycsb-f": "F: 50 % lookups, 50 %\nlookups and updates",
}


class Style(NamedTuple):
    """How a peer is drawn, in every figure."""
    color: str
    hatch: str = ""


# Okabe and Ito's colours, which the colour-blind tell apart, and grey.
STYLES = {
    "floor": Style("#999999"),
    "wort": Style("#0072B2"),
    "wort-mapped": Style("#56B4E9"),
    "lmdb": Style("#E69F00"),
    "rocksdb": Style("#D55E00"),
    "sqlite": Style("#CC79A7"),
    "WORT (paper)": Style("#DDDDDD", "////"),
    "WOART (paper)": Style("#DDDDDD", "...."),
    "FPTree (paper)": Style("#DDDDDD", "xxxx"),
    "wB+-tree (paper)": Style("#DDDDDD", "\\\\\\\\"),
}
FURTHER = [Style(color, hatch) for hatch in ("", "////", "....")
           for color in ("#009E73", "#F0E442", "#FFFFFF")]

# The lines of one peer differ by marker and dashes, since a colour is a peer.
MARKS = [("o", "-"), ("s", "--"), ("^", ":"), ("D", "-.")]


def base(peer):
    """A peer with and without sync has one colour."""
    return peer[:-5] if peer.endswith("-sync") else peer


def learn(peers):
    """Give plug-ins a style each; called once, with those of all figures."""
    new = sorted({base(peer) for peer in peers} - set(STYLES))
    for i, peer in enumerate(new):
        STYLES[peer] = FURTHER[i % len(FURTHER)]


class Value(NamedTuple):
    """The median of the turns, the least, and the largest."""
    mid: float
    low: float
    high: float


def of_turns(values):
    """A value from those of all turns; None if there are none."""
    values = list(values)
    if not values:
        return None
    return Value(statistics.median(values), min(values), max(values))


def value(rows, what, **where):
    """A column over the turns: ns as it is, counts per operation."""
    found = [row for row in rows
             if all(row[name] == wanted for name, wanted in where.items())]
    if what == "ns":
        return of_turns(float(row[what]) for row in found)
    return of_turns(float(row[what]) / float(row["ops"]) for row in found)


def names(rows, column):
    """What a column holds, in the order of its first occurrence."""
    return list(dict.fromkeys(row[column] for row in rows))


def per(op):
    """What the time of an operation is divided by."""
    if op.startswith("scan") or op.endswith("-64"):
        return "record"
    return "operation"


def figures(number):
    """Three figures at least, and never an exponent."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def scale(axes, values):
    """Linear from 0, or logarithmic where the range is large; error bars are
    drawn, so they count."""
    values = [v for v in values if v]
    low = min(v.low for v in values)
    high = max(v.high for v in values)
    if low > 0 and high >= LINEAR_BELOW * low:
        axes.set_yscale("log")
        bottom = 10 ** math.floor(math.log10(low * 0.9))
        axes.set_ylim(bottom, high * (high / bottom) ** 0.1)
    else:
        axes.set_ylim(0, high * 1.1)


def arrange(figure):
    """Lay the panels out, then make room for the figures above the bars, whose
    height in the axes is known only then."""
    figure.tight_layout()
    for _ in range(3):  # a lower bar leaves the text as high as it was
        figure.canvas.draw()
        for axes in figure.axes:
            box = axes.get_window_extent()
            top = max((text.get_window_extent().y1 for text in axes.texts),
                      default=0)
            more = (top + 2 - box.y0) / box.height
            if more <= 1:
                continue
            low, high = axes.get_ylim()
            if axes.get_yscale() == "log":
                axes.set_ylim(low, low * (high / low) ** more)
            else:
                axes.set_ylim(low, low + (high - low) * more)


def bars(axes, groups, series):
    """Groups of bars; a series without a value in a group has none there."""
    width = 0.84 / max(len(series), 1)
    for i, (name, values) in enumerate(series.items()):
        style = STYLES[base(name)]
        for j, v in enumerate(values):
            if not v:
                continue
            at = j + (i - (len(series) - 1) / 2) * width
            axes.bar(at, v.mid, width * 0.94, color=style.color,
                     hatch=style.hatch, edgecolor="black", linewidth=0.4,
                     yerr=[[v.mid - v.low], [v.high - v.mid]],
                     error_kw={"elinewidth": 0.8, "capsize": 1.5})
            axes.annotate(figures(v.mid), (at, v.high), (0, 3),
                          textcoords="offset points", fontsize=6, rotation=90,
                          ha="center", va="bottom")
    axes.set_xticks(range(len(groups)), groups, fontsize=8)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    scale(axes, [v for values in series.values() for v in values])


def medium(rows, peer, folder):
    """Where a peer keeps its records, and what a power cut leaves of them."""
    row = next((row for row in rows if row.get("peer") == peer), None)
    if not row:
        return ""
    where = (f"files in {folder}" if base(peer) in PEERS_OF_FILES
             else row["memory"])
    return f"{where}; {row['durability']}"


def peer_legend(axes, series, rows, folder):
    """Beside the axes, where it hides no bar; after the layout, which would
    make room for it between the panels."""
    handles = []
    for name in series:
        style = STYLES[base(name)]
        told = textwrap.fill(medium(rows, name, folder), 40)
        handles.append(plt.Rectangle(
            (0, 0), 1, 1, facecolor=style.color, hatch=style.hatch,
            edgecolor="black", linewidth=0.4,
            label=f"{name}\n{told}" if told else name))
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1),
                borderaxespad=0, fontsize=6.5, frameon=False)


def line_legend(axes):
    """The same for lines."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0,
                fontsize=7, frameon=False)


def lines(axes, at, series):
    """Lines with error bars, of peers, or of wort by name."""
    for (name, values), (marker, dashes) in zip(series.items(),
                                                itertools.cycle(MARKS)):
        known = [(x, v) for x, v in zip(at, values) if v]
        axes.errorbar([x for x, _ in known], [v.mid for _, v in known],
                      yerr=[[v.mid - v.low for _, v in known],
                            [v.high - v.mid for _, v in known]],
                      color=STYLES.get(base(name), STYLES["wort"]).color,
                      marker=marker,
                      linestyle=dashes, markersize=4, capsize=2,
                      markerfacecolor="white", label=name)
    scale(axes, [v for values in series.values() for v in values])


def caption(figure, rows, fewer=None):
    """What every figure has to say.  @fewer: where there are not as many turns."""
    row = rows[0]
    turns = len(names(rows, "turn")) if "turn" in row else 1
    if turns > 1 and fewer:
        turns = f"{turns} ({fewer})"
    added = ", ".join(names(rows, "added_ns"))
    told = (f"{row['processor']}; wort in {row['memory']}; {row['flush']}, "
            f"sfence, {added} ns added a line; seed {row['seed']}; "
            f"medians of {turns}, error bars from the least to the largest")
    figure.text(0.01, 0, textwrap.fill(told, 190), fontsize=6, va="top")


def peer_series(rows, groups, what, **where):
    """Values by peer; @groups: (column, its values)."""
    column, wanted = groups
    series = {}
    for peer in names(rows, "peer"):
        values = [value(rows, what, peer=peer, **{column: group}, **where)
                  for group in wanted]
        if any(values):
            series[peer] = values
    return series


def workload_labels(rows):
    """By workload; with its number of keys where that is not the one of the first."""
    keys = {row["workload"]: int(row["keys"]) for row in rows}
    usual = int(rows[0]["keys"])
    return {workload: workload if nr == usual else f"{workload}, {nr:,} keys"
            for workload, nr in keys.items()}


def draw_peers(rows, title, ops, folder):
    """A panel for each operation: ns of each peer by workload."""
    measured = names(rows, "op")
    ops = [op for op in ops if op in measured]
    figure, panels = plt.subplots(len(ops), 1, figsize=(9, 2.5 * len(ops)),
                                  squeeze=False)
    groups, labels = names(rows, "workload"), workload_labels(rows)
    for axes, op in zip(panels[:, 0], ops):
        bars(axes, [labels[group] for group in groups],
             peer_series(rows, ("workload", groups), "ns", op=op))
        axes.set_title(f"{op}: ns per {per(op)}, lower is better", fontsize=9)
        axes.set_ylabel(f"ns per {per(op)}", fontsize=8)
    figure.suptitle(f"{title}, {int(rows[0]['keys']):,} keys", x=0.53,
                    fontsize=11)
    caption(figure, rows)
    arrange(figure)
    peer_legend(panels[0, 0], names(rows, "peer"), rows, folder)
    return figure


def draw_ycsb(rows, folder):
    """One chart, a group for each workload of YCSB."""
    figure, axes = plt.subplots(figsize=(10, 4))
    ops = [op for op in YCSB if op in names(rows, "op")]
    series = peer_series(rows, ("op", ops), "ns")
    bars(axes, [YCSB[op] for op in ops], series)
    axes.tick_params(axis="x", labelsize=6.5)
    axes.set_ylabel("ns per operation", fontsize=8)
    axes.set_title(f"YCSB, {int(rows[0]['keys']):,} {rows[0]['workload']} "
                   "keys: ns per operation, lower is better", fontsize=10)
    caption(figure, rows)
    arrange(figure)
    peer_legend(axes, series, rows, folder)
    return figure


def draw_lines(rows):
    """Lines flushed by an insert, beside what the paper prints."""
    figure, axes = plt.subplots(figsize=(9, 4))
    series = peer_series(rows, ("workload", INTEGERS), "lines", op="insert")
    series = {peer: values for peer, values in series.items()
              if any(v and v.mid for v in values)}
    series |= {name: [Value(v, v, v) for v in values]
               for name, values in PAPER_LINES.items()}
    bars(axes, INTEGERS, series)
    axes.set_ylabel("cache lines per insert", fontsize=8)
    axes.set_title("Cache lines flushed per insert, lower is better\n"
                   f"{int(rows[0]['keys']):,} keys; the paper's: 128 million",
                   fontsize=10)
    caption(figure, rows)
    arrange(figure)
    peer_legend(axes, series, [], "")
    return figure


def draw_growth(runs, misses):
    """Time and misses by the number of keys.  @runs: rows by workload and
    number; @misses: those per operation, by workload, number and operation."""
    workloads = names([{"w": workload} for workload, _ in runs], "w")
    figure, panels = plt.subplots(2, len(workloads), figsize=(11, 6),
                                  sharex=True, squeeze=False)
    for column, workload in enumerate(workloads):
        sizes = sorted(n for w, n in runs if w == workload)
        lines(panels[0, column], sizes, {
            op: [value(runs[workload, n], "ns", op=op) for n in sizes]
            for op in ("insert", "lookup")})
        found = [n for w, n, op in misses if w == workload and op == "insert"]
        series = {"insert: misses, simulated": "insert",
                  "lookup: misses, simulated": "lookup"}
        series = {name: [of_turns([misses[workload, n, op]])
                         if n in found else None for n in sizes]
                  for name, op in series.items()}
        series["lookup: lines loaded"] = [
            value(runs[workload, n], "loads", op="lookup") for n in sizes]
        lines(panels[1, column], sizes, series)
        panels[0, column].set_title(workload, fontsize=9)
        panels[0, column].set_xscale("log")
        panels[1, column].set_xlabel("keys", fontsize=8)
    panels[0, 0].set_ylabel("ns per operation", fontsize=8)
    panels[1, 0].set_ylabel("lines per operation", fontsize=8)
    figure.suptitle("wort by the number of keys: ns, and cache lines, per "
                    "operation, lower is better", fontsize=11)
    usual = next(iter(runs.values()))
    single = [n for (_, n), rows in runs.items()
              if len(names(rows, "turn")) < len(names(usual, "turn"))]
    caption(figure, usual, f"one turn from {min(single):,} keys on" if single else None)
    arrange(figure)
    line_legend(panels[0, -1])
    line_legend(panels[1, -1])
    return figure


def draw_threads(rows):
    """Operations a second by the number of threads."""
    figure, axes = plt.subplots(figsize=(8, 4))
    counts = names(rows, "threads")
    series = {op: [of_turns(1000 / float(row["ns"]) for row in rows
                            if row["op"] == op and row["threads"] == count)
                   for count in counts]
              for op in names(rows, "op")}
    lines(axes, [int(count) for count in counts], series)
    axes.set_xlabel("threads", fontsize=8)
    axes.set_xticks([int(count) for count in counts])
    axes.set_ylabel("million operations per second", fontsize=8)
    axes.set_title(f"One index, {int(rows[0]['keys']):,} uniform keys: million "
                   "operations per second, higher is better", fontsize=10)
    caption(figure, rows)
    arrange(figure)
    line_legend(axes)
    return figure


def draw_attach(runs):
    """What is waited for after a power cut.  @runs: rows by number of keys."""
    sizes = sorted(runs)
    figure, (waits, walk) = plt.subplots(2, 1, figsize=(8, 6), sharex=True)

    def column(name):
        return [of_turns(float(row[name]) for row in runs[n]) for n in sizes]

    lines(waits, sizes, {"attach": column("attach_us"),
                         "first lookup": column("first_lookup_us"),
                         "first insert": column("first_insert_us")})
    lines(walk, sizes, {"walk in the background": column("walk_s")})
    waits.set_ylabel("microseconds", fontsize=8)
    walk.set_ylabel("seconds", fontsize=8)
    waits.set_title("An operation waits: us, lower is better", fontsize=9)
    walk.set_title("Free space is found: s, lower is better", fontsize=9)
    walk.set_xscale("log")
    walk.set_xlabel("keys", fontsize=8)
    figure.suptitle("wort after a power cut, caches cold", fontsize=11)
    # Each row is a run of its own, as a turn is elsewhere.
    caption(figure, [row | {"turn": i} for i, row in enumerate(runs[sizes[0]])])
    arrange(figure)
    line_legend(waits)
    line_legend(walk)
    return figure
