"""/processes: the tree of (host, pid), from objects that are selected and from what the selected files say. Slow and plain."""

import os
import re

from .reader import EVENT, whole_number
from .selection import microseconds, objects_of
from .stats import number, sort_key

NAMED = (("command", "args.cmd_hash", "SH"), ("exec", "args.exec_hash", "SH"), ("cwd", "args.cwd", "FH"))


class Process:
    def __init__(self, host, pid):
        self.host, self.pid, self.rank = host, pid, None
        self.parent_pid = self.parent_by = self.finished = self.file = None
        self.command = self.exec = self.cwd = None
        self.objects, self.files, self.children, self.depth = [], 0, [], 0


def is_tracers(o, name):
    return o.cls == EVENT and o.name == name and (o.cat or "").lower() == "dftracer"


def forks_of(file):
    """(host, child, parent, word) in line order."""
    for o in file.objects:
        ret = o.values.get("args.ret")
        if o.cls == EVENT and o.pid is not None and o.name in ("fork", "vfork", "spawn") and isinstance(ret, int) and ret > 0:
            yield o.host, ret, o.pid, "spawn" if o.name == "spawn" else "fork"


def forks_of_all(root):
    """(host, child) -> {parent: word}; several parents: nobody knows."""
    found = {}
    for file in root.files:
        for host, child, parent, word in forks_of(file):
            found.setdefault((host, child), {}).setdefault(parent, word)
    return found


def told_by(root, file, everywhere):
    """What one file says: {(host, pid): {...}}."""
    said = {(o.host, o.pid): {} for o in file.objects if o.pid is not None}
    for o in file.objects:
        of = said.get((o.host, o.pid))
        if of is not None and is_tracers(o, "start"):
            of["started"] = True
            ppid = whole_number(o.values.get("args.ppid"))
            if ppid is not None:
                of.setdefault("parent", (ppid, "ppid"))
            for name, path, kind in NAMED:
                if isinstance(o.values.get(path), str):
                    of.setdefault(name, root.behind(o, kind, o.values[path]))
        if of is not None and is_tracers(o, "end"):
            of["finished"] = True
    for host, child, parent, word in forks_of(file):
        if (host, child) in said and child != parent:
            said[host, child].setdefault("parent", (parent, word))
    for key, of in said.items():
        parents = everywhere.get(key, {})
        if "parent" not in of and len(parents) == 1 and key[1] not in parents:
            of["parent"] = next(iter(parents.items()))
        of["rank"] = root.ranks.get((file, *key))
    return said


def guess(file, said, processes):
    """Of a file without starts that is named after one of its processes."""
    numbers = {int(n) for n in re.findall("[0-9]+", os.path.basename(file.name)) if n == str(int(n))}
    owners = [key for key in said if key[1] in numbers]
    if any("started" in of for of in said.values()) or len(owners) != 1:
        return
    for key in said:
        p = processes.get(key)
        if key != owners[0] and key[0] == owners[0][0] and p and not p.parent_by:
            p.parent_pid, p.parent_by = owners[0][1], "file"


def tell_facts(root, files, processes):
    everywhere = forks_of_all(root)
    said = {file: told_by(root, file, everywhere) for file in files}
    for file in files:
        for key, of in said[file].items():
            p = processes.get(key)
            if p is None:
                continue
            p.files += 1
            p.file = p.file or file.name
            for name in ("command", "exec", "cwd", "rank"):
                if getattr(p, name) is None:
                    setattr(p, name, of.get(name))
            parent, word = of.get("parent", (None, None))
            if word and parent != p.pid and (not p.parent_by or word == "ppid" != p.parent_by):
                p.parent_pid, p.parent_by = parent, word
            if "finished" in of:
                p.finished = True
            elif "started" in of and p.finished is None:
                p.finished = False
    for file in files:
        guess(file, said[file], processes)


def order(processes):
    """The tops, with children: by host and pid; the first process of a circle is a top."""
    ordered = sorted(processes.values(), key=lambda p: (sort_key(p.host), p.pid))
    above = {id(p): processes.get((p.host, p.parent_pid)) if p.parent_by else None for p in ordered}
    for p in ordered:
        chain = []
        while p is not None and p not in chain:
            chain.append(p)
            p = above[id(p)]
        if p is not None:
            first = min(chain[chain.index(p):], key=ordered.index)
            above[id(first)] = None
    tops = []
    for p in ordered:
        (above[id(p)].children if above[id(p)] else tops).append(p)
    return tops


def members(p):
    moved = [b for b in (o.bytes() for o in p.objects) if b is not None]
    stamps = [o.ts for o in p.objects if o.ts is not None]
    ends = [max(o.ts, o.te()) for o in p.objects if o.ts is not None]
    waited = sum(o.dur for o in p.objects if o.dur is not None and (o.cat or "").upper() in ("POSIX", "STDIO"))
    return {"host": p.host, "pid": p.pid, "parent_pid": p.parent_pid, "parent_by": p.parent_by, "depth": p.depth, "rank": p.rank,
            "command": p.command, "exec": p.exec, "cwd": p.cwd, "min_ts": microseconds(min(stamps, default=None)),
            "max_te": microseconds(max(ends, default=None)), "events": len(p.objects), "threads": len({o.tid for o in p.objects}),
            "bytes": number(sum(moved)) if moved else None, "io_time": microseconds(waited), "files": p.files, "file": p.file,
            "finished": p.finished}


def walk(tops):
    """(row, children) in the order of the tree."""
    opened = [(p, 0) for p in reversed(tops)]
    while opened:
        p, p.depth = opened.pop()
        opened += [(c, p.depth + 1) for c in reversed(p.children)]
        yield p


def make(root, params):
    files, objects = objects_of(root, params)
    processes, without = {}, 0
    for o in objects:
        if o.pid is None:
            without += 1
        else:
            processes.setdefault((o.host, o.pid), Process(o.host, o.pid)).objects.append(o)
    tell_facts(root, files, processes)
    return files, objects, without, order(processes), len(processes)


def rows(root, params):
    found = [members(p) for p in walk(make(root, params)[3])]
    first = int(params.get("offset", 0))
    return found[first : first + int(params["limit"])] if "limit" in params else found[first:]


def processes(root, params):
    files, objects, without, tops, count = make(root, params)
    told = {}
    for p in walk(tops):
        told[id(p)] = {**members(p), "children": []}
    for p in walk(tops):
        told[id(p)]["children"] = [told[id(c)] for c in p.children]
    return {"complete": True, "files": len(files), "damaged_files": sum(f.damaged() for f in files), "events": len(objects),
            "without_process": without, "processes": count, "tree": [told[id(p)] for p in tops]}
