"""What is asked when nobody writes: every answer must be exactly the last state of the files."""

import os
import time

from judge import Wrong
from lines import COUNTER, HEAD, SHAPES, duration, event_lines, events, line, signature, text

SECONDS = 120  # until the daemon must have seen everything


def same(got, wanted, what):
    if got != wanted:
        raise Wrong("%s: %.500r, not %.500r" % (what, got, wanted))


def groups(asker, **more):
    """({path: {serial: shapes}}, complete) of all files."""
    answer = asker.ask("/stats", [("report", "detailed"), ("group_by", "trace,pid,cat,name"), ("top_n", "0"), *more.items()])
    if answer.status != 200:
        return {}, False
    found = {}
    for g in answer.json()["groups"]:
        shapes = found.setdefault(g["trace"], {}).setdefault(g["pid"], [(0, 0)] * 6)
        shapes[SHAPES.index((g["cat"], g["name"]))] = (g["count"], g["duration"]["sum"])
    return {p: {s: tuple(shapes) for s, shapes in by.items()} for p, by in found.items()}, answer.asked.complete


def wanted_groups(present):
    return {p: {c.serial: signature(c.serial, c.ranges)} for p, c in present.items() if events(c.ranges)}


def difference(got, wanted):
    return "; ".join("%s: %r, not %r" % (p, got.get(p), wanted.get(p)) for p in sorted(set(got) | set(wanted)) if got.get(p) != wanted.get(p))


def wait_until_seen(asker, present):
    """Seconds until the daemon tells the last state, and until it says that this is complete."""
    wanted, begin, seen = wanted_groups(present), time.monotonic(), None
    while True:
        got, complete = groups(asker, wait="ready")
        if got == wanted and seen is None:
            seen = time.monotonic() - begin
        if seen is not None and got != wanted:
            raise Wrong("after all was seen: " + difference(got, wanted)[:2000])
        if seen is not None and complete:
            return seen, time.monotonic() - begin
        if time.monotonic() - begin > SECONDS:
            raise Wrong("not seen within %d s (complete: %s): %.2000s" % (SECONDS, complete, difference(got, wanted)))
        time.sleep(0.05)


def check_info(asker, root, present):
    got = asker.ask("/info", [("detail", "files")]).json()
    same(sorted(f["path"] for f in got["files"]), sorted(present), "files of /info")
    for f in got["files"]:
        content, size = present[f["path"]], os.stat(os.path.join(root, f["path"])).st_size
        objects = sum(b - a for a, b in content.ranges)
        same((f["compressed_bytes"], f["state"]), (size, "damaged" if content.damaged else "ready"), f["path"])
        same((f["events"] + f["counters"] + f["metadata"], f["invalid"], f["lines"]),
             (objects, content.junk, objects + content.junk), f["path"])  # fmt: skip


def check_durations(asker, present):
    """All durations, one by one."""
    values = sorted(duration(c.serial, i - HEAD) for c in present.values() for i in event_lines(c.ranges) if (i - HEAD) % 6 != COUNTER)
    for more in ((), (("scan", "true"),), (("exact", "true"),)):
        got = asker.ask("/stats", [("report", "duration"), *more]).json()["duration"]
        same((got["count"], got["sum"]), (len(values), sum(values)), "durations")
        if values:
            same((got["min"], got["max"]), (values[0], values[-1]), "durations")
    for percent in (10, 25, 50, 75, 90, 95, 99):
        if values:
            same(got["p%d" % percent], values[max(-(-percent * len(values) // 100), 1) - 1], "p%d" % percent)


def check_text(asker, path, content):
    """What /view and /read give of one file, byte for byte."""
    wanted = "".join(line(content.serial, i) + "\n" for i in event_lines(content.ranges)).encode()
    same(asker.ask("/view", [("file", path), ("metadata", "false")]).body, wanted, "/view of " + path)
    if not content.junk:
        wanted = b"".join(text(content.serial, a, b) for a, b in content.ranges)
        same(asker.ask("/read", [("file", path)]).body, wanted, "/read of " + path)


def check_all(asker, root, present, random):
    """(seconds until seen, seconds until complete)"""
    took = wait_until_seen(asker, present)
    for more in ({}, {"scan": "true"}, {"query": "pid > 0"}):
        got, _complete = groups(asker, **more)
        wanted = wanted_groups(present)
        if got != wanted:
            raise Wrong("%r: %.2000s" % (more, difference(got, wanted)))
    check_info(asker, root, present)
    check_durations(asker, present)
    for path in random.sample(sorted(present), min(6, len(present))):
        check_text(asker, path, present[path])
    return took
