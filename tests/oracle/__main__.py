"""python3 -m oracle stats|view|info|call_tree|processes|scan --dir D [--query Q] [--report R] [any parameter of the request]"""

import json
import sys
from fractions import Fraction

from . import call_tree, info, processes, reader, stats, view


def to_json(value):
    if isinstance(value, stats.Approximate):
        return value.value if isinstance(value.value, int) else float(value.value)
    if isinstance(value, Fraction):
        return float(value)
    raise TypeError(type(value))


def parameters(arguments):
    params = {}
    for name, value in zip(arguments[::2], arguments[1::2]):
        key = name.lstrip("-").replace("-", "_")
        params[key] = [params[key], value] if isinstance(params.get(key), str) else \
            params[key] + [value] if key in params else value
    return params


def main(arguments):
    if len(arguments) < 3 or arguments[0] not in ("stats", "view", "info", "call_tree", "processes", "scan") or "--dir" not in arguments:
        print(__doc__, file=sys.stderr)
        return 2
    params = parameters(arguments[1:])
    root = reader.Root(params.pop("dir"))
    if arguments[0] == "view" and "select" in params:
        for row in view.rows(root, params):
            print(json.dumps(row, default=to_json))
    elif arguments[0] == "view":
        for o, _ in view.lines(root, params):
            sys.stdout.buffer.write(o.text + b"\n")
    elif arguments[0] == "scan":
        for file in root.files:
            for o in file.objects:
                print(json.dumps([file.name, o.line + 1, o.cls, o.repaired, o.name, o.cat, o.pid, o.tid, o.id,
                                  o.ts, o.dur, {k: getattr(v, "value", v) for k, v in o.values.items()}]))
    else:
        answer = {"stats": stats.stats, "info": info.info, "call_tree": call_tree.call_tree,
                  "processes": processes.processes}[arguments[0]](root, params)
        print(json.dumps(answer, indent=1, default=to_json))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
