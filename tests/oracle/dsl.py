"""The query language, as docs/API.md explains it: parse(text) -> Query, Query.test(root, object) -> bool."""

import operator
import re
from fractions import Fraction

from .reader import Json, exactly, is_number

DEPTH_MAX, TERMS_MAX = 256, 10000
TOP_FIELDS = ("name", "cat", "pid", "tid", "ts", "dur", "ph", "id", "type", "te")
DERIVED = ("host", "file", "cmd", "exec", "rank", "trace", "size", "bytes")
HASHES = ("hhash", "fhash", "shash")
TIME_UNITS = {"ns": Fraction(1, 1000), "us": Fraction(1), "ms": Fraction(1000), "s": Fraction(10**6),
              "min": Fraction(60 * 10**6), "h": Fraction(3600 * 10**6), "d": Fraction(86400 * 10**6)}
SIZE_UNITS = {"b": 1, **{p + "b": 1000 ** (i + 1) for i, p in enumerate("kmgtp")},
              **{p + "ib": 1024 ** (i + 1) for i, p in enumerate("kmgtp")}}
TOKEN = re.compile(r"""\s*(?:
    (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?P<unit>[A-Za-z]*)
  | (?P<word>[A-Za-z_][A-Za-z0-9_.]*)
  | (?P<op>==|!=|>=|<=|!~\*|!~|~\*|=|>|<|~|\(|\)|\[|\]|,)
  | (?P<quote>["'])
)""", re.X)


class QueryError(Exception):
    """A 400: what is wrong, and the byte offset of the token."""

    def __init__(self, message, position):
        super().__init__(message)
        self.position = position


class Token:
    def __init__(self, kind, value, position, unit=""):
        self.kind, self.value, self.position, self.unit = kind, value, position, unit

    def is_word(self, *words):
        return self.kind == "word" and self.value.lower() in words


def read_string(text, pos):
    quote, out, start = text[pos], [], pos
    pos += 1
    while pos < len(text):
        c = text[pos]
        if c == quote:
            return "".join(out), pos + 1
        if c == "\\":
            following = text[pos + 1 : pos + 2]
            if following == "u" and re.fullmatch("[0-9A-Fa-f]{4}", text[pos + 2 : pos + 6]):
                out.append(chr(int(text[pos + 2 : pos + 6], 16)))
                pos += 6
                continue
            if following not in ('"', "'", "\\", "n", "t"):
                raise QueryError("unknown escape", pos)
            out.append({"n": "\n", "t": "\t"}.get(following, following))
            pos += 2
            continue
        out.append(c)
        pos += 1
    raise QueryError("Unterminated string", start)


def tokens(text):
    found, pos = [], 0
    while text[pos:].strip():
        match = TOKEN.match(text, pos)
        if not match:
            raise QueryError("unexpected character", pos + len(text[pos:]) - len(text[pos:].lstrip()))
        kind = match.lastgroup if match.lastgroup != "unit" else "number"
        start = match.start(kind)
        if kind == "quote":
            value, pos = read_string(text, start)
            found.append(Token("string", value, start))
            continue
        found.append(Token(kind, match.group(kind), start, match.group("unit") or ""))
        pos = match.end()
    found.append(Token("end", "", len(text)))
    return found


# ---- values ------------------------------------------------------------------------------------------

KINDS = {bool: "bool", int: "number", float: "number", Fraction: "number", str: "text"}


def kind_of(value):
    """By the type: this is asked millions of times, and isinstance of a Fraction is slow."""
    kind = KINDS.get(type(value))
    if kind is None:
        kind = "number" if isinstance(value, (int, float)) else "text" if isinstance(value, str) else "json"
        KINDS[type(value)] = kind
    return kind


OPERATORS = {"==": operator.eq, "=": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt,
             ">=": operator.ge, "<=": operator.le}


class Literal:
    """A value of a query, that values of objects are compared with: only those of its kind, and never arrays. Texts compare by code
    points, which is the order of their UTF-8 bytes."""

    def __init__(self, op, value):
        self.operate, self.value, self.kind = OPERATORS[op], value, kind_of(value)

    def __call__(self, found):
        return kind_of(found) == self.kind and self.operate(found, self.value)


def ascii_lower(text):
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)


def like_pattern(text, ignore_case):
    pattern = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in text)
    return re.compile(pattern, re.S | (re.I if ignore_case else 0))


class Path:
    """What a path in a query means for an object."""

    def __init__(self, name):
        self.name = name
        self.is_time = name in ("ts", "te", "dur")
        last = name.removeprefix("args.")
        self.is_hash = "." not in last and (last in HASHES + ("cwd",) or last.endswith("_hash"))
        self.is_size = name in ("size", "bytes") or name.endswith("size") or name in ("args.ret", "ret", "args.size_sum")

        self.read = self.reader()

    def __call__(self, root, o):
        return self.read(root, o)

    def reader(self):
        """What is done for each object, chosen once."""
        name, args = self.name, "args." + self.name
        if name in ("ts", "dur", "te"):
            return self.microseconds
        if name in TOP_FIELDS:
            return lambda root, o: o.get(name)
        if name == "size":
            return lambda root, o: o.size()
        if name == "bytes":
            return lambda root, o: o.bytes()
        if name in DERIVED:
            return lambda root, o: root.derived(o, name)
        if name in HASHES:
            return lambda root, o: o.values.get(args)
        if name.startswith("args."):
            return lambda root, o: o.values.get(name)

        def either(root, o):
            value = o.values.get(name)
            return o.values.get(args) if value is None else value
        return either

    def microseconds(self, root, o):
        ns = o.te() if self.name == "te" else getattr(o, self.name)
        return None if ns is None else ns // 1000 if ns % 1000 == 0 else Fraction(ns, 1000)


# ---- tests ---------------------------------------------------------------------------------------------

class Compare:
    def __init__(self, path, op, value):
        self.path, self.holds = path, Literal(op, value)

    def __call__(self, root, o):
        found = self.path(root, o)
        return found is not None and self.holds(found)


class In:
    def __init__(self, path, values, negated):
        self.path, self.equal, self.negated = path, [Literal("==", v) for v in values], negated

    def __call__(self, root, o):
        found = self.path(root, o)
        if found is None:
            return False
        return any(equal(found) for equal in self.equal) != self.negated


class Pattern:
    """LIKE and regular expressions: on text only, also when negated."""

    def __init__(self, path, match, negated):
        self.path, self.match, self.negated = path, match, negated

    def __call__(self, root, o):
        found = self.path(root, o)
        return isinstance(found, str) and bool(self.match(found)) != self.negated


class Substring:
    def __init__(self, text, path, negated):
        self.text, self.path, self.negated = ascii_lower(text), path, negated

    def __call__(self, root, o):
        found = self.path(root, o)
        if isinstance(found, Json) and isinstance(found.value, list):
            texts = [v for v in found.value if isinstance(v, str)]
        elif isinstance(found, str):
            texts = [found]
        else:
            return False
        return any(self.text in ascii_lower(t) for t in texts) != self.negated


class IsNull:
    def __init__(self, path, negated):
        self.path, self.negated = path, negated

    def __call__(self, root, o):
        return (self.path(root, o) is None) != self.negated


class Not:
    def __init__(self, part):
        self.part = part

    def __call__(self, root, o):
        return not self.part(root, o)


class Both:
    def __init__(self, parts):
        self.parts = parts

    def __call__(self, root, o):
        return all(part(root, o) for part in self.parts)


class Either:
    def __init__(self, parts):
        self.parts = parts

    def __call__(self, root, o):
        return any(part(root, o) for part in self.parts)


# ---- grammar -------------------------------------------------------------------------------------------

KEYWORDS = ("and", "or", "not", "in", "true", "false", "like", "ilike", "is", "null")


class Parser:
    def __init__(self, text):
        self.tokens = tokens(text)
        self.at = self.depth = self.terms = 0

    @property
    def token(self):
        return self.tokens[self.at]

    def fail(self, message):
        raise QueryError(message, self.token.position)

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def accept_word(self, *words):
        return self.take() if self.token.is_word(*words) else None

    def accept_op(self, *ops):
        return self.take() if self.token.kind == "op" and self.token.value in ops else None

    def expect_op(self, op):
        if not self.accept_op(op):
            self.fail("expected " + op)

    def expect_word(self, word):
        if not self.accept_word(word):
            self.fail("expected " + word.upper())

    def whole(self):
        test = self.either()
        if self.token.kind != "end":
            self.fail("expected AND, OR or the end")
        return test

    def either(self):
        parts = [self.both()]
        while self.accept_word("or"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else Either(parts)

    def both(self):
        parts = [self.negation()]
        while self.accept_word("and"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else Both(parts)

    def negation(self):
        self.depth += 1
        if self.depth > DEPTH_MAX:
            self.fail("nested too deeply")
        if self.accept_word("not"):
            result = Not(self.negation())
        elif self.accept_op("("):
            result = self.either()
            self.expect_op(")")
        else:
            result = self.test()
        self.depth -= 1
        return result

    def path(self):
        if self.token.kind != "word" or self.token.value.lower() in KEYWORDS:
            self.fail("expected a path")
        return Path(self.take().value)

    def string(self):
        if self.token.kind != "string":
            self.fail("expected a string")
        return self.take().value

    def test(self):
        self.terms += 1
        if self.terms > TERMS_MAX:
            self.fail("too many terms")
        if self.token.kind == "string":
            text = self.take().value
            negated = bool(self.accept_word("not"))
            self.expect_word("in")
            return Substring(text, self.path(), negated)
        path = self.path()
        if self.accept_word("is"):
            negated = bool(self.accept_word("not"))
            self.expect_word("null")
            return IsNull(path, negated)
        negated = bool(self.accept_word("not"))
        if self.accept_word("in"):
            return In(path, self.values(path), negated)
        word = self.accept_word("like", "ilike")
        if word:
            return Pattern(path, like_pattern(self.string(), word.value.lower() == "ilike").fullmatch, negated)
        if negated:
            self.fail("expected IN, LIKE or ILIKE")
        op = self.accept_op("~", "~*", "!~", "!~*")
        if op:
            return self.regex(path, op.value)
        op = self.accept_op("==", "=", "!=", ">", "<", ">=", "<=")
        if not op:
            self.fail("expected an operator")
        return Compare(path, op.value, self.value(path))

    def regex(self, path, op):
        position = self.token.position
        try:
            pattern = re.compile(self.string(), re.I if op.endswith("*") else 0)
        except re.error as error:
            raise QueryError("Invalid pattern: %s" % error, position) from None
        return Pattern(path, pattern.search, op.startswith("!"))

    def values(self, path):
        self.expect_op("[")
        found = []
        if self.accept_op("]"):
            return found
        found.append(self.value(path))
        while self.accept_op(","):
            found.append(self.value(path))
        self.expect_op("]")
        return found

    def value(self, path):
        token = self.token
        if token.kind == "string":
            return self.take().value
        if self.accept_word("true"):
            return True
        if self.accept_word("false"):
            return False
        if token.kind != "number":
            self.fail("expected a value")
        self.take()
        return number(token, path)


def whole(value):
    """int where it is one: ints compare faster than Fractions."""
    return int(value) if value.denominator == 1 else value


def number(token, path):
    """A number against a hash means its digits as written: `hhash == 5692` holds for every tracer."""
    if path.is_hash and not token.unit:
        return token.value
    exact = exactly(token.value)
    unit = token.unit
    if unit and path.is_time and unit.lower() in TIME_UNITS:
        return whole(exact * TIME_UNITS[unit.lower()])
    if unit and path.is_size and unit.lower() in SIZE_UNITS:
        return whole(exact * SIZE_UNITS[unit.lower()])
    if unit:
        raise QueryError("a unit does not fit here", token.position)
    if re.fullmatch(r"-?[0-9]+", token.value):
        return int(token.value)
    if path.is_time:
        return exact
    return float(token.value)


def duration(text):
    """min_duration, max_duration, time_range: microseconds or with a unit, exactly."""
    match = re.fullmatch(r"(-?[0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)", text.strip())
    return whole(exactly(match.group(1)) * TIME_UNITS[match.group(2).lower() or "us"])


def parse(text):
    """A test(root, object) -> bool. Empty text: everything."""
    if not text.strip():
        return lambda root, o: True
    return Parser(text).whole()
