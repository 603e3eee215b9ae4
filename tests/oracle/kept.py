"""Answers of the oracle, kept from test to test: other builds and other paths of the daemon get the same requests.

DFTRACERD_ORACLE names the folder (tests/run does); without it nothing is kept. An answer is found by the bytes of the
traces, the request and the source of the oracle, and a Root is read only where an answer is not there yet.

A new folder begins with the answers in tests/golden/answers.xz, which `make oracle` writes, if they are of the present
source; `make check-all` computes all of them again."""

import functools
import hashlib
import json
import lzma
import os
import pickle
import shutil
import types

from . import reader

FOLDER = os.environ.get("DFTRACERD_ORACLE")
HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden")
COMMITTED = os.path.join(GOLDEN, "answers.xz")


def digest_of(paths):
    """Of names and contents."""
    h = hashlib.sha256()
    for name, path in paths:
        with open(path, "rb") as f:
            data = f.read()
        h.update(b"%s\0%d\0" % (os.fsencode(name), len(data)))
        h.update(data)
    return h.hexdigest()


def version():
    """Of the oracle and of the requests that are made from the traces."""
    sources = [(name, os.path.join(HERE, name)) for name in sorted(os.listdir(HERE)) if name.endswith(".py") and name != "kept.py"]
    sources += [(name, os.path.join(GOLDEN, name)) for name in sorted(os.listdir(GOLDEN)) if name.startswith("queries") and name.endswith(".py")]
    return digest_of(sources)[:16]


def committed():
    """(version, {key: pickled answer})"""
    try:
        with lzma.open(COMMITTED) as f:
            return pickle.load(f)
    except (OSError, lzma.LZMAError, EOFError, pickle.UnpicklingError):
        return None, {}


def commit(folder):
    """Writes COMMITTED: the answers in a folder of this version."""
    answers = {}
    for key in sorted(os.listdir(folder)):
        with open(os.path.join(folder, key), "rb") as f:
            answers[key] = f.read()
    with lzma.open(COMMITTED, "wb", preset=9) as f:
        pickle.dump((version(), answers), f, protocol=4)
    return len(answers)


@functools.cache
def place():
    """The folder of this version; those of other versions are removed."""
    name = version()
    path = os.path.join(FOLDER, name)
    if not os.path.isdir(path):
        known, answers = (None, {}) if os.environ.get("DFTRACERD_CHECK_ALL") else committed()
        part = "%s.%d" % (path, os.getpid())
        os.makedirs(part)
        for key, value in answers.items() if known == name else ():
            with open(os.path.join(part, key), "wb") as f:
                f.write(value)
        try:
            os.rename(part, path)
        except OSError:  # another test was faster
            shutil.rmtree(part, ignore_errors=True)
        for other in os.listdir(FOLDER):
            if not other.startswith(name):
                shutil.rmtree(os.path.join(FOLDER, other), ignore_errors=True)
    return path


class Root:
    """A reader.Root that is read when something of it is needed."""

    def __init__(self, directory, read=None):
        self.directory, self._read, self._digest = directory, None, None
        self._make = read or (lambda: reader.Root(directory))

    def __getattr__(self, name):  # what is not set above
        if name.startswith("__"):
            raise AttributeError(name)
        if self._read is None:
            self._read = self._make()
        value = getattr(self._read, name)
        if callable(value):  # the next time it is found without coming here
            setattr(self, name, value)
        return value

    def digest(self):
        if self._digest is None:
            self._digest = digest_of(reader.find_files(self.directory))
        return self._digest


def load(path):
    try:
        with open(path, "rb") as f:
            return True, pickle.load(f)
    except (OSError, EOFError, pickle.UnpicklingError):
        return False, None


def answer(root, what, params, make):
    """make()'s value, which must not change with anything but the traces and the question."""
    if not FOLDER or not isinstance(root, Root):
        return make()
    key = hashlib.sha256(json.dumps([root.digest(), what, params], sort_keys=True).encode()).hexdigest()
    path = os.path.join(place(), key)
    known, value = load(path)
    if not known:
        value = make()
        part = "%s.%d" % (path, os.getpid())
        try:
            with open(part, "wb") as f:
                pickle.dump(value, f, protocol=4)  # CPython's and PyPy's
            os.replace(part, path)
        except OSError:  # a full disk, another version's test that tidied up: it is computed again next time
            pass
    return value


def line(o):
    """What a comparison needs of an Object, without the traces that it hangs on."""
    return types.SimpleNamespace(text=o.text, repaired=o.repaired, cls=o.cls, line=o.line, file=types.SimpleNamespace(name=o.file.name))
