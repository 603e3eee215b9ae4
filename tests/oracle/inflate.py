"""gzip, read the way docs/READING.md says: members one after the other, and what to do with damage.

zlib does the sound members. It loses up to a few bytes of output where it meets damage, so a damaged
member is inflated once more by the plain decoder below, which stops at exactly the symbol that is wrong.
"""

import struct
import zlib

MAGIC = b"\x1f\x8b\x08"


class Damaged(Exception):
    """Deflate data that do not decode: `text` before the damage, `used` bytes consumed until it."""

    def __init__(self, text, used):
        super().__init__("damaged deflate data")
        self.text, self.used = text, used


class Cut(Exception):
    def __init__(self, text):
        super().__init__("deflate data end too early")
        self.text = text


class Text:
    """What a file's bytes decode to."""

    def __init__(self):
        self.parts = []
        self.members = 0
        self.damage = []  # (kind, file offset)
        self.format = "plain"
        self.in_member = False

    def add(self, data):
        if data:
            self.parts.append(data)

    def ends_in_newline(self):
        return not self.parts or self.parts[-1].endswith(b"\n")

    def bytes(self):
        return b"".join(self.parts)


def header_length(data, at):
    """Length of the gzip header at `at`, 0 when there is none, None when the file ends in it."""
    if data[at : at + 3] != MAGIC[: len(data) - at]:
        return 0
    if len(data) - at < 10:
        return None
    flags = data[at + 3]
    if flags & 0xE0:
        return 0
    pos = at + 10
    if flags & 4:
        if len(data) < pos + 2:
            return None
        pos += 2 + struct.unpack_from("<H", data, pos)[0]
    for bit in (8, 16):
        if flags & bit:
            end = data.find(b"\0", pos)
            if end < 0:
                return None
            pos = end + 1
    if flags & 2:
        pos += 2
    return pos - at if pos <= len(data) else None


# ---- deflate, one symbol after the other (RFC 1951) ------------------------------------------------

LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115,
               131, 163, 195, 227, 258]
LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0]
DIST_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537,
             2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577]
DIST_EXTRA = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12,
              13, 13]
ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]


class Bits:
    def __init__(self, data, at):
        self.data, self.start, self.pos = data, at, at
        self.value = self.count = 0

    def take(self, n):
        while self.count < n:
            if self.pos >= len(self.data):
                raise EOFError
            self.value |= self.data[self.pos] << self.count
            self.pos += 1
            self.count += 8
        result = self.value & ((1 << n) - 1)
        self.value >>= n
        self.count -= n
        return result


def code_table(lengths, what):
    """{(length, code): symbol}; refuses what zlib refuses."""
    counts = [0] * 16
    for n in lengths:
        counts[n] += 1
    counts[0] = 0
    left = 1
    for n in range(1, 16):
        left = (left << 1) - counts[n]
        if left < 0:
            raise ValueError(what)
    used = sum(counts)
    if left > 0 and (what == "code lengths" or (used != 1 or counts[1] != 1) and used):
        raise ValueError(what)
    if what == "code lengths" and not used:
        raise ValueError(what)
    code, following = 0, [0] * 17
    for n in range(1, 16):
        code = (code + counts[n - 1]) << 1
        following[n] = code
    table = {}
    for symbol, n in enumerate(lengths):
        if n:
            table[n, following[n]] = symbol
            following[n] += 1
    return table


def symbol_of(bits, table):
    code = 0
    for n in range(1, 16):
        code = code << 1 | bits.take(1)
        if (n, code) in table:
            return table[n, code]
    raise ValueError("symbol")


def fixed_tables():
    return (code_table([8] * 144 + [9] * 112 + [7] * 24 + [8] * 8, "literals"),
            {(5, i): i for i in range(32)})


def dynamic_tables(bits):
    literals, distances, codes = bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4
    if literals > 286 or distances > 30:
        raise ValueError("too many symbols")
    lengths = [0] * 19
    for i in range(codes):
        lengths[ORDER[i]] = bits.take(3)
    table = code_table(lengths, "code lengths")
    lengths = []
    while len(lengths) < literals + distances:
        symbol = symbol_of(bits, table)
        if symbol < 16:
            lengths.append(symbol)
            continue
        if symbol == 16 and not lengths:
            raise ValueError("repeat of nothing")
        value = lengths[-1] if symbol == 16 else 0
        lengths += [value] * (3 + bits.take(2) if symbol == 16 else
                              3 + bits.take(3) if symbol == 17 else 11 + bits.take(7))
    if len(lengths) > literals + distances or not lengths[256]:
        raise ValueError("lengths")
    return code_table(lengths[:literals], "literals"), code_table(lengths[literals:], "distances")


def inflate_block(bits, out, tables):
    literals, distances = tables
    while True:
        symbol = symbol_of(bits, literals)
        if symbol < 256:
            out.append(symbol)
        elif symbol == 256:
            return
        else:
            if symbol > 285:
                raise ValueError("length")
            length = LENGTH_BASE[symbol - 257] + bits.take(LENGTH_EXTRA[symbol - 257])
            code = symbol_of(bits, distances)
            if code > 29:
                raise ValueError("distance")
            distance = DIST_BASE[code] + bits.take(DIST_EXTRA[code])
            if distance > len(out):
                raise ValueError("distance too far back")
            for _ in range(length):
                out.append(out[-distance])


def inflate_slowly(data, at):
    """Raises Damaged or Cut with the text before."""
    bits, out = Bits(data, at), bytearray()
    try:
        last = 0
        while not last:
            last, kind = bits.take(1), bits.take(2)
            if kind == 0:
                bits.take(bits.count % 8)
                length, inverse = bits.take(16), bits.take(16)
                if length != inverse ^ 0xFFFF:
                    raise ValueError("stored block")
                for _ in range(length):
                    out.append(bits.take(8))
            elif kind == 3:
                raise ValueError("block type")
            else:
                inflate_block(bits, out, fixed_tables() if kind == 1 else dynamic_tables(bits))
    except ValueError:
        raise Damaged(bytes(out), bits.pos - at) from None
    except EOFError:
        raise Cut(bytes(out)) from None
    return bytes(out), bits.pos - at


# ---- members --------------------------------------------------------------------------------------

def inflate_member(data, at):
    """The member whose deflate data begin at `at`: (text, end of the member, trailer is right)."""
    z = zlib.decompressobj(-15)
    try:
        text = z.decompress(memoryview(data)[at:])
    except zlib.error:
        inflate_slowly(data, at)
        raise AssertionError("zlib finds damage, the slow decoder does not") from None
    if not z.eof:
        raise Cut(text + z.flush())
    end = len(data) - len(z.unused_data)
    if len(data) - end < 8:
        raise Cut(text)
    crc, length = struct.unpack_from("<II", data, end)
    return text, end + 8, crc == zlib.crc32(text) and length == len(text) & 0xFFFFFFFF


def starts_member(data, at):
    """A header at `at` whose data begin to inflate: the first 64 KiB do, or all that there are."""
    length = header_length(data, at)
    if not length:
        return False
    try:
        zlib.decompressobj(-15).decompress(memoryview(data)[at + length :], 1 << 16)
    except zlib.error:
        try:
            inflate_slowly(data, at + length)
        except Damaged as damage:
            return len(damage.text) > 0
        except Cut:
            pass
    return True


def next_member(data, at):
    while True:
        at = data.find(MAGIC, at)
        if at < 0 or starts_member(data, at):
            return at
        at += 1


def is_text(data):
    """Of a file that is gzip by its name: text, or gzip whose beginning is damaged?"""
    if data[:1] not in (b"", b"\0") and looks_like_tar(data[:512]):
        return True
    part = data[: 1 << 24].lstrip(b"\0")
    at = min(len(data), 1 << 24) - len(part)
    part = data[at : at + 4096] if part else b""
    controls = sum(c < 9 or 13 < c < 32 or c == 127 for c in part)
    return 32 * controls < len(part)


def looks_like_tar(header):
    if len(header) < 512:
        return False
    told = header[148:156].strip(b" \0")
    return told.isdigit() and int(told, 8) == sum(header) - sum(header[148:156]) + 8 * 32


def decode(data, named_gzip=False):
    """All text of a file."""
    text = Text()
    if data[:2] != MAGIC[:2] and not (named_gzip and data and not is_text(data)):
        text.add(data)
        return text
    text.format = "gzip"
    at = 0
    while at < len(data):
        while data[at : at + 1] == b"\0" and text.members:  # padding
            at += 1
        if at == len(data):
            break
        length = header_length(data, at)
        if length is None:
            text.damage.append(("cut", at))
            return text
        if length == 0:
            found = next_member(data, at)
            text.damage.append(("garbage", at))
            if found < 0:
                return text
            at = found
            continue
        text.members += 1
        try:
            part, end, sound = inflate_member(data, at + length)
            text.add(part)
            if not sound:
                text.damage.append(("crc", end - 8))
            at = end
        except Cut as cut:
            text.add(cut.text)
            text.damage.append(("cut", len(data)))
            return text
        except Damaged as damage:
            text.add(damage.text)
            text.damage.append(("data", at + length + damage.used))
            at = next_member(data, at + length + damage.used)
            if at < 0:
                return text
            if not text.ends_in_newline():
                text.add(b"\n")
    return text
