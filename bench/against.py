"""This build against an older one: both do the same in turn, from the reference data and from the dense data."""

import contextlib
import os
import statistics
import sys
import urllib.parse

import data
import rows_query
from measure import BIN, TOP, Daemon, command, quiet_build

sys.path.insert(0, os.path.join(TOP, "tests", "comparison"))
import builds  # noqa: E402

FILTER = {"query": rows_query.FILTER}
# key, path, parameters: one row for each way through the program, beside those of rows_query.
MORE = (
    ("wide", "/aggregate", {"group_by": rows_query.FULL_KEY + ",time_bucket", "agg": "count,sum:dur"}),
    ("distinct", "/aggregate", {"group_by": "cat", "agg": "count,distinct:fhash"}),
    ("compact", "/aggregate", {"time_interval": "1s"}),
    ("aggregate_csv", "/aggregate", {"group_by": "pid,tid,name,time_bucket", "format": "csv"}),
    ("aggregate_arrow", "/aggregate", {"group_by": "pid,tid,name,time_bucket", "format": "arrow"}),
    ("aggregate_perfetto", "/aggregate", {"format": "perfetto"}),
    ("compare", "/compare", {"baseline.query": "dur > 100", "variant.query": "dur <= 100"}),
    ("call_tree", "/call-tree", {"max_depth": "100"}),
    ("within", "/stats", {"report": "names", "within": 'cat != "POSIX"'}),
    ("summary", "/stats", {}),
    ("processes", "/processes", {}),
    ("schema", "/schema", {}),
    ("event_count", "/view", {"count_only": "true", **FILTER}),
    ("lines", "/view", {"metadata": "false", **FILTER}),
    ("lines_all", "/view", {"phase": "any"}),
    ("rows", "/view", {"select": "name,cat,pid,tid,ts,dur,args.ret,size", **FILTER}),
    ("rows_csv", "/view", {"select": "name,pid,ts,dur,args.fhash", "format": "csv"}),
    ("rows_in_time", "/view", {"select": "name,ts", "order": "ts", **FILTER}),
    ("timeline", "/timeline", {"width": "1024", "slices": "true"}),
    ("timeline_name", "/timeline", {"width": "1024", "color": "name", **FILTER}),
    ("histogram", "/histogram", {}),
)  # fmt: skip
WIDEST_NOISE = 0.01  # a change below it is none


def rows():
    return [(key, path, params) for key, _, path, params, *_ in rows_query.QUESTIONS] + list(MORE)


def ratio(pairs):
    """(new : old, its noise) of pairs (old, new): the median, and the half width of its interval of 95 % (McGill, Tukey, Larsen 1978:
    Variations of box plots)."""
    ratios = [new / old for old, new in pairs]
    low, _, high = statistics.quantiles(ratios, n=4)
    return statistics.median(ratios), max(WIDEST_NOISE, 1.57 * (high - low) / len(ratios) ** 0.5)


class Uncached(Daemon):
    """A daemon of which nothing is asked twice: the query has one blank more each time."""

    def fresh(self, path, params):
        self.asked += 1
        return path + "?" + urllib.parse.urlencode({**params, "query": params.get("query", "") + " " * self.asked})

    def answers(self, path, params):
        """False if a parameter is unknown, as in a build from before it came."""
        try:
            self.get(path, **params)
        except RuntimeError as refused:
            return "bad_parameter" not in str(refused)
        return True


class Table:
    def __init__(self):
        self.slower = 0

    def add(self, where, key, measure):
        """What becomes slower is measured again twice: of so many rows, a few are out of their noise by chance."""
        for left in (2, 1, 0):
            pairs = measure()
            change, noise = ratio(pairs)
            slower = change > 1 + noise
            if not slower:
                break
        self.slower += slower
        verdict = "SLOWER" if slower else "faster" if change < 1 - noise else "" if left == 2 else "measured %d times" % (3 - left)
        milliseconds = [1000 * statistics.median(times) for times in zip(*pairs)]
        print("%-10s %-20s %9.2f %9.2f ms  %6.3f +-%5.3f  %s" % (where, key, *milliseconds, change, noise, verdict), flush=True)


def index_both(traces, indexes, both, runs):
    return [[command(quiet_build(traces, index, programs=programs))[1] for index, programs in zip(indexes, both)] for _ in range(runs)]


def ask_both(daemons, path, params, runs):
    """The first pair warms up."""
    return [[d.ask(path, **params)[1] for d in daemons] for _ in range(runs + 1)][1:]


def answers(table, where, traces, indexes, both, world):
    with contextlib.ExitStack() as stack:
        daemons = [stack.enter_context(Uncached(traces, index, world.threads, programs=programs)) for index, programs in zip(indexes, both)]
        for d in daemons:
            d.get("/stats?wait=ready")
        for key, path, params in rows():
            if all(d.answers(path, params) for d in daemons):
                table.add(where, key, lambda: ask_both(daemons, path, params, 2 * world.runs))  # noqa: B023
            else:
                print("%-10s %-20s one of them refuses the request" % (where, key), flush=True)


def compare(world, what):
    """The exit status."""
    both = builds.programs(what), BIN
    print("processor time: %s, this build, their ratio; load %.1f" % (what, os.getloadavg()[0]))
    table = Table()
    indexes = [os.path.join(world.work, "against-" + name) for name in ("old", "new")]
    for where, traces in (("reference", data.many(world.work, world.events)), ("dense", data.dense_many(world.work, world.events))):
        table.add(where, "index", lambda: index_both(traces, indexes, both, 2 * world.runs_long + 1))  # noqa: B023
        answers(table, where, traces, indexes, both, world)
    print("%d rows became slower" % table.slower)
    return 1 if table.slower else 0
