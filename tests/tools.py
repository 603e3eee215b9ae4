"""Where tests find programs (node, npm, chromium, python3, jq, ...): the system's own first, whatever else a machine has."""

import os

SYSTEM = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")


def is_system(folder):
    return folder.startswith(("/usr/", "/bin", "/sbin")) and not folder.startswith("/usr/local")


def system_first(path):
    """A PATH whose system folders come before /usr/local, home directories and what version managers (pyenv, nvm) have added. Among
    themselves they keep their order: /usr/lib/ccache stays before /usr/bin."""
    folders = dict.fromkeys([*filter(None, path.split(":")), *SYSTEM])
    return ":".join(sorted(folders, key=lambda folder: not is_system(folder)))


def use_system_first():
    os.environ["PATH"] = system_first(os.environ.get("PATH", ""))
