"""A daemon that is started with little address space: it works, or reports which limit is too low."""

import http.client
import os
import re
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults  # noqa: E402,F401: the daemon with failpoints is not needed, the path is
import web as web_module  # noqa: E402
from web import BUILD, Web, check, equal  # noqa: E402

web_module.PROGRAM = os.path.join(BUILD, "bin", "dftracerd")
NAMED = re.compile(r"ulimit -[vu]")


def start(folder, threads, limits, before=(), index=None):
    """The daemon under limits {resource.RLIMIT_...: value}, or the text with which it refused to start."""
    command = ["prlimit", *["--%s=%d" % item for item in limits.items()], *before, web_module.PROGRAM]
    program, web_module.PROGRAM = web_module.PROGRAM, os.path.join(folder.path("started"))
    try:
        with open(web_module.PROGRAM, "w") as f:
            f.write('#!/bin/sh\nexec %s "$@"\n' % " ".join(command))
        os.chmod(web_module.PROGRAM, 0o755)
        return Web(folder.path("t"), "-t", str(threads), index=index), None
    except AssertionError as refused:
        return None, str(refused)
    finally:
        web_module.PROGRAM = program


def outcome(web, events):
    """"works" or the error that is reported for longer than a moment."""
    end = time.monotonic() + web_module.PATIENCE
    stopped_since = None
    while True:
        try:
            got = web.get("/readyz").json()
        except (http.client.HTTPException, OSError) as e:
            check(web.process.poll() is None, "it died: %s" % web.log())
            got = {"status": str(e)}
        if got["status"] == "ready":
            equal(web.get("/event-count").text(), "%d\n" % events, "ready with other events")
            return "works"
        stopped_since = (stopped_since or time.monotonic()) if got["status"] == "stopped" else None
        if stopped_since and time.monotonic() - stopped_since > 3:
            return got["error"]
        check(time.monotonic() < end, "neither ready nor stopped: %s" % got)
        time.sleep(0.05)


def attempt(folder, events, mib, threads):
    what = "ulimit -v %d -t %d" % (mib << 10, threads)
    web, refused = start(folder, threads, {"as": mib << 20})
    if web:
        with web:
            result = outcome(web, events)
            equal(web.get("/stats", report="detailed", group_by="name", top_n="3").status in (200, 413, 503), True, what)
    else:
        result = refused.split("dftracerd: ", 1)[-1]
    print("%s: %s" % (what, result), flush=True)
    check(result == "works" or NAMED.search(result), "%s: no limit is named: %s" % (what, result))
    return result == "works"
