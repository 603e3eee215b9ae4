"""Indexing: time, memory, size, start."""

import os
import time

import data
import peers
from measure import Daemon, Memory, alternate, command, index_numbers, peak_of_build, quiet_build

READERS = (("gzip -dc", "gzip"), ("pigz -dc", "pigz"), ("igzip -dc", "igzip"))


def decompressors(report, files):
    """{name: actor} of what only inflates."""
    found = {}
    for name, program in READERS:
        if peers.has(program):
            found[name] = lambda program=program: command("for f in %s; do %s -dc $f; done" % (files, program))
        else:
            report.leave_out(name, "not installed")
    return found


def index_time(report, world, key, folder, index, bar, duck=None):
    """The index stays. Returns the peers' times."""
    actors = {"ours": lambda: command(quiet_build(folder, index)), **decompressors(report, folder + "/*.gz")}
    if duck:
        actors["DuckDB CREATE TABLE"] = lambda: duck.run(
            "CREATE OR REPLACE TABLE events AS " + peers.source_sql(folder + "/*.pfw.gz"))  # fmt: skip
    seen = alternate(actors, world.runs_long, enough=world.enough)
    ours = seen.pop("ours")
    if report.anchor is None and "gzip -dc" in seen:
        report.anchor = seen["gzip -dc"][1]
    report.time("index_" + key, "indexing %s" % key.replace("_", " "), ours, seen, bar)
    of = "DuckDB CREATE TABLE"
    if of in seen:
        report.time("index_%s_duckdb" % key, "indexing 16 files, against DuckDB reading all columns", ours, {of: seen[of]}, 0.35)
    return seen


def index_memory(report, world, key, folder, index):
    peak = peak_of_build(folder, index, "-w", "8")
    report.value("rss_" + key, "peak anonymous memory of indexing %s, 8 workers" % key.replace("_", " "), peak / 2**20, "MiB", 256)


def reference_size(report, world, duck):
    used = index_numbers(world.index)["index"] / 1e6
    ref = {}
    try:
        if duck:
            ref["zstd Parquet"] = duck.write_parquet("events", "SELECT * FROM events") / 1e6
            duck.run("CHECKPOINT")
    except RuntimeError as e:
        report.leave_out("Parquet of the reference data", e)
    report.value("size_reference", "size of the index, reference data", used, "MB", 1.25 if ref else None, peers=ref)


def quoted(files):
    return "[" + ",".join("'%s'" % f.replace("'", "''") for f in files) + "]"


def real_parquet(duck, name, folder):
    """Bytes of the same events as zstd Parquet, columns as DuckDB finds them in all lines."""
    return duck.write_parquet("real", "SELECT * FROM read_json(%s, format='newline_delimited', union_by_name=true, "
                              "ignore_errors=true, sample_size=-1) WHERE name IS NOT NULL" % quoted(data.traces(folder)))  # fmt: skip


def folder_size(report, world, duck, name, folder):
    index = os.path.join(world.work, "index-real")
    command(quiet_build(folder, index))
    ours, ref = index_numbers(index), {}
    try:
        if duck:
            ref["zstd Parquet"] = real_parquet(duck, name, folder) / 1e6
    except RuntimeError as e:
        report.leave_out("Parquet of %s" % name, e)
    note = "%.1f bytes per object; an empty index has %.2f MB" % (ours["index"] / max(ours["objects"], 1), world.empty / 1e6)
    report.value("size_" + name, "size of the index, %s" % name, ours["index"] / 1e6, "MB", 1.25 if ref else None, peers=ref, note=note)


def sizes(report, world, duck):
    empty = os.path.join(world.work, "none")
    os.makedirs(empty, exist_ok=True)
    command(quiet_build(empty, os.path.join(world.work, "index-real")))
    world.empty = index_numbers(os.path.join(world.work, "index-real"))["index"]
    folders = list(data.real_folders())
    if not folders:
        report.leave_out("index size on real traces", "%s does not exist" % data.REAL)
    for name, folder in folders:
        folder_size(report, world, duck, name, folder)
    repeated = data.cm1_repeated(os.path.join(world.top, "real"))
    if repeated:
        folder_size(report, world, duck, "cm1x%d" % data.REPEATS, repeated)


def start_once(report, world, folder, index):
    """(seconds until listening, until ready) of a daemon on an indexed root."""
    with Daemon(folder, index, world.threads) as d:
        while b'"ready"' not in d.get_any("/readyz"):
            time.sleep(0.002)
        return d.listening, time.perf_counter() - d.begin


def start(report, world, count=10000):
    folder = data.many_files(world.top, count, 20 * count)
    index = os.path.join(world.top, "index-%d" % count)
    wall, cpu = command(quiet_build(folder, index))
    start_once(report, world, folder, index)
    seen = sorted(start_once(report, world, folder, index) for _ in range(5))
    report.value("start_listening", "start with %d indexed files, until listening" % count, sorted(s[0] for s in seen)[2] * 1000, "ms", 100, figure=None)
    report.value("start_ready", "start with %d indexed files, until ready" % count, sorted(s[1] for s in seen)[2] * 1000, "ms", 1000, figure=None)
    report.value("index_many_files", "indexing %d small files, processor time per file" % count, cpu / count * 1e6, "us", note="%.2f s in all" % wall, figure=cpu)
    with Daemon(folder, index, world.threads) as d:
        d.get("/stats?wait=ready")
        report.value("rss_many_files", "anonymous memory at rest, %d files" % count, Memory(d.pid).first / 2**20, "MiB", 256)
