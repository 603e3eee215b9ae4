#!/usr/bin/env python3
"""A dftracerd that answers from the oracle: what the harness itself is tested with (test_harness).

With $FAKE_WRONG it tells a number of each /stats and the order of each /view falsely.
"""

import http.server
import json
import os
import sys
import urllib.parse
from fractions import Fraction

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import paths  # noqa: E402

paths.go_on_in_pypy()
from oracle import aggregate, call_tree, compare, dsl, info, processes, reader, selection, stats, timeline, view  # noqa: E402

WRONG = os.environ.get("FAKE_WRONG")


def told(value):
    """JSON text: Fractions as decimals (times have at most three digits)."""
    if isinstance(value, stats.Approximate):
        return told(value.value)
    if isinstance(value, Fraction):
        if 1000 % value.denominator:
            return repr(float(value))
        thousandths = int(abs(value) * 1000)
        return "%s%d.%03d" % ("-" if value < 0 else "", thousandths // 1000, thousandths % 1000)
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(k) + ":" + told(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(told, value)) + "]"
    return json.dumps(value)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    root = None

    def do_GET(self):
        path, _, query = self.path.partition("?")
        self.answer(path, query)

    def do_POST(self):
        self.answer(self.path, self.rfile.read(int(self.headers["Content-Length"])).decode())

    def answer(self, path, query):
        params = {k: v if len(v) > 1 else v[0] for k, v in urllib.parse.parse_qs(query, keep_blank_values=True).items()}
        params.pop("wait", None)
        try:
            status, body = 200, self.body(path, params)
        except dsl.QueryError as error:
            status, body = 400, json.dumps({"status": 400, "position": error.position}).encode()
        except selection.NotFound:
            status, body = 404, b"{}"
        except (KeyError, ValueError, AttributeError, IndexError):
            status, body = 400, b"{}"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self, path, params):
        if path == "/aggregate":
            return b"".join(told(row).encode() + b"\n" for row in aggregate.rows(self.root, params))
        if path == "/call-tree" and params.get("format") == "collapsed":
            return b"".join(line.encode() + b"\n" for line in call_tree.collapsed(self.root, params))
        if path == "/call-tree" and params.get("format") == "ndjson":
            return b"".join(told(row).encode() + b"\n" for row in call_tree.rows(self.root, params))
        if path == "/processes" and "format" in params:
            return b"".join(told(row).encode() + b"\n" for row in processes.rows(self.root, params))
        if path == "/processes":
            return told(processes.processes(self.root, params)).encode()
        if path == "/call-tree":
            return told(call_tree.call_tree(self.root, params)).encode()
        if path == "/compare" and "format" in params:
            return b"".join(line.encode() + b"\n" for line in compare.collapsed_diff(self.root, params))
        if path == "/compare":
            return told(compare.compare(self.root, params)).encode()
        if path == "/stats":
            answer = stats.stats(self.root, params)
            if WRONG:
                answer["events"] += 1
            return told(answer).encode()
        if path == "/timeline":
            return told(timeline.as_columns(timeline.timeline(self.root, params))).encode()
        if path == "/info":
            return told(info.info(self.root, params)).encode()
        if params.get("count_only"):
            return told({"count": view.count(self.root, params)}).encode()
        if "select" in params:
            return b"".join(told(row).encode() + b"\n" for row in view.rows(self.root, params))
        lines = [o.text for o, _ in view.lines(self.root, params)]
        if WRONG and len(lines) > 1:
            lines[0], lines[1] = lines[1], lines[0]
        return b"".join(line + b"\n" for line in lines)

    def log_message(self, *_):
        pass


def main():
    Handler.root = reader.Root(sys.argv[sys.argv.index("-d") + 1])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print("listening on http://127.0.0.1:%d/" % server.server_port, flush=True)
    server.serve_forever()


main()
