"""New traces from old ones, against what packs the same text today."""

import os
import shutil
import subprocess
import urllib.parse

import peers
from measure import Memory, alternate, command

# (name, query, how grep finds the same lines)
GROUPS = (("io", 'cat == "POSIX"', "grep '\"cat\":\"POSIX\"'"), ("compute", 'cat == "compute"', "grep '\"cat\":\"compute\"'"),
          ("other", "", "grep -vE '\"cat\":\"(POSIX|compute)\"'"))  # fmt: skip
ORGANIZE = "/organize?" + urllib.parse.urlencode([("groups", "%s:%s" % g[:2]) for g in GROUPS])


def pigz(world):
    """{} where it is not there."""
    text = os.path.join(world.work, "text")
    if not os.path.exists(text):
        command("cat %s/*.gz | gzip -dc >%s.part && mv %s.part %s" % (world.many, text, text, text))
    return {"pigz -6": lambda: command("pigz -6 -p %d -c %s | cat" % (world.threads, text))} if peers.has("pigz") else {}


def split(report, world, d):
    """What pigz took, by its name. The same text by the compressor of today; it is there uncompressed, ours is inflated first."""
    actors = {"ours": lambda: d.curl("/split?chunk_size=256MiB"), **pigz(world)}
    with Memory(d.pid) as memory:
        seen = alternate(actors, world.runs_long, enough=world.enough)
    ours = seen.pop("ours")
    packed, size = dict(seen), d.size
    report.time("split", "/split into files of 256 MiB of text", ours, seen, 1.5, note="%.1f MB" % (size / 1e6))
    report.value("rss_split", "peak anonymous memory of /split", memory.peak / 2**20, "MiB", 256, note="%.0f MiB before" % (memory.first / 2**20))
    for key, what, path in (("split_fast", "/split at compression level 1", "/split?chunk_size=256MiB&compress=1"), ("merge_text", "/merge, uncompressed", "/merge"),
                            ("split_verify", "/split with verify=true", "/split?chunk_size=256MiB&verify=true")):  # fmt: skip
        if world.quick and key == "split_verify":
            continue
        report.time(key, what, alternate({"ours": lambda path=path: d.curl(path)}, world.runs_long)["ours"], {}, note="%.1f MB" % (d.size / 1e6))
    return packed


def by_hand(world):
    """Each group found and packed by itself, one after the other."""
    return command("; ".join("cat %s/*.gz | gzip -dc | %s | gzip" % (world.many, grep) for _, _, grep in GROUPS))


def unpack_organized(world, d):
    """The folder with the output of /organize."""
    place = os.path.join(world.outputs, "organized")
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place)
    subprocess.run("curl -sSf '%s' | tar -xf - -C %s" % (d.url + ORGANIZE[1:], place), shell=True, check=True)
    return place


def organize(report, world, d, packed):
    """Three groups, of which the last takes the rest; the originals again, from the directory that was unpacked. In a quick run
    pigz is not asked again, and /organize not beside /reconstruct."""
    peer = {} if world.quick else {**pigz(world), "zcat | grep | gzip": lambda: by_hand(world)}
    actors = {"ours": lambda: d.curl(ORGANIZE), **peer}
    with Memory(d.pid) as memory:
        seen = alternate(actors, world.runs_long, enough=world.enough or 30)  # by hand it takes longer than that
    ours, hand, size = seen.pop("ours"), seen.pop("zcat | grep | gzip", None), d.size
    report.time("organize", "/organize into three groups", ours, seen or packed, 1.5, note="%.1f MB" % (size / 1e6))
    report.value("rss_organize", "peak anonymous memory of /organize", memory.peak / 2**20, "MiB", 256, note="%.0f MiB before" % (memory.first / 2**20))
    if hand:
        report.time("organize_hand", "/organize into three groups, against three greps", ours, {"zcat | grep | gzip": hand}, 0.5)
    place = unpack_organized(world, d)
    sidecar = os.path.getsize(os.path.join(place, "provenance.zst"))
    with Memory(d.pid) as memory:
        actors = {"ours": lambda: d.curl("/reconstruct?dir=organized"), **({} if world.quick else {"/organize": lambda: d.curl(ORGANIZE)})}
        seen = alternate(actors, world.runs_long)
    report.time("reconstruct", "/reconstruct", seen.pop("ours"), seen or {"/organize": ours}, 1.2)
    report.value("rss_reconstruct", "peak anonymous memory of /reconstruct", memory.peak / 2**20, "MiB", 256, note="%.0f MiB before" % (memory.first / 2**20))
    report.value("provenance", "provenance.zst, share of the output of /organize", 100 * sidecar / size, "%", 1, note="%d bytes" % sidecar)
