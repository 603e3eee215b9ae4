"""/view: the lines of an answer, with the metadata they need; counts; flat rows."""

from . import dsl
from .reader import METADATA
from .selection import is_true, objects_of, files_of
from .stats import show, sort_key

HASH_ORDER = ("args.hhash", "args.fhash", "args.shash", "args.cmd_hash", "args.exec_hash", "args.cwd")
KINDS = {"args.hhash": ("HH",), "args.fhash": ("FH",), "args.cwd": ("FH",), "args.shash": ("SH",),
         "args.cmd_hash": ("SH",), "args.exec_hash": ("SH",)}
PROCESS_RECORDS = ("thread_name", "process_name", "PR", "CM")


def hash_paths(o):
    """Paths through which an object refers to hash records, in the order they are looked up."""
    others = sorted((p for p in o.values if p.endswith("_hash") and p.startswith("args.") and p not in HASH_ORDER),
                    key=lambda p: p.encode())
    return [p for p in HASH_ORDER if p in o.values] + others


class Metadata:
    """Which records stand before an object, each once in an answer."""

    def __init__(self, root, files):
        self.root, self.files = root, files
        self.written = set()      # (record name, hash, args.name)
        self.texts = set()        # of process records
        self.processes = set()
        self.seen = set()         # (file, kind, hash) that are done
        self.of_process = {}
        for file in files:
            for o in file.objects:
                if o.cls == METADATA and o.name in PROCESS_RECORDS and o.pid is not None:
                    self.of_process.setdefault((o.host, o.pid), []).append(o)

    def hash_records(self, file, kind, hash_text):
        own = self.root.names[file].records.get((kind, hash_text))
        if own:
            return own
        return [r for f in self.files if f is not file for r in self.root.names[f].records.get((kind, hash_text), ())]

    def before(self, o):
        for path in hash_paths(o):
            hash_text = o.values[path]
            if not isinstance(hash_text, str):
                continue
            for kind in KINDS.get(path, ("FH", "HH", "SH")):
                if (o.file, kind, hash_text) in self.seen:
                    continue
                self.seen.add((o.file, kind, hash_text))
                for record in self.hash_records(o.file, kind, hash_text):
                    key = (kind, hash_text, sort_key(record.values.get("args.name")))
                    if key not in self.written:
                        self.written.add(key)
                        yield record
        process = (o.host, o.pid)
        if o.pid is not None and process not in self.processes:
            self.processes.add(process)
            for record in self.of_process.get(process, ()):
                if record.text not in self.texts:
                    self.texts.add(record.text)
                    yield record


def by_column(root, objects, order):
    """By the values of a column, null last; sorting is stable in both directions: file, line."""
    read = dsl.Path(order[1:] if order[0] in "+-" else order)
    keys = {id(o): sort_key(read(root, o)) for o in objects}
    null = sort_key(None)
    some = [o for o in objects if keys[id(o)] != null]
    return sorted(some, key=lambda o: keys[id(o)], reverse=order[0] == "-") + [o for o in objects if keys[id(o)] == null]


def ordered(root, objects, params):
    order = params.get("order", "file")
    if order == "ts":
        return sorted(objects, key=lambda o: (o.ts is not None, o.ts or 0))  # stable: file, line
    return objects if order == "file" else by_column(root, objects, order)


def window(objects, params):
    start = int(params.get("offset", 0))
    return objects[start : start + int(params["limit"])] if "limit" in params else objects[start:]


def lines(root, params):
    """Objects in the order in which their lines are written: [(object, is automatic metadata)]."""
    _, objects = objects_of(root, params)
    objects = window(ordered(root, objects, params), params)
    with_metadata = is_true(params.get("metadata", "true")) and params.get("phase") not in ("metadata", "any")
    if not with_metadata:
        return [(o, False) for o in objects]
    metadata = Metadata(root, files_of(root, params))
    result = []
    for o in objects:
        result += [(record, True) for record in metadata.before(o)]
        result.append((o, False))
    return result


def count(root, params):
    _, objects = objects_of(root, params)
    return len(window(objects, params))


def rows(root, params):
    """select=: a list of {column: value}."""
    _, objects = objects_of(root, params)
    columns = params["select"].split(",")
    readers = [dsl.Path(c) for c in columns]
    return [{c: show(read(root, o)) for c, read in zip(columns, readers)}
            for o in window(ordered(root, objects, params), params)]
