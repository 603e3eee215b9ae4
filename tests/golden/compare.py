"""Expected answers of the oracle against those of the daemon: a list of differences, each a line of text."""

import collections
import decimal
import json
import math
from fractions import Fraction

from oracle import aggregate, call_tree, info, kept, processes, reader, stats, timeline, view
from oracle import compare as comparison

MAY_BE_ABSENT = ("host",)               # null where it is unknown
ONLY_THE_DAEMON_KNOWS = {
    "": {"generation", "name_conflicts", "roots", "elapsed_ms", "index", "duplicates", "missing"},
    "chunks": {"scanned", "skipped", "answered_from_summary"},
    "totals": {"index_bytes"},
    "compare": {"baseline", "variant", "query", "execution_time_ms", "failed", "notes"},
    "files[]": {"error", "checkpoint_size", "index_bytes", "columns", "duplicate_of", "damage", "archive"},
}
SHOWN = 6                               # differences of one question that are printed


def parse(text):
    return json.loads(text, parse_float=decimal.Decimal)


def number_of(value):
    if isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool):
        return Fraction(value)
    return None


def near(expected, got, share):
    return abs(got - expected) <= abs(expected) * share


class Difference:
    """Collects; `place` is the path in the JSON, with [] for any element."""

    def __init__(self):
        self.found = []

    def add(self, place, expected, got):
        self.found.append("%s: expected %s, got %s" % (place or "answer", brief(expected), brief(got)))

    def any(self, place, expected, got):
        if isinstance(expected, dict):
            self.dict(place, expected, got)
        elif isinstance(expected, list):
            self.list(place, expected, got)
        elif isinstance(expected, comparison.Vague):
            pass  # held against the numbers it is made of: vague_changes
        elif isinstance(expected, stats.Approximate):
            self.approximate(place, expected, got)
        elif isinstance(expected, bool) or expected is None or isinstance(expected, str):
            if type(expected) is not type(got) or expected != got:
                self.add(place, expected, got)
        else:
            self.number(place, expected, got)

    def dict(self, place, expected, got):
        if not isinstance(got, dict):
            self.add(place, expected, got)
            return
        for key, value in expected.items():
            if key not in got:
                optional = key in MAY_BE_ABSENT and value is None
                if key.endswith("_total") and isinstance(expected.get(key[:-6]), list):
                    optional = len(expected[key[:-6]]) == value
                if not optional:
                    self.add(place + "." + key, value, "nothing")
                continue
            self.any(place + "." + key if place else key, value, got[key])
        generic = "files[]" if place.startswith("files[") else place
        for key in got:
            if key not in expected and key not in ONLY_THE_DAEMON_KNOWS.get(generic, ()):
                self.add("%s.%s" % (place, key), "no such key", got[key])

    def list(self, place, expected, got):
        if not isinstance(got, list):
            self.add(place, expected, got)
            return
        if len(expected) != len(got):
            self.add(place + " length", len(expected), len(got))
        for i, (e, g) in enumerate(zip(expected, got)):
            self.any("%s[%d]" % (place, i), e, g)

    def number(self, place, expected, got):
        value = number_of(got)
        if value is None:
            self.add(place, expected, got)
        elif isinstance(expected, float):
            if not math.isclose(expected, float(value), rel_tol=1e-9, abs_tol=1e-9):
                self.add(place, expected, got)
        elif value != expected:
            self.add(place, expected, got)

    def approximate(self, place, expected, got):
        value = number_of(got)
        if value is None:
            self.add(place, expected.value, got)
        elif expected.is_exact:
            self.number(place, expected.value, got)
        elif not near(Fraction(expected.value), value, Fraction(1, 100)):
            self.add(place + " (within 1 %)", expected.value, got)


def brief(value):
    if isinstance(value, stats.Approximate):
        value = value.value
    if isinstance(value, (Fraction, decimal.Decimal)):
        return str(decimal.Decimal(value.numerator) / value.denominator if isinstance(value, Fraction) else value)
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 300 else text[:300] + "..."


def json_answer(expected, body):
    difference = Difference()
    try:
        got = parse(body)
    except ValueError as error:
        return ["not JSON: %s: %r" % (error, body[:200])]
    difference.any("", expected, got)
    return difference.found


def vague_changes(place, metric):
    """A difference of percentiles is that of the percentiles told, which are near the right ones."""
    before, worse = metric["baseline"], (lambda change: change < 0) if metric["name"] == "bandwidth" else (lambda change: change > 0)
    members = (metric[k] for k in ("variant", "delta", "pct_change", "is_regression"))
    for after, delta, percent, regression in zip(*(v if isinstance(v, list) else [v] for v in members)):
        change = Fraction(after) - Fraction(before)
        expected = 100 * change / Fraction(before) if before else 100 if after else 0
        if not (near(change, Fraction(delta), Fraction(1, 10**9)) and near(expected, Fraction(percent), Fraction(1, 10**9))):
            yield "%s: %s is not what changed" % (place, brief(metric))
        if metric["name"] not in comparison.HEAD and regression != worse(delta):
            yield "%s: %s is no regression, or is one" % (place, brief(metric))


def compare_answer(expected, body):
    difference = Difference()
    got = parse(body)
    for key in ONLY_THE_DAEMON_KNOWS["compare"]:
        got.pop(key, None)

    def metrics_of(node):
        for group in [node["summary"], *node["groups"]]:
            for metric in group["metrics"]:
                yield from vague_changes(metric["name"], metric)
        for child in node["children"]:
            yield from metrics_of(child)

    difference.any("", expected, got)
    return difference.found + [text for node in got["nodes"] for text in metrics_of(node)]


# ---- lines ---------------------------------------------------------------------------------------------------

def timeline_answer(expected, body):
    difference, got = Difference(), timeline.with_names(parse(body))
    difference.any("", expected, got)
    return difference.found


def same_line(o, line):
    if not o.repaired:
        return o.text == line
    try:
        return json.loads(o.text) == json.loads(line)
    except ValueError:
        return False


def is_metadata(line):
    try:
        return reader.Object(json.loads(line)).cls == reader.METADATA
    except (ValueError, AttributeError):
        return False


def lenient(expected, lines):
    """Data lines in order; the same records, each before its first use."""
    data = [o for o, automatic in expected if not automatic]
    got_data = [line for line in lines if not is_metadata(line)]
    found = sequence(data, got_data, "data line")
    if found:
        return found
    limits, place = collections.defaultdict(list), 0
    for o, automatic in expected:
        if automatic:
            limits[o.text if not o.repaired else json.dumps(json.loads(o.text), sort_keys=True)].append(place)
        place += not automatic
    repaired = any(o.repaired for o, automatic in expected if automatic)
    place = 0
    for n, line in enumerate(lines):
        if not is_metadata(line):
            place += 1
            continue
        key = line if line in limits or not repaired else json.dumps(json.loads(line), sort_keys=True)
        if not limits.get(key):
            found.append("line %d: a metadata record that nothing needs (or twice): %r" % (n + 1, line[:300]))
        elif limits[key].pop(0) < place:
            found.append("line %d: a metadata record after its first use: %r" % (n + 1, line[:300]))
    found += ["a metadata record is missing: %r" % k[:300] for k, places in limits.items() for _ in places]
    return found


def sequence(objects, lines, what):
    found = []
    if len(objects) != len(lines):
        found.append("number of %ss: expected %d, got %d" % (what, len(objects), len(lines)))
    for n, (o, line) in enumerate(zip(objects, lines)):
        if not same_line(o, line):
            found.append("%s %d (%s:%d): expected %r, got %r"
                         % (what, n + 1, o.file.name, o.line + 1, o.text[:300], line[:300]))
            if len(found) > SHOWN:
                break
    return found


def lines_answer(expected, body):
    if body and not body.endswith(b"\n"):
        return ["the last line does not end in a newline: %r" % body[-100:]]
    lines = body.split(b"\n")[:-1]
    objects = [o for o, _ in expected]
    if len(objects) == len(lines) and all(map(same_line, objects, lines)):
        return []
    if not any(automatic for _, automatic in expected):
        return sequence(objects, lines, "line")
    return lenient(expected, lines)


def rows_answer(expected, body):
    lines = body.split(b"\n")[:-1]
    difference = Difference()
    if len(lines) != len(expected):
        difference.add("rows", len(expected), len(lines))
    for n, (row, line) in enumerate(zip(expected, lines)):
        try:
            difference.any("row %d" % (n + 1), row, parse(line))
        except ValueError as error:
            difference.add("row %d" % (n + 1), row, "%s: %r" % (error, line[:200]))
    return difference.found


def texts_answer(expected, body):
    difference = Difference()
    difference.any("", expected, body.decode("utf-8", "replace").split("\n")[:-1])
    return difference.found


def count_answer(expected, body):
    try:
        got = parse(body)
    except ValueError:
        return ["not JSON: %r" % body[:200]]
    got = got.get("count") if isinstance(got, dict) else got
    return [] if got == expected else ["count: expected %s, got %s" % (expected, brief(got))]


# ---- one question -----------------------------------------------------------------------------------------------

def expect(root, endpoint, params):
    """The oracle's answer."""
    if endpoint == "stats":
        return stats.stats(root, params)
    if endpoint == "info":
        return info.info(root, params)
    if endpoint == "aggregate":
        return list(aggregate.rows(root, params))
    if endpoint == "compare":
        return comparison.collapsed_diff(root, params) if "format" in params else comparison.compare(root, params)
    if endpoint == "call-tree":
        answers = {"json": call_tree.call_tree, "ndjson": call_tree.rows, "collapsed": call_tree.collapsed}
        return answers[params.get("format", "json")](root, params)
    if endpoint == "processes":
        return processes.rows(root, params) if "format" in params else processes.processes(root, params)
    if endpoint == "timeline":
        return timeline.timeline(root, params)
    if params.get("count_only"):
        return view.count(root, params)
    if "select" in params:
        return list(view.rows(root, params))
    return [(kept.line(o), automatic) for o, automatic in view.lines(root, params)]


def ask(daemon, root, endpoint, params, method="GET"):
    """Differences between the oracle's and the daemon's answer."""
    status, body = daemon.get("/" + endpoint, {**params, "wait": "ready"}, method)
    if endpoint in ("aggregate", "stats", "call-tree"):
        without = kept.answer(root, "without values", params, lambda: aggregate.without_values(root, params))
        told = parse(body).get("param") if status == 400 and b"no event has" in body else None
        if without or told:
            return [] if told in without else ["no event has what %s names: %d %r" % (without, status, body[:300])]
    if status != 200:
        return ["status %d: %s" % (status, body[:500].decode("utf-8", "replace"))]
    expected = kept.answer(root, endpoint, params, lambda: expect(root, endpoint, params))
    if endpoint == "timeline":
        return timeline_answer(expected, body)
    if endpoint in ("stats", "info") or endpoint in ("call-tree", "processes") and "format" not in params:
        return json_answer(expected, body)
    if endpoint == "aggregate" or params.get("format") == "ndjson":
        return rows_answer(expected, body)
    if endpoint == "compare" and "format" not in params:
        return compare_answer(expected, body)
    if params.get("format") in ("collapsed", "collapsed-diff"):
        return texts_answer(expected, body)
    if params.get("count_only"):
        return count_answer(expected, body)
    if "select" in params:
        return rows_answer(expected, body)
    return lines_answer(expected, body)


def ask_error(daemon, endpoint, params, status, position):
    got, body = daemon.get("/" + endpoint, {**params, "wait": "ready"})
    if got != status:
        return ["status: expected %d, got %d: %s" % (status, got, body[:300].decode("utf-8", "replace"))]
    if position is not None and parse(body).get("position") != position:
        return ["position: expected %s, got %s" % (position, brief(parse(body)))]
    return []


class Tally:
    """Asks, prints differences, counts."""

    def __init__(self):
        self.asked = self.failed = 0

    def report(self, where, endpoint, params, differences):
        self.asked += 1
        if not differences:
            return
        self.failed += 1
        print("\n%s /%s %s" % (where, endpoint, json.dumps(params, ensure_ascii=False)))
        for text in differences[:SHOWN]:
            print("    " + text)
        if len(differences) > SHOWN:
            print("    and %d more" % (len(differences) - SHOWN))

    def questions(self, where, daemon, root, questions):
        for endpoint, params in questions:
            self.report(where, endpoint, params, ask(daemon, root, endpoint, params))

    def errors(self, where, daemon, errors):
        for endpoint, params, status, position in errors:
            self.report(where, endpoint, params, ask_error(daemon, endpoint, params, status, position))

    def finish(self):
        print("%d questions, %d answered otherwise than expected" % (self.asked, self.failed))
        return 1 if self.failed or not self.asked else 0
