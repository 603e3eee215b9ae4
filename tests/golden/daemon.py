"""Starts, asks and stops a dftracerd. The port is chosen by the kernel."""

import http.client
import os
import re
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("DFTRACERD_BUILD", os.path.join(HERE, "..", "..", "build"))
SHARED = os.environ.get("DFTRACERD_SHARED") or os.path.join(HERE, "..", "..", "..", "shared")
START_SECONDS = 120
ANSWER_SECONDS = 240


class DaemonError(Exception):
    pass


class Daemon:
    """with Daemon(directory) as d: status, body = d.get("/stats", {"report": "names"})"""

    def __init__(self, directory, *options):
        self.program = os.path.join(BUILD, "bin", "dftracerd")
        if not os.access(self.program, os.X_OK):
            raise DaemonError("%s is not built" % self.program)
        self.index = tempfile.mkdtemp(prefix="dftracerd-golden-")
        self.log = open(os.path.join(self.index, "stderr"), "w+b")
        self.process = subprocess.Popen(
            [self.program, "-d", directory, "--index-dir", os.path.join(self.index, "index"), "-b", "127.0.0.1",
             "-p", "0", "--no-auth", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)
        self.connection = None
        try:
            self.port = self.wait_for_port()
        except BaseException:
            self.stop()
            raise

    def wait_for_port(self):
        said, end = b"", time.monotonic() + START_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while time.monotonic() < end:
                match = re.search(rb"http://127\.0\.0\.1:([0-9]+)/", said)
                if match:
                    return int(match.group(1))
                if selector.select(0.2):
                    part = os.read(self.process.stdout.fileno(), 4096)
                    if not part:
                        raise DaemonError("it ended before listening: " + self.messages())
                    said += part
        raise DaemonError("not listening after %d s: %r" % (START_SECONDS, said))

    def messages(self):
        self.log.seek(0)
        return self.log.read()[-4000:].decode("utf-8", "replace")

    def get(self, path, params=None, method="GET"):
        """(status, body). Lists are repeated parameters."""
        text = urllib.parse.urlencode(params or {}, doseq=True)
        headers = {}
        body = None
        if method == "POST":
            body, headers = text, {"Content-Type": "application/x-www-form-urlencoded"}
        elif text:
            path += "?" + text
        for attempt in (0, 1):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)
                self.connection.request(method, path, body, headers)
                response = self.connection.getresponse()
                return response.status, response.read()
            except (http.client.HTTPException, OSError) as error:
                self.connection.close()
                self.connection = None
                if attempt:
                    raise DaemonError("%s %s: %r\n%s" % (method, path, error, self.messages())) from error
        raise AssertionError

    def stop(self):
        """The exit status."""
        if self.connection:
            self.connection.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.index, ignore_errors=True)
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
