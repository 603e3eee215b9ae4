"""Asks the daemon all the time, in many ways, and has every complete answer judged."""

import collections
import csv
import ctypes
import http.client
import io
import json
import random
import socket
import threading
import time
import urllib.parse
import zlib

from judge import Asked, Wrong
from lines import SHAPES

SHAPE_OF = {shape: i for i, shape in enumerate(SHAPES)}
BAD = (  # request, status
    ("/stats?top_n=many", 400), ("/stats?query=(", 400), ("/stats?nonsense=1", 400), ("/view?limit=1&limit=2", 400), ("/nothing", 404),
    ("/info?detail=everything", 400), ("/stats?format=perfume", 406), ("/view?file=../../etc/passwd", 404), ("/" + "x" * 17000, 414),
    ("/read", 400), ("/view?query=name%20~%20%22(%22", 400),
)  # fmt: skip
GARBAGE = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /stats HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: 99999999\r\n\r\n", b"GET /stats HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"\n" * 5000,
    b"GET /stats HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
)  # fmt: skip


def zstd_text(data):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_createDStream.restype = ctypes.c_void_p

    class Buffer(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]

    stream = ctypes.c_void_p(library.ZSTD_createDStream())
    space = ctypes.create_string_buffer(1 << 17)
    given, parts = ctypes.create_string_buffer(data, len(data)), []
    source = Buffer(ctypes.cast(given, ctypes.c_void_p), len(data), 0)
    while True:
        target = Buffer(ctypes.cast(space, ctypes.c_void_p), len(space), 0)
        rest = library.ZSTD_decompressStream(stream, ctypes.byref(target), ctypes.byref(source))
        parts.append(space.raw[: target.pos])
        if rest == 0 or (source.pos == source.size and target.pos < target.size):
            break
    library.ZSTD_freeDStream(stream)
    if rest:
        raise Wrong("a zstd answer that is not whole")
    return b"".join(parts)


def unpack(coding, data):
    if coding == "gzip":
        packer = zlib.decompressobj(31)
        data = packer.decompress(data)
        if not packer.eof:
            raise Wrong("a gzip answer that is not whole")
    elif coding == "zstd":
        data = zstd_text(data)
    return data


class Answer:
    def __init__(self, url, asked, status, headers, body):
        self.url, self.asked, self.status, self.headers, self.body = url, asked, status, headers, body

    def json(self):
        return json.loads(self.body)


def significant(answer):
    """ETags are weak: /info tells the store's size and what has just gone as they are at the moment."""
    if not answer.url.startswith("/info"):
        return answer.body
    got = answer.json()
    return json.dumps({k: v for k, v in got.items() if k not in ("index", "missing", "duplicates")})


class Cut(Exception):
    """The answer broke off, and said so."""

    def __init__(self, url, file):
        super().__init__(url)
        self.file = file


class Asker(threading.Thread):
    """One client. `world` has port, writer, judge, tally, wrong; `go` pauses it."""

    def __init__(self, world, seed):
        super().__init__(daemon=True)
        self.world, self.random, self.connection = world, random.Random(seed), None
        self.tags = collections.OrderedDict()
        self.idle = threading.Event()

    # ---- asking ----

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.world.port, timeout=120)

    def ask(self, path, params=(), method="GET", headers=None, slowly=False, body=None):
        url = path + ("?" + urllib.parse.urlencode(params, doseq=True) if params and body is None else "")
        floor, begin = self.world.judge.generation_floor(), time.monotonic()
        for attempt in (0, 1):
            fresh = self.connection is None
            self.connection = self.connection or self.connect()
            try:
                self.connection.request(method, url, body, headers or {})
                response = self.connection.getresponse()
                break
            except (http.client.RemoteDisconnected, ConnectionError):
                self.drop()  # kept too long
                if fresh or attempt:
                    raise
        try:
            data = self.read(response, slowly)
        except (http.client.IncompleteRead, ConnectionError) as e:
            self.drop()
            raise Cut(url, dict(params).get("file")) from e
        if self.random.random() < 0.1:
            self.drop()
        generation = int(response.headers.get("X-Dftracer-Generation", 0))
        complete = response.headers.get("X-Dftracer-Complete") != "false"
        asked = Asked(begin, time.monotonic(), generation, complete)
        if generation:
            self.world.judge.check_generation(generation, floor)
        data = unpack(response.headers.get("Content-Encoding"), data)
        return Answer(url, asked, response.status, response.headers, data)

    def read(self, response, slowly):
        if not slowly:
            return response.read()
        parts = []
        while part := response.read(self.random.choice((500, 5000, 50000))):
            parts.append(part)
            time.sleep(0.02)
        return b"".join(parts)

    def drop(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def get(self, path, slowly=False, **params):
        """An answer to judge, or None where there is none for a good reason."""
        params = [(k, v) for k, v in params.items() if v is not None]
        headers = {"Accept-Encoding": self.random.choice(("identity", "gzip", "zstd", "gzip, zstd"))}
        how = self.random.random()
        if how < 0.1:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            answer = self.ask(path, params, "POST", headers, slowly, urllib.parse.urlencode(params))
        elif how < 0.2:
            headers["Content-Type"] = "application/json"
            answer = self.ask(path, params, "POST", headers, slowly, json.dumps(dict(params)))
        else:
            answer = self.ask(path, params, "GET", headers, slowly)
        return self.sort_out(answer, dict(params))

    def sort_out(self, answer, params):
        self.world.count("status %d" % answer.status)
        if answer.status == 200:
            tag = answer.headers.get("ETag")
            if tag and answer.url.find("?") > 0 and "summary" not in answer.url:
                self.world.judge.check_body(answer.url, tag, significant(answer))
            return answer
        if answer.status == 503 and answer.headers.get("Retry-After"):
            return None
        path = params.get("file")
        changes = path and self.world.may_change(path, answer.asked)
        if answer.status in (404, 409, 500, 503) and changes:
            return None
        raise Wrong("status %d: %.300s" % (answer.status, answer.body))

    # ---- questions: each judges its answer ----

    def any_path(self):
        paths = list(self.world.writer.files)
        return self.random.choice(paths) if paths else None

    def check_groups(self, path=None):
        """Counts and sums by file, process, category and name: of one file or of all."""
        more = self.random.choice(({}, {"scan": "true"}, {"exact": "true"}, {"query": "pid > 0"}))
        answer = self.get("/stats", report="detailed", group_by="trace,pid,cat,name", top_n="0", file=path, **more)
        if not answer:
            return
        found, total = {}, 0
        got = answer.json()
        for group in got["groups"]:
            shapes = found.setdefault(group["trace"], {}).setdefault(group["pid"], [(0, 0)] * 6)
            shape, duration = SHAPE_OF[(group["cat"], group["name"])], group["duration"]
            shapes[shape] = (group["count"], duration["sum"])
            total += group["count"]
            if shape < 2 and group["size"]["sum"] != duration["sum"] + group["count"]:
                raise Wrong("sizes: %r" % group)
        if total != got["events"]:
            raise Wrong("%d events, but %d in groups" % (got["events"], total))
        self.check_found(found, answer.asked, path)

    def check_found(self, found, asked, path):
        for one in [path] if path else set(found) | set(self.world.writer.ledger.paths()):
            self.world.judge.check_path(one, asked, found.pop(one, {}))
        if found:
            raise Wrong("of files that were not asked for: %r" % found)

    def aggregate(self):
        """The same sums by /aggregate, over buckets of a random length."""
        path = self.random.choice((None, self.any_path()))
        length = self.random.choice(("0", "1ms", "20ms"))
        answer = self.get("/aggregate", group_by="trace,pid,cat,name,time_bucket", agg="count,sum:dur", time_interval=length, file=path,
                          format="ndjson")  # fmt: skip
        if not answer:
            return
        found = {}
        for row in map(json.loads, answer.body.splitlines()):
            shapes = found.setdefault(row["trace"], {}).setdefault(row["pid"], [(0, 0)] * 6)
            shape = SHAPE_OF[(row["cat"], row["name"])]
            shapes[shape] = (shapes[shape][0] + row["count"], shapes[shape][1] + (row["dur_sum"] or 0))
        self.check_found(found, answer.asked, path)

    def groups_of_all(self):
        self.check_groups()

    def groups_of_one(self):
        path = self.any_path()
        if path:
            self.check_groups(path)

    def names(self):
        answer = self.get("/stats", report="names")
        got = answer and answer.json()
        if got and sum(row["count"] for row in got["names"]) != got["events"]:
            raise Wrong("names: %r" % got)
        if got and {(r["cat"], r["name"]) for r in got["names"]} - set(SHAPES):
            raise Wrong("names: %r" % got["names"])

    def event_count(self):
        answer = self.get("/event-count", format="json")
        if not answer:
            return
        got = {f["path"]: f["events"] for f in answer.json()["files"]}
        if sum(got.values()) != answer.json()["events"]:
            raise Wrong("event-count: %.200r" % answer.body)
        self.world.judge.check_counts(got, answer.asked)

    def info(self):
        answer = self.get("/info", detail="files")
        if not answer:
            return
        got = answer.json()
        for key in ("lines", "events", "counters", "metadata", "invalid", "compressed_bytes", "uncompressed_bytes"):
            if sum(f[key] for f in got["files"]) != got["totals"][key]:
                raise Wrong("/info: %s is not the sum over the files" % key)
        self.world.judge.check_counts({f["path"]: f["events"] + f["counters"] for f in got["files"]}, answer.asked)

    def lines(self, slowly=False):
        path = self.any_path()
        offset = self.random.choice((0, 0, 0, 1, 100, 700))
        limit = None if slowly else self.random.choice((None, None, 1, 50, 2000))
        answer = path and self.get("/view", slowly, file=path, metadata="false", offset=offset or None, limit=limit,
                                   order=self.random.choice((None, None, "ts")))  # fmt: skip
        if answer:
            self.world.judge.check_lines(path, answer.asked, answer.body.splitlines(), offset, limit)

    def slow_lines(self):
        self.lines(slowly=True)

    def rows(self):
        path = self.any_path()
        answer = path and self.get("/view", file=path, select="pid,id,cat,name,dur", format="csv")
        if not answer:
            return
        found = {}
        for row in list(csv.reader(io.StringIO(answer.body.decode())))[1:]:
            shapes = found.setdefault(int(row[0]), [(0, 0)] * 6)
            shape = SHAPE_OF[(row[2], row[3])]
            shapes[shape] = (shapes[shape][0] + 1, shapes[shape][1] + int(row[4] or 0))
        self.world.judge.check_path(path, answer.asked, found)

    def schema(self):
        path = self.any_path()
        answer = path and self.get("/schema", file=path, format="json")
        if answer:
            rows = {c["path"]: c["rows"] for c in answer.json()["columns"]}
            self.world.judge.check_counts({path: rows.get("id", 0)}, answer.asked, [path])

    def part(self):
        """Lines by number through /read: as the file is, so judged only where it did not change and holds nothing but lines of ours."""
        path = self.any_path()
        answer = path and self.get("/read", file=path, mode="lines", start="3", end="400")
        content = answer and self.world.writer.ledger.present().get(path)
        if content and not content.junk and not self.world.may_change(path, answer.asked):
            self.world.judge.check_lines(path, answer.asked._replace(complete=False), answer.body.splitlines(), 0, 398)

    def again(self):
        """The ETag of an answer: 304, or another answer."""
        if not self.tags or self.random.random() < 0.5:
            answer = self.ask("/stats", [("report", "names"), ("file", self.any_path() or "none")])
            if answer.status == 200:
                self.tags[answer.url] = (answer.headers["ETag"], answer.asked.generation)
                if len(self.tags) > 20:
                    self.tags.popitem(last=False)
            return
        url, (tag, _generation) = self.random.choice(list(self.tags.items()))
        answer = self.ask(url, headers={"If-None-Match": tag})
        self.world.count("status %d" % answer.status)
        if answer.status == 304 and answer.body:
            raise Wrong("304 with a body")
        if answer.status == 200 and answer.headers["ETag"] == tag:
            raise Wrong("200 with the ETag that was sent")

    def heads(self):
        path = self.random.choice(("/stats", "/info", "/view", "/event-count", "/healthz"))
        answer = self.ask(path, method="HEAD")
        if answer.status not in (200, 503) or answer.body:  # 503: lines of a file that changes just now
            raise Wrong("HEAD: %d %.100r" % (answer.status, answer.body))

    def small(self):
        path = self.random.choice(("/healthz", "/readyz", "/metrics", "/openapi.json", "/index", "/"))
        answer = self.ask(path)
        if answer.status != 200 and not (path == "/readyz" and answer.status == 503):
            raise Wrong("%s: %d" % (path, answer.status))

    def other_questions(self):
        """Endpoints whose answers other tests judge: none may be an error of the server."""
        path, more = self.random.choice((("/aggregate", ()), ("/call-tree", ()), ("/timeline", ()), ("/histogram", ()), ("/processes", ()),
                                         ("/stats", (("report", "summary"),)), ("/view", (("select", "name,dur"), ("limit", "500")))))  # fmt: skip
        answer = self.ask(path, [("file", self.any_path() or "none"), *more])
        if answer.status >= 500 and answer.status != 503:
            raise Wrong("%s: %d %.200r" % (path, answer.status, answer.body))

    def bad(self):
        url, status = self.random.choice(BAD)
        answer = self.ask(url)
        if answer.status != status:
            raise Wrong("status %d, not %d: %.200r" % (answer.status, status, answer.body))

    # ---- clients that do not behave ----

    def raw(self):
        s = socket.create_connection(("127.0.0.1", self.world.port), 60)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        return s

    def garbage(self):
        with self.raw() as s:
            s.sendall(self.random.choice(GARBAGE))
            s.settimeout(2)
            try:
                s.recv(1000)
            except OSError:
                pass

    def leaves(self):
        with self.raw() as s:
            s.sendall(b"GET /view?phase=any HTTP/1.0\r\nHost: localhost\r\n\r\n")
            for _ in range(self.random.randrange(4)):
                s.recv(3000)
                time.sleep(0.02)

    def idles(self):
        with self.raw() as s:
            s.sendall(b"GET /stats HTTP/1.1\r\nHost: loc")
            time.sleep(self.random.random())

    def follows(self):
        """A stream of what is indexed, left after a while."""
        with self.raw() as s:
            s.sendall(b"GET /view?follow=true&metadata=false HTTP/1.1\r\nHost: localhost\r\n\r\n")
            s.settimeout(1)
            end = time.monotonic() + 3 * self.random.random()
            while time.monotonic() < end:
                try:
                    if not s.recv(65536):
                        break
                except TimeoutError:
                    pass

    # ---- the thread ----

    QUESTIONS = ((groups_of_all, 6), (groups_of_one, 20), (aggregate, 8), (names, 6), (event_count, 6), (info, 6), (lines, 14), (slow_lines, 1), (rows, 8),
                 (schema, 4), (part, 6), (again, 10), (heads, 3), (small, 8), (other_questions, 6), (bad, 6), (garbage, 2), (leaves, 4),
                 (idles, 1), (follows, 1))  # fmt: skip

    def one(self):
        question = self.random.choices([q for q, _ in self.QUESTIONS], [w for _, w in self.QUESTIONS])[0]
        begin = time.monotonic()
        try:
            question(self)
            self.world.count(question.__name__)
        except Cut as cut:
            self.world.count("cut")
            if not cut.file or not self.world.may_change(cut.file, Asked(begin, time.monotonic(), 0, False)):
                self.world.is_wrong("%s: cut, and nothing had changed: %s" % (question.__name__, cut))
        except Wrong as wrong:
            self.world.is_wrong("%s: %s" % (question.__name__, wrong))
        except (OSError, http.client.HTTPException, ValueError, KeyError) as e:
            self.drop()
            self.world.is_wrong("%s: %r" % (question.__name__, e))

    def run(self):
        while not self.world.over:
            if self.world.go.is_set():
                self.one()
                time.sleep(0.05 * self.random.random())
            else:
                self.drop()
                self.idle.set()
                self.world.go.wait(1)
                if self.world.go.is_set():
                    self.idle.clear()
        self.drop()
