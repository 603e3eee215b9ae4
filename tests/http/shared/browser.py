"""A person before the page: Chromium, driven by page_drive.js."""

import json
import os
import shutil
import subprocess

import npm
from web import BUILD, HERE, SANITIZED, Skip, check, equal

SHOTS = os.path.abspath(os.path.join(BUILD, "screenshots"))

# Speaks as Perfetto's UI does: no word until it is complete, then PONG to each PING, and it takes one trace.
STAND_IN = """<!doctype html><title>stand-in</title><script>
  let ready = false;
  setTimeout(() => { ready = true; }, 300);
  addEventListener("message", (e) => {
    if (!ready) return;
    if (e.data === "PING") return e.source.postMessage("PONG", "*");
    const p = e.data.perfetto, text = Array.from(new Uint8Array(p.buffer), (b) => b.toString(16).padStart(2, "0")).join("");
    window.taken = { origin: e.origin, title: p.title, fileName: p.fileName, bytes: text };
  });</script>"""


def chromium():
    """(the program, the folder of the npm packages that drive it). Raises Skip, with the reason, where there is none."""
    if SANITIZED:
        raise Skip("a sanitizer: the browser is another program")
    program = shutil.which("chromium")
    if not program:
        raise Skip("Chromium is not installed")
    return program, npm.modules()


def needs_page(web):
    """Raises Skip where the daemon was built without its page."""
    if "<noscript>" not in web.get("/").text():
        raise Skip("the page was not built: npm was missing, or its registry could not be reached")


class Browser:
    """with Browser(folder) as b: b.open(url); b.texts(at="h2"). What goes wrong in the page fails at once."""

    def __init__(self, folder):
        program, modules = chromium()
        os.makedirs(SHOTS, exist_ok=True)
        command = ["node", os.path.join(HERE, "page_drive.js"), modules, program, folder.path("profile"), SHOTS]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, verb, **more):
        self.process.stdin.write(json.dumps({"do": verb, **more}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        check(line, "the browser has ended")
        answer = json.loads(line)
        check("failed" not in answer, "%s %s: %s" % (verb, str(more)[:300], answer.get("failed")))
        equal(answer["wrong"], [], "%s %s" % (verb, str(more)[:300]))
        return answer["got"]

    def __getattr__(self, verb):
        return lambda **more: self.ask(verb, **more)

    def show(self, url, **more):
        """Opens it, and waits for all that it asks for."""
        self.open(url=url, **more)
        self.settled()

    def number(self, at):
        return float(self.data(at=at, name="data-value")[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
