"""/call-tree: nesting by containment, folded trees, rows, collapsed stacks, analysis. Slow and plain."""

from . import dsl, within
from .selection import as_list, is_true, microseconds, objects_of
from .stats import Approximate, number, rank_value, show, sort_key

INT_MAX = 2**63 - 1
PATH_LEVELS = 256       # of `path` in rows, of callers, of stacks unless max_depth says otherwise
LIMITS = (-(2**63) + 1, INT_MAX)


class Call:
    """An event in the tree. It nests by its own times; clipped are those that are told."""

    def __init__(self, o, covered=None):
        self.o, self.ts, self.te, self.covered = o, o.ts, o.ts + o.dur, covered
        self.told_ts = min(lo for lo, hi in covered.parts(o)) if covered else o.ts
        self.dur = self.length(self.ts, self.te)
        self.parent, self.children, self.depth, self.self_time = None, [], 0, 0

    def length(self, ts, te):
        return self.covered.length(ts, te) if self.covered else te - ts


def fits(value):
    return value is not None and LIMITS[0] <= value <= LIMITS[1]


def is_complete(o):
    return o.ph in ("X", 1) and not isinstance(o.ph, bool)


def id_of(o):
    """None first; what is no number of 64 bits is none."""
    return o.id if o.id is not None and fits(o.id) else LIMITS[0] - 1


def contains(p, c):
    return p.ts <= c.ts and c.te <= p.te and (c.ts < p.te or p.ts == p.te == c.ts == c.te)


def union(calls, length):
    """Length of what they cover together."""
    total, end = 0, None
    for c in sorted(calls, key=lambda c: c.ts):
        start = c.ts if end is None or c.ts > end else end
        if c.te > start:
            total += length(start, c.te)
            end = c.te
        elif end is None:
            end = c.te
    return total


def nest(calls):
    """Parents of the calls of one thread, in the order of the contract; how many overlap another partly."""
    order = sorted(enumerate(calls), key=lambda e: (e[1].ts, -e[1].te, id_of(e[1].o), -e[0]))
    order = [c for _, c in order]
    opened, overlaps = [], 0
    for c in order:
        crosses = False
        while opened and not contains(opened[-1], c):
            crosses = crosses or c.ts < opened[-1].te < c.te
            opened.pop()
        overlaps += crosses
        if opened:
            c.parent, c.depth = opened[-1], opened[-1].depth + 1
            c.parent.children.append(c)
        opened.append(c)
    for c in order:
        c.self_time = c.dur - union(c.children, c.length)
    return order, overlaps


class Tree:
    """All threads of a selection."""

    def __init__(self, root, params):
        clips = is_true(params.get("clip"))
        self.files, objects = objects_of(root, {k: v for k, v in params.items() if k != "clip"}, "events")
        covers, scope = within.cover(root, params, self.files) if clips else ({}, lambda o: None)
        self.events = len(objects)
        complete = [o for o in objects if is_complete(o)]
        timed = [o for o in complete if fits(o.ts) and fits(o.dur) and o.dur >= 0 and fits(o.ts + o.dur)]
        self.other_phases, self.untimed = len(objects) - len(complete), len(complete) - len(timed)
        host = dsl.Path("host")
        lanes, shown = {}, {}
        for o in timed:
            values = [host(root, o), o.pid, o.tid]
            key = tuple(sort_key(v) for v in values)
            lanes.setdefault(key, []).append(Call(o, covers.get(scope(o))))
            shown[key] = values
        self.overlaps, self.threads = 0, []
        for key in sorted(lanes):
            order, overlaps = nest(lanes[key])
            self.overlaps += overlaps
            self.threads.append((shown[key], order))
        self.calls = [c for _, order in self.threads for c in order]
        self.levels = max((c.depth + 1 for c in self.calls), default=0)

    def hosts_apart(self):
        spans = {}
        for (host, _, _), order in self.threads:
            lo, hi, n = spans.get(host, (order[0].ts, order[0].te, 0))
            spans[host] = (min(lo, min(c.ts for c in order)), max(hi, max(c.te for c in order)), n + len(order))
        groups = []
        for host in sorted(spans, key=lambda h: (spans[h][0], sort_key(h))):
            lo, hi, n = spans[host]
            if groups and lo <= groups[-1][1]:
                g = groups[-1]
                g[1], g[2], g[3] = max(g[1], hi), g[2] + n, g[3] + [host]
            else:
                groups.append([lo, hi, n, [host]])
        if len(groups) < 2:
            return []
        main = max(groups, key=lambda g: (g[2], -g[0]))
        apart = sorted((h for g in groups if g is not main for h in g[3]), key=sort_key)
        return [{"host": h, "min_ts": microseconds(spans[h][0]), "max_te": microseconds(spans[h][1]),
                 "gap": microseconds(main[0] - spans[h][1] if spans[h][1] < main[0] else spans[h][0] - main[1])}
                for h in apart]


# ---- folding ------------------------------------------------------------------------------------------------------

class Node:
    def __init__(self, name, cat=None, group=None):
        self.name, self.cat, self.group = name, cat, group
        self.count = self.total = self.self_time = 0
        self.least = self.most = None
        self.children = {}

    def child(self, name, cat, group=None):
        key = (name, cat, None if group is None else tuple(map(sort_key, group.values())))
        if key not in self.children:
            self.children[key] = Node(name, cat, group)
        return self.children[key]

    def add(self, other, with_total=True):
        self.count += other.count
        self.total += other.total if with_total else 0
        self.self_time += other.self_time
        if other.least is not None:
            self.least = other.least if self.least is None else min(self.least, other.least)
            self.most = other.most if self.most is None else max(self.most, other.most)

    def ordered(self):
        return sorted(self.children.values(), key=lambda n: (
            -n.total, [sort_key(v) for v in n.group.values()] if n.group else [], sort_key(n.name), sort_key(n.cat)))


def single(c):
    n = Node(c.o.name, c.o.cat)
    n.count, n.total, n.self_time, n.least, n.most = 1, c.dur, c.self_time, c.dur, c.dur
    return n


def finish(top):
    """Of `all`, and of groups: everything below, and the time of the outermost calls."""
    stack, order = [top], []
    while stack:
        n = stack.pop()
        order.append(n)
        stack += n.children.values()
    sums = {}
    for n in reversed(order):
        own = 0 if n is top or n.group else n.count
        sums[id(n)] = own + sum(sums[id(c)] for c in n.children.values())
        if n is top or n.group:
            n.count = sums[id(n)]
            n.total = sum(c.total for c in n.children.values())
    return top


def fold(root, tree, params):
    columns = [c for text in as_list(params.get("group_by")) for c in text.split(",") if c]
    readers = [dsl.Path(c) for c in columns]
    top, node_of = Node("all"), {}
    for c in tree.calls:
        if c.parent:
            above = node_of[id(c.parent)]
        elif columns:
            values = {name: read(root, c.o) for name, read in zip(columns, readers)}
            above = top.child(None, None, values)
        else:
            above = top
        n = node_of[id(c)] = above.child(c.o.name, c.o.cat)
        n.add(single(c))
    return finish(top)


def focused(tree, name):
    """(callees, callers) of all calls of that name; the time of a call within another one is counted once."""
    callees, callers, below = Node("callees"), Node("callers"), {}
    outer = {}
    for c in tree.calls:
        inside = c.parent is not None and outer[id(c.parent)]
        hit = c.o.name == name
        outer[id(c)] = inside or hit
        if inside:
            n = below[id(c)] = below[id(c.parent)].child(c.o.name, c.o.cat)
            n.add(single(c))
        elif hit:
            n = below[id(c)] = callees.child(c.o.name, c.o.cat)
            n.add(single(c))
        if not hit:
            continue
        at, up, level = callers, c, 0
        while up is not None and level < PATH_LEVELS:
            at = at.child(up.o.name, up.o.cat)
            at.add(single(c), not inside)
            up, level = up.parent, level + 1
    for top in (callees, callers):
        top.count = sum(c.count for c in top.children.values())
        top.total = sum(c.total for c in top.children.values())
    return callees, callers


def everything_below(node):
    total, stack = 0, [node]
    while stack:
        n = stack.pop()
        total += n.self_time
        stack += n.children.values()
    return total


class View:
    """What is shown of a folded tree."""

    def __init__(self, params, top):
        self.top = top
        self.most = int(params.get("max_depth", 0))
        self.least = dsl.duration(str(params["min_total"])) * 1000 if "min_total" in params else 0

    def children(self, node, level):
        if self.most and level >= self.most:
            return []
        return [c for c in node.ordered() if c.total >= self.least]

    def level(self, node, level):
        return level if node.group is not None else level + 1


def label(node):
    if node.group is not None:
        return ",".join("%s=%s" % (k, plain(show(v))) for k, v in node.group.items())
    return plain(node.name)


def plain(value):
    if value is None:
        return "-"
    value = number(value)
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else decimal(value)


def decimal(value):
    """A number as the answers tell it (times and integers)."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    whole, rest = divmod(abs(value) * 1000, 1000)
    return ("-" if value < 0 else "") + ("%d.%03d" % (whole, rest)).rstrip("0")


def told(view, node, level=0):
    """JSON; recursive: the oracle is not asked for deep trees."""
    result = {"name": node.name, "cat": node.cat}
    if node.group is not None:
        result = {"group": {k: show(v) for k, v in node.group.items()}}
    elif node is view.top:
        del result["cat"]
    result.update(count=node.count, total=microseconds(node.total), self=microseconds(node.self_time),
                  min=microseconds(node.least), max=microseconds(node.most))
    result["children"] = [told(view, c, view.level(c, level)) for c in view.children(node, level)]
    return result


def stacks(view):
    """Collapsed: each path with the time that is its own, or below it and not shown."""
    lines = []

    def walk(node, path, level):
        shown = view.children(node, level)
        ids = {id(c) for c in shown}
        rest = node.self_time + sum(everything_below(c) for c in node.children.values() if id(c) not in ids)
        if view.top.name == "callers":  # the time is that of the call; what came from further up is told there
            rest = node.self_time - sum(c.self_time for c in shown)
        if (rest + 500) // 1000 > 0 and node is not view.top:  # its readers take whole numbers only
            lines.append("%s %d" % (";".join(path), (rest + 500) // 1000))
        for c in shown:
            walk(c, path + [clean(label(c))], view.level(c, level))

    walk(view.top, [view.top.name], 0)
    return lines


def clean(name):
    """A frame of a stack has no separators in it."""
    return "".join(":" if ch == ";" else " " if ord(ch) < 32 or ord(ch) == 127 else ch for ch in name)


# ---- analysis -----------------------------------------------------------------------------------------------------

def path_of(c):
    names = []
    while c is not None:
        names.append(clean(plain(c.o.name)))
        c = c.parent
    return ";".join(reversed(names))


def chain(order):
    """The call that ends last, in it the one that ends last, and so on; of several the first in order."""
    at, result = [c for c in order if c.parent is None], []
    while at:
        result.append(max(at, key=lambda c: c.te))  # the first one
        at = result[-1].children
    return result


def event(c):
    return {"name": c.o.name, "cat": c.o.cat, "ts": microseconds(c.told_ts), "dur": microseconds(c.dur)}


def sums(calls):
    return {"count": len(calls), "total": microseconds(sum(c.dur for c in calls)),
            "self": microseconds(sum(c.self_time for c in calls)),
            "mean": float(sum(c.dur for c in calls)) / 1000 / len(calls)}


def grouped(calls, key):
    parts = {}
    for c in calls:
        parts.setdefault(key(c), []).append(c)
    return parts


def critical(values, order):
    calls = chain(order)
    return {"host": values[0], "pid": values[1], "tid": values[2], "from": microseconds(calls[0].told_ts),
            "to": microseconds(calls[0].told_ts + calls[0].dur), "events": [event(c) for c in calls]}


def hottest(folded):
    """Folded calls by the time that is their own, else in the order of the tree."""
    found, stack = [], [(folded, -1, [])]
    while stack:
        node, depth, path = stack.pop()
        if depth >= 0 and node.group is None:
            found.append({"path": ";".join(path) if depth < PATH_LEVELS else None, "depth": depth, "name": node.name,
                          "cat": node.cat, "count": node.count, "total": microseconds(node.total),
                          "self": microseconds(node.self_time), "mean": float(node.total) / 1000 / node.count})
        stack += [(c, depth + (c.group is None), path + [clean(label(c))]) for c in reversed(node.ordered())]
    return sorted(found, key=lambda f: -f["self"])  # stable


def analysis(root, tree, params):
    top = int(params.get("top_n", 10))
    names = grouped(tree.calls, lambda c: (sort_key(c.o.name), sort_key(c.o.cat)))
    most = sorted(names, key=lambda k: (-len(names[k]), k))[: top or None]
    cats = grouped(tree.calls, lambda c: sort_key(c.o.cat))
    depths = grouped(tree.calls, lambda c: c.depth)
    durations = sorted(c.dur for c in tree.calls)
    n = len(durations)

    def quantile(percent):
        return Approximate(microseconds(rank_value(durations, percent)), n <= 64) if n else None

    threads = [critical(values, order) for values, order in tree.threads]
    last = max(range(len(threads)), key=lambda i: max(c.te for c in tree.threads[i][1]), default=None)
    return {
        "most_called": [{"name": names[k][0].o.name, "cat": names[k][0].o.cat, **sums(names[k])} for k in most],
        "duration": {"count": n, "total": microseconds(sum(durations)), "mean": sum(durations) / 1000 / n if n else None,
                     "min": microseconds(durations[0]) if n else None, "max": microseconds(durations[-1]) if n else None,
                     "median": quantile(50), "p95": quantile(95), "p99": quantile(99)},
        "categories": [{"cat": cats[k][0].o.cat, **sums(cats[k])} for k in sorted(cats)],
        "depths": [{"depth": d, **sums(depths[d])} for d in sorted(depths)],
        "hottest_paths": hottest(fold(root, tree, params))[: top or None],
        "critical_path": threads[last] if threads else None,
        "threads": threads,
    }


# ---- answers ------------------------------------------------------------------------------------------------------

def views(root, tree, params):
    if "focus" not in params:
        return {"tree": View(params, fold(root, tree, params))}
    callees, callers = focused(tree, params["focus"])
    both = {"callees": View(params, callees), "callers": View(params, callers)}
    wanted = params.get("direction", "both")
    return {k: v for k, v in both.items() if wanted in ("both", k)}


def call_tree(root, params):
    tree = Tree(root, params)
    result = {"complete": True, "files": len(tree.files), "damaged_files": sum(f.damaged() for f in tree.files),
              "events": tree.events, "in_tree": len(tree.calls), "other_phases": tree.other_phases, "untimed": tree.untimed,
              "partial_overlaps": tree.overlaps, "threads": len(tree.threads), "levels": tree.levels,
              "hosts_apart": tree.hosts_apart()}
    if "focus" in params:
        result["focus"] = params["focus"]
    if is_true(params.get("analyze")):
        result["analysis"] = analysis(root, tree, params)
    for name, view in views(root, tree, params).items():
        result[name] = told(view, view.top)
    return result


def collapsed(root, params):
    params = {**params, "max_depth": params.get("max_depth", PATH_LEVELS)}
    tree = Tree(root, params)
    return [line for view in views(root, tree, params).values() for line in stacks(view)]


def rows(root, params):
    """ndjson: the calls of each thread in order."""
    tree, result, numbers, place = Tree(root, params), [], {}, -1
    most, start = int(params.get("max_depth", 0)), int(params.get("offset", 0))
    end = start + int(params["limit"]) if "limit" in params else float("inf")
    for values, order in tree.threads:
        for c in order:
            numbers[id(c)] = len(numbers) + 1
            if most and c.depth >= most:
                continue
            place += 1
            if not start <= place < end:
                continue
            result.append({"id": numbers[id(c)], "parent": numbers[id(c.parent)] if c.parent else None, "depth": c.depth,
                           "name": c.o.name, "cat": c.o.cat, "host": values[0], "pid": values[1], "tid": values[2],
                           "ts": microseconds(c.told_ts), "dur": microseconds(c.dur),
                           "event_id": c.o.id if c.o.id is not None and fits(c.o.id) else None,
                           "path": path_of(c) if c.depth < PATH_LEVELS else None})
    return result
