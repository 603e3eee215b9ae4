"""A client that reads an answer without end while the test goes on, and what it must have got."""

import http.client
import json
import threading
import time
import urllib.parse
import zlib

from web import PATIENCE, SLOW, check, equal

QUIET = 0.4 if SLOW == 1 else 1.5  # nothing more has come for so long: nothing more comes


class Follower:
    """with Follower(web, query="dur > 1") as f: f.until(10); f.lines()"""

    def __init__(self, web, path="/view", encoding=None, **params):
        self.connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=4 * PATIENCE)
        headers = {"Accept-Encoding": encoding} if encoding else {}
        self.connection.request("GET", path + "?" + urllib.parse.urlencode({"follow": "true", **params}, doseq=True), headers=headers)
        self.response = self.connection.getresponse()
        self.status, self.headers = self.response.status, self.response.headers
        self.unpack = zlib.decompressobj(31) if encoding else None
        self.bytes, self.count, self.ended, self.broken = bytearray(), 0, False, False  # count: of lines
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            while part := self.response.read1(1 << 16):
                part = self.unpack.decompress(part) if self.unpack else part
                self.bytes += part
                self.count += part.count(b"\n")
            self.ended = True
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            self.broken = True

    def lines(self):
        """Whole lines so far."""
        text = self.bytes.decode()
        return text[: text.rfind("\n") + 1].splitlines()

    def until(self, count, what=""):
        """Never more than `count` lines."""
        end = time.monotonic() + PATIENCE
        while self.count < count:
            check(time.monotonic() < end and not self.broken, "%s: %d lines, not %d" % (what, self.count, count))
            time.sleep(0.01)
        equal(self.count, count, what)

    def quiet(self):
        """All that came until nothing more does."""
        count, since = len(self.bytes), time.monotonic()
        while time.monotonic() - since < QUIET:
            time.sleep(0.01)
            if len(self.bytes) != count:
                count, since = len(self.bytes), time.monotonic()
        return self.lines()

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
