"""Questions of /compare. The order by regressions is asked where percentiles, which are told within 1 %, do not decide it."""

import json

EXACTLY = {"percentiles": "", "query": ""}
CONFIG = {
    "defaults": {"time_interval_ms": 100, "threshold_pct": 1.0, "percentiles": [0.5, 0.999], "sort_by": "name"},
    "nodes": [
        {"name": "all", "group_by": ["name"], "metrics": ["count", "duration"]},
        {"name": "POSIX I/O", "query": 'cat == "POSIX" or cat == "STDIO"', "children": [
            {"name": "reads", "query": "name LIKE '%read%'", "percentiles": [0.9]},
            {"name": "writes", "query": "name LIKE '%write%'", "metrics": ["size", "bandwidth"], "group_by": []},
            {"name": "nothing", "query": "name == 'no such name'"}]},
    ],
}


def general(root):
    """Halves of time, of processes and of files, of any directory."""
    stamps = sorted(o.ts for f in root.files for o in f.objects if o.ts is not None)
    pids = sorted({o.pid for f in root.files for o in f.objects if isinstance(o.pid, int)})
    if not stamps:
        return []
    middle = stamps[len(stamps) // 2] // 1000
    halves = {"baseline.time_range": "0,%d" % (middle - 1), "variant.time_range": "%d,%d" % (middle, stamps[-1] // 1000 + 1)}
    same = {"baseline.query": "", "variant.query": ""}
    questions = [
        {**halves, "sort_by": "name"},
        {**halves, **EXACTLY},
        {**halves, **EXACTLY, "group_by": "name", "time_interval": "10ms", "threshold": "20"},
        {**halves, "query": "", "group_by": "host,cat,name", "percentiles": "0,0.25,1", "sort_by": "name"},
        {**halves, "config": json.dumps(CONFIG)},
        {**halves, "preset": "io", "phase": "data", "metrics": "duration,size", "time_interval": "0", "sort_by": "name"},
        {**same, **EXACTLY, "sort_by": "name"},
        {"baseline.query": "", "variant.query": "cat == 'no such category'", "query": "", "group_by": "pid_tid", "sort_by": "name"},
        {"baseline.query": "dur > 100", "variant.max_duration": "100", "query": "", "group_by": "cat", "sort_by": "name"},
        {**halves, "query": "", "format": "collapsed-diff"},
    ]
    if len(pids) > 1:
        questions += [{"baseline.query": "pid == %d" % pids[0], "variant.query": "pid != %d" % pids[0], "query": "", "sort_by": "name"}]
    if len(root.files) > 1:
        first, last = root.files[0].name, root.files[-1].name
        questions += [{"baseline": first, "variant": [last, first], "query": "", "sort_by": "name"}]
    return [("compare", q) for q in questions]


# About the folders of synth.py.
SYNTH = [
    ("compare", {"baseline": "v3", "variant": ".", "query": "cat == 'POSIX' and dur > 5", "sort_by": "name"}),
    ("compare", {"baseline": "v3", "variant": ["v4", "hosts", "big"], "query": "", "group_by": "cat", "sort_by": "name"}),
    ("compare", {"baseline": "units", "variant": "damage", "query": "", "sort_by": "name", "percentiles": "0.5"}),
    ("compare", {"baseline": "big", "variant": "big", "baseline.query": "step < 100", "variant.query": "step >= 100", "query": "",
                 "group_by": "epoch,name", "sort_by": "name"}),
    ("compare", {"baseline": "hosts", "variant": "datacrumbs", "query": "", "group_by": "file", "time_interval": "1ms", "sort_by": "name"}),
    ("compare", {"dir": "hosts", "baseline.query": "host == 'alpha'", "variant.query": "host != 'alpha'", **EXACTLY}),
]
