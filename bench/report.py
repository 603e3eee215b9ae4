"""The rows of a run: printed as they come, kept for the history, and, with --docs, written to bench/results and docs/BENCHMARKS.md."""

import csv
import os

from measure import TOP

RESULTS = os.path.join(TOP, "bench", "results")
FIELDS = ("date", "machine", "key", "what", "unit", "value", "cpu_s", "peer", "peer_value", "peer_cpu_s", "ratio", "cpu_ratio",
          "client_ratio", "target", "verdict", "note")  # fmt: skip
# The rows on top of docs/BENCHMARKS.md; all of them are in bench/results.
HEADLINES = ("index_one_file", "size_reference", "rss_16_files", "all_stats", "filtered_stats", "rare_rows", "window", "by_hand",
             "export_lines", "timeline")  # fmt: skip


def into_document(name, mark, text):
    """Writes text between the lines <!-- mark --> and <!-- end of mark --> of docs/NAME."""
    path = os.path.join(TOP, "docs", name)
    with open(path, encoding="utf-8") as f:
        before, rest = f.read().split("<!-- %s -->\n" % mark)
    after = rest.split("<!-- end of %s -->\n" % mark)[1]
    with open(path, "w", encoding="utf-8") as f:
        f.write("%s<!-- %s -->\n%s\n<!-- end of %s -->\n%s" % (before, mark, text.strip("\n"), mark, after))


def rounded(value):
    return "" if value is None else "%.6g" % value


def short(value, unit):
    if unit == "s":
        return "%.2f ms" % (value * 1000) if value < 0.1 else "%.0f ms" % (value * 1000) if value < 1 else "%.2f s" % value
    return "%.1f %s" % (value, unit) if value < 1000 else "%.0f %s" % (value, unit)


class Report:
    """anchor: processor seconds of `gzip -dc` of the reference file in this run. What the history compares is free of the
    speed of the machine: processor time over the anchor's; sizes and memory as they are."""

    def __init__(self):
        self.rows, self.left_out, self.anchor = [], [], None

    def leave_out(self, what, why):
        self.left_out.append((what, str(why)))
        print("left out: %s: %s" % (what, why), flush=True)

    def time(self, key, what, ours, peers, bar=None, note="", client=None):
        """ours: (wall, cpu); peers: {name: (wall, cpu)}, the first is the one of the bar. client: wall seconds there."""
        if client:
            note = "%.2f ms at the client" % (client * 1000)
        row = dict(key=key, what=what, unit="s", ours=ours[0], cpu=ours[1], peers=peers, bar=bar, note=note)
        if peers and client:
            row["at_client"] = client / next(iter(peers.values()))[0]
        if peers:
            row["ratio"] = ours[0] / next(iter(peers.values()))[0]
        if peers and bar:
            row["met"] = row["ratio"] <= bar
        self.keep(row)

    def value(self, key, what, ours, unit, bar=None, higher=False, peers=None, note="", figure="itself"):
        """A number with a bar of its own, or, with peers {name: number}, as a ratio to the first of them. figure: what the
        history compares, where that is another number (processor seconds), or None."""
        row = dict(key=key, what=what, unit=unit, ours=ours, cpu=None, peers=peers or {}, bar=bar, higher=higher, note=note,
                   figure=figure)  # fmt: skip
        measure = ours
        if peers:
            measure = row["ratio"] = ours / next(iter(peers.values()))
        if bar is not None:
            row["met"] = measure >= bar if higher else measure <= bar
        self.keep(row)

    def keep(self, row):
        self.rows.append(row)
        print(self.line(row), flush=True)

    def line(self, row):
        unit, cpu = row["unit"], row["cpu"]
        text = "%-56s %10s" % (row["what"], short(row["ours"], unit))
        text += " (cpu %s)" % short(cpu, unit) if cpu is not None else ""
        for name, peer in row["peers"].items():
            if unit == "s":
                text += " | %s %s (cpu %s) %.3f (cpu %.3f)" % (
                    name, short(peer[0], unit), short(peer[1], unit), row["ours"] / peer[0], cpu / max(peer[1], 1e-9))
            else:
                text += " | %s %s %.3f" % (name, short(peer, unit), row["ours"] / peer)
        text += " | at the client %.3f of %s" % (row["at_client"], next(iter(row["peers"]))) if "at_client" in row else ""
        return text + self.verdict(row) + (" [%s]" % row["note"] if row["note"] else "")

    @staticmethod
    def verdict(row, sep=" | target "):
        """Target and verdict: `<= 0.35: met, 19 % to spare`."""
        if "met" not in row:
            return ""
        seen, bar, higher = row.get("ratio", row["ours"]), row["bar"], row.get("higher")
        away = abs(seen / bar - 1) * 100
        away = "%.0f %%" % away if away >= 10 else "%.1f %%" % away
        unit = "" if "ratio" in row else " " + row["unit"]
        return "%s%s %g%s: %s" % (sep, ">=" if higher else "<=", bar, unit, "met, %s to spare" % away if row["met"] else "MISSED by %s" % away)

    def figures(self):
        """{key: number that a slower or bigger program raises}, for the history."""
        found = {}
        for row in self.rows:
            own = row["cpu"] if row["cpu"] is not None else row["figure"]
            if own == "itself":
                found[row["key"]] = row["ours"]
            elif own is not None and self.anchor:
                found[row["key"]] = own / self.anchor
        return found

    def write_csv(self, name, date, machine, ranks=False):
        """bench/results/NAME: a line for each row and peer; either the rows of ranks, or the others."""
        os.makedirs(RESULTS, exist_ok=True)
        with open(os.path.join(RESULTS, name), "w", encoding="utf-8", newline="") as f:
            out = csv.DictWriter(f, FIELDS, lineterminator="\n")
            out.writeheader()
            for row in (row for row in self.rows if row["key"].startswith("ranks_") == ranks):
                first = True
                for name, peer in row["peers"].items() or ((None, None),):
                    out.writerow(dict(date=date, machine=machine, **self.fields(row, name, peer, first)))
                    first = False

    def fields(self, row, name, peer, first):
        wall, cpu = peer if isinstance(peer, tuple) else (peer, None)
        more = dict(client_ratio=rounded(row.get("at_client")), target="", verdict="")
        if "met" in row:
            target, verdict = self.verdict(row, "").split(": ")
            more.update(target=target, verdict=verdict.replace("MISSED", "missed"))
        return dict(key=row["key"], what=row["what"], unit=row["unit"], value=rounded(row["ours"]), cpu_s=rounded(row["cpu"]), peer=name or "",
                    peer_value=rounded(wall), peer_cpu_s=rounded(cpu), ratio=rounded(row["ours"] / wall) if wall else "",
                    cpu_ratio=rounded(row["cpu"] / cpu) if cpu and row["cpu"] is not None else "", note=row["note"] if first else "",
                    **(more if first else {}))  # fmt: skip

    def headlines(self):
        known = {row["key"]: row for row in self.rows}
        return self.markdown(known[key] for key in HEADLINES if key in known)

    def missed(self):
        """But for ranks, which have a table of their own."""
        judged = [row for row in self.rows if "met" in row and not row["key"].startswith("ranks_")]
        missed = [row for row in judged if not row["met"]]
        text = "%d of %d targets are met." % (len(judged) - len(missed), len(judged))
        return text + (" Missed:\n\n" + self.markdown(missed) if missed else "")

    def markdown(self, rows):
        lines = ["| what | dftracerd | compared with | ratio | target | verdict |", "|---|---|---|---|---|---|"]
        for row in rows:
            peers = ["%s: %s" % (name, short(peer[0] if isinstance(peer, tuple) else peer, row["unit"])) for name, peer in row["peers"].items()]
            target, verdict = self.verdict(row, "").split(": ") if "met" in row else ("", "no target")
            seen = "; ".join(peers[:1] if "met" in row else peers) or ("fixed limit" if "met" in row else "")
            cells = (row["what"], short(row["ours"], row["unit"]), seen, "%.3g" % row["ratio"] if "ratio" in row else "", target,
                     verdict.replace("MISSED", "**missed**"))  # fmt: skip
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        return "\n".join(lines)
