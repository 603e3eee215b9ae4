"""For tests that compare with the oracle: the synthesised traces, and the real ones where they are."""

import os
import sys

from web import SLOW, TOP, Folder, Web

sys.path[1:1] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests", "golden")]

import synth  # noqa: E402
from oracle import kept  # noqa: E402

SHARED = os.environ.get("DFTRACERD_SHARED") or os.path.join(TOP, "..", "shared")
REAL = ("2023-prerelease", "excerpts", "recorder-2.0", "dlio-8ranks-v1.0.8")  # the larger ones take the oracle minutes
FEW = ("excerpts", "recorder-2.0")


def synthesised(ask):
    """ask(root, web) of synth.py's traces."""
    with Folder() as folder:
        synth.make(folder.path("traces"))
        with Web(folder.path("traces")) as web:
            web.ready()
            ask(kept.Root(folder.path("traces")), web)


def real(ask, names=None):
    """ask(root, web) of folders of real traces. With a sanitizer the synthesised traces and a few real lines have to do, if it is not said."""
    for name in names or (REAL if SLOW == 1 else FEW):
        directory = os.path.join(SHARED, "traces", name)
        if not os.path.isdir(directory):
            print("%s is not there" % directory)
            continue
        with Web(directory) as web:
            web.ready()
            ask(kept.Root(directory), web)
