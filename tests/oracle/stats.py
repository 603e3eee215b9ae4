"""/stats: every report, exactly. Numbers are ints and Fractions; compare.py says how near an answer must be."""

import math
from fractions import Fraction

from . import dsl
from .reader import Json, is_number
from .selection import as_list, is_true, microseconds, objects_of

QUANTILES = (("p10", 10), ("p25", 25), ("p50", 50), ("p75", 75), ("p90", 90), ("p95", 95), ("p99", 99))


def square_root(value):
    """The double nearest to the root of a Fraction."""
    if value == 0:
        return 0.0
    scale = 1 << 300
    return float(Fraction(math.isqrt(value.numerator * scale * scale // value.denominator), scale))


def number(value):
    """int where it is whole, else Fraction."""
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


class Approximate:
    """A percentile: exact where the contract promises it, else within 1 %."""

    def __init__(self, value, is_exact):
        self.value, self.is_exact = value, is_exact


def rank_value(ordered, percent):
    return ordered[max(1, -(-percent * len(ordered) // 100)) - 1]


def measured(values, exact_quantiles):
    """Of ints and doubles: moments of ints are exact."""
    n = len(values)
    result = {"count": n, "sum": sum(values), "mean": None, "std": None, "min": None,
              "max": None, **{name: None for name, _ in QUANTILES}}
    if not n:
        return result
    ordered = sorted(values)
    result["min"], result["max"] = number(ordered[0]), number(ordered[-1])
    if any(isinstance(v, float) for v in values):
        result["sum"] = math.fsum(values)
        mean = result["mean"] = result["sum"] / n
        if n > 1:
            result["std"] = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    else:
        total = Fraction(sum(values))
        result["mean"] = float(total / n)
        if n > 1:
            squares = Fraction(sum(v * v for v in values))
            result["std"] = square_root((squares - total * total / n) / (n - 1))
    for name, percent in QUANTILES:
        result[name] = Approximate(number(rank_value(ordered, percent)), exact_quantiles or n <= 64)
    return result


def measured_times(times_ns, exact_quantiles):
    """Of integer ns, told in us."""
    result = measured(times_ns, exact_quantiles)
    for key, value in result.items():
        if key == "count" or value is None:
            continue
        if isinstance(value, Approximate):
            value.value = microseconds(value.value)
        elif isinstance(value, float):
            result[key] = value / 1000
        else:
            result[key] = microseconds(value)
    return result


def histogram(times_ns):
    """[0], (0, 1) us, then [2^k, 2^(k+1)) us."""
    bins = {}
    for ns in times_ns:
        if ns >= 0:
            lo = 0 if ns == 0 else -1 if ns < 1000 else 1 << ((ns // 1000).bit_length() - 1)
            bins[lo] = bins.get(lo, 0) + 1
    result = []
    for lo in sorted(bins, key=lambda b: 0.5 if b == -1 else b):
        result.append({"lo": 0 if lo == -1 else lo, "hi": 1 if lo == -1 else 2 * lo, "count": bins[lo]})
    return result


text_keys = {}


def sort_key(value):
    """null, numbers by value, booleans, texts by bytes, arrays."""
    if value is None:
        return (0, 0)
    kind = dsl.kind_of(value)
    if kind == "number":
        return (1, value)
    if kind == "text":
        key = text_keys.get(value)
        if key is None:
            key = text_keys[value] = (3, value.encode("utf-8", "surrogatepass"))
        return key
    return (2, value) if kind == "bool" else (4, value.text())


def thread_of(o):
    """host, pid and tid, as keys."""
    if o.thread is None:
        o.thread = (sort_key(o.host), sort_key(o.pid), sort_key(o.tid))
    return o.thread


def count_by(root, objects, paths, names):
    counts, shown = {}, {}
    readers = [dsl.Path(p) for p in paths]
    for o in objects:
        values = [r(root, o) for r in readers]
        key = tuple(sort_key(v) for v in values)
        counts[key] = counts.get(key, 0) + 1
        shown.setdefault(key, values)
    ordered = sorted(counts, key=lambda k: (-counts[k], k))
    return [{**dict(zip(names, map(show, shown[k]))), "count": counts[k]} for k in ordered]


def show(value):
    if isinstance(value, Json):
        return value.value
    return number(value)


def offsets(objects):
    found = (o.values.get("args.offset") for o in objects)
    return [v for v in found if is_number(v)]


def bandwidths(sized):
    """Bytes a second, as doubles."""
    timed = ((size, o.dur) for o, size in sized if o.dur is not None and o.dur > 0)
    return [size * 10**9 / dur if isinstance(size, int) else float(Fraction(size) * 10**9 / dur) for size, dur in timed]


def groups(root, objects, paths, exact_quantiles):
    readers = [dsl.Path(p) for p in paths]
    members, shown = {}, {}
    for o in objects:
        values = [r(root, o) for r in readers]
        key = tuple(sort_key(v) for v in values)
        members.setdefault(key, []).append(o)
        shown.setdefault(key, values)
    result = []
    for key in sorted(members, key=lambda k: (-len(members[k]), k)):
        part = members[key]
        sized = [(o, s) for o, s in ((o, o.size()) for o in part) if s is not None]
        result.append({**dict(zip(paths, map(show, shown[key]))), "count": len(part),
                       "duration": measured_times([o.dur for o in part if o.dur is not None], exact_quantiles),
                       "size": measured([s for _, s in sized], exact_quantiles),
                       "bandwidth": measured(bandwidths(sized), exact_quantiles),
                       "offset": measured(offsets(part), exact_quantiles)})
    return result


def cut(result, key, rows, most):
    result[key] = rows[:most] if most else rows
    result[key + "_total"] = len(rows)


def group_columns(params):
    columns = []
    for text in as_list(params.get("group_by")):
        for column in text.split(","):
            columns += ["pid", "tid"] if column == "pid_tid" else [column]
    return columns or ["name"]


def stats(root, params):
    """The answer as API.md describes it, without generation and the way chunks were used."""
    report = params.get("report", "summary")
    top = int(params.get("top_n", 10))
    top_threads = int(params.get("top_n_pid_tid", 10))
    exactly = is_true(params.get("exact"))
    files, objects = objects_of(root, params)
    timed = [o for o in objects if o.ts is not None]
    least = min((o.ts for o in timed), default=None)
    most = max((o.te() for o in timed), default=None)
    result = {"report": report, "query": params.get("query", ""), "complete": True,
              "damaged_files": sum(f.damaged() for f in files), "files": len(files),
              "chunks": {"total": sum(len(f.chunk_numbers) for f in files)}, "events": len(objects),
              "time_range": {"min_ts": microseconds(least), "max_te": microseconds(most),
                             "span": None if least is None else microseconds(most - least)}}
    durations = [o.dur for o in objects if o.dur is not None]
    if report in ("summary", "duration"):
        result["duration"] = measured_times(durations, exactly)
        result["histogram"] = histogram(durations)
    if report in ("summary", "categories", "top-categories"):
        rows = count_by(root, objects, ["cat"], ["cat"])
        cut(result, "categories", rows, top if report.startswith("top") else 0)
    if report in ("names", "top-names"):
        rows = count_by(root, objects, ["cat", "name"], ["cat", "name"])
        cut(result, "names", rows, top if report.startswith("top") else 0)
    if report in ("summary", "pid_tids"):
        rows = count_by(root, objects, ["pid", "tid", "host"], ["pid", "tid", "host"])
        cut(result, "pid_tids", rows, top_threads)
    if report == "detailed":
        cut(result, "groups", groups(root, objects, group_columns(params), exactly), top)
    return result
