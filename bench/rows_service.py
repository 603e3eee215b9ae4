"""What streams, what is small, and what users do today."""

import gzip
import http.client
import itertools
import json
import os
import re
import select
import shutil
import statistics
import subprocess
import sys
import time
import urllib.parse

import peers
from measure import TOP, Daemon, Memory, alternate, command
from rows_query import FILTER

sys.path.insert(0, os.path.join(TOP, "tests", "http", "shared"))
from crowd import distinct, latencies, percentile, same  # noqa: E402
from web import write_trace  # noqa: E402

TENTH = ("import gzip, json, sys, collections\n"
         "seen = collections.Counter()\n"
         "for line in gzip.open(sys.argv[1], 'rt'):\n"
         "    try:\n"
         "        e = json.loads(line)\n"
         "    except ValueError:\n"
         "        continue\n"
         "    if e.get('cat') == 'POSIX' and e.get('dur', 0) > 1000:\n"
         "        seen[e['name']] += 1\n")  # fmt: skip
HARD = " or ".join("(dur > %d and dur < %d)" % (3 * i, 3 * i + 2) for i in range(4900))  # for seconds


def export(report, world, d):
    actors = {"ours": lambda: d.curl("/view?phase=any")}
    for name in ("igzip", "pigz", "gzip"):
        if peers.has(name):
            actors[name + " -dc"] = lambda name=name: command("for f in %s/*.gz; do %s -dc $f; done" % (world.many, name))
    with Memory(d.pid) as memory:
        seen = alternate(actors, world.runs_long, enough=world.enough)
    ours = seen.pop("ours")
    bar = 1.25 if "igzip -dc" in seen else None  # 0.8 x its speed
    report.time("export_lines", "export of all lines, uncompressed (/view)", ours, seen, bar, note="%.0f MB/s" % (d.size / ours[0] / 1e6))
    report.value("rss_export", "peak anonymous memory of exporting all lines", memory.peak / 2**20, "MiB", note="%.0f MiB before" % (memory.first / 2**20))
    select = "/view?select=name,cat,pid,tid,ts,dur,args.hhash,args.fhash,args.ret,size"
    with Memory(d.pid) as memory:
        rows = alternate({"ours": lambda: d.curl(select)}, world.runs_long)["ours"]
    report.time("export_rows", "export of all events as NDJSON rows of 10 columns (/view)", rows, {}, note="%.0f MB" % (d.size / 1e6))
    report.value("export_rows_speed", "export of NDJSON rows, per core", d.size / rows[1] / 1e6, "MB/s", 300, higher=True, figure=None)
    report.value("rss_rows", "peak anonymous memory of exporting NDJSON rows", memory.peak / 2**20, "MiB", note="%.0f MiB before" % (memory.first / 2**20))


def make_tenth(world):
    """A file with the first tenth of the events."""
    path = os.path.join(world.work, "tenth.gz")
    if not os.path.exists(path):
        source = sorted(os.listdir(world.many))
        with gzip.open(path + ".part", "wb", 6) as out:
            for name in source[: max(1, round(len(source) / 10))]:
                with gzip.open(os.path.join(world.many, name)) as f:
                    shutil.copyfileobj(f, out)
        os.rename(path + ".part", path)
    part = sum(os.path.getsize(os.path.join(world.many, n)) for n in os.listdir(world.many)) / os.path.getsize(path)
    return path, part


def times(actor, factor):
    wall, cpu = actor()
    return wall * factor, cpu * factor


def by_hand(report, world, d, duck):
    """The names of slow POSIX calls, as people find them today: a tenth of the data, times ten."""
    path, factor = make_tenth(world)
    actors = {}
    if peers.has("jq"):
        actors["zcat | jq (tenth x 10)"] = "zcat %s | jq -R -c 'fromjson? | select(.cat == \"POSIX\" and .dur > 1000) | .name' | sort | uniq -c" % path
    else:
        report.leave_out("zcat | jq", "not installed")
    actors["Python json, gzip (tenth x 10)"] = "%s -c \"$TENTH\" %s" % (sys.executable, path)
    os.environ["TENTH"] = TENTH
    actors = {name: lambda text=text: times(lambda: command(text), factor) for name, text in actors.items()}
    if duck:
        sql = "SELECT name,count(*) FROM (%s) WHERE cat='POSIX' AND dur>1000 GROUP BY ALL" % world.source
        actors["DuckDB ndjson.gz"] = lambda: duck.run(sql)
    actors["zcat | grep -c"] = lambda: command(
        "zcat %s/*.gz | grep -cE '\"cat\":\"POSIX\".*\"dur\":[0-9]{4,}'" % world.many)  # fmt: skip
    seen = alternate(actors, 1)
    ours = alternate({"ours": lambda: d.ask("/stats", report="names", query=FILTER)}, world.runs, warm=1)["ours"]
    report.time("by_hand", "names of slow POSIX calls", ours, seen)


def ask_beside(d, name, path, params):
    asker = http.client.HTTPConnection("127.0.0.1", d.port, timeout=900)
    asker.request("POST", path, urllib.parse.urlencode(params), {"Content-Type": "application/x-www-form-urlencoded", "X-Request-Id": name})
    return asker


def cancel_once(d, name, path, params, after):
    """(wall, cpu of the daemon) from POST /cancel, so many seconds of processor time after the question, until no worker has to do with it any more;
    None where it had its answer before."""
    before = d.cpu()
    asker = ask_beside(d, name, path, params)
    while d.cpu() - before < after:
        if select.select([asker.sock], [], [], 0.002)[0]:
            asker.close()
            return None
    before, begin = d.cpu(), time.perf_counter()
    d.connection.request("POST", "/cancel", json.dumps({"id": name}), {"Content-Type": "application/json"})
    said = d.connection.getresponse().read()
    while not re.search(rb"^dftracerd_http_requests_queued 0$", d.get("/metrics"), re.M):
        time.sleep(0.001)
    took = time.perf_counter() - begin, d.cpu() - before
    status = asker.getresponse().status
    asker.close()
    if status == 200 and b"not_found" in said:
        return None
    if status != 499:
        raise RuntimeError("the cancelled query returned %d; /cancel: %s" % (status, said))
    return took


def tell_cancelled(report, key, what, seen):
    seen = [took for took in seen if took]
    took = sorted(wall * 1000 for wall, _ in seen)
    report.value(key, "from POST /cancel until the query has stopped, longest of %d%s" % (len(seen), what), took[-1], "ms", 100, figure=None,
                 note="median %.1f ms; at most %.1f ms of processor time" % (took[len(took) // 2], 1000 * max(cpu for _, cpu in seen)))  # fmt: skip


def cancelled(report, world, d):
    tell_cancelled(report, "cancel_to_idle", "", [cancel_once(d, "cancelled-%d" % i, "/stats", {"report": "duration", "query": HARD}, 0.3) for i in range(9)])
    seen, number = [], itertools.count(10**12)
    for path, params in (("/aggregate", {"group_by": "ts"}), ("/call-tree", {}), ("/call-tree", {"analyze": "true"})):
        def new(params=params):
            return {**params, "query": "dur < %d" % next(number)}  # no answer that is kept

        before = d.cpu()
        whole = ask_beside(d, "whole", path, new())
        whole.getresponse()
        work = d.cpu() - before
        whole.close()
        seen += [cancel_once(d, "placed-%d" % len(seen), path, new(), work * (i + 0.5) / 9) for i in range(8)]
    tell_cancelled(report, "cancel_groups", " (groups by ts and call trees, at different stages)", seen)


def wrk(report, world, d, key, what, path):
    if not peers.has("wrk"):
        report.leave_out(what, "wrk is not installed")
        return
    before = d.cpu()
    said = subprocess.run(["wrk", "-t1", "-c16", "-d1s" if world.quick else "-d3s", d.url + path], capture_output=True, text=True, check=True).stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said).group(1))
    total = int(re.search(r"(\d+) requests in", said).group(1))
    if "Non-2xx" in said:
        raise RuntimeError("wrk: " + said)
    each = (d.cpu() - before) / total
    report.value(key, what, rate, "req/s", 30000, higher=True, note="%.1f us of the daemon's processor time per request" % (each * 1e6), figure=each)


def small(report, world, d):
    json.loads(d.get("/stats"))
    wrk(report, world, d, "wrk_healthz", "/healthz, with wrk on the same cores", "healthz")
    wrk(report, world, d, "wrk_stats", "/stats from the response cache, with wrk on the same cores", "stats")


def burst(d, clients, paths, seconds=0.5):
    """(median, 99th percentile) of what answers take within so long, and the daemon's processor time of each."""
    before = d.cpu()
    took, _ = latencies(d.port, clients, seconds, paths)
    return statistics.median(took), percentile(took, 0.99), (d.cpu() - before) / len(took)


def crowd(report, world, d, of, seconds, rounds):
    """Equal /stats by 64 clients at once, beside what one of them waits alone: tests/soak/load has the same in long."""
    clients, number, seen = 64, [0], []
    for _ in range(rounds):
        one, _, _ = burst(d, 1, distinct(number), seconds)
        p50, p99, cpu = burst(d, clients, same(number, clients), seconds)
        seen.append((p99 / one, p50 / one, p99, cpu))
    p99, p50, wall, cpu = (statistics.median(column) for column in zip(*seen))
    report.value("crowd_identical" + ("_all" if of else ""), "p99 of %d clients' identical /stats of %s, as a multiple of one client's median" % (clients, of or "400,000 events"), p99, "x", 3, figure=cpu,
                 note="median %.1f x; p99 %.2f ms, %.0f us of processor time per request" % (p50, wall * 1e3, cpu * 1e6))  # fmt: skip


def crowded(report, world):
    """Of 400,000 events, and of all."""
    traces = os.path.join(world.work, "crowd")
    write_trace(os.path.join(traces, "a.pfw.gz"), 20000, 20)
    with Daemon(traces, traces + "-index", world.threads, "--answer-memory", "1MiB") as d:
        d.get("/stats?wait=ready")
        crowd(report, world, d, "", 0.5, 3 if world.quick else 11)
    if world.quick:
        return
    with Daemon(world.many, world.index, world.threads, "--answer-memory", "1MiB") as d:
        d.get("/stats?wait=ready")
        crowd(report, world, d, "all events", 1, 5)
