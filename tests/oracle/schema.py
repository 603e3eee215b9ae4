"""/schema: the columns of the selected objects, all distinct values counted."""

from .dsl import DERIVED
from .reader import Json, is_number, to_double
from .scan import Float
from .selection import microseconds, objects_of

TOP = ("name", "cat", "pid", "tid", "id", "ph")


class Column:
    def __init__(self):
        self.rows, self.types, self.values = 0, set(), {"number": set(), "bool": set(), "string": set(), "json": set()}

    def add(self, value):
        self.rows += 1
        if isinstance(value, Float):
            value = to_double(value)
        if isinstance(value, Json):
            self.types.add("json")
            self.values["json"].add(value.text())
        elif isinstance(value, bool):
            self.types.add("bool")
            self.values["bool"].add(value)
        elif isinstance(value, str):
            self.types.add("string")
            self.values["string"].add(value)
        else:
            self.types.add("int" if isinstance(value, int) else "float")
            self.values["number"].add(value)

    def type(self):
        if self.types == {"int", "float"}:
            return "float"
        return "mixed" if len(self.types) > 1 or self.types == {"json"} else next(iter(self.types))

    def extent(self):
        kind = self.type()
        if kind == "mixed":
            return None, None
        values = self.values[{"int": "number", "float": "number"}.get(kind, kind)]
        order = (lambda s: s.encode("utf-8", "surrogatepass")) if kind == "string" else None
        return min(values, key=order), max(values, key=order)


def values_of(o):
    for key in TOP:
        yield key, getattr(o, key)
    yield "ts", microseconds(o.ts)
    yield "dur", microseconds(o.dur)
    yield "size", o.size()
    yield "bytes", o.bytes()
    for path, value in o.values.items():
        if path not in DERIVED and path != "te":  # such a name means what is derived
            yield path, value


def schema(root, params):
    columns = {}
    for o in objects_of(root, params)[1]:
        for path, value in values_of(o):
            if value is None or (isinstance(value, float) and not is_number(value)):
                continue
            columns.setdefault(path, Column()).add(value)
    found = []
    for path in sorted(columns, key=lambda p: p.encode("utf-8", "surrogatepass")):
        c = columns[path]
        low, high = c.extent()
        found.append({"path": path, "type": c.type(), "rows": c.rows,
                      "distinct": sum(len(v) for v in c.values.values()), "min": low, "max": high,
                      "bloom": path in ("name", "cat", "pid", "tid", "args.hhash", "args.fhash", "args.shash")})
    return found
