"""Whether two answers are equal, but for what differs from one run of a daemon to the next."""

import hashlib
import os
import re
import zlib

HEADERS_THAT_DIFFER = {"date", "x-request-id", "etag", "x-dftracer-generation", "server-timing", "last-modified", "content-length", "content-disposition",
                       "transfer-encoding", "x-accel-buffering"}  # the last two: whether it was whole after its first step
# In bodies: members of JSON, the line of reports for people, and the ids of stored queries, which are random.
MASKED = re.compile(
    rb'("(?:elapsed_ms|execution_time_ms|generation|request_id|etag|indexed_at|created_at|started_at)": ?)("[^"]*"|[0-9.eE+-]+|null)'
    rb"|(Processing Time: |Completed in ) *[0-9.]+ m?s"
    rb'|("id": ?"|/q/|/open/)[0-9a-f]{32}'
)
SHOWN = 160


def headers(told):
    return sorted((name.lower(), value) for name, value in told if name.lower() not in HEADERS_THAT_DIFFER)


def body(told, place):
    """Without the place of the daemon, unpacked."""
    coding = dict(told[1]).get("Content-Encoding")
    text = zlib.decompress(told[2], 47) if coding == "gzip" and told[2] else told[2]
    return MASKED.sub(rb"\1\3\4", text.replace(os.fsencode(place), b"PLACE"))


def excerpt(one, other):
    """Where two bodies differ first."""
    at = next((i for i, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), min(len(one), len(other)))
    begin = max(0, at - SHOWN // 2)
    return ["%d and %d bytes, different from byte %d:" % (len(one), len(other), at), repr(one[begin : begin + SHOWN]), repr(other[begin : begin + SHOWN])]


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
