"""Questions: the daemon against DuckDB's native table and zstd Parquet file, in turn."""

import json
import statistics

from measure import alternate, command, median

FILTER = 'cat == "POSIX" and dur > 1000'
WHERE = "cat='POSIX' AND dur>1000"
QUANTILES = "[0.1,0.25,0.5,0.75,0.9,0.95,0.99]"
# The bytes that a row moved, as docs/API.md has it, for the names that the generator writes.
SIZE = ("CASE WHEN cat IN ('POSIX','STDIO') THEN CASE WHEN name IN ('read','write','pread64','pwrite64','pread','pwrite') AND a_ret>0 "
        "THEN a_ret WHEN name IN ('fread','fwrite') AND a_ret>0 THEN a_ret*coalesce(a_size,1) END ELSE coalesce(a_size,a_image_size) END")
ALL_DUR = "count,sum:dur,mean:dur,std:dur,min:dur,max:dur,p10:dur,p25:dur,p50:dur,p75:dur,p90:dur,p95:dur,p99:dur"
FULL_KEY = "pid,tid,cat,name,hhash,fhash"


def measured(x):
    """What /stats tells of one quantity."""
    return f"count({x}),sum({x}),avg({x}),stddev({x}),min({x}),max({x}),approx_quantile({x},{QUANTILES})"


def four_quantities(where):
    return (f"SELECT cat,name,count(*),{measured('dur')},{measured('s')},{measured('s*1e6/nullif(dur,0)')},{measured('a_offset')} "
            f"FROM (SELECT *,{SIZE} AS s FROM $T WHERE {where}) GROUP BY ALL")


def by_bucket(keys, what):
    return f"SELECT {keys},ts//5000000 AS b,{what} FROM $T WHERE ph='X' GROUP BY ALL"


MOMENTS = "count(*),sum(dur),min(dur),max(dur)"
SOME_QUANTILES = "approx_quantile(dur,[0.5,0.9,0.99])"

# key, what, path, parameters, SQL, bar against the native table, more: also asked of the compressed JSON itself (once).
QUESTIONS = [
    ("filtered_same", "filtered, by cat,name: percentiles of dur (/aggregate)", "/aggregate",
     {"group_by": "cat,name", "agg": ALL_DUR, "query": FILTER, "time_interval": "0"},
     f"SELECT cat,name,count(*),{measured('dur')} FROM $T WHERE {WHERE} GROUP BY ALL", 0.15, True),
    ("filtered_stats", "filtered, by cat,name: four quantities with percentiles (/stats)", "/stats",
     {"report": "detailed", "group_by": "cat,name", "top_n": 0, "query": FILTER}, four_quantities(WHERE), 0.15, False),
    ("filtered_dur", "filtered: percentiles of durations (/stats, which adds a histogram)", "/stats", {"report": "duration", "query": FILTER},
     f"SELECT {measured('dur')} FROM $T WHERE {WHERE}", 0.15, False),
    ("all_moments", "all rows, by cat,name: moments of dur (/aggregate)", "/aggregate",
     {"group_by": "cat,name", "agg": "count,sum:dur,min:dur,max:dur,std:dur", "time_interval": "0"},
     "SELECT cat,name,count(*),sum(dur),min(dur),max(dur),stddev(dur) FROM $T WHERE ph='X' GROUP BY ALL", 0.15, False),
    ("all_stats", "all rows, by cat,name: four quantities with percentiles (/stats)", "/stats",
     {"report": "detailed", "group_by": "cat,name", "top_n": 0, "scan": "true"}, four_quantities("ph='X'"), 0.15, False),
    ("bucket", "all rows, by cat,name,5 s: moments of dur (/aggregate)", "/aggregate",
     {"group_by": "cat,name,time_bucket", "agg": "count,sum:dur,min:dur,max:dur"}, by_bucket("cat,name", MOMENTS), 0.2, True),
    ("bucket_quantiles", "all rows, by cat,name,5 s: moments and percentiles of dur (/aggregate)", "/aggregate",
     {"group_by": "cat,name,time_bucket", "agg": "count,sum:dur,min:dur,max:dur,p50:dur,p90:dur,p99:dur"},
     by_bucket("cat,name", MOMENTS + "," + SOME_QUANTILES), 0.5, False),
]  # fmt: skip
# Answers of so many rows that only the time until the first one can be compared: all groups are made and sorted by then.
# key, what, aggregates, SQL, bar; whether DuckDB is asked about 4.84 M events, too: its sketches of 1.5 M groups take half a
# minute and more memory than machines have.
WIDE = [
    ("wide", "all rows, by pid,tid,cat,name,hhash,fhash,5 s: moments of dur (/aggregate)", "count,sum:dur,min:dur,max:dur", MOMENTS, 0.4, True),
    ("wide_quantiles", "all rows, by pid,tid,cat,name,hhash,fhash,5 s: moments and percentiles (/aggregate)", "count,sum:dur,min:dur,max:dur,p50:dur,p90:dur,p99:dur",
     MOMENTS + "," + SOME_QUANTILES, 0.4, False),
]  # fmt: skip


def duck_actors(world, duck, sql):
    """{name: actor}: a whole result in memory, nothing of it turned into objects of the script."""
    if not duck:
        return {}
    actors = {"DuckDB native": lambda: duck.run(sql.replace("$T", "events"))}
    if not world.quick:
        actors["DuckDB Parquet"] = lambda: duck.run(sql.replace("$T", "'%s'" % duck.parquet("events")))
    return actors


def check_same(d, duck, what, path, params, sql):
    """Different answers would make the times of them worth nothing: the groups are counted on both sides."""
    if not duck or path != "/aggregate":
        return
    ours = d.get(path, **params).count(b"\n")
    try:
        theirs = duck.value("SELECT count(*) FROM (%s)" % sql.replace("$T", "events"))
    except RuntimeError:
        return
    if ours != theirs:
        raise SystemExit("%s: %d groups, DuckDB has %d" % (what, ours, theirs))


def served(d, path, params, client):
    """What the daemon itself takes for an answer; the client's wall time is added to a list."""
    own = d.serve(path, **params)
    client.append(d.client)
    return own


def at_client(client):
    return statistics.median(client[1:])  # the first one warms up


def questions(report, world, d, duck):
    for key, what, path, params, sql, bar, json_too in QUESTIONS:
        check_same(d, duck, what, path, params, sql)
        client = []
        actors = {"ours": lambda: served(d, path, params, client), **duck_actors(world, duck, sql)}  # noqa: B023
        seen = alternate(actors, world.runs, warm=1, enough=world.enough)
        ours = seen.pop("ours")
        if duck and json_too and not world.quick:
            seen.update(alternate({"DuckDB ndjson.gz": lambda: duck.run(sql.replace("$T", "(%s)" % world.source))}, 1))
        report.time(key, what, ours, seen, bar, client=at_client(client))


def wide(report, world, d, duck):
    for key, what, agg, sql, bar, always in WIDE:
        params = {"group_by": FULL_KEY + ",time_bucket", "agg": agg}
        sql = by_bucket("pid,tid,cat,name,a_hhash,a_fhash", sql)
        actors = duck_actors(world, duck, sql) if always else {}
        if always:
            check_same(d, duck, what, "/aggregate", params, sql)
        seen = alternate({"ours": lambda: d.ask("/aggregate", True, **params), **actors}, world.runs_long if always else 1, enough=world.enough)
        report.time(key, what + ", until the first row", seen.pop("ours"), seen, bar)
    params = {"group_by": FULL_KEY + ",time_bucket", "agg": WIDE[0][2]}
    for key, form, bar in (("wide_whole", "ndjson", 300), ("wide_csv", "csv", 300), ("wide_arrow", "arrow", 1000)):
        later = []
        whole = alternate({"ours": lambda form=form: told(d, form, params, later)}, world.runs_long, warm=1)
        report.time(key, "all groups by pid,tid,cat,name,hhash,fhash,5 s over HTTP as " + form, whole["ours"], {}, note="%.0f MB" % (d.size / 1e6))
        speed = d.size / median(later[1:])[1] / 1e6
        report.value(key + "_speed", "formatting and sending these groups as %s, per core" % form, speed, "MB/s", bar, higher=True, figure=None)


def told(d, form, params, later):
    """(wall, cpu) of a whole answer. later: the same after its first byte; by then groups are made and in order, and the types of
    their columns are known."""
    whole = d.ask("/aggregate", format=form, **params)
    later.append(d.later)
    return whole


def compared(report, world, d):
    """Two halves of the time, against /stats of the whole from the columns."""
    totals = json.loads(d.get("/info"))["totals"]
    low, high = float(totals["min_ts"]), float(totals["max_te"])
    middle = int((low + high) / 2)
    halves = {"baseline.time_range": "0,%d" % (middle - 1), "variant.time_range": "%d,%d" % (middle, high + 1)}
    stats = {"report": "detailed", "group_by": "cat,name", "top_n": 0, "scan": "true"}
    seen = alternate({"ours": lambda: d.ask("/compare", **halves), "/stats of all events": lambda: d.ask("/stats", **stats)}, world.runs, warm=1)
    report.time("compare", "/compare of the two halves of the time", seen.pop("ours"), seen, 2)


def unfiltered(report, world, d):
    d.get("/stats")
    kept = alternate({"ours": lambda: d.curl("/stats")}, world.runs)["ours"]
    report.value("unfiltered_kept", "unfiltered /stats from the response cache, with the start of curl", kept[0] * 1000, "ms", figure=None)
    ours = alternate({"ours": lambda: d.ask("/stats")}, world.runs, warm=1)["ours"]
    report.time("unfiltered", "unfiltered /stats, computed: wall and processor time", ours, {})
    report.value("unfiltered_ms", "unfiltered /stats, computed", ours[0] * 1000, "ms", 5, figure=None)


def rare_range(d, events):
    """A range of durations that about 0.1 % of the events have."""
    low = 20000
    for width in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000):
        query = "dur >= %d and dur <= %d" % (low, low + width)
        count = json.loads(d.get("/view", count_only="true", query=query))["count"]
        if count >= events / 1000:
            break
    return low, low + width, count


def scattered(report, world, d, duck):
    low, high, count = rare_range(d, world.events)
    query = "dur >= %d and dur <= %d" % (low, high)
    sql = "SELECT name,ts,dur,a_ret FROM $T WHERE dur BETWEEN %d AND %d" % (low, high)
    params, client = {"select": "name,ts,dur,args.ret", "query": query}, []
    seen = alternate({"ours": lambda: served(d, "/view", params, client), **duck_actors(world, duck, sql)}, world.runs, warm=1)
    report.time("rare_rows", "%d scattered events (%.1f %%) as flat rows (/view)" % (count, 100 * count / world.events), seen.pop("ours"), seen, 0.2,
                client=at_client(client))  # fmt: skip
    pattern = '\'"dur":2[0-9]{4}[,}]\''
    actors = {"ours": lambda: d.ask("/view", metadata="false", query=query),
              "gzip -dc | grep": lambda: command("for f in %s/*.gz; do gzip -dc $f; done | grep -E %s || true" % (world.many, pattern))}  # fmt: skip
    if not world.quick:
        actors["zcat | grep"] = lambda: command("zcat %s/*.gz | grep -E %s || true" % (world.many, pattern))
    seen = alternate(actors, world.runs_long, enough=world.enough)
    report.time("rare_lines", "the scattered events as original lines (/view)", seen.pop("ours"), seen, 0.5)


# Asked of the dense data, too, besides the first two questions.
DENSE = [*QUESTIONS[:2],
    ("distinct", "all rows, by cat: different fhash (/aggregate)", "/aggregate", {"group_by": "cat", "agg": "count,distinct:fhash"},
     "SELECT cat,count(*),count(DISTINCT a_fhash) FROM $T WHERE ph='X' GROUP BY ALL", 0.3, False),
    ("threads", "all rows, by pid,tid,cat,name: moments of dur (/aggregate)", "/aggregate",
     {"group_by": "pid,tid,cat,name", "agg": "count,sum:dur,min:dur,max:dur"},
     f"SELECT pid,tid,cat,name,{MOMENTS} FROM $T WHERE ph='X' GROUP BY ALL", 0.15, False),
]  # fmt: skip


def dense(report, world, d, duck):
    for key, what, path, params, sql, bar, _ in DENSE:
        client = []
        actors = {"ours": lambda: served(d, path, params, client)}  # noqa: B023
        if duck:
            actors["DuckDB native"] = lambda: duck.run(sql.replace("$T", "dense"))  # noqa: B023
        seen = alternate(actors, world.runs, warm=1, enough=world.enough)
        report.time(key + "_dense", "dense data: " + what, seen.pop("ours"), seen, bar, client=at_client(client))


LONGEST = "SELECT name,ts,dur,a_ret FROM $T ORDER BY dur DESC LIMIT 20"


def longest(report, world, d, duck, table="events"):
    """The 20 longest events, as rows and as lines; `table` names them in DuckDB."""
    of, client = "" if table == "events" else " of the dense data", []
    sql = LONGEST.replace("$T", table)
    params = {"select": "name,ts,dur,args.ret", "order": "-dur", "limit": 20}
    if duck and json.loads(d.get("/view", **params).splitlines()[-1])["dur"] != duck.value("SELECT min(dur) FROM (%s)" % sql):
        raise SystemExit("the 20 longest events%s are others in DuckDB" % of)
    actors = {"DuckDB native": lambda: duck.run(sql)} if duck else {}
    seen = alternate({"ours": lambda: served(d, "/view", params, client), **actors}, world.runs, warm=1)
    report.time("longest_rows_" + table, "the 20 longest events%s as flat rows (/view)" % of, seen.pop("ours"), seen, 0.2, client=at_client(client))
    lines = alternate({"ours": lambda: d.serve("/view", metadata="false", order="-dur", limit=20)}, world.runs, warm=1)["ours"]
    report.time("longest_lines_" + table, "the 20 longest events%s as original lines (/view)" % of, lines, {})


def window(report, world, d, gzip_time):
    totals = json.loads(d.get("/info"))["totals"]
    low, high = float(totals["min_ts"]), float(totals["max_te"])
    part = "%d,%d" % (low + (high - low) * 0.5, low + (high - low) * 0.51)
    ours = alternate({"ours": lambda: d.ask("/view", metadata="false", time_range=part)}, world.runs, warm=1)["ours"]
    report.time("window", "lines of a 1 % time window (/view)", ours, {"gzip -dc of all": gzip_time} if gzip_time else {}, 0.03,
                note="%.1f MB" % (d.size / 1e6))  # fmt: skip
