"""What is measured: the reference data of our generator, real traces, and a real trace repeated. Kept below build/bench."""

import glob
import gzip
import os
import re
import shutil
import subprocess

import dense
from measure import BIN, TOP

SHARED = os.environ.get("DFTRACERD_SHARED") or os.path.join(os.path.dirname(TOP), "shared")
REAL = os.path.join(SHARED, "traces")
REPEATS = 15


def once(folder, make):
    """The folder, made by make(folder) where it was not yet."""
    done = os.path.join(folder, ".done")
    if not os.path.exists(done):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        make(folder)
        open(done, "w", encoding="ascii").close()
    return folder


def generate(*options):
    subprocess.run([BIN + "/gen-fake-trace", *map(str, options)], check=True, stdout=subprocess.DEVNULL)


def same(events):
    return "--reference", "--events", events, "--members", "100000M"


def many(work, events):
    """A folder with 16 gzip files of one member each."""
    return once(os.path.join(work, "many"), lambda d: generate(*same(events), "--files", 16, "-o", d))


def reference(work, events):
    """(folder with one gzip file of one member, folder with 16)"""
    return once(os.path.join(work, "one"), lambda d: generate(*same(events), "--single", d + "/trace.pfw.gz")), many(work, events)


def dense_many(work, events):
    """The same of the dense data, see dense.py."""
    return once(os.path.join(work, "dense"), lambda d: dense.write(d, events))


def many_files(work, count, events):
    """`count` small files, all different."""
    return once(os.path.join(work, "files-%d" % count), lambda d: generate("-p", count, "-H", 8, "--events", events, "-o", d))


def real_folders():
    """(name, directory) of each folder of real traces."""
    for folder in sorted(glob.glob(REAL + "/*/")):
        if traces(folder) and not folder.endswith("/excerpts/"):
            yield os.path.basename(folder.rstrip("/")), folder.rstrip("/")


def traces(folder):
    return sorted(glob.glob(folder + "/*.pfw") + glob.glob(folder + "/*.pfw.gz"))


def shifted(events, by):
    """Lines of the tracer 1.0.5 with later times, all else as it was."""
    return re.sub(rb'"ts":(\d+)', lambda m: b'"ts":%d' % (int(m.group(1)) + by), events)


def repeat_cm1(folder):
    """Each file's events REPEATS times one after another: what a longer run of the same program would have written."""
    files = glob.glob(REAL + "/cm1-*/*.pfw.gz")
    texts = {path: gzip.open(path).read().rstrip(b"\n]") + b"\n" for path in files}
    times = [int(t) for text in texts.values() for t in re.findall(rb'"ts":(\d+)', text) if int(t)]
    span = max(times) - min(times) + 1000000
    for path, text in texts.items():
        events = b"".join(line for line in text.splitlines(True) if b'"ph":"X"' in line)
        with gzip.open(os.path.join(folder, os.path.basename(path)), "wb", 6) as out:
            out.write(text + b"".join(shifted(events, i * span) for i in range(1, REPEATS)))


def cm1_repeated(work):
    """The folder, None where the real trace is not there."""
    if not glob.glob(REAL + "/cm1-*/*.pfw.gz"):
        return None
    return once(os.path.join(work, "cm1x%d" % REPEATS), repeat_cm1)
