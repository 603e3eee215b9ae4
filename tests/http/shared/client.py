"""For the tests of dftracerctl: it runs as on a machine where nothing is set up, under every POSIX shell that is there."""

import glob
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

from web import BUILD, SLOW, check, equal

CLIENT = os.path.join(BUILD, "bin", "dftracerctl")
SHELLS = [s for s in (["dash"], ["busybox", "sh"], ["bash", "--posix"]) if shutil.which(s[0])]


class Client:
    """with Client(folder) as c: c.good("info", "-d", "traces"). Sockets and indexes are below the folder."""

    def __init__(self, folder, shell=None, **environment):
        self.shell, self.folder = shell or SHELLS[0], folder
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DFTRACERD_", "XDG_")) and k != "DFTRACERD"}
        self.environment = {**kept, "HOME": folder.path("home"), "TMPDIR": folder.path("tmp"), "DFTRACERD_IDLE_EXIT": "60s",
                            "DFTRACERD_RUNTIME_DIR": folder.path("run"), **environment}  # fmt: skip
        for name in ("home", "tmp"):
            os.makedirs(folder.path(name), exist_ok=True)

    def start(self, *arguments, name=CLIENT, cwd=None, **environment):
        return subprocess.Popen([*self.shell, name, *arguments], cwd=cwd or self.folder.base, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**self.environment, **environment})  # fmt: skip

    def run(self, *arguments, **more):
        """(exit status, standard output, standard error)"""
        process = self.start(*arguments, **more)
        out, err = process.communicate(timeout=120 * SLOW)
        return process.returncode, out.decode(), err.decode()

    def good(self, *arguments, **more):
        status, out, err = self.run(*arguments, **more)
        equal((status, err), (0, ""), " ".join(arguments)[:300])
        return out

    def bad(self, status, why, *arguments, **more):
        """It fails with this exit status and says this, and nothing else comes."""
        got, out, err = self.run(*arguments, **more)
        equal((got, out), (status, ""), "%s: %s" % (arguments, err))
        check(why in err, "%s: not %r in %s" % (arguments, why, err))
        return err

    def locks(self):
        return glob.glob(self.folder.path("tmp", "dftracerd-*", "*", "dftracerd.lock"))

    def daemons(self):
        """Process ids of the daemons that it has started, and that live."""
        found = []
        for path in self.locks():
            with open(path) as f:
                pid = f.read().strip()
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    if os.path.basename(f.read().split(b"\0")[0]) == b"dftracerd":
                        found.append(int(pid))
            except OSError:
                pass
        return sorted(set(found))

    def stop(self, signal_number=signal.SIGTERM):
        pids = self.daemons()
        for pid in pids:
            os.kill(pid, signal_number)
        self.wait_for_end(pids)

    def wait_for_end(self, pids):
        end = time.monotonic() + 30 * SLOW
        while any(is_running(pid) for pid in pids):
            check(time.monotonic() < end, "daemons do not end: %s" % pids)
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def is_running(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Relay:
    """Passes bytes on to a daemon, and of each answer no more than a limit, with some of them exchanged for others."""

    def __init__(self, port, limit=1 << 40, exchange=(b"", b"")):
        self.socket, self.port, self.limit, self.exchange = socket.create_server(("127.0.0.1", 0)), port, limit, exchange
        self.url = "http://127.0.0.1:%d" % self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client, socket.create_connection(("127.0.0.1", self.port)) as server:
                threading.Thread(target=self.pump, args=(client, server), daemon=True).start()
                self.pump(server, client, self.limit, self.exchange)

    @staticmethod
    def pump(source, sink, limit=1 << 40, exchange=(b"", b"")):
        try:
            while limit > 0 and (part := source.recv(65536)):
                sink.sendall(part.replace(*exchange) if exchange[0] else part)
                limit -= len(part)
            sink.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Not before the thread has left accept(): interrupted, that would go on with the next socket of the same number."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()
