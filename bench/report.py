"""The rows of a run: printed as they come, kept for the history, laid out for docs/BENCHMARKS.md."""

import os

from measure import TOP


def into_document(name, mark, text):
    """Puts text between the lines <!-- mark --> and <!-- end of mark --> of docs/NAME."""
    path = os.path.join(TOP, "docs", name)
    with open(path, encoding="utf-8") as f:
        before, rest = f.read().split("<!-- %s -->\n" % mark)
    after = rest.split("<!-- end of %s -->\n" % mark)[1]
    with open(path, "w", encoding="utf-8") as f:
        f.write("%s<!-- %s -->\n%s\n<!-- end of %s -->\n%s" % (before, mark, text.strip("\n"), mark, after))


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
        if peers and bar:
            row["ratio"] = ours[0] / next(iter(peers.values()))[0]
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
    def verdict(row):
        if "met" not in row:
            return ""
        sign = ">=" if row.get("higher") else "<="
        return " | bar %s %g %s" % (sign, row["bar"], "met" if row["met"] else "MISSED")

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

    def markdown(self):
        lines = ["| what | ours, wall (CPU) | peers, wall (CPU) | ratio, wall (CPU) | bar |", "|---|---|---|---|---|"]
        for row in self.rows:
            lines.append("| " + " | ".join(self.cells(row)) + " |")
        return "\n".join(lines + ["", *("Left out: %s (%s)." % pair for pair in self.left_out)])

    def cells(self, row):
        unit, cpu = row["unit"], row["cpu"]
        ours = short(row["ours"], unit) + (" (%s)" % short(cpu, unit) if cpu is not None else "")
        names, ratios = [], []
        for name, peer in row["peers"].items():
            if unit == "s":
                names.append("%s %s (%s)" % (name.replace("|", "\\|"), short(peer[0], unit), short(peer[1], unit)))
                ratios.append("%.3g (%.3g)" % (row["ours"] / peer[0], cpu / max(peer[1], 1e-9)))
            else:
                names.append("%s %s" % (name, short(peer, unit)))
                ratios.append("%.3g" % (row["ours"] / peer))
        if "at_client" in row:
            ratios[0] += ", at the client %.3g" % row["at_client"]
        bar = "" if "met" not in row else self.verdict(row).replace(" | bar ", "").replace("MISSED", "**missed**")
        what = row["what"].replace("|", "\\|") + (", " + row["note"] if row["note"] else "")
        return what, ours, "; ".join(names), "; ".join(ratios), bar
