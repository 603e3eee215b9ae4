"""Memory, descriptors, threads and the index's size, every few seconds; and whether they grew."""

import os
import re
import statistics
import threading
import time

SECONDS = 2
MEMORY_MORE = 8 << 10  # KiB that are never called growth
INDEX_MORE = 4 << 10


def measure(web):
    place = "/proc/%d/" % web.pid
    with open(place + "status") as f:
        status = f.read()
    return {"memory": int(re.search(r"RssAnon:\s+(\d+)", status).group(1)),
            "mapped": int(re.search(r"RssFile:\s+(\d+)", status).group(1)),
            "threads": int(re.search(r"Threads:\s+(\d+)", status).group(1)),
            "descriptors": len(os.listdir(place + "fd")),
            "index": os.stat(os.path.join(web.index, "data.mdb")).st_blocks >> 1}  # fmt: skip


class Samples:
    """`busy`: all the time; `rests`: when nobody asks."""

    def __init__(self, web):
        self.busy, self.rests, self.lags, self.over = [], [], [], threading.Event()
        self.thread = threading.Thread(target=self.run, args=(web,), daemon=True)
        self.thread.start()

    def run(self, web):
        while not self.over.wait(SECONDS):
            try:
                self.busy.append(measure(web))
            except OSError:
                return

    def rested(self, web):
        """Connections are closed some time after their clients have gone."""
        least, end = measure(web), time.monotonic() + 5
        while self.rests and least["descriptors"] > self.rests[-1]["descriptors"] and time.monotonic() < end:
            time.sleep(0.1)
            least = measure(web)
        self.rests.append(least)

    def last(self):
        return "memory %(memory)d KiB, mapped files %(mapped)d KiB, %(descriptors)d descriptors, %(threads)d threads, index %(index)d KiB" % self.rests[-1]

    def stop(self):
        self.over.set()
        self.thread.join()


def quarters(values):
    """Medians of the second and of the last quarter."""
    q = max(len(values) // 4, 1)
    return statistics.median(values[q:2 * q] or values), statistics.median(values[-q:])


def verdicts(samples):
    """(text, whether it is as it should be). Mapped files are not judged: pages of the index, which the kernel may take back."""
    result = []
    for key, more in (("memory", MEMORY_MORE), ("index", INDEX_MORE)):
        for name, of in (("busy", samples.busy), ("at rest", samples.rests)):
            a, b = quarters([s[key] for s in of])
            result.append(("%s %s: second quarter %d KiB, last quarter %d KiB, most %d KiB" % (
                key, name, a, b, max(s[key] for s in of)), b <= a * 1.1 + more))  # fmt: skip
    for key in ("descriptors", "threads"):
        a, b = quarters([s[key] for s in samples.rests])
        result.append(("%s at rest: second quarter %d, last quarter %d, most ever %d" % (
            key, a, b, max(s[key] for s in samples.busy)), a == b))  # fmt: skip
    return result
