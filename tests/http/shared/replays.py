"""For the tests of the replay: lines of traces, the program, its report, and what lies in a directory."""

import gzip
import json
import os
import subprocess

from web import BUILD, equal

PROGRAM = os.path.join(os.path.abspath(BUILD), "bin/dftracerd-replay")
CLIENT = os.path.join(os.path.abspath(BUILD), "bin/dftracer_replay")


def line(name, ts, dur=10, cat="POSIX", pid=1, tid=1, **args):
    return json.dumps({"name": name, "cat": cat, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "ph": "X", "args": args})


def run(folder, text, *options, pipe=False, program=PROGRAM):
    """Status, standard output and error of the program with this input: a file, or a pipe."""
    options = list(options)
    if pipe:
        r = subprocess.run([program, *options], input=text.encode(), capture_output=True, cwd=folder.base, check=False)
    else:
        with open(folder.path(".input"), "w+", encoding="utf-8") as f:
            f.write(text)
            f.seek(0)
            r = subprocess.run([program, *options], stdin=f, capture_output=True, cwd=folder.base, check=False)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def report(folder, text, *options, status=0, pipe=False):
    got, out, err = run(folder, text, "--format", "json", *options, pipe=pipe)
    equal(got, status, out + err)
    return json.loads(out)


def reasons(answer, key="not_replayed"):
    return {(r["name"], r["reason"]): r["count"] for r in answer[key]}


def snapshot(path):
    found = {}
    for base, dirs, files in os.walk(path):
        for name in dirs + files:
            p = os.path.join(base, name)
            s = os.lstat(p)
            found[os.path.relpath(p, path)] = (s.st_mode, s.st_size, s.st_mtime_ns, s.st_nlink)
    return found


ROUND = [
    line("mkdir", 1000, fname="/out", mode=511, ret=0),
    line("open", 1100, fname="/out/a", flags=66, mode=438, ret=7),
    line("write", 1200, fname="/out/a", fd=7, count=5000, ret=5000),
    line("pwrite", 1300, fname="/out/a", fd=7, count=100, offset=9000, ret=100),
    line("lseek", 1400, fname="/out/a", fd=7, offset=1000, whence=0, ret=1000),
    line("read", 1500, fname="/out/a", fd=7, count=8000, ret=8000),
    line("ftruncate", 1550, fname="/out/a", fd=7, length=20000, ret=0),
    line("close", 1600, fname="/out/a", fd=7, ret=0),
    line("open", 1650, fname="/in/big", flags=0, ret=8, tid=2),
    line("pread", 1700, fname="/in/big", fd=8, count=1048576, offset=1 << 33, ret=1048576, tid=2),
    line("readv", 1750, fname="/in/big", fd=8, count=300, ret=300, tid=2),
    line("close", 1800, fname="/in/big", fd=8, ret=0, tid=2),
    line("fopen", 1900, cat="STDIO", fname="/in/text", mode="r", pid=2, tid=3),
    line("fread", 1950, cat="STDIO", fname="/in/text", size=8, count=100, ret=100, pid=2, tid=3),
    line("fclose", 1990, cat="STDIO", fname="/in/text", pid=2, tid=3),
    line("rename", 2000, fname="/out/a", newpath="/out/b", ret=0),
    line("open", 2050, fname="/none", flags=0, ret=-1),
    line("unlink", 2100, fname="/out/b", ret=0),
    line("rmdir", 2200, fname="/out", ret=0),
]


def shape(lines):
    """Of each thread the calls in their order: names, files, sizes, offsets."""
    threads = {}
    for e in sorted(lines, key=lambda e: e["ts"]):
        a = e["args"]
        row = [e["name"], e["cat"], a["fname"], a.get("fd"), a.get("offset"), a.get("count"), a.get("size")]
        if e["name"] in ("read", "write", "pread", "pwrite", "readv", "fread", "lseek"):
            row.append(a["ret"])
        threads.setdefault((e["pid"], e["tid"]), []).append(row)
    return threads


def written(path):
    """The events of a written trace."""
    with gzip.open(path, "rt", encoding="utf-8") as f:
        lines = f.read().split("\n")
    equal([lines[0], lines[-2:]], ["[", ["]", ""]], "a whole trace")
    return [json.loads(row) for row in lines[1:-2]]
