"""/timeline's slices against the truth: of each lane and depth, what is drawn of the time that its objects take.

Depths are computed once, of all objects. Whatever the window and the width, the daemon has to give the same ones."""

import collections
import json
from fractions import Fraction

import oracles
from oracle import dsl, selection, stats, timeline
from web import check, equal

LANES = "host,rank,pid,tid"
WIDTHS = (100, 1440, 6000)
ZOOMS = (1, 20, 1000)


def truth_of(root):
    """Of each lane: (depth, object) of all that have a time."""
    readers, lanes = [dsl.Path(p) for p in LANES.split(",")], collections.defaultdict(list)
    for o in selection.objects_of(root, {})[1]:
        if o.ts is not None:
            lanes[tuple(stats.sort_key(p(root, o)) for p in readers)].append(o)
    return {key: timeline.depths_of(objects) for key, objects in lanes.items()}


def windows_of(truth):
    """All of it, and shorter ones in the middle of the objects, in ns."""
    stamps = sorted(o.ts for lane in truth.values() for _, o in lane)
    end = max(o.ts + timeline.dur_of(o) for lane in truth.values() for _, o in lane)
    for zoom in ZOOMS:
        span = max((end - stamps[0]) // zoom, 1000)
        middle = stamps[len(stamps) // 2]
        yield (stamps[0], end) if zoom == 1 else (middle - span // 2, middle + span // 2)


class Depth:
    """Of a lane: what its objects take of each column, and how many there are."""

    def __init__(self):
        self.busy, self.count = collections.Counter(), 0


def depths_in(lane, w):
    depths = collections.defaultdict(Depth)
    for depth, o in lane:
        end = o.ts + timeline.dur_of(o)
        if o.ts > w.end or end < w.start:
            continue
        depths[depth].count += 1
        for column, _, ns in w.shares(o):
            depths[depth].busy[column] += ns
    return depths


def drawn_in(slices, w):
    """Columns in which something is drawn: a slice is as wide as one at least."""
    columns = set()
    for _, start, dur, *_ in slices:
        first = min(max(round(start * 1000), 0), w.end - w.start)
        last = min(max(round((start + dur) * 1000) - 1, first), w.end - w.start)
        columns.update(range(first // w.step, last // w.step + 1))
    return columns


def judge_lane(told, lane, w, answer, few, where):
    depths, names, files = depths_in(lane, w), answer["slice_names"], answer["slice_files"]
    by_place = {(o.file.name, o.number): (depth, o) for depth, o in lane}
    equal(len(told["slices"]), max(depths) + 1, where)
    for depth, slices in enumerate(told["slices"]):
        truth, drawn = depths[depth], drawn_in(slices, w)
        there, all_time = sum(ns for column, ns in truth.busy.items() if column in drawn), sum(truth.busy.values())
        check(there >= all_time * 0.95, "%s depth %d: %d of %d ns are drawn" % (where, depth, there, all_time))
        equal(sum(1 + s[7] for s in slices), truth.count, "%s depth %d" % (where, depth))
        check(not few or len(slices) == truth.count, "%s depth %d: %d of %d are there" % (where, depth, len(slices), truth.count))
        for _, start, dur, _, name, file, number, _ in slices:
            real_depth, o = by_place[files[file], number]
            equal((depth, round(start * 1000), round(dur * 1000), *names[name]), (real_depth, o.ts - w.start, timeline.dur_of(o), o.name, o.cat), where)


def judge(root, web):
    truth = truth_of(root)
    if not truth:
        return
    for start, end in windows_of(truth):
        for width in WIDTHS:
            text = web.get("/timeline", group_by=LANES, width=width, events=0, slices="true", time_range="%dns,%dns" % (start, end)).text()
            answer = json.loads(text, parse_float=Fraction)
            w, where = timeline.Window(start, end, width), "%s ns of %d columns" % (end - start, width)
            equal((answer["slices_complete"], answer["slices_min_dur"], answer["columns"]), (True, 0, w.columns), where)
            objects = {tuple(stats.sort_key(k) for k in lane["keys"]): timeline.spread(lane) for lane in answer["lanes"]}
            for key, lane in objects.items():
                judge_lane(lane, truth[key], w, answer, answer["count"] <= timeline.EACH, "%s lane %s" % (where, lane["keys"]))
            equal(len(objects), sum(1 for lane in truth.values() if depths_in(lane, w)), where)


def real(names):
    oracles.real(judge, names)
