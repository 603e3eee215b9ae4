"""What both builds are asked: golden's questions in every format, its errors, and the requests that the http tests have sent."""

import glob
import json
import os
import re
import sys
import urllib.parse

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "golden"))
import paths  # noqa: E402,F401
import queries  # noqa: E402
from oracle import kept  # noqa: E402

# Answers that differ from one run of a daemon to the next, do not end, or change the index under later requests; and the page,
# which is not built anew. /gen-fake-trace is an endpoint of earlier builds, which may have recorded it.
NOT_ASKED = re.compile(r"^(GET|HEAD) /(metrics|requests|progress|healthz)?($|\?)|^POST /(index|cancel)\b|[?&](follow|wait|timeout)=|^\w+ /gen-fake-trace\b")


def request(endpoint, params):
    return "GET", "/%s?%s" % (endpoint, urllib.parse.urlencode(params, doseq=True)), None, None


def formats(openapi):
    """{endpoint: the formats that it has}"""
    found = {}
    for path, methods in openapi["paths"].items():
        for parameter in methods.get("get", {}).get("parameters", ()):
            if parameter.get("name") == "format":
                found[path[1:]] = [f for f in parameter["schema"]["enum"] if f != "recipe"]
    return found


def in_every_format(questions, formats):
    for endpoint, params in questions:
        given = [params] if "format" in params else []
        for asked in given or [params, *({**params, "format": f} for f in formats.get(endpoint, ()))]:
            yield request(endpoint, asked)


def recorded(folder):
    """Each request once, as tests/run has kept them."""
    seen = {}
    for name in sorted(glob.glob(os.path.join(folder, "*"))):
        with open(name, encoding="utf-8") as lines:
            for line in lines:
                kept = json.loads(line)
                key = kept["method"], kept["path"], json.dumps([kept.get("sent"), kept.get("told")], sort_keys=True)
                seen[key] = kept["method"], kept["path"], kept.get("told"), kept.get("sent")
    return list(seen.values())


def is_asked(request):
    return not NOT_ASKED.search("%s %s" % request[:2])


def general(folder, formats):
    """The questions that fit any folder."""
    root = kept.Root(folder)
    return list(in_every_format(kept.answer(root, "general", {}, lambda: queries.general(root)), formats))


def of_synth(formats):
    return [*in_every_format(queries.SYNTH, formats), *(request(endpoint, params) for endpoint, params, _, _ in queries.ERRORS)]
