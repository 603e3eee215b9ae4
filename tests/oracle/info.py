"""/info: totals and the counters of each file."""

from .reader import AGGREGATED, COUNTER, EVENT, METADATA
from .selection import files_of, microseconds


def times(objects):
    timed = [o for o in objects if o.cls == EVENT and o.ts is not None]
    return {"min_ts": microseconds(min((o.ts for o in timed), default=None)),
            "max_te": microseconds(max((o.te() for o in timed), default=None))}


def file_info(f):
    return {"path": f.name, "state": "damaged" if f.damaged() else "ready", "format": f.format, "members": f.members,
            "compressed_bytes": f.compressed_bytes, "uncompressed_bytes": f.uncompressed_bytes, "lines": f.lines,
            "events": f.count(EVENT), "counters": f.count(COUNTER), "aggregated": f.count(AGGREGATED),
            "metadata": f.count(METADATA), "invalid": f.invalid, "chunks": len(f.chunk_numbers),
            "time_unit": f.time_unit, "finished": f.finished, "tracer_version": f.tracer_version,
            **times(f.objects)}


def info(root, params):
    """Without generation, roots and what only the index knows."""
    files = files_of(root, params)
    objects = [o for f in files for o in f.objects]
    data = [o for o in objects if o.cls != METADATA]
    per_file = [file_info(f) for f in files]

    def total(key):
        return sum(f[key] for f in per_file)

    totals = {"files": len(files), "files_ready": len(files), "files_pending": 0, "files_failed": 0,
              "files_damaged": sum(f.damaged() for f in files),
              **{k: total(k) for k in ("compressed_bytes", "uncompressed_bytes", "lines", "events", "counters",
                                       "aggregated", "metadata", "invalid", "chunks")},
              "objects": len(objects), "brackets": sum(f.brackets for f in files),
              "repaired": sum(f.repaired() for f in files),
              "processes": len({(o.host, o.pid) for o in data if o.pid is not None}),
              "threads": len({(o.host, o.pid, o.tid) for o in data if o.pid is not None and o.tid is not None}),
              "hosts": len({o.host for o in data if o.host is not None}), **times(objects)}
    totals["bytes_per_event"] = totals["uncompressed_bytes"] / totals["events"] if totals["events"] else None
    result = {"complete": True, "totals": totals}
    if params.get("detail") in ("files", "columns") or params.get("query") == "detailed":
        result["files"] = per_file
    return result
