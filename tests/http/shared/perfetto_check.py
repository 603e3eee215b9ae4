"""What Perfetto takes without an error, by a validator of our own and by its trace_processor."""

import json
import math
import os
import re
import subprocess

import npm
from web import HERE, SANITIZED, Skip, check

LEVELS = 512


def no_constant(text):
    raise AssertionError("%s is no JSON" % text)


def once(pairs):
    keys = [k for k, _ in pairs]
    check(len(set(keys)) == len(keys), "a key comes twice: %.200s" % keys)
    return dict(pairs)


def number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v)


def events_of(body):
    """Strict JSON in UTF-8, without the escapes that Perfetto does not survive."""
    check(body[:128].lstrip().startswith(b'{"'), "the importer does not know it: %r" % body[:20])
    check(not re.search(rb"\\u[dD][89a-fA-F]", body), "a surrogate is escaped")
    whole = json.loads(body.decode("utf-8"), parse_constant=no_constant, object_pairs_hook=once)
    check(set(whole) == {"traceEvents"}, "other members: %s" % set(whole))
    return whole["traceEvents"]


def check_event(e):
    check(isinstance(e.get("name"), str) and e["ph"] in ("M", "X", "b", "e", "C", "i"), str(e)[:200])
    if e["ph"] == "M":
        check(e["name"] in ("process_name", "thread_name", "root_process", "trace_metadata", "process_sort_index"), e["name"])
        check("_name" not in e["name"] or (isinstance(e["args"]["name"], str) and e["args"]["name"]), "an empty name")
        return
    check(isinstance(e.get("cat"), str), str(e)[:200])
    check(all(isinstance(e[k], int) and 0 <= e[k] < 1 << 31 for k in ("pid", "tid")) and e["pid"] > 0, str(e)[:200])
    check(number(e["ts"]) and 0 <= e["ts"] <= 9.2e15, "ts %s" % e["ts"])
    if e["ph"] == "X":
        check(number(e["dur"]) and e["dur"] >= 0, "dur %s" % e["dur"])
    if e["ph"] == "i":
        check(e["s"] in ("t", "p"), "no scope")
    if e["ph"] in "be":
        check(isinstance(e["id"], str) and e["id"], "no id")
    if e["ph"] == "C":
        check(e["args"] and all(number(v) for v in e["args"].values()), "a counter of no number: %s" % str(e)[:300])


def ns(us):
    """Nanoseconds as Perfetto reads microseconds: whole ones exactly, others as a double."""
    return us * 1000 if isinstance(us, int) else round(us * 1000)


def slices_of(events):
    """(pid, tid, start, duration, name) of each slice, in nanoseconds as Perfetto has them."""
    begun, found = {}, []
    for e in events:
        if e["ph"] in "be":
            key = (e["pid"], e["cat"], e["id"])
            if e["ph"] == "b":
                begun[key] = e
            else:
                found.append((e["pid"], e["tid"], ns(begun[key]["ts"]), ns(e["ts"]) - ns(begun[key]["ts"]), e["name"]))
        elif e["ph"] in "Xi":
            found.append((e["pid"], e["tid"], ns(e["ts"]), ns(e["dur"]) if e["ph"] == "X" else 0, e["name"]))
    return found


def check_nesting(events):
    lanes = {}
    for pid, tid, start, dur, _ in slices_of([e for e in events if e["ph"] == "X"]):
        lanes.setdefault((pid, tid), []).append((start, -(start + dur)))
    for slices in lanes.values():
        ends = []
        for start, end in sorted(slices):
            while ends and ends[-1] <= start:
                ends.pop()
            check(not ends or ends[-1] >= -end, "slices overlap")
            ends.append(-end)
            check(len(ends) <= LEVELS, "too deep")


def check_pairs(events):
    open_ids = {}
    for e in events:
        key = (e["pid"], e.get("cat"), e.get("id")) if e["ph"] in "be" else None
        if e["ph"] == "b":
            check(key not in open_ids, "an id is open twice: %s" % (key,))
            open_ids[key] = e["ts"]
        elif e["ph"] == "e":
            check(open_ids.pop(key) <= e["ts"], "it ends before it begins")
    check(not open_ids, "%d never end" % len(open_ids))


def validate(body):
    """The events, of which there is nothing to complain."""
    events = events_of(body)
    for e in events:
        check_event(e)
    check_nesting(events)
    check_pairs(events)
    names = [e["pid"] for e in events if e["name"] == "process_name"]
    check(len(set(names)) == len(names), "a process has two names")
    check({e["pid"] for e in events if e["ph"] != "M"} <= set(names), "a process has no name")
    return events


SQL = {
    "slices": "SELECT count(*) FROM slice", "counters": "SELECT count(*) FROM counter", "depth": "SELECT ifnull(max(depth) + 1, 0) FROM slice",
    "open": "SELECT count(*) FROM slice WHERE dur < 0", "processes": "SELECT count(*) FROM process WHERE pid > 0",
    "names": "SELECT count(DISTINCT name) FROM slice", "times": "SELECT ifnull(sum(ts % 1000000007 + dur % 1000000009), 0) FROM slice", "by_process":
    "SELECT pid, count(*) FROM slice JOIN thread_track ON slice.track_id = thread_track.id JOIN thread USING (utid) JOIN process USING (upid) GROUP BY pid",
    "counters_by_process":
    "SELECT pid, count(*) FROM counter JOIN process_counter_track t ON counter.track_id = t.id JOIN process USING (upid) GROUP BY pid",
}  # fmt: skip


def count(events, ph, each=lambda e: 1):
    """By process; what is of the whole process is on none of its threads."""
    by = {}
    for e in events:
        if e["ph"] in ph and e.get("s") != "p":
            by[e["pid"]] = by.get(e["pid"], 0) + each(e)
    return by


def imported(folder, paths):
    """A list of what SQL found, one a file."""
    got = subprocess.run(["node", "--max-old-space-size=3000", os.path.join(HERE, "perfetto_import.mjs"), folder, *paths, "--", *SQL.values()],
                         capture_output=True, text=True, check=False)  # fmt: skip
    check(got.returncode == 0, got.stderr[-2000:])
    found = []
    for line in got.stdout.splitlines():
        answer = json.loads(line)
        check(answer["error"] is None and answer["stats"] == [], str((answer["error"], answer["stats"]))[:1000])
        found.append(dict(zip(SQL, answer["rows"])))
    return found


def check_import(events, found):
    """All that was told is there, each in its own process (pairs with an `id` belong to none)."""
    alone = sum(e.get("s") == "p" for e in events)
    slices, pairs, counters = count(events, "Xi"), count(events, "b"), count(events, "C", lambda e: len(e["args"]))
    wanted = {"slices": sum(slices.values()) + sum(pairs.values()) + alone, "counters": sum(counters.values()), "open": 0,
              "names": len({e["name"].split("\0")[0] for e in events if e["ph"] in "Xbi"}),
              "times": sum(start % 1000000007 + dur % 1000000009 for _, _, start, dur, _ in slices_of(events)),
              "processes": len([e for e in events if e["name"] == "process_name"])}  # fmt: skip
    for what, n in wanted.items():
        check(found[what] == [[n]], "%s: %s, not %d" % (what, found[what], n))
    for what, by in (("by_process", slices), ("counters_by_process", counters)):
        check(dict(found[what]) == by, "%s: %.300s, not %.300s" % (what, found[what], by))


def check_all(place, bodies):
    """Each body by both; without Perfetto by our own alone. How deep the slices of each are."""
    paths, all_events = [], []
    for i, body in enumerate(bodies):
        all_events.append(validate(body))
        paths.append(os.path.join(place, "trace-%d.json" % i))
        with open(paths[-1], "wb") as f:
            f.write(body)
    if SANITIZED:  # it looks at the daemon, not at its answers
        return None
    try:
        perfetto = npm.perfetto()
    except Skip as why:
        print("without Perfetto's trace_processor, by our own validator only: %s" % why)
        return None
    answers = imported(perfetto, paths)
    check(len(answers) == len(bodies), "%d answers" % len(answers))
    for events, found in zip(all_events, answers):
        check_import(events, found)
    return [found["depth"][0][0] for found in answers]
