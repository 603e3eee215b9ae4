"""notebook.py FOLDER - what the notebook of DFProfiler does with traces: loads all lines into a Dask data frame, groups by cat and name.

Its index of lines (zindex) is left out: each file is read once, from its beginning. Hashes are kept as they are, intervals are
text that is made without a library: all this is faster than the notebook. The cluster is not part of the time."""

import glob
import gzip
import json
import math
import os
import sys
import time

import dask
import dask.bag
from dask.distributed import Client, LocalCluster, wait

PARTITION = 128 * 1024**2
COLUMNS = {"hhash": "object", "pid": "float64", "tid": "float64", "cat": "object", "name": "object", "type": "float64", "ts": "float64", "te": "float64",
           "dur": "float64", "interval": "object", "size": "object", "fhash": "object", "hash": "object"}  # fmt: skip


def load_lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as f:
        return f.readlines()


def load_metadata(val, d):
    d["type"] = {"FH": 1, "HH": 2}.get(val["name"])
    if d["type"] and "args" in val:
        d["name"], d["hash"] = val["args"].get("name"), val["args"].get("value")


def load_event(val, d):
    d["type"] = 0
    args = val.get("args", {})
    for column, member in (("hhash", "hhash"), ("size", "size_sum"), ("fhash", "fhash")):
        if member in args:
            d[column] = args[member]


def load_trace(line):
    d = {}
    if not line or line[0] in "[]\n":
        return d
    val = json.loads("".join([i if ord(i) < 128 else "#" for i in line]))
    d.update(name=val["name"], cat=val["cat"], pid=val.get("pid"), tid=val.get("tid"), ts=0, dur=0)
    if "ts" in val:
        d["ts"] = d["te"] = int(val["ts"])
    if "dur" in val:
        d["dur"] = int(val["dur"])
    d["interval"] = "()"
    if d["dur"] > 0:
        d["te"] = d["ts"] + d["dur"]
        d["interval"] = "[%d,%d)" % (d["ts"], d["te"])
    (load_metadata if val["ph"] == "M" else load_event)(val, d)
    return d


def grouped(files, size):
    bags = dask.bag.from_delayed([dask.delayed(load_lines)(path) for path in files])
    frame = bags.map(load_trace).filter(lambda d: "name" in d).to_dataframe(meta=COLUMNS)
    events = frame.repartition(npartitions=math.ceil(size / PARTITION)).persist()
    wait(events)
    groups = events.query("type == 0").groupby(["cat", "name"])["dur"].agg(["count", "sum"]).compute()
    return [[cat, name, int(row["count"]), int(row["sum"])] for (cat, name), row in groups.iterrows()]


def used(client):
    return sum(client.run(lambda: sum(os.times()[:2])).values()) + sum(os.times()[:2])


def main():
    files = sorted(glob.glob(sys.argv[1] + "/*.pfw.gz"))
    size = sum(256 * load_count(path) for path in files)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        begin, before = time.perf_counter(), used(client)
        groups = grouped(files, size)
        print(json.dumps(dict(version=dask.__version__, wall=time.perf_counter() - begin, cpu=used(client) - before, groups=groups)), flush=True)


def load_count(path):
    """Lines of a file."""
    with gzip.open(path, "rb") as f:
        return sum(1 for _ in f)


if __name__ == "__main__":
    main()
