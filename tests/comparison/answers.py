"""Whether two answers are equal, but for what differs from one run of a daemon to the next."""

import hashlib
import os
import re
import struct
import zlib

HEADERS_THAT_DIFFER = {"date", "x-request-id", "etag", "x-dftracer-generation", "server-timing", "last-modified", "content-length", "content-disposition",
                       "transfer-encoding", "x-accel-buffering"}  # the last two: whether it was whole after its first step
# In bodies: members of JSON, the line of reports for people, and the ids of stored queries, which are random.
MASKED = re.compile(
    rb'("(?:elapsed_ms|execution_time_ms|generation|request_id|etag|indexed_at|created_at|started_at)": ?)("[^"]*"|[0-9.eE+-]+|null)'
    rb"|(Processing Time: |Completed in ) *[0-9.]+ m?s"
    rb'|("id": ?"|/q/|/open/)[0-9a-f]{32}'
)
# Between indexes that were made apart: their sizes.
SIZES = re.compile(rb'("index_bytes": ?|"path":"PLACE/index","bytes":)[0-9]+|(Index Store: +|^Index (?:size|bytes): +)[0-9.]+ \w+(?: \([0-9]+ bytes\))?', re.M)
apart = False
NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
PIECES = re.compile(rb"[{\n]")
SHOWN = 160
BLOCK = 65536


def headers(told):
    return sorted((name.lower(), value) for name, value in told if name.lower() not in HEADERS_THAT_DIFFER)


def masked(text):
    text = MASKED.sub(rb"\1\3\4", text)
    return SIZES.sub(rb"\1\2", text) if apart else text


def unpacked(told, place):
    """Without the place of the daemon."""
    coding = dict(told[1]).get("Content-Encoding")
    text = zlib.decompress(told[2], 47) if coding == "gzip" and told[2] else told[2]
    return text.replace(os.fsencode(place), b"PLACE")


def body(told, place):
    return masked(unpacked(told, place))


def excerpt(one, other):
    """Where two bodies differ first."""
    least = min(len(one), len(other))
    block = next((i for i in range(0, least, BLOCK) if one[i : i + BLOCK] != other[i : i + BLOCK]), least)
    at = next((i for i in range(block, min(block + BLOCK, least)) if one[i] != other[i]), least)
    begin = max(0, at - SHOWN // 2)
    return ["%d and %d bytes, different from byte %d:" % (len(one), len(other), at), repr(one[begin : begin + SHOWN]), repr(other[begin : begin + SHOWN])]


def near(one, other):
    return abs(one - other) <= 1e-12 * max(abs(one), abs(other))


def near_part(one, other):
    one, other = masked(one), masked(other)
    if [b" ".join(part.split()) for part in NUMBER.split(one)] != [b" ".join(part.split()) for part in NUMBER.split(other)]:
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other))
    return all(a == b or (b"." in a + b and near(float(a), float(b))) for a, b in pairs)


def near_text(one, other):
    """Equal but for the last digits of fractions, and for the spaces that line them up."""
    parts = [PIECES.split(body) for body in (one, other)]
    return len(parts[0]) == len(parts[1]) and all(a == b or near_part(a, b) for a, b in zip(*parts))


def near_words(one, other):
    """Equal but for the last digits of doubles, which lie on multiples of eight bytes: Arrow."""
    if len(one) != len(other):
        return False
    count = len(one) // 8
    pairs = zip(struct.unpack_from("<%dq" % count, one), struct.unpack_from("<%dq" % count, other))
    changed = [i for i, pair in enumerate(pairs) if pair[0] != pair[1]]
    return one[count * 8 :] == other[count * 8 :] and all(near(*(struct.unpack_from("<d", body, i * 8)[0] for body in (one, other))) for i in changed)


def nearly_equal(old, new, places):
    """Whether answers that differ do so only in the last digits of doubles."""
    bodies = [unpacked(told, place) for told, place in zip((old, new), places)]
    same_head = old[0] == new[0] and headers(old[1]) == headers(new[1])
    return same_head and (near_words(*bodies) if b"ARROW" in bodies[0][:6] or bodies[0][:4] == b"\xff" * 4 else near_text(*bodies))


def differences(old, new, places):
    """Lines of text, none where the answers are equal. An answer: (status, headers, body)."""
    if old[0] != new[0]:
        return ["status %d, now %d" % (old[0], new[0]), *excerpt(old[2][:2000], new[2][:2000])]
    if headers(old[1]) != headers(new[1]):
        changed = sorted(set(headers(old[1])) ^ set(headers(new[1])))
        return ["headers: %s" % "; ".join("%s: %s" % pair for pair in changed)]
    if old[2] == new[2]:
        return []
    bodies = [body(told, place) for told, place in zip((old, new), places)]
    return [] if bodies[0] == bodies[1] else excerpt(*bodies)


def written(folder):
    """{name: digest} of what a daemon wrote."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = hashlib.sha256(f.read()).hexdigest()
    return found
