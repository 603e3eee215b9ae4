"""Two builds of the daemon: where their programs are, and daemons of both on copies of one index."""

import http.client
import os
import re
import select
import shutil
import signal
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = os.path.join(TOP, "build", "same")
START_SECONDS = 120
ANSWER_SECONDS = 300


def run(*command, **more):
    return subprocess.run(command, check=True, text=True, **more)


def checkout(commit):
    """A work tree of the commit below build/same, kept for the next time."""
    tree = os.path.join(WORK, commit[:12])
    if not os.path.isdir(tree):
        run("git", "-C", TOP, "worktree", "prune")
        run("git", "-C", TOP, "worktree", "add", "--detach", "--quiet", tree, commit)
    page = os.path.join(TOP, "build", "web", "dist")
    if os.path.isdir(page) and not os.path.isdir(os.path.join(tree, "build", "web", "dist")):  # building it takes npm and time
        shutil.copytree(page, os.path.join(tree, "build", "web", "dist"), copy_function=shutil.copyfile)
    return tree


def programs(what):
    """The folder with the programs of a build folder, or of a commit, which is built."""
    if os.access(os.path.join(what, "bin", "dftracerd"), os.X_OK):
        return os.path.abspath(os.path.join(what, "bin"))
    found = subprocess.run(["git", "-C", TOP, "rev-parse", "--verify", "--quiet", what + "^{commit}"], stdout=subprocess.PIPE, text=True)
    if found.returncode:
        raise SystemExit("%s is neither a commit nor a build folder with bin/dftracerd" % what)
    tree = checkout(found.stdout.strip())
    run("make", "-C", tree, "--silent", "-j%d" % os.cpu_count(), stdout=subprocess.DEVNULL)
    return os.path.join(tree, "build", "bin")


def whole(answer):
    """The body; of one that was cut, its part and a word."""
    try:
        return answer.read()
    except http.client.IncompleteRead as error:
        return error.partial + b"[cut]"


class Daemon:
    """with Daemon(programs, traces, place) as d: d.ask("GET", "/stats") -> (status, headers, body). `place`: a folder for its index
    (place/index, used if it is there), what it writes (place/output) and what it says (place/stderr)."""

    def __init__(self, programs, traces, place, *options):
        self.place, self.output = place, os.path.join(place, "output")
        os.makedirs(self.output, exist_ok=True)
        with open(os.path.join(place, "stderr"), "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(programs, "dftracerd"), "-c", "/dev/null", "-d", traces, "--index-dir", os.path.join(place, "index"), "--output-dir", self.output,
                 "-b", "127.0.0.1", "-p", "0", "--no-auth", *options],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)  # fmt: skip
        self.port = self.wait_for_port()
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)

    def wait_for_port(self):
        said = b""
        while not (match := re.search(rb"http://127\.0\.0\.1:([0-9]+)/", said)):
            ready = select.select([self.process.stdout], [], [], START_SECONDS)[0]
            part = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not part:
                self.process.kill()
                raise SystemExit("the daemon does not listen; see %s/stderr" % self.place)
            said += part
        return int(match.group(1))

    def ask(self, method, path, headers=None, body=None):
        for again in (True, False):  # it closes connections on which nothing was asked for some time
            try:
                self.connection.request(method, path, body, headers or {})
                answer = self.connection.getresponse()
                return answer.status, answer.getheaders(), whole(answer)
            except (http.client.RemoteDisconnected, ConnectionError, http.client.CannotSendRequest):
                self.connection.close()
                if not again or self.process.poll() is not None:
                    raise

    def stop(self):
        self.connection.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
