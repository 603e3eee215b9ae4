"""Call trees: all events nested and folded, and what that takes of memory. There is no peer: SQL has no stack."""

import itertools
import time

from measure import Memory, alternate

NUMBERS = itertools.count(1000)  # levels that no tree has: no answer that was kept is told


def ask(d, **params):
    """(wall, cpu)"""
    cpu, begin = d.cpu(), time.perf_counter()
    d.get("/call-tree", max_depth=next(NUMBERS), **params)
    return time.perf_counter() - begin, d.cpu() - cpu


def call_tree(report, world, d):
    for key, what, params in (("call_tree", "/call-tree of all events, folded", {}), ("call_tree_analysis", "/call-tree of all events, folded, with analyze", {"analyze": "true"})):
        report.time(key, what, alternate({"ours": lambda: ask(d, **params)}, world.runs, warm=1)["ours"], {})  # noqa: B023
    wall = min(ask(d)[0] for _ in range(5))
    report.value("call_tree_wall", "/call-tree of all events, folded, best of five", wall, "s", 0.5 if world.events >= 4_800_000 else None, figure=None)
    with Memory(d.pid) as memory:
        ask(d)
    report.value("call_tree_memory", "peak anonymous memory of the daemon during /call-tree, per event", memory.peak / world.events, "B/event", 64)
