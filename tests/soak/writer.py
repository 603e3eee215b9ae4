"""Writes traces and does to them what happens to traces: they grow, are rotated, replaced, cut, renamed, deleted, damaged."""

import gzip
import os
import random
import threading
import time
import zlib

from ledger import Ledger
from lines import HEAD, Content, events, line, text

FOLDERS = ("", "a", "a/b", "c")
FILES = 32
LINES = 12000  # of one file at most
NAMES = 60  # stems: names come again, so that nothing that is kept by name grows for ever


class File:
    def __init__(self, path, kind, serial):
        self.path, self.kind, self.serial = path, kind, serial
        self.ranges, self.next, self.junk, self.damaged = [], 0, 0, False
        self.half = 0  # bytes of line `next` that are there already
        self.members = []  # (offset, bytes, (a, b)) of the gzip members
        self.packer = None  # of a member that is being written
        self.frozen = False  # damaged in place: not touched again before the daemon has certainly seen it

    def content(self):
        """A member without an end is damage, once nobody writes any more."""
        return Content(self.serial, tuple(self.ranges), self.junk, self.damaged or self.packer is not None)

    def add(self, count):
        a, b = self.next, self.next + count
        if self.ranges and self.ranges[-1][1] == a:
            self.ranges[-1] = (self.ranges[-1][0], b)
        elif count:
            self.ranges.append((a, b))
        self.next = b
        return a, b


class Writer:
    def __init__(self, root, seed):
        self.root, self.random = root, random.Random(seed)
        self.ledger, self.files, self.serial = Ledger(), {}, 0
        self.done = {}  # operations by name
        self.go, self.idle, self.over = threading.Event(), threading.Event(), False
        self.log = open(root + ".log", "w", buffering=1)
        for folder in FOLDERS:
            os.makedirs(os.path.join(root, folder), exist_ok=True)

    def at(self, path):
        return os.path.join(self.root, path)

    # ---- new files ----

    def free_path(self, kind):
        ending = ".pfw" if kind == "plain" else ".pfw.gz"
        while True:
            folder, number = self.random.choice(FOLDERS), self.random.randrange(NAMES)
            path = os.path.join(folder, "%s%d%s" % (kind, number, ending))
            if path not in self.files:
                return path

    def fresh(self, path, kind, count):
        """A new trace in memory: (file, bytes)."""
        self.serial += 1
        file = File(path, kind, self.serial)
        return file, self.more(file, count)

    def more(self, file, count):
        """The next bytes of a file; it has them from now on."""
        a, b = file.add(count)
        data = text(file.serial, a, b)[file.half:]
        file.half = 0
        if file.kind == "plain":
            return data
        if file.kind == "members":
            packed = gzip.compress(data, self.random.choice((1, 6, 9)))
            offset = sum(m[1] for m in file.members)
            file.members.append((offset, len(packed), (a, b)))
            return packed
        if not file.packer:
            file.packer = zlib.compressobj(self.random.choice((1, 6)), zlib.DEFLATED, 31)
        packed = file.packer.compress(data)
        if self.random.random() < 0.1:
            packed += file.packer.flush(zlib.Z_FINISH)
            file.packer = None
        else:
            packed += file.packer.flush(zlib.Z_SYNC_FLUSH)
        return packed

    def some(self):
        return self.random.choice((1, 7, 60, 300, 1000, 4000))

    def create(self):
        kind = self.random.choice(("plain", "members", "stream"))
        file, data = self.fresh(self.free_path(kind), kind, self.some())
        with self.ledger.change({file.path: file.content()}):
            self.write(file.path, data, "wb")
        self.files[file.path] = file

    def write(self, path, data, mode):
        with open(self.at(path), mode, buffering=0) as f:
            while data:
                data = data[f.write(data[:1 << 20]):]

    # ---- what happens to them ----

    def grow(self, file):
        if file.next > LINES or (file.damaged and file.kind == "stream"):
            return self.delete(file)
        half = file.kind == "plain" and self.random.random() < 0.3
        data = self.more(file, self.some())
        if half:
            file.half = 20
            data += line(file.serial, file.next)[:20].encode()
        with self.ledger.change({file.path: file.content()}, grows=True):
            self.write(file.path, data, "ab")

    def rotate(self, file):
        old = file.path.replace(".pfw", "-old.pfw")
        if old in self.files or "-old" in file.path:
            return
        new, data = self.fresh(file.path, file.kind, self.some())
        with self.ledger.change({old: file.content(), new.path: None}):
            os.rename(self.at(file.path), self.at(old))
        with self.ledger.change({new.path: new.content()}):
            self.write(new.path, data, "wb")
        file.path = old
        self.files.update({old: file, new.path: new})

    def replace(self, file):
        new, data = self.fresh(file.path, file.kind, self.some())
        self.write("replacement", data, "wb")
        with self.ledger.change({file.path: new.content()}):
            os.rename(self.at("replacement"), self.at(file.path))
        self.files[file.path] = new

    def rewrite(self, file):
        """In place: a reader sees anything from nothing to everything. The empty file is all there is as long as this thread waits for a
        processor, which may be longer than a file takes to be complete."""
        new, data = self.fresh(file.path, file.kind, self.some())
        with self.ledger.change({file.path: None}):
            os.truncate(self.at(file.path), 0)
        with self.ledger.change({file.path: new.content()}):
            self.write(file.path, data, "ab")
        self.files[file.path] = new

    def cut(self, file):
        if file.kind == "plain" and not file.junk and len(file.ranges) == 1:
            self.cut_plain(file)
        elif len(file.members) > 1 and not file.damaged and file.kind == "members":
            self.cut_members(file)

    def cut_plain(self, file):
        keep = self.random.randrange(file.next + 1)
        file.half = self.random.choice((0, 20)) if HEAD <= keep < file.next else 0  # of a line that is there: else zeros
        file.ranges, file.next = ([(0, keep)] if keep else []), keep
        size = len(text(file.serial, 0, keep)) + file.half
        with self.ledger.change({file.path: file.content()}):
            os.truncate(self.at(file.path), size)

    def cut_members(self, file):
        keep = self.random.randrange(1, len(file.members))
        file.members = file.members[:keep]
        file.next = file.members[-1][2][1]
        file.ranges = [(0, file.next)]
        with self.ledger.change({file.path: file.content()}):
            os.truncate(self.at(file.path), sum(m[1] for m in file.members))

    def rename(self, file):
        new = self.free_path(file.kind)
        with self.ledger.change({file.path: None, new: file.content()}):
            os.rename(self.at(file.path), self.at(new))
        del self.files[file.path]
        file.path = new
        self.files[new] = file

    def move_folder(self, _file):
        """c becomes d, with all that is in it; and back."""
        old, new = ("c", "d") if os.path.isdir(self.at("c")) else ("d", "c")
        moved = [f for p, f in self.files.items() if p.startswith(old + "/")]
        contents = {f.path: None for f in moved}
        contents.update({new + f.path[1:]: f.content() for f in moved})
        with self.ledger.change(contents):
            os.rename(self.at(old), self.at(new))
        for file in moved:
            del self.files[file.path]
            file.path = new + file.path[1:]
            self.files[file.path] = file
        if new == "d":
            self.move_folder(None)

    def delete(self, file):
        with self.ledger.change({file.path: None}):
            os.remove(self.at(file.path))
        del self.files[file.path]

    def touch(self, file):
        with self.ledger.change({file.path: file.content()}):
            os.utime(self.at(file.path))

    def add_junk(self, file):
        if file.kind == "plain" and not file.half:
            file.junk += 1
            with self.ledger.change({file.path: file.content()}, grows=True):
                self.write(file.path, b"this is no object\n", "ab")

    # ---- damage; each kind with a consequence that is known ----

    def damage(self, file):
        if file.damaged or file.frozen:
            return
        if file.kind == "members" and len(file.members) > 2:
            self.random.choice((self.break_header, self.break_checksum))(file)
        elif file.kind == "stream" and len(file.ranges) == 1:
            self.cut_stream(file)
        elif file.kind == "plain" and not file.junk and len(file.ranges) == 1 and file.next > 20:
            self.overwrite_line(file)
        file.frozen = True

    def overwrite(self, file, offset, data):
        with self.ledger.change({file.path: file.content()}), open(self.at(file.path), "r+b", buffering=0) as f:
            f.seek(offset)
            f.write(data)

    def break_header(self, file):
        """The member is lost."""
        lost = self.random.randrange(1, len(file.members))
        offset, size, _range = file.members[lost]
        with open(self.at(file.path), "rb") as f:
            f.seek(offset + 2)
            if b"\x1f\x8b" in f.read(size - 2):
                return
        file.ranges = [m[2] for i, m in enumerate(file.members) if i != lost]
        file.damaged = True
        self.overwrite(file, offset, b"xx")

    def break_checksum(self, file):
        """Nothing is lost."""
        offset, size, _range = self.random.choice(file.members)
        file.damaged = True
        with open(self.at(file.path), "rb") as f:
            f.seek(offset + size - 8)
            byte = f.read(1)[0]
        self.overwrite(file, offset + size - 8, bytes([byte ^ 0x55]))

    def cut_stream(self, file):
        """As a killed writer leaves it: what zlib makes of it is there, but the last piece is no object."""
        with open(self.at(file.path), "rb") as f:
            data = f.read()
        size = self.random.randrange(len(data) // 2, len(data))
        found = b""
        rest = data[:size]
        while rest:
            member = zlib.decompressobj(31)
            found += member.decompress(rest)
            rest = member.unused_data
        whole, _newline, tail = found.rpartition(b"\n")
        if tail.endswith(b"}"):
            return
        count = whole.count(b"\n") + 1 if whole else 0
        file.ranges, file.junk, file.damaged, file.packer = [(0, count)] if count else [], 1 if tail else 0, True, None
        with self.ledger.change({file.path: file.content()}):
            os.truncate(self.at(file.path), size)

    def overwrite_line(self, file):
        i = self.random.randrange(HEAD, file.next)
        file.ranges = [r for r in ((0, i), (i + 1, file.next)) if r[0] < r[1]]
        file.junk = 1
        self.overwrite(file, len(text(file.serial, 0, i)), b"x" * len(line(file.serial, i)))

    # ---- the thread ----

    def step(self):
        if len(self.files) < FILES // 2 or (len(self.files) < FILES and self.random.random() < 0.2):
            operation, file = self.create, None
            operation()
        else:
            file = self.random.choice(list(self.files.values()))
            operation = self.random.choices(
                (self.grow, self.rotate, self.replace, self.rewrite, self.cut, self.rename, self.move_folder, self.delete,
                 self.touch, self.add_junk, self.damage), (40, 4, 5, 3, 5, 4, 1, 5, 2, 3, 3))[0]  # fmt: skip
            if file.frozen and operation in (self.grow, self.cut, self.add_junk, self.damage):
                operation = self.replace
            self.log.write("%.3f %s %s\n" % (time.time(), operation.__name__, file.path))
            operation(file)
            self.log.write("%.3f  %s %d:%s%s\n" % (time.time(), file.path, file.serial, file.ranges, " damaged" * file.damaged))
        self.done[operation.__name__] = self.done.get(operation.__name__, 0) + 1

    def settle(self):
        """Begun lines are ended."""
        for file in list(self.files.values()):
            if file.half:
                data = self.more(file, 1)
                with self.ledger.change({file.path: file.content()}, grows=True):
                    self.write(file.path, data, "ab")

    def run(self, pause):
        while not self.over:
            if not self.go.is_set():
                self.settle()
                self.idle.set()
                self.go.wait()
                self.idle.clear()
                for file in self.files.values():
                    file.frozen = False
                continue
            self.step()
            time.sleep(pause * self.random.random())

    def total(self):
        return sum(events(c.ranges) for c in self.ledger.present().values())
