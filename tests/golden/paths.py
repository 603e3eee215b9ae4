"""Puts tests/ on the path, so that `import oracle` works in scripts of tests/golden."""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def go_on_in_pypy():
    """Where PyPy is installed: it takes the oracle through a million objects in half of CPython's time."""
    pypy = shutil.which("pypy3")
    if pypy and sys.implementation.name != "pypy":
        os.environ.setdefault("PYPY_GC_NURSERY", "64M")  # most of what a question makes is gone after it
        os.execv(pypy, [pypy, *sys.argv])
