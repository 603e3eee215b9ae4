"""What the traces of the soak hold, by formula: line `i` of trace `serial`, and what any range of its lines adds up to.

Nothing here knows the daemon. A trace's number is the pid of its lines, so that an answer tells which trace each count comes from."""

import collections

HEAD = 2  # the first lines are metadata records
SHAPES = (("POSIX", "read"), ("POSIX", "write"), ("STDIO", "fread"), ("DLIO", "epoch"), ("sys", "cpu"), ("AI", "compute"))
COUNTER = 4  # the shape that has no duration
SIZED = (0, 1)  # shapes that move duration + 1 bytes
PERIOD = 192  # of shapes and of the first part of durations


def duration(serial, k):
    return serial % 50 + k * 13 % 64 + k // PERIOD


def line(serial, i):
    """Without the newline."""
    if i < HEAD:
        kind, value = (("HH", "node-%d" % (serial % 8)), ("FH", "/data/file-%d" % (serial % 32)))[i]
        return '{"name":"%s","cat":"dftracer","pid":%d,"tid":%d,"ph":"M","args":{"%s":"%s%d","name":"%s","value":"%s%d"}}' % (
            kind, serial, serial, kind.lower() + "ash", kind, serial % 32, value, kind, serial % 32)  # fmt: skip
    k = i - HEAD
    shape = k % 6
    cat, name = SHAPES[shape]
    dur = duration(serial, k)
    start = '{"id":%d,"name":"%s","cat":"%s","pid":%d,"tid":%d,"ts":%d' % (i, name, cat, serial, k % 3, serial * 10**8 + 10 * k)
    if shape == COUNTER:
        return start + ',"ph":"C","args":{"freq":%d}}' % (k % 100)
    start += ',"dur":%d,"ph":"X"' % dur
    if shape in SIZED:
        return start + ',"args":{"ret":%d,"hhash":"HH%d","fhash":"FH%d","offset":%d}}' % (dur + 1, serial % 32, serial % 32, k * 512)
    if shape == 2:
        return start + ',"args":{"ret":"%d","size":8,"hhash":"HH%d"}}' % (dur + 1, serial % 32)
    if shape == 3:
        return start + ',"args":{"epoch":%d,"cfg":{"io":{"level":%d}}}}' % (k // 1000, k % 4)
    return start + "}"


def text(serial, a, b):
    return "".join(line(serial, i) + "\n" for i in range(a, b)).encode()


def make_table():
    """By k of one period: how many of each shape come before it, and the sum of the first part of their durations."""
    counts, sums, rows = [0] * 6, [0] * 6, []
    for k in range(PERIOD + 1):
        rows.append((tuple(counts), tuple(sums)))
        counts[k % 6] += 1
        sums[k % 6] += k * 13 % 64
    return rows


TABLE = make_table()


def before(serial, i):
    """((count, sum of durations) by shape) of the lines before line i."""
    q, r = divmod(max(i - HEAD, 0), PERIOD)
    (full, full_sum), (part, part_sum) = TABLE[PERIOD], TABLE[r]
    result = []
    for s in range(6):
        count = q * full[s] + part[s]
        total = q * full_sum[s] + part_sum[s] + full[s] * q * (q - 1) // 2 + part[s] * q + count * (serial % 50)
        result.append((count, 0 if s == COUNTER else total))
    return result


def signature(serial, ranges):
    """((count, sum of durations) by shape) of ranges of lines."""
    result = [(0, 0)] * 6
    for a, b in ranges:
        low, high = before(serial, a), before(serial, b)
        result = [(c + hc - lc, d + hd - ld) for (c, d), (lc, ld), (hc, hd) in zip(result, low, high)]
    return tuple(result)


def events(ranges):
    return sum(max(b - HEAD, 0) - max(a - HEAD, 0) for a, b in ranges)


def first(ranges, n):
    """The ranges with the first n events of them (and the metadata before)."""
    result = []
    for a, b in ranges:
        here = events([(a, b)])
        if here >= n:
            return result + [(a, max(a, HEAD) + n if n else a)]
        result.append((a, b))
        n -= here
    return result


def event_lines(ranges):
    """Numbers of the lines that are events."""
    return [i for a, b in ranges for i in range(max(a, HEAD), b)]


# What a file holds: of trace `serial` these ranges of lines, and `junk` lines that are none. None where there is no file.
Content = collections.namedtuple("Content", "serial ranges junk damaged", defaults=(0, False))
