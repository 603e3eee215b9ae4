"""within, within_scope, clip: which objects share time with an event that matches a query, and how much of it."""

import bisect

from . import dsl
from .reader import EVENT

SCOPES = {"process": lambda o: (o.host, o.pid), "thread": lambda o: (o.host, o.pid, o.tid), "host": lambda o: o.host,
          "all": lambda o: None}


class Covered:
    """Times of the events of one scope: disjoint [lo, hi), and instants."""

    def __init__(self, events):
        self.los, self.his = [], []
        self.instants = sorted({o.ts for o in events if not o.dur or o.dur < 0})
        for lo, hi in sorted((o.ts, o.ts + o.dur) for o in events if o.dur and o.dur > 0):
            if self.his and lo <= self.his[-1]:
                self.his[-1] = max(self.his[-1], hi)
            else:
                self.los.append(lo)
                self.his.append(hi)

    def parts(self, o):
        """What of [ts, te), or of the instant ts, is covered; (t, t) is an instant."""
        ts, te = o.ts, o.ts + max(o.dur or 0, 0)
        i, found = bisect.bisect_right(self.his, ts), []
        while i < len(self.los) and (self.los[i] < te or self.los[i] == ts):
            found.append((max(ts, self.los[i]), min(te, self.his[i]) if te > ts else ts))
            i += 1
        k = bisect.bisect_left(self.instants, ts)
        if k < len(self.instants) and (self.instants[k] < te or self.instants[k] == ts):
            found.append((self.instants[k],) * 2)
        return found

    def length(self, ts, te):
        """How much of [ts, te) is covered."""
        i, total = bisect.bisect_right(self.his, ts), 0
        while i < len(self.los) and self.los[i] < te:
            total += min(te, self.his[i]) - max(ts, self.los[i])
            i += 1
        return total


def cover(root, params, files):
    test, scope, events = dsl.parse(params["within"]), SCOPES[params.get("within_scope", "process")], {}
    for o in (o for f in files for o in f.objects if o.cls == EVENT and o.ts is not None and test(root, o)):
        events.setdefault(scope(o), []).append(o)
    return {k: Covered(v) for k, v in events.items()}, scope


def kept(root, params, files, objects):
    """Those of the objects that share time with an event of the files; clipped ones are copies."""
    covered, scope = cover(root, params, files)
    result = []
    for o in objects:
        parts = covered[scope(o)].parts(o) if o.ts is not None and scope(o) in covered else None
        if not parts:
            continue
        if params.get("clip") == "true":
            o = o.copy()
            o.ts = min(lo for lo, hi in parts)
            o.dur = None if o.dur is None else sum(hi - lo for lo, hi in parts)
        result.append(o)
    return result
