"""Whether an answer is right: what it tells of each path is one of the states that the path had, and fits all other answers."""

import bisect
import collections
import threading

from lines import event_lines, events, first, line, signature

GENERATIONS = 3000  # of which it is remembered what they told


class Wrong(Exception):
    pass


# What was asked when, by the clock of the ledger; `complete` as the answer says.
Asked = collections.namedtuple("Asked", "begin end generation complete")


class Judge:
    def __init__(self, ledger, lag):
        self.ledger, self.lag = ledger, lag
        self.lock = threading.Lock()
        self.told = collections.OrderedDict()  # generation: {path: (serial, events)}
        self.steps = {}  # path: ascending [(generation, lineages, serial, events)]
        self.newest = 0  # generation of an answer that has come
        self.bodies = collections.OrderedDict()  # (url, ETag): hash of the body
        self.judged = 0

    # ---- generations ----

    def generation_floor(self):
        return self.newest

    def check_generation(self, generation, floor):
        if generation < floor:
            raise Wrong("generation %d, an answer before had %d" % (generation, floor))
        with self.lock:
            self.newest = max(self.newest, generation)

    def check_body(self, url, tag, body):
        """One ETag, one answer."""
        with self.lock:
            known = self.bodies.setdefault((url, tag), hash(body))
            if len(self.bodies) > GENERATIONS:
                self.bodies.popitem(last=False)
        if known != hash(body):
            raise Wrong("other bytes with the same ETag %s" % tag)

    def same_as_told(self, path, asked, found):
        with self.lock:
            known = self.told.setdefault(asked.generation, {}).setdefault(path, found)
            if len(self.told) > GENERATIONS:
                self.told.popitem(last=False)
        if known != found:
            raise Wrong("%s at generation %d: %r, another answer said %r" % (path, asked.generation, found, known))

    def check_counts(self, got, asked, only=None):
        """Numbers of events by path, of all files or of `only` those."""
        for path in only or set(got) | set(self.ledger.paths()):
            n = got.get(path, 0)
            totals = [events(s.content.ranges) if s.content else 0 for s in self.states_of(path, asked)]
            if not (n in totals if asked.complete else n <= max(totals)):
                raise Wrong("%s: %d events%s at generation %d; it held %s" % (
                    path, n, " complete" if asked.complete else "", asked.generation, totals))  # fmt: skip
            with self.lock:
                known = self.told.get(asked.generation, {}).get(path)
            if known and known[1] != n:
                raise Wrong("%s at generation %d: %d events, another answer said %r" % (path, asked.generation, n, known))
            self.judged += 1

    def in_order(self, path, asked, states, found):
        """Later generations tell of the same or a later state, and within one that only grows of no fewer events."""
        step = (asked.generation, min(s.lineage for s in states), max(s.lineage for s in states), *found)
        with self.lock:
            steps = self.steps.setdefault(path, [])
            at = bisect.bisect(steps, step)
            around = [(steps[at - 1], step)] if at else []
            around += [(step, steps[at])] if at < len(steps) else []
            steps.insert(at, step)
            del steps[:-200]
        for (_g, low, most, serial, n), (_g2, low2, most2, serial2, n2) in around:
            if low > most2 or (low == most == low2 == most2 and serial == serial2 and n > n2):
                raise Wrong("%s went back: %r" % (path, around))

    # ---- states ----

    def states_of(self, path, asked):
        return self.ledger.possible(path, asked.begin - self.lag, asked.end)

    def check_path(self, path, asked, found):
        """found: {serial: ((count, sum of durations) by shape)} of one file; a count or sum that was not asked for is None."""
        states = self.states_of(path, asked)
        if len(found) > 1:
            raise Wrong("%s: a mixture of %s; it held %s" % (path, sorted(found), brief(states)))
        serial, shapes = next(iter(found.items())) if found else (None, ())
        n = sum(count for count, _sum in shapes)
        good = [s for s in states if fits(s.content, serial, n, shapes, asked.complete)]
        if not good:
            raise Wrong("%s: %d events of trace %s%s at generation %d %r; it held %s" % (
                path, n, serial, " complete" if asked.complete else "", asked.generation, shapes, brief(states)))  # fmt: skip
        self.same_as_told(path, asked, (serial, n))
        if n:
            self.in_order(path, asked, good, (serial, n))
        self.judged += 1

    def check_lines(self, path, asked, got, offset=0, limit=None):
        """got: lines of events, from event number `offset` on."""
        states = self.states_of(path, asked)
        for state in states:
            if state.content and self.is_part(state.content, got, offset, limit, asked.complete):
                break
        else:
            if got or (asked.complete and all(s.content and events(s.content.ranges) > offset for s in states)):
                raise Wrong("%s: %d lines from event %d on, first %.150r, last %.150r; it held %s" % (
                    path, len(got), offset, got[:1], got[-1:], brief(states)))  # fmt: skip
        self.judged += 1

    def is_part(self, content, got, offset, limit, complete):
        total = events(content.ranges)
        most = max(total - offset, 0) if limit is None else min(limit, max(total - offset, 0))
        if len(got) > most or (complete and len(got) < most):
            return False
        wanted = numbers(content.ranges, offset, len(got))
        return all(g == line(content.serial, i).encode() for g, i in zip(got, wanted))


def numbers(ranges, offset, count):
    """Of the lines that are the events from `offset` on."""
    return event_lines(first(ranges, offset + count))[offset:]


def fits(content, serial, n, shapes, complete):
    if n == 0:
        return content is None or not complete or events(content.ranges) == 0
    if content is None or content.serial != serial:
        return False
    total = events(content.ranges)
    if n > total or (complete and n < total):
        return False
    wanted = signature(serial, first(content.ranges, n))
    return all(c == wc and s in (None, ws) for (c, s), (wc, ws) in zip(shapes, wanted))


def brief(states):
    return ", ".join(
        "nothing" if not s.content else "%d:%s%s" % (s.content.serial, list(s.content.ranges), " damaged" * s.content.damaged)
        for s in states
    )
