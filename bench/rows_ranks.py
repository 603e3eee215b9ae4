"""Ranks of an MPI job beside one daemon: the same data, the same requests, processor time of all processes of the job."""

import contextlib
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

import against
import data
import peers
import rows_query
import rows_rewrite
from measure import BIN, BUILD, TOP, alternate

sys.path.insert(0, os.path.join(TOP, "tests", "comparison"))
import builds  # noqa: E402

COUNTS = (2, 8)
FULL = 4_800_000  # some bars are of so many events and more
ONE = "one dftracerd"
LANES = {"group_by": "host,rank,pid,tid", "color": "cat", "width": 1024, "events": 0, "slices": "true"}
ROWS = {"select": "name,cat,pid,tid,ts,dur,args.hhash,args.fhash,args.ret,size"}
WIDE = {"group_by": rows_query.FULL_KEY + ",time_bucket"}
TREE = {"max_depth": 1000}
# key, what, path, parameters: requests beside those of rows_query, of which others run for long.
MORE = (
    ("unfiltered", "unfiltered /stats, computed", "/stats", {}),
    ("by_hand", "names of slow POSIX calls (/stats)", "/stats", {"report": "names", "query": rows_query.FILTER}),
    ("distinct", "all rows, by cat: different fhash (/aggregate)", "/aggregate", {"group_by": "cat", "agg": "count,distinct:fhash"}),
    ("threads", "all rows, by pid,tid,cat,name: moments of dur (/aggregate)", "/aggregate", {"group_by": "pid,tid,cat,name", "agg": "count,sum:dur,min:dur,max:dur"}),
    ("within", "names of events within events that are not POSIX (/stats)", "/stats", {"report": "names", "within": 'cat != "POSIX"'}),
    ("histogram", "/histogram", "/histogram", {}),
    ("event_count", "number of slow POSIX calls (/view)", "/view", {"count_only": "true", "query": rows_query.FILTER}),
    ("longest_rows", "the 20 longest events as flat rows (/view)", "/view", {"select": "name,ts,dur,args.ret", "order": "-dur", "limit": 20}),
    ("longest_lines", "the 20 longest events as original lines (/view)", "/view", {"metadata": "false", "order": "-dur", "limit": 20}),
    ("timeline", "/timeline of all events by thread, as the page requests it", "/timeline", LANES),
    ("timeline_name", "/timeline coloured by name", "/timeline", {**LANES, "color": "name", "width": 256}),
    ("timeline_rank", "/timeline coloured by rank", "/timeline", {**LANES, "color": "rank"}),
    ("timeline_dur", "/timeline coloured by duration", "/timeline", {**LANES, "color": "dur", "colors": 64, "width": 256}),
    ("timeline_file", "/timeline coloured by file, the 64 most frequent", "/timeline", {**LANES, "color": "file", "colors": 64, "width": 256}),
    ("timeline_lanes", "list of timeline lanes", "/timeline", {**LANES, "width": 1, "slices": "false"}),
    ("processes", "/processes", "/processes", {}),
    ("schema", "/schema", "/schema", {}),
    ("call_tree", "/call-tree of all events, folded", "/call-tree", TREE),
    ("call_tree_analysis", "/call-tree of all events, folded, with analyze", "/call-tree", {**TREE, "analyze": "true"}),
)  # fmt: skip
LONG = (
    ("wide_whole", "all groups of the wide rows over HTTP as ndjson (/aggregate)", "/aggregate", {**WIDE, "agg": rows_query.WIDE[0][2]}),
    ("wide_csv", "all groups of the wide rows over HTTP as csv (/aggregate)", "/aggregate", {**WIDE, "agg": rows_query.WIDE[0][2], "format": "csv"}),
    ("wide_arrow", "all groups of the wide rows over HTTP as arrow (/aggregate)", "/aggregate", {**WIDE, "agg": rows_query.WIDE[0][2], "format": "arrow"}),
    ("export_lines", "export of all lines, uncompressed (/view)", "/view", {"phase": "any"}),
    ("export_rows", "export of all events as NDJSON rows of 10 columns (/view)", "/view", ROWS),
)
WRITE = (
    ("split", "/split into files of 256 MiB of text", "/split?chunk_size=256MiB"),
    ("split_fast", "/split at compression level 1", "/split?chunk_size=256MiB&compress=1"),
    ("merge_text", "/merge, uncompressed", "/merge"),
    ("organize", "/organize into three groups", rows_rewrite.ORGANIZE),
)


class Job(against.Uncached):
    """A job of `count` ranks, or with None one dftracerd. Other ranks may have to finish when the client has the answer already."""

    def __init__(self, world, traces, index, count, *options):
        programs = builds.ranks(BUILD, count, folder=os.path.join(world.top, "ranks-%d" % count)) if count else BIN
        super().__init__(traces, index, None if count else world.threads, *options, programs=programs)
        self.clocks = [(~pid << 3) | 2 for pid in family(self.pid)]  # what clock_getcpuclockid(3) returns

    def cpu(self):
        """Processor seconds of all processes, of threads that have ended, too."""
        return sum(map(time.clock_gettime, self.clocks))

    def whole(self, act):
        """(wall, cpu) of act(), which returns (wall, _)."""
        before = self.cpu()
        wall = act()[0]
        time.sleep(0.01)
        return wall, self.cpu() - before


def family(pid):
    """The process and all that come from it."""
    found = [pid]
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as f:
            for child in f.read().split():
                found += family(int(child))
    return found


def named(count):
    return "%d ranks" % count if count else "ours"


def ratio(report, key, what, seen, bar, count):
    """A row of processor times: of `count` ranks, beside that of one daemon."""
    ours, one = seen[named(count)][1], seen["ours"][1]
    report.value("ranks_%d_%s" % (count, key), "%d ranks: %s, processor time" % (count, what), ours * 1000, "ms", bar, peers={ONE: one * 1000}, figure=ours,
                 note="wall %.2f ms, one dftracerd %.2f ms" % (seen[named(count)][0] * 1000, seen["ours"][0] * 1000))  # fmt: skip


# ---- indexing --------------------------------------------------------------------------------------------------------------


def index_once(world, traces, index, count):
    """(wall, cpu) from the start of the daemon until all is indexed; of a folder without traces, what the start takes."""
    shutil.rmtree(index, ignore_errors=True)
    with Job(world, traces, index, count) as d:
        d.get("/info?wait=ready")
        return time.perf_counter() - d.begin, d.cpu()


def place(world, name, count):
    return "%s-%s-%d" % (world.index, name, count or 1)


def indexing(report, world):
    empty = os.path.join(world.work, "none")
    os.makedirs(empty, exist_ok=True)
    started = index_all(world, empty, "none")
    for count in COUNTS:
        report.value("ranks_%d_start" % count, "start of %d ranks without traces, processor time" % count, started[named(count)][1] * 1000, "ms",
                     peers={ONE: started["ours"][1] * 1000}, figure=None)  # fmt: skip
    for name, what, traces in (
        ("reference", "16 files, reference data", world.many),
        ("dense", "16 files, dense data", data.dense_many(world.work, world.events)),
        ("one", "one file, which is divided", world.one),
    ):
        seen = index_all(world, traces, name)
        net = {actor: (wall, cpu - started[actor][1]) for actor, (wall, cpu) in seen.items()}
        for count in COUNTS:
            ratio(report, "index_" + name, "indexing %s, without the start" % what, net, 1.15, count)


def index_all(world, traces, name):
    actors = {named(count): lambda count=count: index_once(world, traces, place(world, name, count), count) for count in (None, *COUNTS)}
    return alternate(actors, world.runs_long + 2)


def shares(d, index, count):
    """Indexed bytes of each rank, as /index reports them; the sizes of the indexes where it does not. And what they are."""
    ranks = json.loads(d.get("/index")).get("ranks")
    if ranks:
        return [rank["bytes_done"] for rank in ranks], "compressed bytes"
    paths = [index, *(os.path.join(index, "rank-%d" % i) for i in range(1, count))]
    return [os.path.getsize(os.path.join(path, "data.mdb")) for path in paths], "sizes of indexes, of which rank 0's has more than its files"


def balance(report, jobs, world):
    for count in COUNTS:
        found, what = shares(jobs[named(count)], place(world, "reference", count), count)
        report.value("ranks_%d_balance" % count, "largest share of %d ranks, 16 files, over the mean" % count, max(found) / statistics.mean(found), "x", 1.1,
                     figure=None, note="%s: %s" % (what, " ".join("%.1f" % (b / 1e6) for b in found)))  # fmt: skip


# ---- requests --------------------------------------------------------------------------------------------------------------


def requests(world, d):
    """(key, what, path, parameters) of those that do not take long."""
    totals = json.loads(d.get("/info"))["totals"]
    low, high = int(float(totals["min_ts"])), int(float(totals["max_te"]))
    middle, part = (low + high) // 2, (high - low) // 100
    halves = {"baseline.time_range": "0,%d" % (middle - 1), "variant.time_range": "%d,%d" % (middle, high + 1)}
    rare = "dur >= %d and dur <= %d" % rows_query.rare_range(d, world.events)[:2]
    return [*(question[:4] for question in rows_query.QUESTIONS), *MORE,
            ("compare", "/compare of the two halves of the time", "/compare", halves),
            ("window", "lines of a 1 % time window (/view)", "/view", {"metadata": "false", "time_range": "%d,%d" % (middle, middle + part)}),
            ("rare_rows", "scattered events (0.1 %) as flat rows (/view)", "/view", {"select": "name,ts,dur,args.ret", "query": rare}),
            ("rare_lines", "the scattered events as original lines (/view)", "/view", {"metadata": "false", "query": rare})]  # fmt: skip


def compared(report, jobs, runs, key, what, act, warm=1):
    """act(job) returns (wall, cpu)."""
    seen = alternate({name: lambda d=d: act(d) for name, d in jobs.items()}, runs, warm)
    for count in COUNTS:
        if named(count) in seen:
            ratio(report, key, what, seen, 1.3, count)
    return seen


def answered(report, world, jobs):
    for key, what, path, params in requests(world, jobs["ours"]):
        compared(report, jobs, world.runs, key, what, lambda d: d.whole(lambda: d.ask(path, **params)))  # noqa: B023
    for key, what, path, params in LONG:
        compared(report, jobs, world.runs_long, key, what, lambda d: d.whole(lambda: d.ask(path, **params)))  # noqa: B023
    for key, what, path in WRITE:
        compared(report, jobs, 2, key, what, lambda d: d.whole(lambda: d.curl(path)), warm=0)  # noqa: B023
    rows_rewrite.unpack_organized(world, jobs["ours"])
    compared(report, jobs, 2, "reconstruct", "/reconstruct", lambda d: d.whole(lambda: d.curl("/reconstruct?dir=organized")), warm=0)


def merged(report, world, jobs):
    """What groups of 8 ranks cost beyond the scan: until the first row, all groups are made, sent, merged and in order."""
    for key, what, agg, *_ in rows_query.WIDE:
        seen = compared(report, jobs, world.runs_long, key, what + ", until the first row", lambda d: d.ask("/aggregate", True, **WIDE, agg=agg))  # noqa: B023
        one, ranks = seen["ours"][1], seen[named(8)][1]
        report.value("ranks_merge_" + key, "encoding and merging the groups of 8 ranks%s, as a multiple of the scan" % (" with percentiles" if key != "wide" else ""), (ranks - one) / one, "x",
                     0.5 if key == "wide" and world.events >= FULL else None, figure=None)  # fmt: skip


def quiet(report, jobs):
    """What ranks cost that have nothing to do."""
    for count in COUNTS:
        cpu = jobs[named(count)].whole(lambda: (time.sleep(2), 0))[1]
        report.value("ranks_%d_idle" % count, "%d idle ranks, processor time per second" % count, cpu / 2 * 1000, "ms", figure=None)


def serving(report, world):
    with contextlib.ExitStack() as stack:
        jobs = {named(count): stack.enter_context(Job(world, world.many, place(world, "reference", count), count, "--output-dir", world.outputs))
                for count in (None, *COUNTS)}  # fmt: skip
        for d in jobs.values():
            d.get("/stats?wait=ready")
        balance(report, jobs, world)
        quiet(report, jobs)
        merged(report, world, jobs)
        answered(report, world, jobs)


# ---- small requests --------------------------------------------------------------------------------------------------------


def add_small(world, folder):
    """The 16 files, and 8 small ones."""
    for path in glob.glob(world.many + "/*.gz"):
        os.link(path, os.path.join(folder, os.path.basename(path)))
    data.generate("-p", 8, "-H", 8, "--events", 160, "-o", folder)


def small_requests(files):
    """(key, what, function that gets a number and returns path and parameters)"""
    return (
        ("info", "/info", lambda i: ("/info", None)),
        ("event_count", "/event-count", lambda i: ("/event-count", {})),
        ("event_count_query", "/event-count with a query", lambda i: ("/event-count", {"query": "dur > %d" % i})),
        ("event_count_file", "/event-count of one small file, with a query", lambda i: ("/event-count", {"file": files[i % len(files)], "query": "dur > %d" % i})),
        ("aggregate_file", "/aggregate of one small file", lambda i: ("/aggregate", {"file": files[i % len(files)]})),
    )  # fmt: skip


def wall(d, path, params):
    """Milliseconds; without parameters it may be answered from the response cache."""
    if params is not None:
        return d.ask(path, **params)[0] * 1000
    begin = time.perf_counter()
    d.get(path)
    return (time.perf_counter() - begin) * 1000


def small(report, world, count=8):
    traces = data.once(os.path.join(world.work, "some-small"), lambda folder: add_small(world, folder))
    files = sorted({os.path.basename(path) for path in data.traces(traces)} - set(os.listdir(world.many)))
    with Job(world, traces, place(world, "small", None), None) as one, Job(world, traces, place(world, "small", count), count) as ranks:
        for d in (one, ranks):
            d.get("/stats?wait=ready")
        for key, what, request in small_requests(files):
            walls = [[wall(d, *request(i)) for d in (one, ranks)] for i in range(40 if world.quick else 200)]
            alone, many = (statistics.median(column) for column in zip(*walls))
            report.value("ranks_small_" + key, "%s through %d ranks, wall time beyond that of one dftracerd" % (what, count), many - alone, "ms", 3,
                         figure=None, note="%.2f ms, one dftracerd %.2f ms" % (many, alone))  # fmt: skip


# ---- the notebook ----------------------------------------------------------------------------------------------------------


def from_nothing(world, index, groups):
    """(wall, cpu) of two ranks, from their start without an index to the groups by cat and name."""
    shutil.rmtree(index, ignore_errors=True)
    with Job(world, world.many, index, 2) as d:
        answer = d.get("/aggregate", group_by="cat,name", agg="count,sum:dur", time_interval="0", wait="ready")
        wall, cpu = time.perf_counter() - d.begin, d.cpu()
    groups.append({(g["cat"], g["name"]): (g["count"], g["dur_sum"]) for g in map(json.loads, answer.splitlines())})
    return wall, cpu


def notebook(report, world):
    """Dask of Debian, for its Python."""
    python, script, groups = "/usr/bin/python3", os.path.join(TOP, "bench", "notebook.py"), []
    if subprocess.run([python, "-c", "import dask.dataframe, distributed"], capture_output=True, check=False).returncode:
        report.leave_out("Dask", "python3-dask and python3-distributed are not installed")
        return
    ours = alternate({"ours": lambda: from_nothing(world, place(world, "notebook", 2), groups)}, world.runs_long)["ours"]
    done = subprocess.run([python, script, world.many], capture_output=True, text=True, check=False)
    said = re.search(r"^\{.*\}$", done.stdout, re.M)
    if done.returncode or not said:
        report.leave_out("Dask", done.stderr[-300:])
        return
    said = json.loads(said.group())
    if {(cat, name): (count, total) for cat, name, count, total in said["groups"]} != groups[0]:
        raise SystemExit("groups by cat and name: Dask has others")
    report.time("ranks_notebook", "indexing with 2 ranks and groups by cat,name", ours, {"Dask %s, 2 workers" % said["version"]: (said["wall"], said["cpu"])}, 1 / 20)


# ---- the whole -------------------------------------------------------------------------------------------------------------


def ranks(report, world):
    if not peers.has("mpirun") or not os.path.exists(os.path.join(BIN, "dftracerd-mpi")):
        report.leave_out("ranks", "no mpirun, or dftracerd-mpi is not built")
        return
    indexing(report, world)
    serving(report, world)
    small(report, world)
    notebook(report, world)


def table(report):
    """Rows of processor times, for docs/BENCHMARKS.md."""
    rows = {row["key"]: row for row in report.rows}
    lines = ["| processor time of all ranks | one dftracerd | 2 ranks | ratio | 8 ranks | ratio | target |", "|---|---|---|---|---|---|---|"]
    for key, row in rows.items():
        eight = rows.get(key.replace("ranks_2_", "ranks_8_", 1), {})
        if key.startswith("ranks_2_") and row["peers"] and eight.get("peers"):
            what = row["what"].replace("2 ranks: ", "").replace(" of 2 ranks", "").replace(", processor time", "")
            one = (row["peers"][ONE] + eight["peers"][ONE]) / 2
            lines.append("| %s | %.2f ms | %.2f ms | %s | %.2f ms | %s | %s |" % (
                what, one, row["ours"], judged(row), eight["ours"], judged(eight), "<= %g" % row["bar"] if row["bar"] else ""))  # fmt: skip
    return "\n".join(lines)


def judged(row):
    return ("%.2f" if row.get("met", True) else "**%.2f**") % row["ratio"]


def others(report):
    """The other rows."""
    return report.markdown(row for row in report.rows if row["key"].startswith("ranks_") and not (row["peers"] and row["unit"] == "ms"))
