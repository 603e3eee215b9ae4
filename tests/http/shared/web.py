"""For the tests in tests/http: traces, a daemon on a port that the kernel chooses, and raw HTTP."""

import contextlib
import ctypes
import functools
import gzip
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))  # what tests run in Node lies here, too
TOP = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
sys.path.insert(1, os.path.join(TOP, "tests"))

import tools  # noqa: E402

tools.use_system_first()

BUILD = os.environ.get("DFTRACERD_BUILD", os.path.join(TOP, "build"))
PROGRAM = os.path.join(BUILD, "bin", "dftracerd")
FLAVOUR = os.path.basename(os.path.normpath(BUILD))
SANITIZED = bool(re.search("asan|tsan", FLAVOUR))
TSAN = "tsan" in FLAVOUR
SLOW = 8 if SANITIZED else 1  # times are so much longer in builds with a sanitizer
PATIENCE = 300 if SANITIZED else 120  # seconds until what must come is given up: others may use the machine, too
START_SECONDS = 60 * SLOW
NOBODY = 65534
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"  # others can run this one
AS_NOBODY = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups"]

os.umask(0o022)  # what tests make for other users is for them to read, whatever the umask here
NO_PROXY = ",".join(filter(None, [os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), "localhost,127.0.0.1"]))
os.environ.update(no_proxy=NO_PROXY, NO_PROXY=NO_PROXY)

# ---- traces --------------------------------------------------------------------------------------------


def event(i, **more):
    fields = {"id": i, "name": ("read", "write", "open")[i % 3], "cat": "POSIX", "pid": 1 + i % 4, "tid": 1 + i % 2,
              "ts": 1000 + 10 * i, "dur": i % 50, "ph": "X", "args": {"ret": 4096, "level": i % 7}}  # fmt: skip
    return json.dumps({**fields, **more}, separators=(",", ":"))


def write_trace(path, events=100, repeat=1):
    """A gzip trace of `events` different lines, `repeat` times over (a gzip member each, so that it costs nothing)."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    text = "".join(event(i) + "\n" for i in range(events)).encode()
    member = gzip.compress(text, 1)
    with open(path, "wb") as f:
        f.write(b"".join([gzip.compress(b"[\n"), *[member] * repeat]))
    os.utime(path, (time.time() - 3600,) * 2)  # a file of today may still be growing
    return events * repeat


MANY = 800000 // (4 if SANITIZED else 1)


def many_rows(path):
    """MANY short events in a file of a few hundred KiB: one member again and again."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    lines = b"".join(b'{"name":"a","cat":"b","pid":1,"tid":1,"ts":%d,"dur":%d,"ph":"X"}\n' % (i, i * 7 % 16384) for i in range(5000))
    with open(path, "wb") as f:
        f.write(gzip.compress(lines) * (MANY // 5000))
    os.utime(path, (time.time() - 3600,) * 2)  # it is complete at once: its generation does not move in slow tests


# For these it takes seconds.
HARD_QUERY = " or ".join("(dur > %d and dur < %d)" % (3 * i, 3 * i + 2) for i in range(4900))


class Folder:
    """A scratch directory: with Folder() as f: f.path("traces")"""

    def __enter__(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="dftracerd-http-"))
        os.chmod(self.base, 0o755)
        return self

    def path(self, *parts):
        return os.path.join(self.base, *parts)

    def __exit__(self, *_):
        shutil.rmtree(self.base, ignore_errors=True)


# ---- answers, kept for test_answers_fit and tests/same -----------------------------------------------------

RECORD = os.environ.get("DFTRACERD_RECORD")  # a folder
recorded = set()


def record(method, path, headers, sent, answer):
    """Each different one, a line of JSON."""
    try:
        body = answer.body.decode()
    except UnicodeDecodeError:
        body = None  # packed
    sent = sent.decode("latin-1") if isinstance(sent, bytes) else sent if isinstance(sent, str) else None
    line = json.dumps({"method": method, "path": path, "told": headers, "sent": sent, "status": answer.status, "type": answer.headers.get("Content-Type"),
                       "body": body if answer.headers.get("Content-Encoding") is None else None})  # fmt: skip
    key = RECORD, hash(re.sub(r"[0-9]+", "0", line))
    if RECORD and len(line) < 1 << 20 and key not in recorded:
        recorded.add(key)
        with open(os.path.join(RECORD, "%s-%d" % (os.path.basename(sys.argv[0]), os.getpid())), "a") as f:
            f.write(line + "\n")


# ---- the daemon ----------------------------------------------------------------------------------------


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def text(self):
        return self.body.decode("utf-8", "replace")


class Web:
    """with Web(directory) as w: w.get("/stats", report="names").json()"""

    launcher = [PROGRAM]

    def __init__(self, directory, *options, index=None):
        self.directory = directory
        self.place = tempfile.mkdtemp(prefix="dftracerd-http-")
        self.index = index or os.path.join(self.place, "index")
        self.log_path = os.path.join(self.place, "stderr")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*self.launcher, "-d", directory, "--index-dir", self.index, "-b", "127.0.0.1", "-p", "0", *options],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)  # fmt: skip
        self.pid = self.process.pid
        self.port = self.wait_for_port()

    def wait_for_port(self):
        said, end = b"", time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            match = re.search(rb"https?://[0-9.]+:([0-9]+)/", said)
            if match:
                return int(match.group(1))
            if select.select([self.process.stdout], [], [], 0.2)[0]:
                part = os.read(self.process.stdout.fileno(), 4096)
                if not part:
                    break
                said += part
        raise AssertionError("the daemon does not listen: %s" % self.log())

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def logged(self, request_id):
        """The access line of a request; it is written when libmicrohttpd is done with it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for line in self.log().splitlines():
                if "request id=%s " % request_id in line:
                    return line
            time.sleep(0.005)
        raise AssertionError("no access line for %s in:\n%s" % (request_id, self.log()[-2000:]))

    def ask(self, method, path, headers=None, body=None, **params):
        """Lists are repeated parameters."""
        if params:
            path += "?" + urllib.parse.urlencode(params, doseq=True)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120 * SLOW)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
            if RECORD:
                record(method, path, headers, body, answer)
            return answer
        finally:
            connection.close()

    def get(self, path, headers=None, **params):
        return self.ask("GET", path, headers, **params)

    def ready(self):
        """Waits until everything is indexed."""
        until(lambda: self.get("/readyz").status, 200, "it is never ready", 2 * PATIENCE)

    def walk(self, root):
        """Returns when all directories have been read once more: one that is removed from `root` makes inotify's news not enough."""
        folder = tempfile.mkdtemp(prefix="walk", dir=root)
        os.rmdir(folder)
        equal(self.get("/info", wait="fresh").status, 200, "wait=fresh")

    def in_flight(self):
        """How many requests are being answered, but for the one that asks."""
        return int(re.search(r"^dftracerd_http_requests_in_flight (\d+)$", self.get("/metrics").text(), re.M).group(1)) - 1

    def queued(self):
        """How many answers are begun, or wait to be."""
        return int(re.search(r"^dftracerd_http_requests_queued (\d+)$", self.get("/metrics").text(), re.M).group(1))

    def connect(self, small_buffer=False):
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if small_buffer:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(30 * SLOW)
        s.connect(("127.0.0.1", self.port))
        return s

    def raw(self, data, answers=1):
        """What comes back until the daemon closes, or says nothing more for 0.2 s after so many heads."""
        with self.connect() as s:
            s.sendall(data)
            return read_some(s, answers)

    def cpu_seconds(self):
        with open("/proc/%d/stat" % self.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_kib(self):
        with open("/proc/%d/status" % self.pid) as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.pid))

    def stop(self, signal_number=signal.SIGTERM):
        """(exit status, seconds it took); the sanitizers' reports make the status bad."""
        begin = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("it does not stop:\n%s" % self.log()[-2000:]) from None
        return status, time.monotonic() - begin

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            status, _seconds = self.stop()
            if kind is None:
                check(status == 0, "exit status %d:\n%s" % (status, self.log()[-6000:]))
            elif status != 0:
                print("exit status %d:\n%s" % (status, self.log()[-6000:]))
        finally:
            self.process.stdout.close()
            shutil.rmtree(self.place, ignore_errors=True)


def read_some(s, answers=1):
    got, end = b"", time.monotonic() + PATIENCE
    while time.monotonic() < end:
        patience = 0.2 if len(re.findall(rb"HTTP/1\.[01] .*?\r\n\r\n", got, re.S)) >= answers else end - time.monotonic()
        if not select.select([s], [], [], max(patience, 0))[0]:
            break
        try:
            part = s.recv(65536)
        except ConnectionResetError:
            break
        if not part:
            break
        got += part
    return got


def status_of(raw):
    """Status of the first answer in raw bytes, None when there is none."""
    match = re.match(rb"HTTP/1\.[01] ([0-9]{3}) ", raw)
    return int(match.group(1)) if match else None


class HeldIndex:
    """with HeldIndex(web): nothing is written to its index, so that files stay in the making however fast the machine is. It takes
    LMDB's lock of writers, as another process that writes would."""

    def __init__(self, web):
        self.lmdb = ctypes.CDLL("liblmdb.so.0")
        self.env, self.transaction = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("mdb_env_create", ctypes.byref(self.env))
        self.call("mdb_env_set_maxreaders", self.env, ctypes.c_uint(1))
        self.call("mdb_env_open", self.env, os.fsencode(web.index), ctypes.c_uint(0), ctypes.c_uint(0o600))
        self.call("mdb_txn_begin", self.env, None, ctypes.c_uint(0), ctypes.byref(self.transaction))

    def call(self, function, *arguments):
        equal(getattr(self.lmdb, function)(*arguments), 0, function)

    def release(self):
        """May be called again."""
        transaction, self.transaction = self.transaction, None
        if transaction:
            self.lmdb.mdb_txn_abort(transaction)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()
        self.lmdb.mdb_env_close(self.env)


# ---- tests ---------------------------------------------------------------------------------------------


class Skip(Exception):
    """What a test needs is not on this machine; the text says what."""


@contextlib.contextmanager
def where_possible(part):
    """Around a part of a test: where it raises Skip, it is left out with its reason and the test continues."""
    try:
        yield
    except Skip as why:
        print("  skip %s: %s" % (part, why), flush=True)


@functools.cache
def can_be_nobody(*paths):
    """Whether programs can be run as another user, who can go to scratch directories and execute `paths`; if not, it is told why."""
    why = next(("no " + name for name in ("setpriv", "curl") if not shutil.which(name)), "not root" if os.geteuid() != 0 else None)
    for path in (tempfile.gettempdir(), *paths) if not why else ():
        got = subprocess.run([*AS_NOBODY, "test", "-x", path], stderr=subprocess.PIPE, text=True, check=False)
        if got.returncode:
            why = got.stderr.strip() or "%s is closed to others" % path
            break
    if why:
        print("%s: other users are not tried" % why, flush=True)
    return not why


def for_others(folder, *programs):
    """Copies of programs: the build may lie below a directory that other users cannot enter."""
    os.makedirs(folder.path("for-others"), exist_ok=True)
    return [shutil.copy(program, folder.path("for-others")) for program in programs]


def own_address():
    """An address of this machine that is not on loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))  # nothing is sent
            return s.getsockname()[0]
        except OSError:
            return None


def check(condition, why="not so"):
    if not condition:
        raise AssertionError(why)


def equal(got, wanted, what=""):
    if got != wanted:
        raise AssertionError("%s%.600r, not %.600r" % (what and what + ": ", got, wanted))


def until(get, wanted, what="", seconds=PATIENCE):
    """Waits until get() is what is wanted, all of it; what it was at last is told."""
    end = time.monotonic() + seconds
    while (got := get()) != wanted:
        if time.monotonic() > end:
            equal(got, wanted, what)
        time.sleep(0.01)


def once_within(limit, attempt, what, tries=30):
    """attempt() tells how long something took, in whatever unit. Others may use the machine, so one of many that is within the limit
    is enough."""
    took = []
    for _ in range(tries):
        took.append(attempt())
        if took[-1] < limit:
            return
    raise AssertionError("%s: never within %g: %s" % (what, limit, ["%.3f" % t for t in took]))


def main(tests, without_tsan=(), needs=lambda: None):
    """Runs functions; a failure is told and the next one goes on. Arguments choose by name. ThreadSanitizer is not shown those in
    `without_tsan`: they are of what is read and written, and the threads that do it are those of the other tests. A test is skipped
    when it raises Skip, all are when `needs` does: where none ran, the exit status is 77 and the last line says why."""
    try:
        needs()
    except Skip as why:
        print(why)
        sys.exit(77)
    if not os.access(PROGRAM, os.X_OK):
        print("%s is not built" % PROGRAM)
        sys.exit(1)
    unknown = set(sys.argv[1:]) - {test.__name__ for test in tests}
    if unknown:
        print("there is no case %s; there are %s" % (", ".join(sorted(unknown)), ", ".join(test.__name__ for test in tests)))
        sys.exit(1)
    failed, ran, skipped = 0, 0, None
    for test in tests:
        if test.__name__ not in sys.argv[1:] if len(sys.argv) > 1 else TSAN and test in without_tsan:
            continue
        begin = time.monotonic()
        try:
            test()
            outcome = "ok"
            ran += 1
        except Skip as why:
            outcome, skipped = "skip", why
            print(why, flush=True)
        except Exception:  # a test that breaks has failed
            traceback.print_exc()
            outcome = "FAIL"
            failed += 1
        print("%s %s (%.1f s)" % (outcome, test.__name__, time.monotonic() - begin), flush=True)
    if skipped and not ran and not failed:
        print(skipped)
        sys.exit(77)
    sys.exit(1 if failed else 0)
