"""A control group of version 1 or 2 with a limit of memory, where this user may create one."""

import contextlib
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http", "shared"))
import web as web_module  # noqa: E402
from web import check, until  # noqa: E402

# Where groups are made, the file with the limit, and what must be written to the group above to have it.
PLACES = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes", None), ("/sys/fs/cgroup", "memory.max", "+memory")]


def put(path, text):
    with open(path, "w") as f:
        f.write(text)


def create(limit_bytes):
    """The path of a new group, or None."""
    for top, name, control in PLACES:
        group = None
        try:
            if not os.path.exists(os.path.join(top, "cgroup.procs")):
                continue
            if control:
                put(os.path.join(top, "cgroup.subtree_control"), control)
            group = tempfile.mkdtemp(prefix="dftracerd-", dir=top)
            put(os.path.join(group, name), str(limit_bytes))
            return group
        except OSError:
            if group:
                os.rmdir(group)
    return None


@contextlib.contextmanager
def limited(folder, limit_bytes):
    """Daemons that are started inside have so much memory, page cache included. Yields False where no group can be created."""
    group, program = create(limit_bytes), web_module.PROGRAM
    if not group:
        yield False
        return
    script = folder.path("limited")
    put(script, '#!/bin/sh\necho $$ >%s/cgroup.procs || exit 1\nexec %s "$@"\n' % (group, program))
    os.chmod(script, 0o755)
    web_module.PROGRAM = script
    try:
        yield True
    finally:
        web_module.PROGRAM = program
        until(lambda: os.path.getsize(script) and not open(os.path.join(group, "cgroup.procs"), encoding="ascii").read(), True)
        os.rmdir(group)
        check(not os.path.exists(group))
