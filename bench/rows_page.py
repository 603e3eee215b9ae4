"""The page: /timeline as it asks for it, and, where there is a browser, what a person waits for."""

import glob
import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.parse

from measure import TOP, alternate

sys.path.insert(0, os.path.join(TOP, "tests", "http", "shared"))
LANES = "host,rank,pid,tid"
FULL = 4_800_000  # bars are of so many events and more
STAGE = "window.timelineStage"
DRAWN = "!!%s && %s.tiles.asking === 0 && /^[0-9]/.test(document.querySelector('[data-fact=count]')?.textContent ?? '')" % (STAGE, STAGE)
SOON = "new Promise((done) => { const look = () => (%s) ? done(performance.now()) : requestAnimationFrame(look); look(); })" % DRAWN
# A browser that has just begun is busy with itself: people have theirs open.
BEGUN = {"do": "eval", "code": "new Promise((done) => setTimeout(done, 1500))"}
PAINT = """new Promise((done) => { const look = () => { const e = performance.getEntriesByName('first-contentful-paint')[0];
    if (e) done(e.startTime); else requestAnimationFrame(look); }; look(); })"""


def asked(d, **more):
    """(wall, cpu) in the daemon, of a tile as the page asks for it."""
    return d.serve("/timeline", **{"group_by": LANES, "color": "cat", "width": 1024, "events": 0, "slices": "true", **more})


def columns(color, objects):
    """Of a tile, as the page asks for them (web/src/timeline/tiles.ts)."""
    return 1024 if color in ("cat", "host", "rank", "pid", "tid") or objects < 4_000_000 else 256


def whole(report, world, d):
    bar = 100 if world.events >= FULL else None
    for key, what, more in (
        ("timeline", "/timeline of all events by thread, as the page requests it", {}),
        ("timeline_name", "/timeline coloured by name", {"color": "name"}),
        ("timeline_rank", "/timeline coloured by rank", {"color": "rank"}),
        ("timeline_dur", "/timeline coloured by duration, in powers of two", {"color": "dur", "colors": 64}),
        ("timeline_file", "/timeline coloured by file, the 64 most frequent", {"color": "file", "colors": 64}),
        ("timeline_lanes", "list of timeline lanes", {"width": 1, "slices": "false"}),
    ):
        width = columns(more.get("color", "cat"), world.events)
        ours = alternate({"ours": lambda: asked(d, **{"width": width, **more})}, world.runs, warm=1)["ours"]  # noqa: B023
        report.value(key, what + ", in the daemon", ours[0] * 1000, "ms", bar, figure=ours[1])


def series(low, high):
    """Tiles of somebody who looks at it, as the page asks for them (1,024 columns of a power of two of ns, from a multiple of
    all of it on): twelve times in at five places, each followed by a step aside. In ns, both ends in it."""
    for place in (0.1, 0.3, 0.5, 0.7, 0.9):
        at, span = int(low + (high - low) * place), 1024 << max(0, ((high - low) // 1024).bit_length())
        for _ in range(12):
            span //= 2
            for aside in (0, 1):
                begin = (at // span + aside) * span
                if low - span < begin < high:
                    yield begin, begin + span - 1


def lanes(report, world, d, events):
    ours = alternate({"ours": lambda: asked(d, width=1, slices="false")}, world.runs, warm=1)["ours"]
    report.value("lanes_%d" % (events // 1_000_000), "list of timeline lanes of %d M events, in the daemon" % (events // 1_000_000), ours[0] * 1000, "ms", 100, figure=None)


def zooms(report, d, events):
    totals = json.loads(d.get("/info"))["totals"]
    bar = 100 if events >= FULL else None
    low, high = int(float(totals["min_ts"]) * 1000), int(float(totals["max_te"]) * 1000)
    for color, suffix, by in (("cat", "", ""), ("name", "_name", " by name")):
        times = []
        for begin, end in series(low, high):
            width = columns(color, events * (end - begin) / (high - low))
            times.append(asked(d, time_range="%dns,%dns" % (begin, end), color=color, width=width)[0] * 1000)
        times.sort()
        what = "zooms and pans of %d M events%s, in the daemon" % (events // 1_000_000, by)
        key = "zoom%s_%d" % (suffix, events // 1_000_000)
        for part, share in (("p50", 0.5), ("p95", 0.95), ("slowest", 1)):
            report.value("%s_%s" % (key, part), "%s, %s of %d tiles" % (what, part, len(times)), times[min(int(len(times) * share), len(times) - 1)], "ms", bar, figure=None)


class Renderer(threading.Thread):
    """Peak of the anonymous memory of a browser's tabs, of those with this profile."""

    def __init__(self, profile):
        super().__init__(daemon=True)
        self.profile, self.peak, self.over = profile, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.05):
            for path in glob.glob("/proc/[0-9]*/cmdline"):
                try:
                    with open(path, encoding="utf-8", errors="replace") as f:
                        command = f.read()
                    if "--type=renderer" not in command or self.profile not in command:
                        continue
                    with open(path.replace("cmdline", "status"), encoding="ascii") as f:
                        self.peak = max(self.peak, *(int(line.split()[1]) * 1024 for line in f if line.startswith("RssAnon:")))
                except OSError:  # it has ended
                    pass


def browse(modules, program, *steps):
    """(what the steps told, peak memory of the tab)"""
    with tempfile.TemporaryDirectory(prefix="dftracerd-bench-") as profile:
        tab = Renderer(profile)
        tab.start()
        try:
            done = subprocess.run(["node", os.path.join(TOP, "tests/http/shared/page_steps.js"), modules, program, profile, profile],
                                  input=json.dumps(steps), capture_output=True, text=True, check=True)  # fmt: skip
        finally:
            tab.over.set()
            tab.join()
    told = json.loads(done.stdout.splitlines()[-1])["told"]
    return [t for s, t in zip(steps, told) if s["do"] == "eval"], tab.peak


def person(report, world, d):
    import browser
    from web import Skip

    size = len(d.get("/"))
    report.value("page_size", "size of the page", size / 1024, "KiB", 400)
    try:
        program, modules = browser.chromium()
    except Skip as why:
        report.leave_out("the page in a browser", str(why))
        return
    if size < 50_000:
        report.leave_out("the page in a browser", "the page is not built")
        return
    url = d.url + "#" + urllib.parse.urlencode({"view": "timeline"})
    moves = [s for k in "wwwwddaasswwwdd0" for s in ({"do": "press", "keys": k}, {"do": "until", "code": DRAWN})]
    paints, firsts = [], []
    for _ in range(3):
        (_, paint, first), _peak = browse(modules, program, BEGUN, {"do": "open", "url": url}, {"do": "eval", "code": PAINT}, {"do": "eval", "code": SOON})
        paints.append(paint)
        firsts.append(first)
    report.value("page_paint", "first paint of the page, best of three", min(paints), "ms", 300, figure=None)
    report.value("page_timeline", "from opening the page to the drawn timeline, best of three", min(firsts), "ms", 500 if world.events >= FULL else None, figure=None)
    heap = {"do": "eval", "code": "performance.memory.usedJSHeapSize"}
    told, peak = browse(modules, program, {"do": "open", "url": url}, {"do": "eval", "code": SOON}, *moves, heap)
    report.value("page_memory", "peak anonymous memory of the browser tab while zooming and panning", peak / 1e6, "MB", 200, note="JavaScript heap %.0f MB" % (told[-1] / 1e6), figure=None)
