"""Clocks: commands, the daemon and its answers, memory. All times are seconds, wall and processor."""

import http.client
import os
import re
import resource
import signal
import statistics
import subprocess
import threading
import time
import urllib.parse

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("DFTRACERD_BUILD", os.path.join(TOP, "build"))
BIN = os.path.join(BUILD, "bin")


def used_by_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def command(text):
    """(wall, cpu) of a shell command; its output is thrown away, but a failure is not."""
    before, begin = used_by_children(), time.perf_counter()
    done = subprocess.run(["bash", "-o", "pipefail", "-c", text], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wall = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError("%s: exit status %d: %s" % (text[:200], done.returncode, done.stderr[-300:]))
    return wall, used_by_children() - before


def median(pairs):
    """Of (wall, cpu) pairs, each by itself."""
    return tuple(statistics.median(p[i] for p in pairs) for i in (0, 1))


def alternate(actors, runs, warm=0, enough=None):
    """Runs {name: function giving (wall, cpu)} in turn, so that all see the same machine. The medians by name. A peer that
    fails is left out from there on; "ours" must not fail. A peer that was measured for `enough` seconds is not run again."""
    seen = {name: [] for name in actors}
    for i in range(warm + runs):
        for name, actor in actors.items():
            if enough and name != "ours" and sum(wall for wall, _ in seen.get(name, ())) > enough:
                continue
            try:
                pair = actor() if name in seen else None
            except RuntimeError as e:
                if name == "ours":
                    raise
                print("left out: %s: %s" % (name, e), flush=True)
                del seen[name]
                continue
            if pair and i >= warm:
                seen[name].append(pair)
    return {name: median(pairs) for name, pairs in seen.items()}


class Memory(threading.Thread):
    """Peak of RssAnon of a process in bytes, read every 5 ms: with Memory(pid) as m: ...; m.peak, m.first"""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.on = pid, 0, True
        self.first = self.read()

    def read(self):
        try:
            with open("/proc/%d/status" % self.pid) as f:
                found = re.search(r"RssAnon:\s+(\d+)", f.read())
        except OSError:
            return 0
        return int(found.group(1)) * 1024 if found else 0

    def run(self):
        while self.on:
            self.peak = max(self.peak, self.read())
            time.sleep(0.005)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.on = False
        self.join()


def quiet_build(traces, index, *options, programs=BIN):
    """The command that indexes from nothing."""
    return "rm -rf %s && %s/dftracerd-inspect -q build %s %s %s" % (index, programs, " ".join(options), index, traces)


def peak_of_build(traces, index, *options):
    """Peak RssAnon in bytes while the traces are indexed from nothing."""
    process = subprocess.Popen(["bash", "-c", "rm -rf %s; exec %s/dftracerd-inspect -q build %s %s %s" % (
        index, BIN, " ".join(options), index, traces)], stdout=subprocess.DEVNULL)  # fmt: skip
    with Memory(process.pid) as memory:
        if process.wait():
            raise RuntimeError("indexing %s failed" % traces)
    return memory.peak


def index_numbers(index):
    """{events, objects, text, columns, index, chunks, files, texts} of an index."""
    done = subprocess.run([BIN + "/dftracerd-inspect", "stat", index], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines()[1:5]:
        words = line.split()
        found.update({key: int(value) for key, value in zip(words[::2], words[1::2]) if value.isdigit()})
    return found


class Daemon:
    """A daemon on a port that the kernel chooses."""

    def __init__(self, traces, index, threads=None, *options, programs=BIN):
        self.begin = time.perf_counter()
        more = ["-t", str(threads)] if threads else []
        self.process = subprocess.Popen(
            [programs + "/dftracerd", "-c", "/dev/null", "-d", traces, "--index-dir", index, "-b", "127.0.0.1", "-p", "0",
             "--no-auth", "--log-level", "error", *more, *options],
            stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.pid = self.process.pid
        said = self.process.stdout.readline()
        self.listening = time.perf_counter() - self.begin
        port = re.search(r":(\d+)/", said)
        if not port:
            raise RuntimeError("%s/dftracerd does not listen" % programs)
        self.port = int(port.group(1))
        self.url = "http://127.0.0.1:%d/" % self.port
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=900)
        self.buffer = bytearray(1 << 20)
        self.asked = 0

    def cpu(self):
        """Processor seconds of all threads, exact: the clock of /proc/PID/stat has ticks of 10 ms."""
        total = 0
        for task in os.listdir("/proc/%d/task" % self.pid):
            try:
                with open("/proc/%d/task/%s/schedstat" % (self.pid, task)) as f:
                    total += int(f.read().split()[0])
            except OSError:  # a thread that has just ended
                pass
        return total / 1e9

    def get(self, path, **params):
        """The whole body of an answer; anything but 200 is an error."""
        if params:
            path += "?" + urllib.parse.urlencode(params)
        answer = self.begin_answer(path)
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError("%s: %d %s" % (path, answer.status, body[:300]))
        return body

    def get_any(self, path):
        """The body, whatever the status."""
        return self.begin_answer(path).read()

    def begin_answer(self, path, method="GET", headers=None, body=None):
        """The daemon may have closed a connection on which nothing was asked for some time."""
        for again in (True, False):
            try:
                self.connection.request(method, path, body, headers or {})
                return self.connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionError, http.client.CannotSendRequest):
                self.connection.close()
                if not again or self.process.poll() is not None:
                    raise

    def fresh(self, path, params):
        """What was never asked before, so that no kept answer is given: with a limit, greater than any answer, of its own; of
        /compare, which has none, and with a limit that counts, with a number of blanks in the query."""
        self.asked += 1
        own = {"query": " " * self.asked} if path == "/compare" or "limit" in params else {"top_n_pid_tid" if path == "/stats" else "limit": 10**9 + self.asked}
        return path + "?" + urllib.parse.urlencode({**own, **params})

    def ask(self, path, first_byte=False, **params):
        """(wall, cpu) of one answer. first_byte: until the first byte of it is there (the rest is read, not counted).
        self.later: the same of the rest, after the first byte."""
        path = self.fresh(path, params)
        before, begin = self.cpu(), time.perf_counter()
        answer = self.begin_answer(path)
        if answer.status != 200:
            raise RuntimeError("%s: %d %s" % (path, answer.status, answer.read()[:300]))
        size = answer.readinto(memoryview(self.buffer)[:1])
        early = time.perf_counter() - begin, self.cpu() - before
        while size and (got := answer.readinto(self.buffer)):
            size += got
        self.size = size
        whole = time.perf_counter() - begin, self.cpu() - before
        self.later = whole[0] - early[0], whole[1] - early[1]
        return early if first_byte else whole

    def told(self, endpoint):
        """(requests, their seconds) of an endpoint: from a request's header to the last byte of its answer."""
        said, found = self.get("/metrics").decode(), []
        for what in ("count", "sum"):
            match = re.search(r'^dftracerd_http_request_duration_seconds_%s{endpoint="%s"} (\S+)$' % (what, re.escape(endpoint)), said, re.M)
            found.append(float(match.group(1)) if match else 0.0)
        return tuple(found)

    def serve(self, path, **params):
        """(wall, cpu) of one answer, both as the daemon has them: what the peers, which answer within their own process, are
        compared with. self.client: the wall time of this client, which asks over HTTP."""
        count, before = self.told(path)
        self.client, cpu = self.ask(path, **params)
        for _ in range(1000):
            now, seconds = self.told(path)
            if now == count + 1:  # it is counted when its last byte is sent, a moment after the client has it
                return seconds - before, cpu
            time.sleep(0.001)
        raise RuntimeError("%s: %d requests counted instead of one" % (path, now - count))

    def curl(self, path):
        """(wall, cpu of the daemon) of an answer that curl reads: a client that costs little."""
        before, begin = self.cpu(), time.perf_counter()
        done = subprocess.run(["curl", "-sSf", "-o", "/dev/null", "-w", "%{size_download}", self.url + path.lstrip("/")],
                              capture_output=True, text=True, check=True)  # fmt: skip
        self.size = int(done.stdout)
        return time.perf_counter() - begin, self.cpu() - before

    def stop(self):
        self.connection.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
