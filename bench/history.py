"""Is it slower than before? bench/results/history.ndjson: this machine's runs, a line each. bench/baseline.json: committed."""

import hashlib
import json
import os
import statistics
import subprocess
import time

from measure import TOP

HISTORY = os.path.join(TOP, "bench", "results", "history.ndjson")
BASELINE = os.path.join(TOP, "bench", "baseline.json")
LAST = 5
LEAST = 0.15  # differences below are noise, whatever the last runs say
FEW = 0.30  # with fewer than three runs nobody knows
OTHER_MACHINE = 0.35  # ratios to the anchor differ so much from machine to machine


def machine():
    """Name of this machine's kind: runs are compared within it."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        lines = [line for line in f if line.startswith(("model name", "flags"))][:2]
    return "%s, %d cores (%s)" % (lines[0].split(":")[1].strip() if lines else "?", os.cpu_count(),
                                  hashlib.sha256("".join(lines).encode()).hexdigest()[:6])  # fmt: skip


def commit():
    done = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "?"


def past(machine_name, data):
    try:
        with open(HISTORY, encoding="utf-8") as f:
            runs = [json.loads(line) for line in f]
    except OSError:
        return []
    return [r for r in runs if r.get("machine") == machine_name and r.get("data") == data and r.get("figures")][-LAST:]


def noise(values):
    """Relative: three times the median distance from the median (a normal spread's two sigma), at least LEAST."""
    middle = statistics.median(values)
    away = statistics.median(abs(v - middle) for v in values)
    return max(LEAST if len(values) >= 3 else FEW, 3 * away / middle if middle else 0)


def slower(figures, runs):
    """(key, now / before, noise) of what is worse than the median of the last runs by more than their noise, worst first."""
    found = []
    for key, now in figures.items():
        before = [r["figures"][key] for r in runs if r["figures"].get(key)]
        if before and now > statistics.median(before) * (1 + noise(before)):
            found.append((key, now / statistics.median(before), noise(before)))
    return sorted(found, key=lambda f: -f[1])


def tell(figures, data):
    """Prints the comparisons; returns the keys that got slower than this machine was."""
    runs = past(machine(), data)
    found = slower(figures, runs)
    print("\nCompared with the last %d runs on this machine with the same data:" % len(runs) if runs else
          "\nThis is the first run on this machine with this data: nothing to compare it with.")  # fmt: skip
    for key, ratio, allowed in found:
        print("  SLOWER %-24s %.2f x the median (noise: %.0f %%)" % (key, ratio, allowed * 100))
    if runs and not found:
        print("  nothing is slower by more than the noise")
    tell_baseline(figures, data)
    return [key for key, *_ in found]


def tell_baseline(figures, data):
    try:
        with open(BASELINE, encoding="utf-8") as f:
            baseline = json.load(f)[data]
    except (OSError, KeyError):
        return
    print("Compared with bench/baseline.json (%s, %s):" % (baseline["commit"], baseline["machine"]))
    same = baseline["machine"] == machine()
    allowed = FEW if same else OTHER_MACHINE
    worse = [(k, v / baseline["figures"][k]) for k, v in figures.items() if baseline["figures"].get(k)]
    worse = sorted((w for w in worse if w[1] > 1 + allowed), key=lambda w: -w[1])
    for key, ratio in worse:
        print("  SLOWER %-24s %.2f x" % (key, ratio))
    if not worse:
        print("  nothing is slower by more than %.0f %%" % (allowed * 100))


def entry(figures, data, rows):
    return dict(time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), commit=commit(), machine=machine(), data=data,
                load=os.getloadavg()[0], figures=figures, rows=rows)  # fmt: skip


def keep(what):
    os.makedirs(os.path.dirname(HISTORY), exist_ok=True)
    with open(HISTORY, "a", encoding="utf-8") as f:
        f.write(json.dumps(what) + "\n")


def write_baseline(what):
    try:
        with open(BASELINE, encoding="utf-8") as f:
            whole = json.load(f)
    except OSError:
        whole = {}
    figures = {k: float("%.4g" % v) for k, v in what["figures"].items()}
    whole[what["data"]] = dict(commit=what["commit"], machine=what["machine"], figures=figures)
    with open(BASELINE, "w", encoding="utf-8") as f:
        f.write(json.dumps(whole, indent=1, sort_keys=True) + "\n")
