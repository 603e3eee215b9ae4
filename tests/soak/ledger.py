"""What every path held and when: the truth that answers are compared with. Any thread."""

import collections
import contextlib
import itertools
import threading
import time

# A path from `since` (the change that made it so began) until `until` (the next change was over). States of one lineage only grow.
State = collections.namedtuple("State", "number lineage since until content")
FOREVER = float("inf")
KEPT_SECONDS = 300


class Ledger:
    def __init__(self):
        self.lock = threading.Lock()
        self.histories = {}
        self.numbers = itertools.count(1)

    @contextlib.contextmanager
    def change(self, contents, grows=False):
        """with ledger.change({path: content, other: None}): ... - before and after are both possible while it goes on."""
        begin = time.monotonic()
        with self.lock:
            for path, content in contents.items():
                history = self.histories.setdefault(path, [])
                number = next(self.numbers)
                lineage = history[-1].lineage if grows and history else number
                history.append(State(number, lineage, begin, FOREVER, content))
        yield
        end = time.monotonic()
        with self.lock:
            for path in contents:
                history = self.histories[path]
                if len(history) > 1:
                    history[-2] = history[-2]._replace(until=end)
                self.histories[path] = [s for s in history if s.until > end - KEPT_SECONDS]

    def possible(self, path, begin, end):
        """States that an answer may tell of which was asked for at `begin` (less what the daemon may lag) and had come at `end`."""
        with self.lock:
            history = list(self.histories.get(path, ()))
        states = [s for s in history if s.since <= end and s.until >= begin]
        if not history or history[0].since > begin:
            states.append(State(0, 0, 0, 0, None))
        return states

    def paths(self):
        with self.lock:
            return list(self.histories)

    def present(self):
        """{path: content} as it is now."""
        with self.lock:
            return {p: h[-1].content for p, h in self.histories.items() if h and h[-1].content}

    def changed_since(self, path, begin):
        """Whether more than one state of the path is possible from `begin` on."""
        return len(self.possible(path, begin, FOREVER)) > 1
