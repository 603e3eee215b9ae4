"""/timeline and /histogram. Slow and plain: an object is looked at column by column."""

import collections
import json
import math
from decimal import Decimal
from fractions import Fraction

from . import dsl
from .selection import is_true, microseconds, objects_of
from .stats import number, sort_key


def window_of(params, objects):
    """(from, to) in ns; None: nothing has a time."""
    if "time_range" in params:
        return [dsl.duration(part) * 1000 for part in params["time_range"].split(",")]
    timed = [o for o in objects if o.ts is not None]
    return [min(o.ts for o in timed), max(max(o.ts, o.te()) for o in timed)] if timed else None


class Sum:
    """Of a lane, a color, or a column of one of both."""

    def __init__(self):
        self.count = self.busy = 0

    def add(self, count, busy):
        self.count += count
        self.busy += busy


class Window:
    def __init__(self, start, end, width):
        self.start, self.end = start, end
        self.step = (end - start) // width + 1
        self.columns = (end - start) // self.step + 1

    def shares(self, o):
        """(column, objects, ns) of all columns that the object has a part in."""
        first = min(max(o.ts, self.start), self.end)
        last = min(max(o.te(), first), self.end) if (o.dur or 0) >= 0 else first
        a, b = (first - self.start) // self.step, (last - self.start) // self.step
        for column in range(a, b + 1):
            begin = self.start + column * self.step
            yield column, int(column == a), min(last, begin + self.step) - max(first, begin)


def rank(values):
    """Number by key, in order."""
    return {key: i for i, key in enumerate(sorted(values))}


def cells_of(lane):
    """lane: color -> column -> Sum. [column, count, busy, color]"""
    told = []
    for column in sorted({c for sums in lane.values() for c in sums}):
        here = [(-sums[column].busy, -sums[column].count, color) for color, sums in lane.items() if column in sums]
        here = [h for h in here if h[0] or h[1]]
        if here:
            told.append([column, -sum(h[1] for h in here), microseconds(-sum(h[0] for h in here)), min(here)[2]])
    return told


def told_event(o, lanes, colors):
    return {"lane": lanes[lane_key(o)], "color": colors[o.color_key], "ts": microseconds(o.of.ts), "dur": microseconds(o.of.dur if o.of.dur is None or o.of.dur >= 0 else None),
            "name": o.of.name, "cat": o.of.cat, "file": o.of.file.name, "object": o.of.number}  # fmt: skip


class Seen:
    def __init__(self, root, o, lane, color):
        self.of = o
        self.lane, self.color = [p(root, o) for p in lane], color(root, o)
        self.color_key = sort_key(self.color)


def lane_key(seen):
    return tuple(sort_key(v) for v in seen.lane)


def is_number(value):
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


def told_power(value):
    """What 64 bits with a sign do not hold is told as a double."""
    return value if value < 2**63 else int(Decimal(repr(float(value))))


def powers(value):
    """[low, high) of the number; None: without an end."""
    if value < 0:
        return None, 0
    high = 1
    while value >= high:
        high *= 2
    return told_power(high // 2), told_power(high)


def keep(seen, kept, others):
    """All but those are one color; null is none. What is told of each key."""
    told = {s.color_key: {"value": s.color} for s in seen}
    key = max(told, default=()) + ("others",)  # behind all
    for s in seen:
        if s.color is not None and s.color_key not in kept:
            s.color_key = key
            told[key] = {"value": None, "others": others}
    return told


def put_together(seen, most):
    """Of too many colors: a key of each object's color, and what is told of the key."""
    told = {s.color_key: {"value": s.color} for s in seen}
    values = {s.color_key: s.color for s in seen if s.color is not None}
    if len(values) <= most:
        return told
    if all(is_number(v) for v in values.values()):
        for s in (s for s in seen if s.color is not None):
            low, high = powers(s.color)
            s.color_key = sort_key(-1 if low is None else low)
            told[s.color_key] = {"value": low, "below": high}
        return told
    counts = collections.Counter(s.color_key for s in seen if s.color is not None)
    kept = set(sorted(counts, key=lambda key: (-counts[key], key))[:most])
    return keep(seen, kept, len(values) - most)


# ---- slices -------------------------------------------------------------------------------------------------------

EACH = 20000                            # of so many objects in a window each is a slice


def dur_of(o):
    return o.dur if o.dur is not None and o.dur > 0 else 0


def depths_of(objects):
    """Of the objects of a lane: (depth, object), in the order of starts, the longer first, then the later line. The parent is the last one before
    that contains it; what takes no time contains nothing."""
    objects = sorted(objects, key=lambda o: (o.file.name.encode("utf-8", "surrogateescape"), o.number), reverse=True)
    around, told = [], []
    for o in sorted(objects, key=lambda o: (o.ts, -dur_of(o))):
        end = o.ts + dur_of(o)
        while around and not (end <= around[-1] and o.ts < around[-1]):
            around.pop()
        told.append((len(around), o))
        if end > o.ts:
            around.append(end)
    return told


def longest_of(objects, w):
    """Of a depth: (first column in which it is the longest, object), and the columns in which the others begin."""
    best = {}
    for o in objects:
        first, last = min(max(o.ts, w.start), w.end), min(max(o.ts + max(dur_of(o) - 1, 0), w.start), w.end)
        for column in range((first - w.start) // w.step, (last - w.start) // w.step + 1):
            if column not in best or dur_of(o) > dur_of(best[column]):
                best[column] = o
    firsts = {}
    for column in sorted(best):
        firsts.setdefault(id(best[column]), (column, best[column]))
    others = collections.Counter()
    for o in objects:
        if id(o) not in firsts:
            others[id(best[(min(max(o.ts, w.start), w.end) - w.start) // w.step])] += 1
    return [(column, o, others[id(o)]) for column, o in firsts.values()]


def slices_of(objects, w, each):
    """Of a lane: of each depth (column, object, others)."""
    by_depth = {}
    for depth, o in depths_of(objects):
        by_depth.setdefault(depth, []).append(o)
    if each:
        return [[((max(o.ts, w.start) - w.start) // w.step, o, 0) for o in by_depth[depth]] for depth in sorted(by_depth)]
    return [longest_of(by_depth[depth], w) for depth in sorted(by_depth)]


def named(seen, w, lanes, colors, told):
    """Names and files are told as such: their numbers are the daemon's affair."""
    color_of, objects = {id(s.of): colors[s.color_key] for s in seen}, [[] for _ in lanes]
    for s in seen:
        objects[lanes[lane_key(s)]].append(s.of)
    return [[[[column, microseconds(o.ts - w.start), microseconds(dur_of(o)), color_of[id(o)], o.name, o.cat, o.file.name, o.number, others] for column, o, others in depth]
             for depth in slices_of(objects[lane], w, len(seen) <= EACH)] for lane in told]  # fmt: skip


def timeline(root, params):
    files, objects = objects_of(root, {"time": "overlap", **params})
    window = window_of(params, objects)
    paths = [p for p in params.get("group_by", "host,pid,tid").split(",") if p]
    readers, color = [dsl.Path(p) for p in paths], dsl.Path(params.get("color", "cat"))
    seen = [Seen(root, o, readers, color) for o in objects if o.ts is not None]
    chosen = params.get("color_values")
    values = put_together(seen, int(params.get("colors", 256))) if chosen is None else keep(seen, {sort_key(v) for v in json.loads(chosen)}, None)
    lanes, colors = rank({lane_key(s) for s in seen}), rank({s.color_key for s in seen})
    w = Window(*window, int(params.get("width", 1000))) if window else None
    lane_sums, color_sums, cells, before = [Sum() for _ in lanes], [Sum() for _ in colors], [{} for _ in lanes], [0] * len(lanes)
    keys, of_color = {}, {i: values[key] for key, i in colors.items()}
    for s in seen:
        lane, color = lanes[lane_key(s)], colors[s.color_key]
        keys[lane] = s.lane
        before[lane] += s.of.ts < w.start
        for column, count, busy in w.shares(s.of):
            for into in (lane_sums[lane], color_sums[color], cells[lane].setdefault(color, {}).setdefault(column, Sum())):
                into.add(count, busy)
    seen.sort(key=lambda s: (-(s.of.dur if s.of.dur is not None and s.of.dur >= 0 else -1), s.of.ts, s.of.file.name.encode("utf-8", "surrogateescape"), s.of.number))
    told = seen[: int(params.get("events", 1000))]
    first = min(int(params.get("offset", 0)), len(lanes))
    end = min(first + int(params.get("limit", len(lanes))), len(lanes))
    slices = named(seen, w, lanes, colors, range(first, end)) if is_true(params.get("slices")) else None
    return {
        **({} if slices is None else {"slices_complete": True, "slices_min_dur": 0}),
        "complete": True, "files": len(files), "damaged_files": sum(f.damaged() for f in files),
        "from": microseconds(w.start) if w else None, "to": microseconds(w.end) if w else None, "column": microseconds(w.step) if w else None,
        "columns": w.columns if w else 0, "count": len(seen), "busy": microseconds(sum(s.busy for s in lane_sums)),
        "untimed": len(objects) - len(seen), "group_by": paths, "color": params.get("color", "cat"),
        "colors": [{**of_color[i], "count": s.count, "busy": microseconds(s.busy)} for i, s in enumerate(color_sums)],
        "lanes_total": len(lanes), "lanes_offset": first,
        "lanes": [{"keys": keys[i], "count": lane_sums[i].count, "before": before[i], "busy": microseconds(lane_sums[i].busy), "cells": cells_of(cells[i]),
                   **({} if slices is None else {"slices": slices[i - first]})}
                  for i in range(first, end)],
        "events_complete": len(told) == len(seen),
        "events": [told_event(s, lanes, colors) for s in told if first <= lanes[lane_key(s)] < end],
    }  # fmt: skip


CELL = ("slot", "count", "busy", "color")
SLICE = ("slot", "start", "dur", "color", "name", "file", "object", "others")


def rows_of(columns, members):
    """Of columns of the daemon's answer; they have these members, and runs of equal rows may have `slots`."""
    assert list(columns) in ([*members], [*members, "slots"]), list(columns)
    rows = [list(row) for row in zip(*(columns[m] for m in members), strict=True)]
    runs = columns.get("slots", [1] * len(rows))
    return [[row[0] + i, *row[1:]] for row, run in zip(rows, runs, strict=True) for i in range(run)]


def spread(lane):
    """A lane of the daemon's answer, with rows instead of columns."""
    for member in {"cells", "rest"} & set(lane):
        lane[member] = rows_of(lane[member], CELL)
    if "slices" in lane:
        lane["slices"] = [rows_of(depth, SLICE) for depth in lane["slices"]]
    return lane


def with_names(answer):
    """An answer of the daemon, as the oracle gives it."""
    names, files = answer.pop("slice_names", None), answer.pop("slice_files", None)
    for lane in answer["lanes"]:
        spread(lane)
        if names is not None:
            lane["slices"] = [[[*s[:4], *names[s[4]], files[s[5]], *s[6:]] for s in depth] for depth in lane["slices"]]
    return answer


def as_columns(answer):
    """The inverse."""
    names, files = [], []

    def number(values, value):
        if value not in values:
            values.append(value)
        return values.index(value)

    def columns(rows, members):
        return {m: [row[i] for row in rows] for i, m in enumerate(members)}

    for lane in answer["lanes"]:
        lane["cells"] = columns(lane["cells"], CELL)
        for depth in lane.get("slices", []):
            depth[:] = [[*s[:4], number(names, s[4:6]), number(files, s[6]), *s[7:]] for s in depth]
        if "slices" in lane:
            lane["slices"] = [columns(depth, SLICE) for depth in lane["slices"]]
    return {**answer, "slice_names": names, "slice_files": files} if "slices_complete" in answer else answer
