"""Questions with `within`, for any directory and for synth.py's folders."""

GENERAL = [
    ("stats", {"within": "name LIKE '%rite%'", "report": "detailed", "group_by": "name,cat", "top_n": "0", "exact": "true"}),
    ("view", {"within": "name ILIKE '%open%'", "within_scope": "host", "clip": "true", "select": "name,pid,ts,dur,te", "phase": "any", "limit": "400"}),
    ("aggregate", {"within": "dur > 10 and dur < 1000000", "clip": "true", "group_by": "name,time_bucket", "time_interval": "1s", "limit": "400",
                   "agg": "count,sum:dur,min:ts,max:te,p50:dur"}),
    ("stats", {"within": "dur > 100", "clip": "true", "query": "dur > 5", "exact": "true"}),
    ("view", {"within": "dur == 0", "within_scope": "all", "query": "cat IS NOT NULL", "order": "ts", "limit": "100", "metadata": "false"}),
    ("compare", {"baseline.within": "name LIKE '%read%'", "variant.within": "name LIKE '%open%'", "variant.clip": "true", "query": "", "sort_by": "name"}),
    ("stats", {"within": "", "within_scope": "thread", "report": "pid_tids", "top_n_pid_tid": "0"}),
    ("call-tree", {"within": "name LIKE '%rite%' or dur > 1000", "within_scope": "thread"}),
    ("call-tree", {"within": "name LIKE '%rite%' or dur > 1000", "clip": "true", "analyze": "true"}),
    ("call-tree", {"within": "dur > 20 and dur < 100000", "within_scope": "all", "clip": "true", "format": "ndjson", "limit": "400"}),
    ("processes", {"within": "dur > 100", "within_scope": "host", "clip": "true"}),
    ("aggregate", {"within": "name LIKE '%e%'", "within_scope": "thread", "clip": "true", "time_interval": "250ms", "limit": "400"}),
]

SYNTH = [
    ("stats", {"dir": "units", "within": "dur > 1ms", "within_scope": scope, "clip": "true", "report": "detailed", "group_by": "trace,name",
               "top_n": "0", "exact": "true"}) for scope in ("process", "thread", "host", "all")
] + [
    ("view", {"dir": "units", "within": "dur < 30ms", "within_scope": "all", "clip": "true", "select": "trace,name,ts,dur,te", "order": "ts"}),
    ("stats", {"dir": "hosts", "within": "host == 'alpha'", "report": "detailed", "group_by": "host,pid", "top_n": "0"}),
    ("stats", {"dir": "hosts", "within": "host == 'alpha'", "within_scope": "all", "report": "detailed", "group_by": "host,pid", "top_n": "0"}),
    ("view", {"dir": "damage", "within": "dur IS NOT NULL", "within_scope": "all", "phase": "any", "clip": "true", "select": "name,ts,dur,te"}),
    ("view", {"dir": "big", "within": "step == 7 or epoch == 2", "query": "dur > 100", "count_only": "true"}),
]

# endpoint, parameters, status, position of the error in the query
ERRORS = [
    ("stats", {"within": "cat =="}, 400, 6),
    ("stats", {"clip": "true"}, 400, None),
    ("view", {"within": "a == 1", "clip": "true"}, 400, None),
    ("call-tree", {"within_scope": "thread"}, 400, None),
]
