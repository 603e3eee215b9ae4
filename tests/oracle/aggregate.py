"""/aggregate: every row, exactly. Numbers are ints and Fractions; compare.py says how near an answer must be."""

import datetime
import math
import re
from fractions import Fraction

from . import dsl
from .reader import AGGREGATED, COUNTER, EVENT, INT_MAX, INT_MIN, NANOSECONDS, is_number, whole_number
from .selection import as_list, files_of, is_true, microseconds, objects_of
from .stats import Approximate, measured, measured_times, number, show, sort_key, square_root

KEYS = ("cat", "name", "pid", "tid", "hhash", "fhash")


def listed(params, name):
    return [part for value in as_list(params.get(name)) for part in value.split(",") if part]


SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800)
USUAL = [d * 10**k for k in range(3, 9) for d in (1, 2, 5)] + [s * 10**9 for s in SECONDS] + [2**k * 604800 * 10**9 for k in range(20)]


def few_points(params, objects):
    """The shortest usual interval (ns) that has at most max_points buckets between the first event and the last one's end."""
    split = params.get("bucket") == "split"
    stamps = [o.ts for o in objects if o.ts is not None]
    ends = [o.ts + (o.dur or 0) for o in objects if split and o.ts is not None]
    least, most = min(stamps, default=0), max(stamps + ends, default=0)
    if params.get("time_range") and not split:
        least, most = (int(dsl.duration(t) * 1000) for t in params["time_range"].split(","))
    origin = min(stamps, default=0) if is_true(params.get("relative")) else 0
    points = int(params["max_points"])
    return next(i for i in USUAL if (most - origin) // i - (least - origin) // i < points)


def told_bucket(params, row):
    """The row with its bucket as time_format wants it."""
    if params.get("time_format", "us") == "us":
        return row
    pairs = [(k, v) if k != "time_bucket" else ("time", v if v is None else bucket_text(params, v)) for k, v in row.items()]
    return dict(pairs)


def bucket_text(params, us):
    ns = int(us * 1000)
    if params["time_format"] == "ms":
        return number(Fraction(ns, 10**6))
    at = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=ns // 1000)
    return at.isoformat(timespec="milliseconds" if ns % 10**6 == 0 else "microseconds") + "Z"


def interval_of(params, objects):
    if "max_points" in params:
        return few_points(params, objects)
    text = params.get("time_interval", "5000")
    return int(text) * 1000000 if re.fullmatch("[0-9]+", text) else int(dsl.duration(text) * 1000)


def rank(q, n):
    """Of the q-percentile among n values, from 1 on."""
    return max(1, -((-q * n) // 1))


def percentile_name(q):
    percent = q * 100
    text = "%d" % int(percent) if percent.denominator == 1 else ("%.13f" % float(percent)).rstrip("0")
    return "p" + text


# ---- numbers of many values ---------------------------------------------------------------------------


def central(values, order):
    n, total = len(values), sum(values)
    return Fraction(sum((n * v - total) ** order for v in values)) / n**order


def skew(values):
    n, second = len(values), central(values, 2) if values else 0
    if n < 3 or not second:
        return None
    return math.sqrt(n) * float(central(values, 3)) / float(second) ** 1.5


def kurtosis(values):
    n, second = len(values), central(values, 2) if values else 0
    return float(n * central(values, 4) / second**2) - 3 if n >= 4 and second else None


def summary(values, time, quantiles, exact, shape=False):
    """total, min, max, mean, std, percentiles by name."""
    numbers = (measured_times if time else measured)(values, True)
    result = {"total": numbers["sum"] if values else None}
    result.update((k, numbers[k]) for k in ("min", "max", "mean", "std"))
    ordered = sorted(values)
    for q in quantiles:
        value = ordered[rank(q, len(values)) - 1] if values else None
        value = microseconds(value) if time and value is not None else value
        result[percentile_name(q)] = None if value is None else Approximate(number(value), exact or len(values) <= 64)
    if shape:
        plain = [v if isinstance(v, int) else Fraction(v) for v in values]
        result["skew"], result["kurtosis"] = skew(plain), kurtosis(plain)
    return result


class Many:
    """What counters say of many values: how many, their sum, their ends where they are known."""

    def __init__(self):
        self.n, self.sum, self.least, self.most = 0, 0, [], []

    def add(self, n, total, least, most):
        if total is None or n == 0:
            return
        self.n += n
        self.sum += Fraction(total)
        self.least += [] if least is None else [Fraction(least)]
        self.most += [] if most is None else [Fraction(most)]

    def summary(self, time, quantiles):
        unit = 1000 if time else 1
        result = dict.fromkeys(("total", "min", "max", "mean", "std", "skew", "kurtosis", *map(percentile_name, quantiles)))
        if self.n:
            result["total"] = about(self.sum / unit)
            result["mean"] = float(self.sum / unit / self.n)
            result["min"] = about(min(self.least) / unit) if self.least else None
            result["max"] = about(max(self.most) / unit) if self.most else None
        return result


def about(value):
    """int where it is whole, else the double (sums of doubles are rounded)."""
    return int(value) if value.denominator == 1 else float(value)


# ---- counters ---------------------------------------------------------------------------------------------


def batch_type(o):
    if o.cls == EVENT:
        return "event"
    if o.cls not in (COUNTER, AGGREGATED):
        return None
    sure = ["args.freq", "args.time"]
    others = [] if o.cat == "sys" else ["args.dft_cnt", "args.dur", "args.dur_sum"]
    there = any(o.values.get(k) is not None for k in sure + others) or (o.cat != "sys" and o.dur is not None)
    return "profile" if there else "system"


def stands_for(o):
    for key in ("dft_cnt", "freq", "count"):
        value = o.measure("args." + key)
        if value is not None and value >= 0 and value == int(value) and value <= INT_MAX:
            return int(value)
    return 1


def in_ns(value, unit):
    if value is None:
        return None
    ns = round(Fraction(value) * unit)
    return ns if INT_MIN <= ns <= INT_MAX else None


def ends(o, n, total, least, most, plain):
    """Least and greatest: as told, else the value itself where it is one."""
    itself = total if plain or n == 1 else None
    return (itself if least is None else least), (itself if most is None else most)


def duration(o, n):
    unit = NANOSECONDS[o.file.time_unit]
    total, plain = in_ns(o.measure("args.dur_sum"), unit), False
    if total is None:
        total, plain = in_ns(o.measure("args.dur"), unit), True
    if total is None:
        total = o.dur
    if total is None:
        total, plain = in_ns(o.measure("args.time"), 1000000000), False
    least, most = (in_ns(o.measure("args.dur_" + k), unit) for k in ("min", "max"))
    return total, *ends(o, n, total, least, most, plain)


def size(o, n):
    total = o.size()
    for key in ("size", "ret"):
        if o.measure("args.%s_sum" % key) is not None:
            least, most = o.measure("args.%s_min" % key), o.measure("args.%s_max" % key)
            return total, *ends(o, n, total, least, most, False)
    return total, total, total


def field(o, n, name):
    total, plain = o.measure("args.%s_sum" % name), False
    if total is None:
        total, plain = o.measure("args." + name), True
    return total, *ends(o, n, total, o.measure("args.%s_min" % name), o.measure("args.%s_max" % name), plain)


def system_arguments(objects, taken):
    values = {}
    for o in objects:
        for path, value in o.values.items():
            if path.startswith("args.") and is_number(value) and INT_MIN <= value <= INT_MAX:
                values.setdefault(path[5:], []).append(value)
    result = {}
    for name in sorted(values):
        if any("%s_%s" % (name, k) in taken for k in ("mean", "min", "max")):
            continue
        numbers = measured(values[name], True)
        result.update(("%s_%s" % (name, k), numbers[k]) for k in ("mean", "min", "max"))
    return result


# ---- processes and boundaries ---------------------------------------------------------------------------------


class Processes:
    """(pid, hhash) -> parent, over all files."""

    def __init__(self, root):
        self.known, self.ppid, forked = {}, {}, {}
        for file in root.files:
            hosts = {}
            for o in file.objects:
                if o.pid is not None:
                    hosts.setdefault(o.pid, set()).add(o.values.get("args.hhash"))
            for pid, of_pid in hosts.items():  # objects without a host are of the one that the others tell
                self.known.setdefault(pid, {}).update(dict.fromkeys((of_pid - {None}) or of_pid))
            for o in file.objects:
                if o.pid is None or o.cls not in (EVENT, COUNTER, AGGREGATED):
                    continue
                key = (o.pid, o.values.get("args.hhash"))
                ret = o.values.get("args.ret")
                if o.cls == EVENT and o.name in ("fork", "vfork", "spawn") and isinstance(ret, int) and ret > 0:
                    forked.setdefault((ret, key[1]), set()).add(o.pid)
                if o.cls == EVENT and o.name == "start" and (o.cat or "").lower() == "dftracer":
                    ppid = whole_number(o.values.get("args.ppid"))
                    if ppid is not None:
                        self.ppid.setdefault(key, ppid)
        for key, parents in forked.items():
            if len(parents) == 1 and key not in self.ppid:
                self.ppid[key] = next(iter(parents))

    def find(self, pid, host):
        hosts = list(self.known.get(pid, ()))
        if host in hosts:
            return pid, host
        return (pid, hosts[0]) if len(hosts) == 1 and (host is None or hosts[0] is None) else None

    def told_parent(self, process):
        ppid = self.ppid.get(process)
        return self.find(ppid, process[1]) if ppid is not None and ppid != process[0] else None

    def parent(self, process):
        """Nobody of the first process (by pid) of a circle, as in /processes."""
        above, below = self.told_parent(process), [process]
        while above is not None and above not in below:
            below.append(above)
            above = self.told_parent(above)
        first = above == process and process[0] == min(pid for pid, _ in below)
        return None if first else self.told_parent(process)

    def chain(self, process):
        seen = []
        while process is not None and process not in seen:
            seen.append(process)
            process = self.parent(process)
        return seen

    def tell(self, pid, host):
        process = self.find(pid, host)
        if pid is None or pid <= 0:
            return None, None
        if process is None:
            return None, pid
        return self.ppid.get(process), self.chain(process)[-1][0]


class Boundaries:
    def __init__(self, params, files, processes):
        self.processes, self.spans = processes, {}
        self.names = [item.split(":") for item in listed(params, "boundary_events")]
        for event, value_path, output in self.names:
            path = dsl.Path(value_path)
            for file in files:
                for o in file.objects:
                    if o.cls == EVENT and o.name == event and None not in (o.pid, o.ts, o.dur):
                        process = processes.find(o.pid, o.values.get("args.hhash"))
                        self.spans.setdefault((process, output), []).append((o.ts, o.ts + o.dur, path(None, o)))
        for key, spans in self.spans.items():
            spans.sort(key=lambda s: s[0])
            number_of = 0
            for i, (start, end, value) in enumerate(spans):
                number_of += value is None
                text = str(number_of) if value is None else value if isinstance(value, str) else str(show(value))
                spans[i] = (start, end, text)

    def tell(self, pid, host, at, output):
        process = self.processes.find(pid, host)
        chain = self.processes.chain(process) if process else []
        for p in chain[1:] + chain[:1]:
            inside = [text for start, end, text in self.spans.get((p, output), ()) if start <= at < end]
            if inside:
                return inside[-1]
        return None


# ---- rows -----------------------------------------------------------------------------------------------------


def page(found, params):
    """What limit and offset leave."""
    first = int(params.get("offset", 0))
    return found[first : first + int(params["limit"])] if "limit" in params else found[first:]


def quantiles_of(params):
    given = "percentiles" in params
    wanted = is_true(params["compute_percentiles"]) if "compute_percentiles" in params else given
    return sorted(Fraction(q) for q in listed(params, "percentiles") or ["0.25", "0.5", "0.75", "0.9"]) if wanted else []


def bucket(ns, interval, origin):
    if interval == 0:
        return 0
    return None if ns is None else (ns - origin) // interval * interval


def pieces(o, interval, origin, split):
    """(bucket, first?, from, to) of the parts of an event; None for both where it has no ts."""
    home = bucket(o.ts, interval, origin)
    if not split or o.ts is None or not o.dur or o.dur < 0 or interval == 0:
        return [(home, True, 0, o.dur)]
    result, at = [], 0
    while at < o.dur:
        end = min(o.dur, home + interval + origin - o.ts)
        result.append((home, not result, at, end))
        home, at = home + interval, end
    return result


def share(whole, at, dur):
    whole = int(whole) if whole == int(whole) else whole
    return whole if at == dur else whole * at // dur if isinstance(whole, int) else whole * at / dur


class Row:
    def __init__(self):
        self.objects, self.count, self.spans, self.durs, self.sizes, self.moved = [], 0, [], [], [], []

    @classmethod
    def joined(cls, many):
        """All of them as one, None of none. Objects in their order, as first and last need it."""
        row = cls()
        for other in many:
            row.objects += other.objects
            row.count += other.count
            row.spans += other.spans
            row.durs += other.durs
            row.sizes += other.sizes
            row.moved += other.moved
        row.objects.sort(key=lambda o: (o.file.name, o.line))
        return row if many else None


def event_rows(rows, o, key_of, interval, origin, split):
    amounts = [(o.size(), "sizes"), (o.bytes(), "moved")]
    for start, first, at, end in pieces(o, interval, origin, split):
        row = rows.setdefault(key_of(o, start), Row())
        row.count += first
        if first:
            row.objects.append(o)
        if o.ts is not None:
            row.spans.append((o.ts + at, o.ts + (end or 0)))
        if o.dur is not None:
            row.durs.append(end - at)
        for amount, name in amounts:
            if amount is not None:
                dur = o.dur or 0
                whole = at == 0 and end in (dur, None)
                getattr(row, name).append(amount if whole else share(amount, end, dur) - share(amount, at, dur))


def extra_readers(params):
    return [(k[5:] if k.startswith("args.") else k, dsl.Path(k)) for k in listed(params, "group_keys")]


def pipeline(root, params):
    files, objects = objects_of(root, params)
    interval, quantiles = interval_of(params, objects), quantiles_of(params)
    stamps = [o.ts for o in objects if o.ts is not None]
    origin = min(stamps) if is_true(params.get("relative", "false")) and stamps else 0
    extras, readers = extra_readers(params), [dsl.Path(k) for k in KEYS]
    split, exact = params.get("bucket") == "split", is_true(params.get("exact", "false"))
    shown, cache = {}, {}

    def key_of(o, start):
        values = [batch_type(o)] + [r(root, o) for r in readers] + [microseconds(start)] + [r(root, o) for _, r in extras]
        raw = tuple(values)
        if raw not in cache:
            cache[raw] = tuple(map(sort_key, values))
            shown.setdefault(cache[raw], values)
        return cache[raw]

    rows = {}
    for o in objects:
        kind = batch_type(o)
        if kind == "event":
            event_rows(rows, o, key_of, interval, origin, split)
        elif kind:
            row = rows.setdefault(key_of(o, bucket(o.ts, interval, origin)), Row())
            row.objects.append(o)
            row.count += stands_for(o)
            if o.ts is not None:
                row.spans.append((o.ts, o.ts + interval))
    processes = Processes(root)
    boundaries = Boundaries(params, files, processes)
    return [tell(params, shown[k], rows[k], [n for n, _ in extras], quantiles, exact, origin, processes, boundaries)
            for k in page(sorted(rows), params)]


def of_measures(params, row, kind, quantiles, exact):
    """(name, numbers) of dur, size and the fields."""
    shape = is_true(params.get("shape", "false"))
    fields = [f[5:] if f.startswith("args.") else f for f in listed(params, "metric_fields")]
    if kind == "event":
        found = [("dur", summary(row.durs, True, quantiles, exact, shape)), ("size", summary(row.sizes, False, quantiles, exact, shape))]
        for f, asked in zip(fields, listed(params, "metric_fields")):
            reader = dsl.Path(asked)
            values = [reader(None, o) for o in row.objects]
            found.append((f, summary([v for v in values if is_number(v) and INT_MIN <= v <= INT_MAX], False, [], exact, shape)))
        return found
    many = [(name, Many()) for name in ["dur", "size"] + fields]
    for o in row.objects:
        n = stands_for(o)
        many[0][1].add(n, *duration(o, n))
        many[1][1].add(n, *size(o, n))
        for name, into in many[2:]:
            into.add(n, *field(o, n, name))
    return [(name, m.summary(name == "dur", quantiles)) for name, m in many]


def tell(params, keys, row, extras, quantiles, exact, origin, processes, boundaries):
    kind, host, pid = keys[0], keys[5], keys[3]
    named = {k: show(v) for k, v in zip(KEYS + ("time_bucket",), keys[1:8])}
    result = {"batch_type": kind, **told_bucket(params, named), "count": row.count}
    measures = of_measures(params, row, kind, quantiles, exact)
    for name, numbers in measures[:2]:
        result.update(("%s_%s" % (name, k), numbers[k]) for k in ("total", "min", "max", "mean", "std"))
    ts = min((s for s, _ in row.spans), default=None)
    te = max((e for _, e in row.spans), default=None)
    result["ts"], result["te"] = (None if t is None else microseconds(t - origin) for t in (ts, te))
    result.update(zip(extras, map(show, keys[8:])))
    for name, numbers in measures[:2]:
        result.update(("%s_%s" % (name, percentile_name(q)), numbers[percentile_name(q)]) for q in quantiles)
    for name, numbers in measures[2:]:
        result.update(("%s_%s" % (name, k), numbers[k]) for k in ("total", "min", "max", "mean", "std"))
    if is_true(params.get("shape", "false")):
        for name, numbers in measures:
            result.update(("%s_%s" % (name, k), numbers[k]) for k in ("skew", "kurtosis"))
    for _, _, output in boundaries.names:
        known = pid is not None and pid > 0 and ts is not None
        result[output] = boundaries.tell(pid, host, (ts + te) // 2, output) if known else None
    if is_true(params.get("track_process_parents", "true")):
        result["parent_pid"], result["root_pid"] = processes.tell(pid, host)
    if kind == "system":
        result.update(system_arguments(row.objects, set(result)))
    return result


# ---- the general form --------------------------------------------------------------------------------------------


def union(spans):
    total, end = 0, None
    for a, b in sorted(spans):
        a = a if end is None or a > end else end
        total, end = (total + b - a, b) if b > a else (total, end)
    return total


def general_value(root, row, function, path):
    reader = dsl.Path(path) if path else None
    values = [reader(root, o) for o in row.objects] if path and (function == "distinct" or path not in ("dur", "size", "bytes")) else []
    time = path in ("ts", "te", "dur")
    if function == "count":
        return row.count
    if function in ("first", "last"):
        stamped = [(o.ts, i, v) for i, (o, v) in enumerate(zip(row.objects, values)) if o.ts is not None and v is not None]
        ends_ = (min if function == "first" else max)(stamped, key=lambda s: s[:2], default=None)
        return show(ends_[2]) if ends_ else None
    if function == "distinct":
        return len({sort_key(v) for v in values if v is not None})
    busy = union(s for s in row.spans if s[1] > s[0]) if function in ("busy", "concurrency") else 0
    if function == "busy":
        return microseconds(busy)
    if function == "concurrency":
        return sum(row.durs) / busy if busy else None
    if function == "bandwidth":
        amount = dsl.Path(path or "size")
        sized = [(amount(root, o), o.dur or 0) for o in row.objects if is_number(amount(root, o))]
        lasted = sum(d for _, d in sized)
        return float(Fraction(sum(s for s, _ in sized)) * 10**9 / lasted) if lasted > 0 else None
    if path == "dur":
        values = row.durs
    elif path == "size":
        values = row.sizes
    elif path == "bytes":
        values = row.moved
    elif time:
        values = [round(v * 1000) for v in values if v is not None]
    numbers = [v for v in values if is_number(v) and INT_MIN <= v <= INT_MAX]
    if function[0] == "p" and function != "pNN":
        q = Fraction(function[1:]) / 100
        return summary(numbers, time, [q], False)[percentile_name(q)]
    return summary(numbers, time, [], False, function in ("skew", "kurtosis"))[{"sum": "total"}.get(function, function)]


def plain(value):
    return value.value if isinstance(value, Approximate) else value


class Column(dsl.Path):
    def __call__(self, root, row):
        return plain(row[self.name])


class Having(dsl.Parser):
    """The query language over the columns of a row."""

    def path(self):
        return Column(super().path().name)


def path_reader(root, path, interval, origin):
    match = re.fullmatch(r"(dirname|basename)\((.+)\)", path)
    if path == "time_bucket":
        return lambda o, start: microseconds(start)
    reader = dsl.Path(match.group(2) if match else path)
    if not match:
        return lambda o, start: reader(root, o)

    def part(o, start):
        text = reader(root, o)
        if not isinstance(text, str):
            return text
        folder, slash, name = (text.rstrip("/") or text[:1]).rpartition("/")
        if match.group(1) == "basename":
            return name or slash
        return (folder.rstrip("/") or "/") if slash else "."

    return part


def named(item):
    name, equals, rest = item.partition("=")
    function, _, path = (rest if equals else item).partition(":")
    bare = path[5:] if path.startswith("args.") else path
    return (name if equals else "%s_%s" % (bare, function) if path else function), function, path


def general(root, params):
    _, objects = objects_of(root, params)
    interval = interval_of(params, objects)
    stamps = [o.ts for o in objects if o.ts is not None]
    origin = min(stamps) if is_true(params.get("relative", "false")) and stamps else 0
    paths, shown, cache, rows = listed(params, "group_by"), {}, {}, {}
    readers = [path_reader(root, p, interval, origin) for p in paths]
    split = params.get("bucket") == "split" and "time_bucket" in paths

    def key_of(o, start):
        values = [r(o, start) for r in readers]
        raw = tuple(values)
        if raw not in cache:
            cache[raw] = tuple(map(sort_key, values))
            shown.setdefault(cache[raw], values)
        return cache[raw]

    for o in objects:
        event_rows(rows, o, key_of, interval, origin, split)
    items = [named(i) for i in listed(params, "agg") or ["count", "sum:dur"]]

    def told(row, keys):
        return {**told_bucket(params, dict(zip(paths, keys))), **{name: general_value(root, row, f, path) for name, f, path in items}}

    def tell_key(key):
        return told(rows[key], map(show, shown[key]))

    keys, of_all = sorted(rows), {"having", "top", "sort"} & set(params)
    result = [(key, tell_key(key)) for key in (keys if of_all else page(keys, params))]
    if "having" in params:
        passes = Having(params["having"]).whole()
        result = [(key, row) for key, row in result if passes(None, row)]
    if "top" in params:
        number_of = int(params["top"])
        result.sort(key=lambda r: sort_key(plain(r[1][params["by"]])), reverse=True)
        rest = Row.joined([rows[key] for key, _ in result[number_of:]])
        result[number_of:] = [(None, told(rest, ["(other)"] + [None] * len(paths)))] if rest else []
    result = [row for _, row in result]
    for column in reversed(listed(params, "sort")):
        result.sort(key=lambda r: sort_key(plain(r[column.lstrip("-")])), reverse=column.startswith("-"))
    return page(result, params) if of_all else result


def rows(root, params):
    return (general if "group_by" in params or "agg" in params else pipeline)(root, params)


def remembered(root, what, make):
    """make()'s value, computed once for this root."""
    known = root.__dict__.setdefault("of_values", {})
    if what not in known:
        known[what] = make()
    return known[what]


def paths_in(root, file):
    return remembered(root, (file.name,), lambda: {path for o in file.objects for path in o.values})


def has_value(root, file, path):
    return remembered(root, (file.name, path), lambda: any(map(lambda o, value=dsl.Path(path): value(root, o) is not None, file.objects)))


def without_values(root, params):
    """The parameters that name an argument which no object of the selected files has, whatever else is asked."""
    files = [f for f in files_of(root, params) if f.objects]
    if not files or len(set().union(*(paths_in(root, f) for f in files))) > 500:  # then the daemon does not look that closely
        return []
    keys = [re.fullmatch(r"(?:(?:dirname|basename)\()?(.*?)\)?", path).group(1) for path in listed(params, "group_by")]
    paths = {"metric_fields": listed(params, "metric_fields"), "agg": [path for _, _, path in map(named, listed(params, "agg"))],
             "group_by": keys, "group_keys": listed(params, "group_keys")}
    derived = (*dsl.TOP_FIELDS, *dsl.DERIVED, *dsl.HASHES, "size", "te", "ts", "dur", "time_bucket", "pid_tid", "")
    return [name for name, asked in paths.items()
            if any(path not in derived and not any(has_value(root, f, path) for f in files) for path in asked)]
