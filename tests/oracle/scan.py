"""Lines to JSON objects, by the rules of docs/READING.md.

Sound lines go through the json module. All others go through Tolerant, a parser of its own that knows
the repairs; it works on text in which each ill-formed UTF-8 sequence is the one character BAD.
"""

import codecs
import json
import re

LINE_MAX = 16 << 20
DEPTH_MAX = 64
JOIN_MAX = 8
PLACES_MAX = 16
BAD = "\udcff"  # cannot come out of well-formed UTF-8

BLANK = bytes(range(0x21))
BRACKET_BYTES = BLANK + b"[],"
BLANK_TEXT = BLANK.decode()
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
STUCK = re.compile(r"[A-Za-z0-9._+-]*")
NOT_A_NUMBER = re.compile(r"-?(?:nan|infinity|inf)(?![A-Za-z0-9._+-])", re.I)
PLACE = re.compile(r'\{"')

codecs.register_error("mark", lambda error: (BAD, error.end))


class Float(str):
    """A number with a fraction or an exponent: its text, so that times stay exact."""

    __slots__ = ()


class SyntaxBad(Exception):
    pass


class TextEnds(Exception):
    """The text ends before the object does."""


def refuse(_):
    raise ValueError


def parse_strictly(text):
    """The object, or None when the text is not exactly one sound object."""
    if "\\ud" in text or "\\uD" in text:
        return None
    if text.count("{") + text.count("[") > DEPTH_MAX:
        return None
    try:
        value = json.loads(text, parse_float=Float, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class Tolerant:
    """Reads one value at a time; self.repaired says whether it was sound."""

    def __init__(self, text):
        self.text = text
        self.repaired = False

    def peek(self, pos):
        if pos >= len(self.text):
            raise TextEnds
        return self.text[pos]

    def space(self, pos):
        while pos < len(self.text) and self.text[pos] in " \t\r\n":
            pos += 1
        return pos

    def commas(self, pos):
        """Position after blanks and commas, and how many commas."""
        n = 0
        while True:
            pos = self.space(pos)
            if pos >= len(self.text) or self.text[pos] != ",":
                return pos, n
            n += 1
            pos += 1

    def object(self, pos, depth=1):
        return self.container(pos, depth, "}", {}, self.member)

    def array(self, pos, depth):
        return self.container(pos, depth, "]", [], self.element)

    def container(self, pos, depth, closing, into, part):
        if depth > DEPTH_MAX:
            raise SyntaxBad
        first = True
        pos += 1
        while True:
            pos, n = self.commas(pos)
            if self.peek(pos) == closing:
                self.repaired |= n > 0
                return into, pos + 1
            if not first and n == 0:
                raise SyntaxBad
            self.repaired |= n > (0 if first else 1)
            pos = part(pos, depth, into)
            first = False

    def member(self, pos, depth, into):
        if self.peek(pos) != '"':
            raise SyntaxBad
        key, pos = self.string(pos)
        pos = self.space(pos)
        if self.peek(pos) != ":":
            raise SyntaxBad
        value, pos = self.value(self.space(pos + 1), depth)
        into[key] = value
        return pos

    def element(self, pos, depth, into):
        value, pos = self.value(pos, depth)
        into.append(value)
        return pos

    def value(self, pos, depth):
        c = self.peek(pos)
        if c == "{":
            return self.object(pos, depth + 1)
        if c == "[":
            return self.array(pos, depth + 1)
        if c == '"':
            return self.string(pos)
        match = NOT_A_NUMBER.match(self.text, pos)
        if match:
            self.repaired = True
            return None, match.end()
        if c in "-0123456789":
            return self.number(pos)
        for word, value in (("true", True), ("false", False), ("null", None)):
            there = self.text[pos : pos + len(word)]
            if there == word:
                end = pos + len(word)
                if end < len(self.text) and STUCK.match(self.text, end).end() > end:
                    raise SyntaxBad
                return value, end
            if len(there) < len(word) and word.startswith(there):
                raise TextEnds
        raise SyntaxBad

    def number(self, pos):
        match = NUMBER.match(self.text, pos)
        if not match:
            if pos + 1 >= len(self.text):
                raise TextEnds
            raise SyntaxBad
        end = STUCK.match(self.text, match.end()).end()
        self.repaired |= end > match.end()
        text = match.group()
        return (int(text) if re.fullmatch(r"-?[0-9]+", text) else Float(text)), end

    def hex(self, pos):
        """The value of four hex digits, or None."""
        digits = self.text[pos : pos + 4]
        return int(digits, 16) if re.fullmatch("[0-9A-Fa-f]{4}", digits) else None

    def string(self, pos):
        out = []
        pos += 1
        while True:
            c = self.peek(pos)
            pos += 1
            if c == '"':
                return "".join(out), pos
            if c == "\\":
                pos = self.escape(pos, out)
                continue
            if c == BAD:
                self.repaired = True
                c = "\ufffd"
            elif c < " ":
                self.repaired = True
            out.append(c)

    def escape(self, pos, out):
        c = self.peek(pos)
        simple = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
        if c in simple:
            out.append(simple[c])
            return pos + 1
        code = self.hex(pos + 1) if c == "u" else None
        if code is None:
            self.repaired = True
            out.append("\\")
            return pos
        pos += 5
        if 0xD800 <= code < 0xDC00 and self.text[pos : pos + 2] == "\\u":
            low = self.hex(pos + 2)
            if low is not None and 0xDC00 <= low < 0xE000:
                out.append(chr(0x10000 + ((code - 0xD800) << 10) + low - 0xDC00))
                return pos + 6
        if 0xD800 <= code < 0xE000:
            self.repaired = True
            code = 0xFFFD
        out.append(chr(code))
        return pos


def next_place(text, pos):
    """The next `{"` at or after pos that no `:`, `[` or `,` precedes; -1 when there is none."""
    for match in PLACE.finditer(text, pos):
        before = text[: match.start()].rstrip(BLANK_TEXT)
        if not before or before[-1] not in ":[,":
            return match.start()
    return -1


class Reading:
    """The objects of one line (or of joined lines): [[object, start, end, repaired]] as character offsets.

    With `stop`, reading ends where the text ends before its object does, and ends_early is true.
    """

    def __init__(self, line, stop):
        self.text = line.decode("utf-8", "mark")
        self.found = []
        self.ends_early = False
        self.lost = False         # something was dropped
        self.read(stop)
        if len(self.found) > 1 or self.lost:
            self.mark_repaired()

    def mark_repaired(self):
        for entry in self.found:
            entry[3] = True

    def read(self, stop):
        text, places = self.text, 0
        pos = self.skip(0, BLANK_TEXT + "[,")
        while pos < len(text):
            parser, value = Tolerant(text), None
            if text[pos] == "{":
                try:
                    value, end = parser.object(pos)
                except TextEnds:
                    if stop:
                        self.ends_early = True
                        return
                except (SyntaxBad, RecursionError):
                    pass
            if value is None:
                self.lost = True
                pos = next_place(text, pos + 1) if places < PLACES_MAX else -1
                places += 1
                if pos < 0:
                    return
                continue
            self.found.append([value, pos, end, parser.repaired])
            pos = self.skip(end, BLANK_TEXT + ",")
            if pos < len(text) and text[pos] != "{":
                pos = self.skip(pos, BLANK_TEXT + "],")

    def skip(self, pos, characters):
        while pos < len(self.text) and self.text[pos] in characters:
            pos += 1
        return pos


def is_bracket_line(line):
    return not line.strip(BRACKET_BYTES)


def may_continue(line):
    """Whether a line can be the rest of the object that the line before began."""
    return not is_bracket_line(line) and not line.lstrip(BLANK).startswith(b"{") and len(line) <= LINE_MAX


def read_split(lines, i, complete):
    """Line i, whose last object is cut behind `complete` whole ones, with the lines that complete it:
    (reading, lines joined to it), or (None, 0)."""
    text, best = lines[i], (None, 0)
    for n in range(1, JOIN_MAX + 1):
        if i + n >= len(lines) or not may_continue(lines[i + n]):
            break
        text += b"\n" + lines[i + n]
        reading = Reading(text, stop=True)
        if len(reading.found) > complete:
            best = (Reading(text, stop=False), n)
        if not reading.ends_early:
            break
    if best[0]:
        best[0].mark_repaired()
    return best


def read_line(lines, i):
    """(reading, number of lines that were joined to line i)."""
    reading = Reading(lines[i], stop=True)
    if not reading.ends_early:
        return reading, 0
    split, joined = read_split(lines, i, len(reading.found))
    return (split, joined) if split else (Reading(lines[i], stop=False), 0)
