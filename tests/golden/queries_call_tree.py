"""Questions to /call-tree, for any directory and for synth.py's."""

GENERAL = [
    {},
    {"analyze": "true", "top_n": "0"},
    {"analyze": "true", "max_depth": "2", "group_by": "host,pid"},
    {"group_by": "rank,args.level", "query": "cat == 'POSIX' or dur > 100"},
    {"max_depth": "1"},
    {"min_total": "1ms", "max_depth": "4"},
    {"query": "cat == 'no such category'", "analyze": "true"},
    {"query": "cat == 'POSIX'", "analyze": "true", "top_n": "3"},
    {"phase": "any", "preset": "dlio", "analyze": "true"},
    {"focus": "read"},
    {"focus": "open64", "direction": "callers", "max_depth": "3"},
    {"focus": "close", "direction": "callees", "min_total": "5"},
    {"focus": "no such name"},
    {"format": "ndjson", "limit": "3000"},
    {"format": "ndjson", "offset": "500", "limit": "700", "max_depth": "2"},
    {"format": "ndjson", "query": "dur > 10", "limit": "1000"},
    {"format": "collapsed"},
    {"format": "collapsed", "group_by": "cat", "max_depth": "2", "min_total": "10"},
    {"format": "collapsed", "focus": "read"},
    {"format": "collapsed", "query": "cat == 'no such category'"},
]

SYNTH = [
    *({"dir": d, "analyze": "true"} for d in ("damage", "hosts", "units", "datacrumbs", "v4", "tree", "g0", "gzip")),
    *({"dir": d, "format": "ndjson", "limit": "2000"} for d in ("damage", "hosts", "units", "v0", "v3", "v1014")),
    {"dir": "hosts", "group_by": "host"},
    {"dir": "units", "format": "collapsed", "group_by": "trace"},
]


def general():
    return [("call-tree", p) for p in GENERAL]


def synth():
    return [("call-tree", p) for p in SYNTH]
