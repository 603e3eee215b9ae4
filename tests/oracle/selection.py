"""Which files and objects a request selects. Parameters are as in the request: text, or lists."""

import collections
import json
import re
from fractions import Fraction

from . import dsl, within
from .reader import AGGREGATED, COUNTER, EVENT, METADATA

PHASES = {"events": {EVENT}, "counters": {COUNTER}, "aggregated": {AGGREGATED}, "metadata": {METADATA},
          "data": {EVENT, COUNTER, AGGREGATED}, "any": {EVENT, COUNTER, AGGREGATED, METADATA}}
IO_NAMES = set("""read write open close pread pwrite pread64 pwrite64 readv writev fopen fclose fread fwrite lseek
    stat fstat lseek64 fstat64""".split())
COMPUTE = {"compute", "comm", "device", "ai_framework", "ai_root"}
DLIO = COMPUTE | {"data", "dataloader", "checkpoint", "pipeline", "dlio_benchmark", "reader", "storage", "config",
                  "data_loader"}
REMEMBERED = 16  # selections of a root


class NotFound(Exception):
    pass


def as_list(value):
    return [] if value is None else value if isinstance(value, list) else [value]


def is_true(value):
    return value in (True, "true", "1", "yes", "on")


def preset_test(preset):
    def cat(o):
        return None if o.cat is None else o.cat.lower()

    return {None: lambda o: True,
            "io": lambda o: cat(o) in ("posix", "stdio") and o.name in IO_NAMES,
            "compute": lambda o: cat(o) in COMPUTE,
            "dlio": lambda o: cat(o) in DLIO}[preset]


def glob_pattern(text):
    """`*` and `?` stay within a folder, `**` does not, and `**/` is any number of folders."""
    out, i = "", 0
    while i < len(text):
        if text.startswith("**/", i) and (i == 0 or text[i - 1] == "/"):
            out, i = out + "(?:.*/)?", i + 3
        elif text.startswith("**", i):
            out, i = out + ".*", i + 2
        elif text[i] == "*":
            out, i = out + "[^/]*", i + 1
        elif text[i] == "?":
            out, i = out + "[^/]", i + 1
        elif text[i] == "[" and "]" in text[i + 2 :]:
            end = text.index("]", i + 2)
            body = text[i + 1 : end]
            out, i = out + "[" + ("^" + body[1:] if body[0] == "!" else body) + "]", end + 1
        else:
            out, i = out + re.escape(text[i]), i + 1
    return re.compile(out, re.S)


def inside_root(root, path):
    """A root-relative path of an absolute or relative one."""
    if path.startswith("/"):
        base = root.directory.rstrip("/")
        if path != base and not path.startswith(base + "/"):
            raise NotFound(path)
        path = path[len(base) :]
    return path.strip("/")


def files_of(root, params):
    files = root.files
    dirs = [inside_root(root, d) for d in as_list(params.get("dir"))] or [""]
    dirs = ["" if d == "." else d for d in dirs]
    recursive = "recursive" not in params or is_true(params["recursive"])

    def in_dirs(file):
        for d in dirs:
            rest = file.name[len(d) + 1 :] if d else file.name
            if (not d or file.name.startswith(d + "/")) and (recursive or "/" not in rest):
                return True
        return False

    files = [f for f in files if in_dirs(f)]
    wanted = [inside_root(root, f) for f in as_list(params.get("file"))]
    if wanted:
        patterns = [glob_pattern(w) for w in wanted if re.search(r"[*?\[]", w)]
        names = {w for w in wanted if not re.search(r"[*?\[]", w)}
        missing = names - {f.name for f in root.files}
        if missing:
            raise NotFound(sorted(missing)[0])
        files = [f for f in files if f.name in names or any(p.fullmatch(f.name) for p in patterns)]
    return files


def objects_of(root, params, default_phase="data"):
    """(selected files, selected objects in file and line order)."""
    files = files_of(root, params)
    classes = PHASES[params.get("phase", default_phase)]
    test = dsl.parse(params.get("query", ""))
    preset = preset_test(params.get("preset"))
    window = None
    if "time_range" in params:
        window = [dsl.duration(part) * 1000 for part in params["time_range"].split(",")]
    overlap = params.get("time") == "overlap"
    least = dsl.duration(str(params["min_duration"])) * 1000 if "min_duration" in params else None
    most = dsl.duration(str(params["max_duration"])) * 1000 if "max_duration" in params else None

    def wanted():
        """One condition after the other, and only those that were asked for: there are many objects."""
        found = [o for f in files for o in f.objects if o.cls in classes]
        if "preset" in params:
            found = [o for o in found if preset(o)]
        if window:
            found = [o for o in found if o.ts is not None and o.ts <= window[1] and (o.te() if overlap else o.ts) >= window[0]]
        if least is not None:
            found = [o for o in found if o.dur is not None and o.dur >= least]
        if most is not None:
            found = [o for o in found if o.dur is not None and o.dur <= most]
        return [o for o in found if test(root, o)] if params.get("query") else found

    return files, chosen(root, params, classes, files, wanted)


SELECTING = ("query", "preset", "time_range", "time", "min_duration", "max_duration", "within", "within_scope", "clip")


def chosen(root, params, classes, files, wanted):
    """The objects that are wanted; those of the last selections are remembered, for most questions come in rows about the same one."""
    key = json.dumps([sorted(classes), [f.name for f in files], [params.get(k) for k in SELECTING]])
    known = root.__dict__.setdefault("chosen", collections.OrderedDict())
    if key not in known:
        known[key] = wanted()
        if "within" in params:
            known[key] = within.kept(root, params, files, known[key])
        if len(known) > REMEMBERED:
            known.popitem(last=False)
    known.move_to_end(key)
    return known[key][:]


def microseconds(ns):
    """ns as the number of microseconds that JSON would hold: int, or Fraction."""
    if ns is None:
        return None
    return ns // 1000 if ns % 1000 == 0 else Fraction(ns, 1000)
