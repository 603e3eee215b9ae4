"""Lines to JSON objects, by the rules of docs/READING.md.

Sound lines go through the json module. All others go through Tolerant, a parser of its own that knows
the repairs; it works on text in which each ill-formed UTF-8 sequence is the one character BAD.
"""

import codecs
import json
import re
import sys

LINE_MAX = 16 << 20
DEPTH_MAX = 64
KEYS_MAX = 65536
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

if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)  # whole numbers may be as long as a line
codecs.register_error("mark", lambda error: (BAD, error.end))


class Float(str):
    """A number with a fraction or an exponent: its text, so that times stay exact."""

    __slots__ = ()


class MinusZero(int):
    """0 that was written as -0: its digits are the text where a number becomes one."""

    __slots__ = ()

    def __str__(self):
        return "-0"


def whole(text):
    return MinusZero() if text == "-0" else int(text)


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
    if text.count("{") + text.count("[") > DEPTH_MAX or text.count(":") > KEYS_MAX:
        return None
    try:
        value = json.loads(text, parse_float=Float, parse_int=whole if "-0" in text else None, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class Tolerant:
    """Reads one value at a time; self.repaired says whether it was sound."""

    def __init__(self, text):
        self.text = text
        self.repaired = False
        self.keys = self.arrays = 0

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
        self.arrays += 1
        result = self.container(pos, depth, "]", [], self.element)
        self.arrays -= 1
        return result

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
        self.keys += not self.arrays
        if self.keys > KEYS_MAX:
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
        return (whole(text) if re.fullmatch(r"-?[0-9]+", text) else Float(text)), end

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
        before = match.start()
        while before > 0 and text[before - 1] in BLANK_TEXT:
            before -= 1
        if before == 0 or text[before - 1] not in ":[,":
            return match.start()
    return -1


def is_bracket_line(line):
    return not line.strip(BRACKET_BYTES)


def may_continue(line):
    """Whether a line can be the rest of the object that the line before began."""
    return not is_bracket_line(line) and not line.lstrip(BLANK).startswith(b"{")


def characters(line):
    return line.decode("utf-8", "mark")


class Reading:
    """The objects of line i and of those `joined` to it: [[object, start, end, repaired]] as offsets in `text`."""

    def __init__(self, lines, i):
        self.lines, self.first, self.joined = lines, i, 0
        self.text = characters(lines[i])
        self.found = []
        self.cut = False          # an object was cut: joining was tried
        self.lost = False         # something was dropped
        self.read()
        if len(self.found) > 1 or self.lost or self.joined:
            for entry in self.found:
                entry[3] = True

    def read(self):
        places = PLACES_MAX
        pos = self.skip(0, BLANK_TEXT + "[,")
        while 0 <= pos < len(self.text):
            entry = self.object(pos)
            if entry:
                self.found.append(entry)
                pos = self.skip(entry[2], BLANK_TEXT + "],")
            else:
                self.lost = True
                pos = next_place(self.text, pos + 1) if places > 0 else -1
                places -= 1

    def object(self, pos):
        """The entry of the object at pos, or None."""
        try:
            return attempt(self.text, pos)
        except SyntaxBad:
            return None
        except TextEnds:
            entry = None if self.cut else self.join(pos)
            self.cut = True
            return entry

    def join(self, pos):
        """The same with the lines that follow; None changes nothing."""
        text, size = self.text, len(self.lines[self.first])
        for n in range(1, JOIN_MAX + 1):
            line = self.lines[self.first + n] if self.first + n < len(self.lines) else b""
            size += 1 + len(line)
            if not may_continue(line) or size > LINE_MAX:
                return None
            text += "\n" + characters(line)
            try:
                entry = attempt(text, pos)
            except TextEnds:
                continue
            except SyntaxBad:
                return None
            self.text, self.joined = text, n
            return entry
        return None

    def skip(self, pos, these):
        while pos < len(self.text) and self.text[pos] in these:
            pos += 1
        return pos


def attempt(text, pos):
    """[object, start, end, repaired]; SyntaxBad, or TextEnds where the text ends before the object."""
    if text[pos] != "{":
        raise SyntaxBad
    parser = Tolerant(text)
    value, end = parser.object(pos)
    return [value, pos, end, parser.repaired]
