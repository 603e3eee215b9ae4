"""A client that reads an answer without end while the test goes on, and what it must have got."""

import http.client
import itertools
import json
import os
import threading
import time
import urllib.parse
import zlib

from web import PATIENCE, check, equal, event, until

SENTINEL = "9876543210"  # begins the ids of lines that quiet() writes; lines() has none of them
numbers = itertools.count(1)


class Follower:
    """with Follower(web, query="dur > 1") as f: f.until(10); f.lines()"""

    def __init__(self, web, path="/view", encoding=None, **params):
        self.connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=4 * PATIENCE)
        headers = {"Accept-Encoding": encoding} if encoding else {}
        self.connection.request("GET", path + "?" + urllib.parse.urlencode({"follow": "true", **params}, doseq=True), headers=headers)
        self.response = self.connection.getresponse()
        self.status, self.headers = self.response.status, self.response.headers
        self.web, self.rest, self.sentinels = web, b"", []
        self.unpack = zlib.decompressobj(31) if encoding else None
        self.bytes, self.count, self.ended, self.broken = bytearray(), 0, False, False  # count: of lines
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            while part := self.response.read1(1 << 16):
                part = self.unpack.decompress(part) if self.unpack else part
                self.bytes += part
                *whole, self.rest = (self.rest + part).split(b"\n")
                for line in whole:
                    if SENTINEL.encode() in line:
                        self.sentinels.append(line.decode())
                    else:
                        self.count += 1
            self.ended = True
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            self.broken = True

    def lines(self):
        """Whole lines so far."""
        text = self.bytes.decode()
        return [line for line in text[: text.rfind("\n") + 1].splitlines() if SENTINEL not in line]

    def until(self, count, what=""):
        """Never more than `count` lines."""
        end = time.monotonic() + PATIENCE
        while self.count < count:
            check(time.monotonic() < end and not self.broken, "%s: %d lines, not %d" % (what, self.count, count))
            time.sleep(0.01)
        equal(self.count, count, what)

    def quiet(self, name="sentinel.pfw", fresh=True, **fields):
        """All lines before one that is written now to a file of its own: what was written before has come by then. `fresh`: what
        was written before is to be indexed first, whether anybody asks for it or not."""
        number, path = next(numbers), os.path.join(self.web.directory, name)
        if fresh:
            equal(self.web.get("/info", wait="fresh").status, 200)
        with open(path, "w", encoding="ascii") as f:
            f.write(event(int(SENTINEL) * 1000 + number, **{"dur": 10, "pid": 987654, **fields}) + "\n")
        equal(self.web.get("/event-count", file=name, wait="fresh").text(), "1\n")
        until(lambda: any("%s%03d" % (SENTINEL, number) in line for line in self.sentinels) or self.broken, True, "the sentinel comes")
        got = self.lines()
        os.remove(path)
        equal(self.web.get("/info", wait="fresh" if fresh else "no").status, 200)
        until(lambda: name in [f["path"] for f in self.web.get("/info", detail="files", wait="no").json()["files"]], False)
        return got

    def until_end(self):
        self.thread.join(PATIENCE)
        check(self.ended, "it does not end" if not self.broken else "it broke off")
        return self.lines()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.ended and self.connection.sock:
            self.connection.sock.shutdown(2)
        self.thread.join(PATIENCE)
        self.connection.close()


class Oracle:
    """What a reader of /view?follow=true gets: of each new content of a file the lines from the first one on that differs from
    what stood there before."""

    def __init__(self):
        self.files, self.by_file = {}, {}
        self.told = []

    def became(self, name, text):
        """`text`: all of the file's text as it is now."""
        before, now = self.files.get(name, []), text.decode().splitlines()
        same = 0
        while same < min(len(before), len(now)) and before[same] == now[same]:
            same += 1
        self.told += now[same:]
        self.by_file.setdefault(name, []).extend(now[same:])
        self.files[name] = now

    def events(self, wanted=None):
        return [line for line in self.told if line.startswith("{") and (not wanted or wanted(json.loads(line)))]
