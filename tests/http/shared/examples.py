"""Runs the commands of a document and compares what they print with what it says.

A command is a line `$ ...` in a block that begins with ```console; the lines below it, up to the next command, are its
output, where a line `...` stands for any lines. Commands run one after the other in one folder, with the programs of the
build and $DFTRACERD_URL. `make run` and `dftracerd -d DIR &` start a daemon on a port that the kernel chooses: the first on the
made-up traces of packaging/run, in build/demo. Other commands that do not end or that install are not run. UPDATE=1 in the
environment writes what was printed into the document.
"""

import os
import re
import subprocess
import sys

from web import BUILD, TOP, Folder, Web, check

NOT_RUN = ("make", "sudo", "systemctl", "dftracerd", "export", "git")
# What differs from one run to the next.
VOLATILE = [
    (r'"generation":\d+', '"generation":N'), (r'"complete":(true|false)', '"complete":B'), (r"X-Dftracer-Generation: \d+", "generation"),
    (r'"(index|compressed)_bytes":\d+', '"bytes":N'), (r'"bytes(_done)?":\d+', '"bytes":N'), (r'"path":"/[^"]*/(traces|index)"', '"path":"/"'),
    (r'"scanned":\d+,"skipped":\d+', '"scanned":N'),  # reading ahead may meet a chunk more
    (r'"elapsed_ms":\d+', '"elapsed_ms":N'), (r"Processing Time:.*", "Processing Time"), (r"Date: .*", "Date"),
    (r'W/"[0-9a-f]{32}"', "ETag"), (r"(Compressed|Savings|Index Store):.*", "bytes"), (r"X-Dftracer-Complete: false\n", ""),
    (r"dftracerctl: some files changed .*\n", ""),  # they were made a moment ago
]  # fmt: skip


def blocks(text):
    """(offset, commands with their outputs) of each console block."""
    for match in re.finditer(r"^```console\n(.*?)^```$", text, re.M | re.S):
        yield match.start(1), match.group(1)


def commands(block):
    found = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line[2:].rstrip("\n"), ""])
        elif found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1][0] += "\n" + line.rstrip("\n")
        elif found:
            found[-1][1] += line
    return found


def plain(text):
    text = text.replace("\r\n", "\n")
    for pattern, replacement in VOLATILE:
        text = re.sub(pattern, replacement, text)
    return text


def same(got, wanted):
    parts = [re.escape(plain(part)) for part in re.split(r"^\.\.\.\n", wanted, flags=re.M)]
    return re.fullmatch(".*".join(parts), plain(got), re.S) is not None


def shorten(got, wanted):
    """For UPDATE: as many lines as there were before `...`."""
    if "...\n" not in wanted:
        return got
    return "".join(got.splitlines(keepends=True)[: max(wanted.index("...\n") and wanted[: wanted.index("...\n")].count("\n"), 1)]) + "...\n"


def run(command, folder, url):
    environment = {**os.environ, "DFTRACERD_URL": url, "PATH": os.path.abspath(os.path.join(BUILD, "bin")) + ":" + os.environ["PATH"]}
    got = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, timeout=120, check=False)  # fmt: skip
    return got.stdout.decode("utf-8", "replace").replace("\r\n", "\n")


def demo():
    """The command with which `make run` makes its traces when it is given none."""
    with open(document("packaging", "run"), encoding="utf-8") as f:
        options = re.search(r'/gen-fake-trace" (.*?) \|\|', f.read()).group(1)
    return "mkdir -p build && gen-fake-trace " + re.sub(r"--output-dir \S+", "--output-dir build/demo", options)


class Runner:
    """Runs commands one after the other."""

    def __init__(self, folder):
        self.folder, self.web, self.count, self.failed = folder, None, 0, []

    def start(self, directory):
        self.web = Web(self.folder.path(directory))
        self.web.ready()

    def output(self, command, wanted):
        """What is written below the command from now on."""
        if command == "make run":
            run(demo(), self.folder.base, "")
            self.start("build/demo")
        elif command.startswith("dftracerd "):
            self.start("traces")
        if command.split()[0] in NOT_RUN:
            return wanted
        self.count += 1
        got = run(command, self.folder.base, "http://127.0.0.1:%d" % (self.web.port if self.web else 1))
        if same(got, wanted):
            return wanted
        self.failed.append("$ %s\n%s--- not\n%s" % (command, got, wanted))
        return shorten(got, wanted)

    def stop(self):
        if self.web:
            self.web.__exit__(None)


def try_document(path):
    with open(path, encoding="utf-8") as f:
        text = updated = f.read()
    with Folder() as folder:
        runner = Runner(folder)
        try:
            for _, block in blocks(text):
                new = "".join("$ %s\n%s" % (c, runner.output(c, wanted)) for c, wanted in commands(block))
                updated = updated.replace("```console\n%s```" % block, "```console\n%s```" % new)
        finally:
            runner.stop()
    count, failed = runner.count, runner.failed
    if os.environ.get("UPDATE"):
        with open(path, "w", encoding="utf-8") as f:
            f.write(updated)
    print("%d commands of %s" % (count, os.path.basename(path)))
    check(count >= 5, "hardly any command was found")
    check(not failed, "\n".join(failed))


def document(*parts):
    return os.path.join(TOP, *parts)


def main(path):
    try:
        try_document(path)
    except AssertionError as error:
        print(error)
        sys.exit(1)
