"""For the tests of this folder: a daemon in which calls fail or threads are held where a test says so (failpoint.c)."""

import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http", "shared"))
import web  # noqa: E402

web.PROGRAM = os.path.join(web.BUILD, "fail", "bin", "dftracerd")


class Faults:
    """with Faults(folder) as faults: daemons that are started inside read the rules of `faults`; at the end there are none."""

    def __init__(self, folder):
        self.path = folder.path("faults")

    def set(self, rules):
        with open(self.path + ".part", "w") as f:
            f.write(rules)
        os.rename(self.path + ".part", self.path)

    @contextlib.contextmanager
    def during(self, rules):
        self.set(rules)
        try:
            yield
        finally:
            self.set("")

    def reached(self):
        """The points at which threads have been held or delayed so far."""
        if not os.path.exists(self.path + ".reached"):
            return []
        with open(self.path + ".reached", encoding="ascii") as f:
            return f.read().split()

    def __enter__(self):
        self.set("")
        os.environ["DFTRACERD_FAIL"] = "@" + self.path
        return self

    def __exit__(self, *_):
        del os.environ["DFTRACERD_FAIL"]
        self.set("")
