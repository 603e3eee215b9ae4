"""Traces of training runs with the events that DLIO writes, and what follows from their text: an independent reading of it."""

import gzip
import json
import os
import subprocess

from web import PYTHON, Skip

# (cat, name) of the loop body, the wait for a batch, the preprocessing, the loading of a sample.
NEW = [("dataloader", "fetch.block"), ("dataloader", "fetch.iter"), ("data", "preprocess"), ("data", "item")]
LOADER = [("data_loader", "loop.yield"), ("data_loader", "loop.iter"), ("reader", "FormatReader.preprocess"),
          ("data_loader", "TorchDataset.__getitem__")]  # fmt: skip
MAIN = [("dlio_benchmark", "loop.yield"), ("dlio_benchmark", "loop.iter"), *LOADER[2:]]
OLDEST = [("dlio_benchmark", "_train"), ("dlio_benchmark", "_train.iter"), *LOADER[2:]]
GENERATIONS = [NEW, LOADER, MAIN, OLDEST]


def load(text):
    """YAML as PyYAML reads it, with which DLIO does; Debian has it (python3-yaml) for its own Python."""
    program = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin.buffer), sys.stdout)"
    got = subprocess.run([PYTHON, "-c", program], input=text, capture_output=True, check=False)
    if b"No module named 'yaml'" in got.stderr:
        raise Skip("python3-yaml is not installed")
    return json.loads(got.stdout)


def line(pid, kind, ts, dur, **more):
    cat, name = kind
    return json.dumps({"name": name, "cat": cat, "pid": pid, "tid": pid, "ts": ts, "dur": dur, "ph": "X", **more})


def write(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    data = "".join(text + "\n" for text in ["[", *lines]).encode()
    with open(path, "wb") as f:
        f.write(gzip.compress(data, mtime=0) if path.endswith(".gz") else data)
    os.utime(path, (0, 0))


def run_of(pid, steps, block=lambda i: 100 + 7 * i % 500, iter_=lambda i: 50 + 3 * i % 100, preprocess=lambda i: 80 + 5 * i % 200,
           item=None, names=NEW, start=1000000):  # fmt: skip
    """Lines of one rank: in each step a wait, then the loop body; a worker process pid + 100000 preprocesses."""
    ts = start
    for i in range(steps):
        wait = iter_(i) if iter_ else 0
        if iter_:
            yield line(pid, names[1], ts, wait)
        if block:
            yield line(pid, names[0], ts + wait, block(i))
        if preprocess:
            yield line(pid + 100000, names[2], ts, preprocess(i))
        if item:
            yield line(pid + 100000, names[3], ts, item(i))
        ts += wait + (block(i) if block else 0)


def write_run(folder, files=2, ranks=2, steps=200, suffix=".pfw.gz", **more):
    """Some ranks in each file."""
    for f in range(files):
        write(os.path.join(folder, "trace-%d%s" % (f, suffix)),
              [text for r in range(ranks) for text in run_of(1000 + f * ranks + r, steps, **more)])  # fmt: skip


# ---- independent reading ---------------------------------------------------------------------------------------------


def objects(folder):
    """All objects of the traces of a folder, in the order of files and lines."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        with (gzip.open if name.endswith(".gz") else open)(path, "rt") as f:
            for text in f:
                text = text.strip().strip(",")
                if text.startswith("{"):
                    try:
                        yield json.loads(text.replace(",}", "}"))
                    except ValueError:
                        pass


def read_run(folder):
    """What /dlio-config matches: {"names", "blocks": {pid: [(ts, dur)]}, "iters", "preprocess", "items"}, in microseconds."""
    found = list(objects(folder))
    for names in GENERATIONS:
        kinds = [{} for _ in names]
        for e in found:
            for kind, (cat, name) in zip(kinds, names):
                if (str(e.get("cat")).lower(), e.get("name")) == (cat, name) and e.get("ph") == "X":
                    kind.setdefault(e["pid"], []).append((int(e["ts"]), int(e["dur"])))
        if kinds[0]:
            for kind in kinds:
                for events in kind.values():
                    events.sort(key=lambda event: event[0])
            return dict(zip(("blocks", "iters", "preprocess", "items"), kinds), names=names)
    return None


def covered(events):
    """Microseconds that at least one of (ts, dur) covers."""
    total, end = 0, None
    for ts, dur in sorted(events):
        if end is None or ts > end:
            end = ts
        total += max(0, ts + dur - end)
        end = max(end, ts + dur)
    return total


def flat(kind):
    return [event for pid in sorted(kind) for event in kind[pid]]
