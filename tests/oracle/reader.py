"""A directory of traces to objects with normalised values, by docs/READING.md and docs/API.md."""

import bisect
import gc
import json
import os
import re
from fractions import Fraction

from . import inflate, scan

EVENT, COUNTER, AGGREGATED, METADATA = "event", "counter", "aggregated", "metadata"
CLASSES = (EVENT, COUNTER, AGGREGATED, METADATA)
CHUNK_SIZE = 4 << 20

PH_CLASS = {"C": COUNTER, "A": AGGREGATED, "M": METADATA, 2: COUNTER, 3: AGGREGATED, 4: METADATA, 1: EVENT}
NUMERIC_ARGS = {"args." + k for k in ("ret", "count", "offset", "size", "epoch", "step", "image_idx",
                                      "image_size", "num_events")}
HASH_ARGS = {"args." + k for k in ("hhash", "fhash", "shash", "cwd")}
NANOSECONDS = {"NS": 1, "US": 1000, "MS": 1000000, "SEC": 1000000000}
TRANSFER_CALLS = set("""read write pread pwrite pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2
    fread fwrite recv send recvfrom sendto recvmsg sendmsg splice sendfile copy_file_range""".split())
INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1
NUMERIC_TEXT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
DECIMAL = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?\Z")


def version_text(version):
    """Tracers up to 1.0.12 wrote MAJOR * 100000 + MINOR * 100 + PATCH, later ones what git describe says."""
    if isinstance(version, int) and not isinstance(version, bool) and version >= 0:
        return f"{version // 100000}.{version // 100 % 1000}.{version % 100}"
    return json_text(version)


class Json:
    """An array or an empty object: a value whose text is what was written."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = plain(value)

    def text(self):
        return json.dumps(self.value, separators=(",", ":"))

    def __eq__(self, other):
        return isinstance(other, Json) and self.text() == other.text()

    def __hash__(self):
        return hash(self.text())

    def __repr__(self):
        return "Json(%s)" % self.text()


def plain(value):
    """A parsed value without Float texts. What is beyond the doubles is infinite, as the json module reads it."""
    if isinstance(value, scan.Float):
        return float(value)
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def to_double(text):
    value = float(text)
    if value in (float("inf"), float("-inf")):
        return None
    return value + 0.0 if value else 0.0


def is_number(value):
    kind = type(value)
    return kind is int or kind is float


def number_of_text(text):
    """The number that a numeric text is, else None."""
    if not NUMERIC_TEXT.match(text):
        return None
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else to_double(text)


def whole_number(value):
    """pid, tid, id."""
    if isinstance(value, str):
        if not NUMERIC_TEXT.match(value):
            return None
        if not re.fullmatch(r"-?[0-9]+", value):
            double = float(value)
            return int(double) if abs(double) < 2.0**63 and double == int(double) else None
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def exactly(text):
    """The value of a decimal number; what is beyond 10^60 or 10^-60 is that."""
    minus, whole, fraction, exponent = DECIMAL.match(text).groups(default="")
    digits = (whole + fraction).lstrip("0")
    exponent = int(exponent or 0) - len(fraction)
    if not digits:
        return Fraction(0)
    if abs(len(digits) + exponent) > 60:
        digits, exponent = "1", 60 if exponent > -len(digits) else -60
    return Fraction(int(minus + digits)) * Fraction(10) ** exponent


def nanoseconds(value, unit):
    """(time in ns or None, whether a number was there that is out of range). What is a whole number of microseconds is
    held as such, unless the unit is ns."""
    if isinstance(value, str):
        if not NUMERIC_TEXT.match(value):
            return None, False
        exact = exactly(value) * unit
    elif isinstance(value, int) and not isinstance(value, bool):
        exact = value * unit
    else:
        return None, False
    time = round(exact)
    held = time // 1000 if unit > 1 and exact % 1000 == 0 else time
    return (time, False) if INT_MIN <= held <= INT_MAX else (None, True)


def json_text(value):
    """What a number or boolean is as the text of a name."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def normalise(path, value):
    """The value of a path outside the top-level fields that Object keeps; None where there is none."""
    if path in HASH_ARGS or (path.startswith("args.") and path.endswith("_hash")):
        return str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else value
    if isinstance(value, scan.Float):
        return value if path in ("name", "cat") else to_double(value)
    if path in NUMERIC_ARGS and isinstance(value, str):
        number = number_of_text(value)
        return value if number is None else number
    return value


def keep(into, path, part):
    """One leaf. It takes the place of that of other keys which lead to the same path; null does not."""
    if isinstance(part, (dict, list)):
        into[path] = Json(part)
    elif part is not None:
        part = part if path in ("ts", "dur", "pid", "tid", "id") else normalise(path, part)
        into.pop(path, None)
        if part is not None:
            into[path] = part


def flatten(value, path, into):
    for key, part in value.items():
        below = path + key
        if isinstance(part, dict) and (part or below == "args"):
            flatten(part, below + ".", into)
        else:
            keep(into, below, part)


UNKNOWN = object()


class Object:
    """One object. Times are integers in ns. `line` and `text` say where it stands and what /view writes."""

    __slots__ = ("file", "line", "number", "cls", "repaired", "ph", "name", "cat", "pid", "tid", "id", "ts", "dur",
                 "bad_dur", "values", "text", "host", "chunk", "own_size", "moved", "thread")

    def __init__(self, raw):
        self.repaired = self.bad_dur = False
        self.values = {}
        self.host = None
        self.own_size = self.moved = UNKNOWN  # what size() and bytes() have found: asked for by each question
        self.thread = None  # the same of stats.thread_of()
        self.read_top(raw)

    def read_top(self, raw):
        values = self.values
        flatten(raw, "", values)
        self.name, self.cat = self.take_text("name"), self.take_text("cat")
        self.pid, self.tid, self.id = (whole_number(values.pop(k, None)) for k in ("pid", "tid", "id"))
        self.pid, self.tid = (n if n is not None and INT_MIN <= n <= INT_MAX else None for n in (self.pid, self.tid))
        self.ts, self.dur = values.pop("ts", None), values.pop("dur", None)
        self.ph = values.pop("ph", None)
        self.cls = self.class_of()
        if self.cls == METADATA and self.name in ("FH", "HH", "SH") and "args.value" in values:
            value = values["args.value"]
            if is_number(value):
                values["args.value"] = str(raw["args"]["value"])

    def take_text(self, key):
        value = self.values.pop(key, None)
        return str(value) if isinstance(value, str) else json_text(value) if isinstance(value, int) else None

    def class_of(self):
        ph = self.ph
        if not isinstance(ph, (bool, float)) and not isinstance(ph, Json) and ph in PH_CLASS:
            return PH_CLASS[ph]
        if isinstance(ph, str) and re.fullmatch("[A-Za-z]", ph):
            return EVENT
        if self.name is not None and nanoseconds(self.ts, 1000)[0] is not None:
            return EVENT
        return None

    def set_times(self, unit):
        self.ts = nanoseconds(self.ts, unit)[0]
        self.dur, self.bad_dur = nanoseconds(self.dur, unit)
        if self.dur is None and not self.bad_dur and self.cls == EVENT and self.ph in ("X", 1) \
                and not isinstance(self.ph, bool):
            self.dur = 0

    def copy(self):
        """Slot by slot: copy.copy takes ten times as long."""
        o = Object.__new__(Object)
        o.file, o.line, o.number, o.cls, o.repaired, o.ph, o.name, o.cat, o.pid, o.tid, o.id, o.ts, o.dur, o.bad_dur = (
            self.file, self.line, self.number, self.cls, self.repaired, self.ph, self.name, self.cat, self.pid, self.tid, self.id, self.ts, self.dur, self.bad_dur)
        o.values, o.text, o.host, o.chunk, o.thread = self.values, self.text, self.host, self.chunk, self.thread
        o.own_size, o.moved = self.own_size, self.moved
        return o

    def te(self):
        return None if self.ts is None else self.ts + (self.dur or 0)

    def get(self, path):
        """A value by its full path, times excepted."""
        if path in ("name", "cat", "pid", "tid", "id", "ph"):
            return getattr(self, path)
        return self.values.get(path)

    def measure(self, path):
        """A number of at most 64 bits, or None: -1 that was written unsigned is no size."""
        value = self.values.get(path)
        return value if is_number(value) and (isinstance(value, float) or INT_MIN <= value <= INT_MAX) else None

    def size(self):
        if self.own_size is UNKNOWN:
            self.own_size = self.size_of_itself()
        return self.own_size

    def size_of_itself(self):
        """The first that applies: size_sum, ret_sum; of POSIX and STDIO transfer calls ret (fread and fwrite: times size), else size; of other
        categories size, else image_size. None where that is not above 0."""
        for key in ("args.size_sum", "args.ret_sum"):
            if self.measure(key) is not None:
                return self.measure(key)
        cat = (self.cat or "").upper()
        size = self.measure("args.size")
        if cat in ("POSIX", "STDIO"):
            if self.name not in TRANSFER_CALLS:
                return None
            ret = self.measure("args.ret")
            if ret is not None:
                if ret <= 0:
                    return None
                return ret * size if cat == "STDIO" and self.name in ("fread", "fwrite") and size and size > 0 else ret
        elif size is None or size <= 0:
            size = self.measure("args.image_size")
        return size if size is not None and size > 0 else None

    def layer(self):
        """What layer below the application the object reports of: "system" calls, "stdio", or None."""
        return {"posix": "system", "sys": "system", "stdio": "stdio"}.get(ascii_lower(self.cat or ""))

    def is_transfer(self):
        return self.layer() == "system" and self.name in TRANSFER_CALLS

    def counts_items(self):
        return self.layer() == "stdio" and self.name in ("fread", "fwrite")

    def bytes(self):
        """What was moved, counted once: not where a transfer call inside of an fread or fwrite counts it."""
        if self.moved is UNKNOWN:
            self.moved = self.bytes_moved()
            if self.moved is not None and self.cls == EVENT and self.counts_items() and self.file.has_transfer_in(self):
                self.moved = None
        return self.moved

    def has_sums(self):
        return self.cls in (AGGREGATED, COUNTER) and any(self.measure("args." + k) is not None for k in ("size_sum", "ret_sum"))

    def bytes_moved(self):
        """As if nothing were inside."""
        ret, size, count = (self.measure("args." + k) for k in ("ret", "size", "count"))
        if self.layer() and self.has_sums():
            sums = [self.measure("args." + k) for k in ("size_sum", "ret_sum")]
            return sums[1] if sums[0] is None else sums[0]
        if self.is_transfer():
            candidates = [ret] if ret is not None else [size] if self.cls in (AGGREGATED, COUNTER) else [size, count]
        elif self.counts_items() and ret is not None and size is not None and ret > 0 and size > 0:
            candidates = [ret * size]
        else:
            candidates = []
        return next((c for c in candidates if c is not None and c > 0), None)


def ascii_lower(text):
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)


class TraceFile:
    """One file: its objects in line order and its counters."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        with open(path, "rb") as f:
            data = f.read()
        self.compressed_bytes = len(data)
        named_gzip = name.endswith((".gz", ".tgz"))
        decoded = inflate.decode(data, named_gzip)
        self.format, self.members, self.damage = decoded.format, decoded.members, decoded.damage
        text = decoded.bytes()
        self.text_hash = hash(text)
        self.uncompressed_bytes = len(text)
        self.objects = []
        self.invalid_lines = []
        self.lines = self.brackets = self.invalid = self.bad_dur = 0
        self.finished = False
        self.tracer_version = None
        self.time_unit = "US"
        self.line_too_long = False
        self.transfers = None  # by thread: (ts, earliest end of it and of all later ones); see has_transfer_in
        self.chunk = 0                # that of the line at hand
        self.chunk_numbers = set()
        self.read(text)
        if named_gzip and self.format == "plain" and self.invalid and not self.objects and not self.damaged():
            self.damage.append(("garbage", 0))
        self.set_times()

    def read(self, text):
        lines = text.split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        i = offset = 0
        while i < len(lines):
            self.chunk = offset // CHUNK_SIZE
            self.chunk_numbers.add(self.chunk)
            used = 1 + self.read_one(lines, i)
            offset += sum(len(line) + 1 for line in lines[i : i + used])
            i += used
        self.lines = len(lines)

    def read_one(self, lines, i):
        """The objects of line i; how many more lines belong to it."""
        line = lines[i]
        if len(line) > scan.LINE_MAX:
            self.invalid += 1
            self.line_too_long = True
            self.invalid_lines.append(line[:80])
            return 0
        if scan.is_bracket_line(line):
            self.brackets += 1
            self.finished |= b"]" in line
            return 0
        body = line.lstrip(scan.BLANK + b"[,").rstrip(scan.BLANK + b"],")
        try:
            raw = scan.parse_strictly(body.decode("utf-8"))
        except UnicodeDecodeError:
            raw = None
        if raw is not None:
            if not self.add(raw, body, i, False):
                self.invalid += 1
                self.invalid_lines.append(line)
            return 0
        reading = scan.Reading(lines, i)
        good = 0
        for value, start, end, repaired in reading.found:
            text = reading.text[start:end].encode("utf-8", "surrogateescape") if not repaired else None
            good += self.add(value, text, i, repaired)
        if not good:
            self.invalid += 1 + reading.joined
            self.invalid_lines.append(line)
        return reading.joined

    def add(self, raw, text, line, repaired):
        o = Object(raw)
        if o.cls is None:
            return False
        if repaired:
            text = json.dumps(plain(raw), ensure_ascii=False, separators=(",", ":")).encode("utf-8")
        o.file, o.line, o.number, o.repaired, o.text = self, line, len(self.objects), repaired, text
        o.chunk = self.chunk
        self.objects.append(o)
        return True

    def set_times(self):
        for o in self.objects:
            unit = None
            if o.cls == METADATA and o.name == "CM" and o.values.get("args.name") == "time_metric":
                unit = o.values.get("args.value")
            elif o.name == "end":
                unit = o.values.get("args.cfg.time_metric")
            if isinstance(unit, str) and unit.upper() in NANOSECONDS:
                self.time_unit = unit.upper()
                break
        for o in self.objects:
            o.set_times(NANOSECONDS[self.time_unit])
        self.drop_times("ts")
        self.drop_times("dur")
        for o in self.objects:
            self.bad_dur += o.bad_dur
            if o.cls == EVENT and o.name == "end" and o.cat == "dftracer":
                self.finished = True
            if o.cls == EVENT and o.name == "start" and self.tracer_version is None:
                version = o.values.get("args.version")
                self.tracer_version = None if version is None else version_text(version)

    def drop_times(self, key):
        """In a chunk where one time is held as nanoseconds all are: those that do not fit are absent."""
        times = [(o, getattr(o, key)) for o in self.objects if getattr(o, key) is not None]
        fine = {o.chunk for o, time in times if time % 1000 or self.time_unit == "NS"}
        for o, time in times:
            if o.chunk in fine and not INT_MIN <= time <= INT_MAX:
                setattr(o, key, None)
                o.bad_dur |= key == "dur"

    def has_transfer_in(self, outer):
        """Is there an event that transfers, of the same thread, within the time of the object?"""
        if self.transfers is None:
            self.transfers = {}
            for o in self.objects:
                if o.cls == EVENT and o.is_transfer() and o.ts is not None:
                    self.transfers.setdefault(calling_thread(o), []).append((o.ts, o.te()))
            for spans in self.transfers.values():
                spans.sort()
                for i in range(len(spans) - 2, -1, -1):  # the earliest end of all that begin then or later
                    spans[i] = spans[i][0], min(spans[i][1], spans[i + 1][1])
        spans = self.transfers.get(calling_thread(outer), []) if outer.ts is not None else []
        first = bisect.bisect_left(spans, (outer.ts,))
        return first < len(spans) and spans[first][1] <= outer.te()

    def count(self, cls):
        return sum(o.cls == cls for o in self.objects)

    def repaired(self):
        return sum(o.repaired for o in self.objects)

    def damaged(self):
        return bool(self.damage) or self.line_too_long


def calling_thread(o):
    return o.pid, o.tid, o.values.get("args.hhash"), o.values.get("args.hostname")


class Names:
    """FH, HH and SH records of one file: (kind, hash) -> records in line order."""

    def __init__(self, file):
        self.records = {}
        for o in file.objects:
            if o.cls == METADATA and o.name in ("FH", "HH", "SH"):
                key = o.values.get("args.value")
                if isinstance(key, str):
                    self.records.setdefault((o.name, key), []).append(o)

    def first(self, kind, hash_text):
        for o in self.records.get((kind, hash_text), ()):
            name = o.values.get("args.name")
            if isinstance(name, str):
                return name
        return None


def trace_name(name):
    return (name.endswith(".pfw") or name.endswith(".pfw.gz")) and not name.startswith(".nfs")


def find_files(root):
    """(name in answers, path), ordered by the bytes of the name."""
    found = []
    for folder, folders, files in os.walk(root, followlinks=False):
        folders.sort()
        for file in files:
            path = os.path.join(folder, file)
            inside = os.path.realpath(path).startswith(os.path.realpath(root) + os.sep)
            if trace_name(file) and os.path.isfile(path) and inside:
                found.append((os.path.relpath(path, root), path))
    return sorted(found, key=lambda f: os.fsencode(f[0]))


class Root:
    """A directory of traces, and all that is resolved over its files: hosts, names, ranks, commands."""

    def __init__(self, directory, files=None):
        """`files`: TraceFiles read before, named anew."""
        gc.disable()  # a million objects that stay: collecting them again and again is half the time
        self.directory = directory
        self.files = files or [TraceFile(name, path) for name, path in find_files(directory)]
        self.hide_duplicates()
        self.names = {f: Names(f) for f in self.files}
        self.everywhere = self.names_everywhere()
        self.cache = {}
        self.parents = self.find_parents()
        self.set_hosts()
        self.ranks = self.find_ranks()
        if hasattr(gc, "freeze"):  # PyPy has none
            gc.freeze()
        gc.enable()

    def hide_duplicates(self):
        """Of X and X.gz with the same text, X.gz answers nothing."""
        by_name = {f.name: f for f in self.files}
        self.duplicates = [f for f in self.files
                           if f.name.endswith(".gz") and f.name[:-3] in by_name
                           and by_name[f.name[:-3]].text_hash == f.text_hash]
        self.files = [f for f in self.files if f not in self.duplicates]

    def names_everywhere(self):
        """(kind, hash) -> the set of first names that the files give it."""
        found = {}
        for names in self.names.values():
            for key in names.records:
                name = names.first(*key)
                if name is not None:
                    found.setdefault(key, set()).add(name)
        return found

    def find_parents(self):
        """(file, pid) -> files of the parent process: start's ppid, else the process whose fork returned pid."""
        files_of, parent, forked = {}, {}, {}
        for file in self.files:
            for o in file.objects:
                if o.pid is None:
                    continue
                files_of.setdefault(o.pid, {})[file] = True
                if o.cls == EVENT and o.name == "start":
                    ppid = whole_number(o.values.get("args.ppid"))
                    if ppid is not None:
                        parent.setdefault((file, o.pid), ppid)
                if o.cls == EVENT and o.name == "fork":
                    ret = o.values.get("args.ret")
                    if isinstance(ret, int) and ret > 0:
                        forked.setdefault(ret, o.pid)
        result = {}
        for pid, files in files_of.items():
            for file in files:
                ppid = parent.get((file, pid), forked.get(pid))
                if ppid is not None:
                    result[file, pid] = list(files_of.get(ppid, ()))
        return result

    def resolve(self, file, pid, kind, hash_text):
        """The name behind a hash: own file, parent's files, all files if they agree; else None."""
        key = (file, pid, kind, hash_text)
        if key not in self.cache:
            self.cache[key] = self.resolve_anew(*key)
        return self.cache[key]

    def resolve_anew(self, file, pid, kind, hash_text):
        name = self.names[file].first(kind, hash_text)
        if name is not None:
            return name
        for other in self.parents.get((file, pid), ()):
            name = self.names[other].first(kind, hash_text)
            if name is not None:
                return name
        candidates = self.everywhere.get((kind, hash_text), ())
        return next(iter(candidates)) if len(candidates) == 1 else None

    def behind(self, o, kind, hash_text):
        """The name, else the hash as it stands."""
        name = self.resolve(o.file, o.pid, kind, hash_text)
        return hash_text if name is None else name

    def own_host(self, o):
        hhash = o.values.get("args.hhash")
        if isinstance(hhash, str):
            return self.behind(o, "HH", hhash)
        hostname = o.values.get("args.hostname")
        return hostname if isinstance(hostname, str) else None

    def set_hosts(self):
        for file in self.files:
            of_pid = {}
            for o in file.objects:
                o.thread = None
                o.host = self.own_host(o)
                if o.host is not None and o.pid is not None:
                    of_pid.setdefault(o.pid, set()).add(o.host)
            for o in file.objects:
                hosts = of_pid.get(o.pid, ())
                if o.host is None and len(hosts) == 1:
                    o.host = next(iter(hosts))

    def find_ranks(self):
        """(file or None, host, pid) -> rank: the first in the file, and the first of all files."""
        ranks = {}
        for file in self.files:
            for o in file.objects:
                if o.pid is not None and o.cls == METADATA and o.name in ("PR", "process_name"):
                    rank = rank_of(o)
                    if rank is not None:
                        ranks.setdefault((file, o.host, o.pid), rank)
                        ranks.setdefault((None, o.host, o.pid), rank)
        return ranks

    def rank(self, o):
        if o.pid is None:
            return None
        return self.ranks.get((o.file, o.host, o.pid), self.ranks.get((None, o.host, o.pid)))

    def derived(self, o, path):
        """host, file, cmd, exec, rank, trace."""
        if path == "host":
            return o.host
        if path == "trace":
            return o.file.name
        if path == "file":
            fhash = o.values.get("args.fhash")
            if isinstance(fhash, str):
                return self.behind(o, "FH", fhash)
            for key in ("args.fname", "args.path"):
                if isinstance(o.values.get(key), str):
                    return o.values[key]
            return None
        if path in ("cmd", "exec"):
            hash_text = o.values.get("args.%s_hash" % path)
            return self.behind(o, "SH", hash_text) if isinstance(hash_text, str) else None
        if path == "rank":
            return self.rank(o)
        raise KeyError("there is no rule for the column " + path)


def rank_of(o):
    """The number of a PR record ("rank" -> "N") or of a process_name record ("Rank N" -> ...)."""
    name, value = o.values.get("args.name"), o.values.get("args.value")
    if o.name == "PR":
        return whole_number(value) if name == "rank" and isinstance(value, (int, str)) else None
    match = re.fullmatch("Rank (-?[0-9]+)", name) if isinstance(name, str) else None
    return int(match.group(1)) if match else None
