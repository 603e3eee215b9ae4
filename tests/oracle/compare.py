"""/compare: a baseline and variants, every number. Statistics by their textbook formulas, values one by one.

Welch (1947): t = (m2 - m1) / sqrt(s1^2/n1 + s2^2/n2), degrees of freedom by Satterthwaite; two-sided p = I_x(df/2, 1/2) with
x = df / (df + t^2), the regularised incomplete beta function by its continued fraction (DLMF 8.17.22).
Mann and Whitney (1947): U of the bins of the sketches, z with the correction for ties (Lehmann 1975) and for continuity.
Holm (1979): step-down. Cohen (1988): d with the mean of the population variances."""

import json
import math
import struct
from fractions import Fraction

from . import call_tree, dsl
from .aggregate import interval_of, percentile_name, rank
from .selection import as_list, files_of, microseconds, objects_of
from .stats import Approximate, number, show, sort_key, thread_of

DEFAULT_QUERY = 'cat == "POSIX" OR cat == "STDIO"'
SELECTION = ("dir", "file", "recursive", "query", "preset", "time_range", "time", "min_duration", "max_duration", "phase",
             "within", "within_scope", "clip")
METRICS = ("count", "duration", "size", "transfer_size", "bandwidth")
CLASSES = ("NEGLIGIBLE", "SMALL", "MEDIUM", "LARGE")
ALPHA = 0.05


# ---- statistics ---------------------------------------------------------------------------------------

def log_half_ratio(a):
    """ln(gamma(a + 1/2) / gamma(a))."""
    if a < 50:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return 0.5 * math.log(a) - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5)


def beta_fraction(a, b, x):
    """1 / (1 + d1/(1 + d2/(1 + ...))), bottom up with more and more terms."""
    def with_terms(n):
        value = 1.0
        for k in range(n, 0, -1):
            m = k // 2
            if k % 2:
                d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            else:
                d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            value = 1 + d / value
        return 1 / value

    n, before = 256, with_terms(128)
    while n < 1 << 17:
        now = with_terms(n)
        if abs(now - before) <= 1e-13 * abs(now):
            break
        n, before = n * 2, now
    return now


def student_p(t, df):
    """P(|T| >= |t|)."""
    a, square = df / 2, t * t
    x, y = df / (df + square), square / (df + square)
    log_x = -math.log1p(square / df)
    front = log_half_ratio(a) - 0.5 * math.log(math.pi) + a * log_x
    if y == 0:
        return 1.0
    front += 0.5 * math.log(y)
    if x < (a + 1) / (a + 2.5):
        return min(1.0, math.exp(front) * beta_fraction(a, 0.5, x) / a)
    return max(0.0, 1 - math.exp(front) * beta_fraction(0.5, a, y) / 0.5)


def are_ints(values):
    return set(map(type, values)) <= {int}


def exact_mean(values):
    return Fraction(sum(values)) / len(values) if are_ints(values) else sum(map(Fraction, values)) / len(values)


def variance(values, over):
    n = len(values)
    if not are_ints(values):
        values = [Fraction(v) for v in values]
    total, squares = sum(values), sum(v * v for v in values)
    return Fraction(n * squares - total * total) / (n * over)


def welch(a, b):
    """(t, df, p) of the means of two lists; Nones where it has no meaning."""
    if len(a) < 2 or len(b) < 2:
        return None, None, None
    va, vb = (float(variance(v, len(v) - 1)) / len(v) for v in (a, b))
    if va + vb <= 0:
        return None, None, None
    t = float(exact_mean(b) - exact_mean(a)) / math.sqrt(va + vb)
    df = (va + vb) ** 2 / (va * va / (len(a) - 1) + vb * vb / (len(b) - 1))
    return t, df, student_p(t, df)


def cohens_d(a, b):
    if len(a) < 2 or len(b) < 2:
        return 0.0
    pooled = math.sqrt(float(variance(a, len(a)) + variance(b, len(b))) / 2)
    if pooled < 1e-15:
        return 0.0
    return float(exact_mean(b) - exact_mean(a)) / pooled


def classify(d):
    return CLASSES[sum(abs(d) > limit for limit in (0.2, 0.5, 0.8))]


def bin_of(value):
    """The bin of a sketch: sign, exponent and first 7 bits of the fraction of a double."""
    bits = struct.unpack("<q", struct.pack("<d", abs(float(value))))[0] >> 45
    return -bits if value < 0 else bits


def mann_whitney(a, b):
    """(U of b, p, Cliff's delta) of two lists of bins."""
    if not a or not b:
        return None, None, None
    counts = {}
    for side, values in enumerate((a, b)):
        for v in values:
            counts.setdefault(v, [0, 0])[side] += 1
    na, nb, below, u, ties = len(a), len(b), 0, Fraction(0), 0
    for v in sorted(counts):
        x, y = counts[v]
        u += y * below + Fraction(x * y, 2)
        below += x
        ties += (x + y) ** 3 - (x + y)
    n = na + nb
    delta = float(2 * u / (na * nb) - 1)
    spread = Fraction(na * nb, 12) * (n + 1 - Fraction(ties, n * (n - 1)))
    if spread == 0:
        return float(u), 1.0, delta
    z = max(0.0, float(abs(u - Fraction(na * nb, 2)) - Fraction(1, 2))) / math.sqrt(spread)
    return float(u), math.erfc(z / math.sqrt(2)), delta


def holm(values):
    """Corrected; None stays."""
    order = sorted((p, i) for i, p in enumerate(values) if p is not None)
    result, least = list(values), 0.0
    for k, (p, i) in enumerate(order):
        least = result[i] = max(least, min(1.0, p * (len(order) - k)))
    return result


# ---- sides ----------------------------------------------------------------------------------------------

def side_params(params, side, path, root, default):
    """The selection of a side as parameters of a request: its own over the common ones, but both queries."""
    result = {k: params[k] for k in SELECTION if k in params}
    if "query" not in result:
        result["query"] = default
    own = {k: params[side + "." + k] for k in SELECTION if side + "." + k in params}
    if path is not None:
        is_file = any(c in path for c in "*?[") or any(f.name == path for f in root.files)
        kind = "file" if is_file else "dir"
        own[kind] = as_list(own.get(kind)) + [path]
    for k, v in own.items():
        result[k] = both(result[k], v) if k == "query" else v
    return result


def both(a, b):
    return "(%s) AND (%s)" % (a, b) if a.strip() and b.strip() else a if a.strip() else b


class Part:
    """Numbers of some objects of one side."""

    def __init__(self, objects, interval, parts=None):
        """parts: of which it is the sum, each object in one of them."""
        self.objects, self.interval = objects, interval
        if parts is not None:
            self.durations = [d for p in parts for d in p.durations]
            self.sizes = [s for p in parts for s in p.sizes]
            self.moved = [m for p in parts for m in p.moved]
        else:
            self.durations = [o.dur for o in objects if o.dur is not None]  # ns
            self.sizes = [s for s in (o.size() for o in objects) if s is not None]
            self.moved = [(b, o.dur or 0) for b, o in ((o.bytes(), o) for o in objects) if b is not None]

    def windows(self):
        """Lists of objects by thread by window."""
        windows = {}
        for o in self.objects:
            if o.ts is not None or self.interval == 0:
                bucket = o.ts // self.interval if self.interval else 0
                windows.setdefault(bucket, {}).setdefault(thread_of(o), []).append(o)
        return windows

    def peaks(self):
        """Of each window: the most objects of a thread, and the greatest mean duration."""
        counts, means = [], []
        for threads in self.windows().values():
            counts.append(max(len(t) for t in threads.values()))
            best = None
            for t in threads.values():
                d = [o.dur for o in t if o.dur is not None]
                total = sum(d)
                if d and (best is None or total * best[1] > best[0] * len(d)):
                    best = total, len(d)
            if best:
                means.append(Fraction(*best) / 1000)
        return counts, means

    def bandwidth(self):
        time = sum(dur for _, dur in self.moved)
        return float(Fraction(sum(b for b, _ in self.moved)) * 10**9 / time) if time > 0 else 0


def mean(values, unit=1):
    return float(exact_mean(values) / unit) if values else 0


def deviation(values, unit=1):
    return math.sqrt(variance(values, len(values) - 1) / unit**2) if len(values) > 1 else None


def quantile(ordered, q, unit):
    if not ordered:
        return 0
    return Approximate(number(Fraction(ordered[rank(q, len(ordered)) - 1]) / unit), len(ordered) <= 64)


def meta(part, files):
    threads = {thread_of(o) for o in part.objects}
    timed = [o for o in part.objects if o.ts is not None]
    span = max(o.te() for o in timed) - min(o.ts for o in timed) if timed else 0
    return {"files": files, "processes": len({t[:2] for t in threads}), "threads": len(threads), "events": len(part.objects),
            "total_bytes": number(Fraction(sum(b for b, _ in part.moved))) if part.moved else None, "total_io_time_us": microseconds(sum(part.durations)),
            "makespan_us": microseconds(span)}


def skewed(part, interval):
    """Hosts that share no time with the most: names with the distance, in windows of the interval."""
    hosts = {}
    for o in part.objects:
        if o.ts is not None and interval and o.host is not None:
            h = hosts.setdefault(sort_key(o.host), [o.host, o.ts, o.ts, 0])
            h[1], h[2], h[3] = min(h[1], o.ts // interval * interval), max(h[2], o.ts // interval * interval + interval), h[3] + 1
    clusters = []
    for h in sorted(hosts.values(), key=lambda h: (h[1], h[2], sort_key(h[0]))):
        if clusters and h[1] < max(x[2] for x in clusters[-1]):
            clusters[-1].append(h)
        else:
            clusters.append([h])
    if len(clusters) < 2:
        return []
    main = max(range(len(clusters)), key=lambda i: (sum(h[3] for h in clusters[i]), -i))
    least, most = min(h[1] for h in clusters[main]), max(h[2] for h in clusters[main])
    found = [h for i, c in enumerate(clusters) if i != main for h in c]
    return [{"host": h[0], "distance_us": microseconds(h[1] - most if h[1] >= most else h[2] - least)}
            for h in sorted(found, key=lambda h: sort_key(h[0]))]


class Values(list):
    """In 1/unit of what is told."""

    def __init__(self, values, unit):
        super().__init__(values)
        self.unit = unit

    def bins(self):
        return [bin_of(v / self.unit if self.unit > 1 else v) for v in self]


# ---- metrics ----------------------------------------------------------------------------------------------

def values_of(part, peaks, wanted, quantiles):
    """[(name, value, std, list for d or None, worse when smaller)]"""
    rows = []
    if "count" in wanted:
        rows.append(("count", len(part.objects), None, None))
        rows.append(("count_peak_mean", peaks["count"][0], peaks["count"][1], None))
    for metric, prefix, values, unit in (("duration", "dur", part.durations, 1000), ("size", "size", part.sizes, 1)):
        if metric not in wanted:
            continue
        ordered = sorted(values)
        rows.append((prefix + "_mean", mean(values, unit), deviation(values, unit), Values(values, unit)))
        rows += [(prefix + "_" + percentile_name(q), quantile(ordered, q, unit), None, None) for q in quantiles]
        if prefix == "dur":
            rows.append(("dur_peak_mean", peaks["dur"][0], peaks["dur"][1], None))
    if "transfer_size" in wanted:
        rows.append(("transfer_size", mean(part.sizes), None, None))
    if "bandwidth" in wanted:
        rows.append(("bandwidth", part.bandwidth(), None, None))
    return rows


def plain(value):
    return value.value if isinstance(value, Approximate) else value


def change(before, after):
    return 100 * float(Fraction(after) - Fraction(before)) / float(before) if before else 100 if after else 0


def like(value, *others):
    """A value computed from percentiles is no more exact than they are."""
    vague = [o for o in others if isinstance(o, Approximate) and not o.is_exact]
    return Vague(value, [plain(o) for o in others]) if vague else value


class Vague(Approximate):
    """A difference of numbers that are known to 1 %; `of`: these."""

    def __init__(self, value, of):
        super().__init__(value, False)
        self.of = of


def metric(name, before, after):
    """One comparison; before and after are entries of values_of, or (name, value, None, None)."""
    b, v = before[1], after[1]
    pb, pv = plain(b), plain(v)
    delta = Fraction(pv) - Fraction(pb)
    tested = before[3] is not None
    d = cohens_d(before[3], after[3]) if tested else 0
    worse = False if name in HEAD else delta < 0 if name == "bandwidth" else delta > 0
    result = {"baseline": b, "variant": v, "baseline_std": before[2], "variant_std": after[2],
              "delta": like(number(delta) if isinstance(pb, (int, Fraction)) and isinstance(pv, (int, Fraction)) else float(delta), b, v),
              "pct_change": like(change(pb, pv), b, v), "baseline_zero": pb == 0 and pv != 0, "cohens_d": d,
              "significance": classify(d), "is_regression": like(worse, b, v)}
    if tested:
        t, df, p = welch(before[3], after[3])
        u, up, cliff = mann_whitney(before[3].bins(), after[3].bins())
        result["test"] = {"n_baseline": len(before[3]), "n_variant": len(after[3]), "welch_t": t, "welch_df": df, "welch_p": p,
                          "welch_p_holm": p, "mann_whitney_u": u, "mann_whitney_p": up, "mann_whitney_p_holm": up,
                          "cliffs_delta": cliff, "difference": ""}
    return result


HEAD = ("files", "processes", "threads", "time_pipeline", "time_io", "total_bytes")


def head(m):
    values = (m["files"], m["processes"], m["threads"], m["makespan_us"], m["total_io_time_us"], m["total_bytes"] or 0)
    return [(name, v, None, None) for name, v in zip(HEAD, values)]


def metrics(sides):
    """`sides`: lists of values_of, the baseline first."""
    result = []
    for i, entry in enumerate(sides[0]):
        name = entry[0]
        if name in ("total_bytes", "transfer_size", "bandwidth") and not any(s[i][1] for s in sides):
            continue
        columns = [metric(name, entry, s[i]) for s in sides[1:]]
        result.append((name, columns))
    return result


def told(rows):
    result = []
    for name, columns in rows:
        if len(columns) == 1:
            result.append({"name": name, **columns[0]})
            continue
        row = {"name": name, "baseline": columns[0]["baseline"], "baseline_std": columns[0]["baseline_std"]}
        for key in columns[0]:
            if key not in row:
                row[key] = [c[key] for c in columns]
        result.append(row)
    return result


# ---- nodes --------------------------------------------------------------------------------------------------

def listed(value):
    return [str(part).strip() for v in as_list(value) for part in (v.split(",") if isinstance(v, str) else [v]) if str(part).strip()]


def columns_of(value):
    result = []
    for column in listed(value):
        result += ["pid", "tid"] if column == "pid_tid" else [column]
    return list(dict.fromkeys(result))


def peak_values(part):
    counts, means = part.peaks()
    return {"count": (mean(counts), deviation(counts)), "dur": (mean(means), deviation(means))}


def mean_peaks(found):
    """Of several groups: the mean of theirs."""
    return {what: (mean([Fraction(p[what][0]) for p in found]), None) for what in ("count", "dur")}


def shown(value):
    """As people see it: null is -, control characters are escaped."""
    if not isinstance(value, str):
        return "-" if value is None else json.dumps(number(value))
    return "".join(c if c >= " " else {"\n": "\\n", "\t": "\\t"}.get(c, "\\u%04x" % ord(c)) for c in value)


class Comparison:
    def __init__(self, root, params):
        self.root, self.params = root, dict(params)
        document = json.loads(self.params.pop("config", "{}"))
        defaults = document.pop("defaults", {})
        self.nodes = document.pop("nodes", None)
        for key, value in document.items():
            self.params.setdefault(key, value)
        for name, key in (("time_interval_ms", "time_interval"), ("threshold_pct", "threshold"), ("percentiles", "percentiles"),
                          ("metrics", "metrics"), ("sort_by", "sort_by"), ("group_by", "group_by")):
            if name in defaults:
                value = defaults[name]
                self.params.setdefault(key, ",".join(map(str, value)) if isinstance(value, list) else str(value))
        p = self.params
        self.interval = interval_of(p, [])
        default = "" if "preset" in p or self.nodes is not None else DEFAULT_QUERY
        self.nodes = self.nodes or [{"name": "root"}]
        paths = as_list(p.get("variant")) or [None]
        self.sides = [side_params(p, "baseline", p.get("baseline"), root, default)]
        self.sides += [side_params(p, "variant", v, root, default) for v in paths]
        self.everything = []

    def narrowed(self, side, query, whole, above):
        """(files, objects) of a node: out of those of the node above it, where they are as they were stored."""
        if above is None or "clip" in side:
            return objects_of(self.root, {**side, "query": both(side["query"], whole)}, "events")
        test = dsl.parse(query)
        return above[0], [o for o in above[1] if test(self.root, o)]

    def node(self, spec, query, inherited, top, above=None):
        own = {k: spec.get(k, inherited[k]) for k in inherited}
        whole = both(query, spec.get("query", ""))
        group_by = columns_of(own["group_by"])
        found, names, parts = [], [], {}
        for i, side in enumerate(self.sides):
            files, objects = self.narrowed(side, spec.get("query", ""), whole, above and above[i])
            found.append((files, objects))
            readers = [dsl.Path(c) for c in group_by]
            for o in objects:
                values = [r(self.root, o) for r in readers]
                key = tuple(sort_key(v) for v in values)
                entry = parts.setdefault(key, ([show(v) for v in values], [[] for _ in self.sides]))
                entry[1][i].append(o)
        wanted, quantiles = listed(own["metrics"]), [Fraction(q) for q in listed(own["percentiles"])]
        quantiles = sorted(set(quantiles))
        rows = {}
        for key in sorted(parts):
            values, members = parts[key]
            sides = [Part(objects, self.interval) for objects in members]
            rows[key] = (values, sides, [peak_values(s) for s in sides])

        def summary(keys, front):
            sides = []
            for i in range(len(self.sides)):
                parts = [rows[k][1][i] for k in keys]
                whole_part = Part([o for p in parts for o in p.objects], self.interval, parts)
                peaks = mean_peaks([rows[k][2][i] for k in keys if rows[k][1][i].objects])
                first = head(meta(whole_part, len(found[i][0]))) if front else []
                sides.append(first + values_of(whole_part, peaks, wanted, quantiles))
            return {"metrics": self.keep(metrics(sides))}

        def groups(keys, skip):
            result = []
            for k in keys:
                values, sides, peaks = rows[k]
                table = metrics([values_of(s, p, wanted, quantiles) for s, p in zip(sides, peaks)])
                worst = max([abs(plain(c["pct_change"])) for _, cs in table for c in cs if plain(c["is_regression"])], default=0)
                changes = [abs(plain(c["pct_change"])) for _, cs in table for c in cs]
                label = ", ".join(map(shown, values[skip:]))
                result.append((worst, k, {"label": label, "keys": dict(zip(group_by, values)), "metrics": self.keep(table)},
                               all(c < float(own["threshold"]) for c in changes)))
            if own["sort_by"] != "name":
                result.sort(key=lambda r: (-r[0], r[1]))
            return [r[2] for r in result if not r[3]]

        keys = list(rows)
        result = {"name": spec["name"], "query": whole, "summary": summary(keys, top)}
        if top and "baseline_meta" not in self.__dict__:
            metas = []
            for (files, objects) in found:
                part = Part(objects, self.interval)
                metas.append({**meta(part, len(files)), "skewed_hosts": skewed(part, self.interval)})
            self.metas = metas
            self.baseline_meta = metas[0]
        result["groups"], result["children"] = [], []
        if len(group_by) == 1:
            result["groups"] = groups(keys, 0)
        elif group_by:
            for first in sorted({k[0] for k in keys}):
                members = [k for k in keys if k[0] == first]
                child = {"name": rows[members[0]][0][0], "query": whole, "summary": summary(members, False)}
                child["groups"] = groups(members, 1)
                child["children"] = []
                result["children"].append(child)
        for child in spec.get("children", []):
            result["children"].append(self.node(child, whole, own, False, found))
        return result

    def keep(self, table):
        self.everything.append(table)
        return table

    def correct(self):
        """Holm over all rows of one kind of test and one variant."""
        tests = 0
        for v in range(len(self.sides) - 1):
            entries = [columns[v]["test"] for table in self.everything for _, columns in table if "test" in columns[v]]
            for name in ("welch_p", "mann_whitney_p"):
                for e, p in zip(entries, holm([e[name] for e in entries])):
                    e[name + "_holm"] = p
            for e in entries:
                means, ranks = (e[n] is not None and e[n] < ALPHA for n in ("welch_p_holm", "mann_whitney_p_holm"))
                e["difference"] = "both" if means and ranks else "mean" if means else "ranks" if ranks else "none"
            tests = max(tests, len(entries))
        return tests

    def answer(self):
        p = self.params
        inherited = {"metrics": p.get("metrics", ",".join(METRICS)), "percentiles": p.get("percentiles", "0.5,0.95,0.99"),
                     "threshold_pct": p.get("threshold", 0), "sort_by": p.get("sort_by", "regression"),
                     "group_by": p.get("group_by", "cat,name")}
        inherited["threshold"] = inherited.pop("threshold_pct")
        nodes = [{**n, **({"threshold": n["threshold_pct"]} if "threshold_pct" in n else {})} for n in self.nodes]
        nodes = [self.node(n, "", inherited, True) for n in nodes]
        tests = self.correct()
        several = len(self.sides) > 2
        worst = [-1]
        for table in self.everything:
            worst += [CLASSES.index(c["significance"]) for _, cs in table for c in cs if plain(c["is_regression"])]

        def finish(node):
            node["summary"]["metrics"] = told(node["summary"]["metrics"])
            for g in node["groups"]:
                g["metrics"] = told(g["metrics"])
            for c in node["children"]:
                finish(c)
            return node

        files = {f.name: f for side in self.sides for f in files_of(self.root, side)}
        return {"baseline_meta": self.metas[0], "variant_meta": self.metas[1:] if several else self.metas[1],
                "complete": True, "damaged_files": sum(f.damaged() for f in files.values()), "tests": tests,
                "regression": "NONE" if max(worst) < 0 else CLASSES[max(worst)], "nodes": [finish(n) for n in nodes]}


def compare(root, params):
    """The answer without generation, times, and the texts that name the sides."""
    return Comparison(root, params).answer()


def collapsed_diff(root, params):
    """Stacks of both sides, each once: those of the baseline in its order, then those of the variant alone."""
    stacks = {}
    for i, side in enumerate(Comparison(root, params).sides):
        for line in call_tree.collapsed(root, side):
            path, value = line.rsplit(" ", 1)
            stacks.setdefault(path, [0, 0])[i] += int(value)
    return ["%s %d %d" % (path, before, after) for path, (before, after) in stacks.items()]
