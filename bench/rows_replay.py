"""dftracerd-replay: how fast it reads and plans events, and how late its calls are."""

import json
import os
import subprocess

import peers
from measure import BIN, alternate, command, median

PROGRAM = os.path.join(BIN, "dftracerd-replay")
LINES, RATE, SECONDS = 1_000_000, 20_000, 3


def lines_of(world):
    """The first events of the reference data, uncompressed."""
    path = os.path.join(world.work, "lines")
    if not os.path.exists(path):
        command("(cat %s/*.gz | gzip -dc || true) | head -n %d >%s.part && mv %s.part %s" % (world.many, LINES, path, path, path))
    return path


def tenth(path, text):
    """(wall, cpu) of a command that reads a tenth of the lines, times ten."""
    wall, cpu = command("grep -m %d '^{' %s | %s" % (LINES // 10, path, text))
    return wall * 10, cpu * 10


def calls():
    """Reads of eight processes, 20,000 a second."""
    step = 1_000_000 // RATE
    for i in range(RATE * SECONDS):
        args = {"fname": "/data/%d" % (i % 8), "offset": i % 1000 * 4096, "count": 4096, "ret": 4096}
        yield json.dumps({"name": "pread", "cat": "POSIX", "pid": i % 8, "tid": i % 8, "ts": 1000 + step * i, "dur": 20, "ph": "X", "args": args})


def late(world, *options):
    """(p99, maximum) in microseconds."""
    path = os.path.join(world.work, "calls")
    if not os.path.exists(path):
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(calls()) + "\n")
    with open(path, encoding="utf-8") as f:
        r = subprocess.run([PROGRAM, "--format", "json", *options], stdin=f, capture_output=True, check=True, cwd=world.work)
    lateness = json.loads(r.stdout)["lateness"]
    return lateness["p99"], lateness["max"]


def replay(report, world):
    path = lines_of(world)
    actors = {"ours": lambda: command("%s --no-timing --dry-run <%s" % (PROGRAM, path))}
    if peers.has("jq"):
        actors["jq -c . (tenth x 10)"] = lambda: tenth(path, "jq -c .")
    actors["Python json (tenth x 10)"] = lambda: tenth(path, "python3 -c 'import sys, json\nfor line in sys.stdin: json.loads(line)'")
    actors["wc -l"] = lambda: command("wc -l <%s" % path)
    seen = alternate(actors, world.runs, warm=1, enough=world.enough)
    ours = seen.pop("ours")
    report.time("replay_plan", "1 M events read and planned (dftracerd-replay --dry-run)", ours, seen, 0.1)
    report.value("replay_rate", "events that a second of processor time reads and plans", LINES / ours[1] / 1e6, "M", 1, higher=True, figure=None)
    for key, what, options in (("replay_late", "lateness of 20,000 calls a second, p99", ()),
                               ("replay_late_processes", "the same with --processes", ("--processes",))):  # fmt: skip
        p99, most = median([late(world, *options) for _ in range(world.runs_long)])
        report.value(key, what, p99, "us", 1000, note="max %.0f us" % most, figure=None)
