"""The tables of members in docs/API.md, printed from the schemas of /openapi.json. A line `<!-- members: Info -->` names the type
of the table below it. Members of objects without a type of their own follow their object: `index.path`. Members that differ in
nothing but their name share a row."""

import itertools
import re

MARKED = re.compile(r"(?m)^(<!-- members: (\w+) -->\n)((?:\|.*\n)*)")
UNITS = {"us": "µs", "bytes/s": "bytes/s", "bytes": "bytes"}


def names(values):
    return ["null" if v is None else "`%s`" % v for v in values]


def listed(kinds):
    return ", ".join(kinds[:-1]) + " or " + kinds[-1] if len(kinds) > 1 else kinds[0]


def kind(schema):
    """`string`, "integer or null", "list of `InfoFile`"."""
    if "$ref" in schema:
        return names([schema["$ref"].rsplit("/", 1)[1]])[0]
    if "anyOf" in schema:
        return " or ".join(kind(s) for s in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return listed(names(schema.get("enum") or [schema["const"]]))
    types = schema.get("type", "any value")
    text = " or ".join([types] if isinstance(types, str) else types)
    if text.startswith("array"):
        item = kind(schema["items"])
        text = text.replace("array", "list of " + (re.sub(r"^\w+", r"\g<0>s", item) if " or " not in item else item))
    return text + (", " + UNITS[schema["x-unit"]] if "x-unit" in schema else "")


def inner(schema):
    """The object that a member is, or a list of."""
    return inner(schema["items"]) if "items" in schema else schema


def members(schema, prefix=""):
    """(name, type, meaning)"""
    for name, member in schema.get("properties", {}).items():
        yield "`%s%s`" % (prefix, name), kind(member) + ("" if name in schema["required"] else ", optional"), member.get("description", "")
        yield from members(inner(member), prefix + name + ".")


def table(schema):
    lines = ["| member | type | meaning |\n|---|---|---|\n"]
    for (types, meaning), same in itertools.groupby(members(schema), lambda m: m[1:]):
        lines.append("| %s | %s | %s |\n" % (", ".join(name for name, *_ in same), types, meaning))
    return "".join(lines)


def renewed(text, schemas):
    """The document with the rows that it should have."""
    return MARKED.sub(lambda match: match.group(1) + table(schemas[match.group(2)]), text)
