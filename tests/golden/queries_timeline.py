"""Questions to /timeline, for any directory and for synth.py's."""

GENERAL = [
    {"width": "37", "events": "25"},
    {"width": "1", "group_by": "", "events": "0"},
    {"width": "64", "group_by": "host", "color": "name", "limit": "3", "events": "5"},
    {"width": "200", "group_by": "pid", "query": "cat == 'POSIX' and dur > 3", "offset": "1", "limit": "5", "events": "10000"},
    {"width": "40", "group_by": "pid", "color": "dur", "colors": "5", "events": "20"},
    {"width": "16", "group_by": "host", "color": "size", "colors": "3", "events": "50"},
    {"width": "9", "group_by": "", "color": "fhash", "colors": "4", "events": "30"},
    {"width": "11", "group_by": "cat", "color": "name", "colors": "3", "phase": "any"},
    {"width": "5", "group_by": "host", "color": "te", "colors": "1", "events": "5"},
    {"width": "13", "group_by": "host", "color": "name", "color_values": '["read","write","fread","no such name",5,true]', "events": "40"},
    {"width": "12", "group_by": "pid", "color": "dur", "color_values": "[1,2,3,0.5,1e300]", "colors": "2", "events": "20"},
    {"width": "7", "group_by": "", "color": "cat", "color_values": "[]"},
    {"width": "23", "group_by": "host,rank", "color": "host", "phase": "any", "events": "3"},
    {"query": "cat == 'no such category'"},
    {"width": "300", "events": "0", "slices": "true"},
    {"width": "41", "events": "3", "slices": "true", "group_by": "host", "color": "name", "colors": "3", "offset": "1"},
    {"width": "60", "events": "0", "slices": "true", "group_by": "", "query": "dur > 3"},
]
WINDOWED = [
    {"width": "100", "events": "12"},
    {"width": "8192", "limit": "2", "events": "300", "color": "name"},
    {"width": "7", "time": "start", "group_by": "cat", "preset": "io"},
    {"width": "90", "events": "0", "slices": "true"},
]
# Columns of powers of two of ns, beginning at multiples of it: large chunks are told from their densities.
ALIGNED = [
    {"width": "64", "events": "40"},
    {"width": "512", "events": "1000", "group_by": "pid", "color": "name"},
    {"width": "128", "events": "20", "group_by": "pid", "color": "name", "colors": "2"},
    {"width": "128", "events": "20", "group_by": "pid", "color": "name", "color_values": '["read","open64"]'},
    {"width": "32", "events": "20", "group_by": "host", "color": "size", "colors": "2"},
    {"width": "256", "events": "9", "slices": "true"},
    {"width": "16", "events": "7", "group_by": "host,cat", "color": "rank", "query": "pid != 1 and not (name like 'f%')"},
]
SYNTH = [
    *({"dir": d, "width": "30", "phase": "any", "color": "name", "slices": "true"} for d in ("damage", "hosts", "units", "datacrumbs", "v4", "tree", "g0")),
    *({"dir": d, "width": "50", "phase": "any", "color": "name"} for d in ("damage", "hosts", "units", "datacrumbs", "v4", "tree", "g0")),
    {"dir": "units", "group_by": "trace", "width": "9"},
    *({"dir": d, "width": "20", "phase": "any", "color": c, "color_values": '["a","read",0,1,2,0.25,true]'} for d in ("damage", "units", "v4", "tree", "g0")
      for c in ("name", "dur", "id", "fhash")),
    *({"dir": d, "width": "20", "phase": "any", "color": c, "colors": n} for d in ("damage", "hosts", "units", "datacrumbs", "v4", "tree", "g0")
      for c, n in (("name", "2"), ("dur", "1"), ("size", "1"), ("id", "3"), ("hhash", "1"), ("tid", "2"))),
]


def aligned(lo, hi):
    """Windows and columns as pages ask for them: all of it, and the middle quarter. In ns."""
    for params in ALIGNED:
        width = int(params["width"])
        for part in (1, 4):
            step = 1 << max(0, ((hi - lo) // part // width).bit_length())
            begin = (lo if part == 1 else (lo + hi) // 2) // (step * 4) * step * 4
            yield {**params, "time_range": "%d.%03d,%d.%03d" % (*divmod(begin, 1000), *divmod(begin + width * step - 1, 1000))}


def general(root):
    """Also of windows: the middle tenth, one instant, one column a nanosecond, before everything."""
    stamps = sorted(o.ts for f in root.files for o in f.objects if o.ts is not None)
    windows = ["0,1"]
    if stamps:
        lo, hi = stamps[len(stamps) * 45 // 100] // 1000, stamps[len(stamps) * 55 // 100] // 1000 + 1
        windows += ["%d,%d" % (lo, hi), "%d,%d" % (lo, lo), "%d,%d.010" % (lo, lo)]
    asked = GENERAL + [{**p, "time_range": w} for w in windows for p in WINDOWED]
    return [("timeline", p) for p in (*asked, *(aligned(stamps[0], stamps[-1]) if stamps and stamps[0] >= 0 else ()))]


def synth():
    return [("timeline", p) for p in SYNTH]
