"""Which stage of the program the processor was in: samples of perf and instructions of callgrind, by thread and source file."""

import os
import re
import subprocess
import tempfile

from measure import TOP

# Stage by the folder or file of a function. The first that fits.
SOURCES = (
    (r"src/trace/gzip/(inflate|member|checkpoint|reader)", "inflate"),
    (r"src/trace/gzip/chunker", "split into chunks"),
    (r"src/trace/", "scan of lines"),
    (r"src/index/store/(kv|recbuf)", "LMDB write"),
    (r"src/column/(chunk/column_|encoding/pack_decode|encoding/pack_select|chunk/chunk_view)", "column decoding"),
    (r"src/column/encoding/", "block coding"),
    (r"src/column/|src/index/", "columns, texts, summaries"),
    (r"src/engine/filter/|src/base/kernel", "predicate"),
    (r"src/base/measure", "sketch, moments"),
    (r"src/engine/group/|src/base/group_table|src/answer/(aggregate|stats)/|src/engine/derived/(keys|members)", "group"),
    (r"src/engine/derived/", "column decoding"),
    (r"src/engine/|src/answer/", "scan, rows"),
    (r"src/format/", "format"),
    (r"src/http/|src/daemon/", "http"),
)
LIBRARIES = (("libisal", "inflate"), ("libz.", "inflate"), ("libdeflate", "inflate"), ("liblmdb", "LMDB write"), ("libzstd", "zstd"),
             ("libxxhash", "columns, texts, summaries"), ("libmicrohttpd", "http"), ("kernel", "kernel"), ("libc", "libc"),
             ("libm.", "sketch, moments"))  # fmt: skip


def places():
    """{function: its source files} of all functions in src/: a static one may have namesakes."""
    done = subprocess.run(["ctags", "-R", "--languages=C", "--langmap=C:.c.h", "--kinds-C=f", "-x", "src"], cwd=TOP,
                          capture_output=True, text=True, check=True)  # fmt: skip
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) > 3:
            found.setdefault(words[0], set()).add(words[3])
    return found


def by_source(path):
    return next((stage for pattern, stage in SOURCES if re.search(pattern, path or "")), "other")


def stage_of(known, library, function):
    for name, stage in LIBRARIES:
        if name in library:
            return stage
    found = {by_source(path) for path in known.get(re.sub(r"\.(isra|part|constprop|cold).*", "", function), ())}
    return found.pop() if len(found) == 1 else "other"


def table(rows, known):
    """{(thread, stage): share of 1} of (share, thread, library, function)."""
    shares = {}
    for share, thread, library, function in rows:
        key = (thread, stage_of(known, library, function))
        shares[key] = shares.get(key, 0) + share
    return shares


def read_report(path):
    done = subprocess.run(["perf", "report", "-i", path, "--no-children", "--stdio", "-g", "none", "-t", ";",
                           "--sort", "comm,dso,sym", "--percent-limit", "0"], capture_output=True, text=True, check=True)  # fmt: skip
    for line in done.stdout.splitlines():
        parts = [p.strip() for p in line.split(";")]
        if len(parts) >= 4 and parts[0].endswith("%"):
            yield float(parts[0][:-1]) / 100, parts[1], parts[2], parts[3].split(" ", 1)[-1]


def sampled(command=None, pid=None, work=None):
    """{(thread, stage): share} of a command, or of a process while work() runs. None: perf may not be used here."""
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "perf.data")
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "-o", path]
        try:
            if command:
                subprocess.run(record + ["bash", "-c", command], capture_output=True, check=True)
            else:
                perf = subprocess.Popen(record + ["-p", str(pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                work()
                perf.terminate()
                perf.wait()
            return table(read_report(path), places())
        except (OSError, subprocess.CalledProcessError) as e:
            print("left out: samples: %s" % e)
            return None


def counted(command):
    """{stage: instructions} of a command under callgrind; None without it."""
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "out")
        try:
            subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + path, *command.split()], capture_output=True, check=True)
            done = subprocess.run(["callgrind_annotate", "--threshold=100", path], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as e:
            print("left out: instruction counts: %s" % e)
            return None
    known, found = places(), {}
    for line in done.stdout.splitlines():
        match = re.match(r"\s*([\d,]+)\s+(?:\([ \d.]+%\))?\s*(\S+?):([^\s\[]+)(?: \[(.*)\])?", line)
        if match and match.group(3) != "PROGRAM":
            place = match.group(2)  # callgrind knows the file, of inlined functions, too
            stage = by_source(place) if "src/" in place else stage_of(known, match.group(4) or "", match.group(3).split("'")[0])
            found[stage] = found.get(stage, 0) + int(match.group(1).replace(",", ""))
    return found
