"""Programs of Debian packages: those that are installed, else unpacked below the build. Installing servers would start them."""

import contextlib
import fcntl
import glob
import os
import shutil
import subprocess

from web import BUILD

PLACE = os.environ.get("DFTRACERD_DEBS") or os.path.join(os.path.abspath(BUILD), "debs")
PACKAGES = {
    "nginx": ["nginx"],
    "haproxy": ["haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"],
    "promtool": ["prometheus"],
}


@contextlib.contextmanager
def alone():
    os.makedirs(PLACE, exist_ok=True)
    with open(os.path.join(PLACE, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def unpack(name):
    """The folder with the packages of a program; None when they cannot be had."""
    folder = os.path.join(PLACE, name)
    if os.path.isdir(folder):
        return folder
    part = folder + ".part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    impatient = ["-o", "Acquire::http::Timeout=10", "-o", "Acquire::https::Timeout=10", "-o", "Acquire::Retries=0"]
    try:
        got = subprocess.run(["apt-get", *impatient, "download", "-q", *PACKAGES[name]], cwd=part, capture_output=True, text=True, timeout=90, check=False)
    except subprocess.TimeoutExpired as error:
        print(error)
        return None
    if got.returncode:
        print("apt-get download %s: %s" % (name, got.stderr[-300:]))
        return None
    for path in glob.glob(os.path.join(part, "*.deb")):
        subprocess.run(["dpkg-deb", "-x", path, part], check=True)
        os.remove(path)
    os.rename(part, folder)
    return folder


def runs(command, environment):
    try:
        return subprocess.run([command, "--version" if command.endswith("promtool") else "-v"], env=environment, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def program(name):
    """(path, environment) of a program that runs here, or None and a message."""
    installed = shutil.which(name) or shutil.which("/usr/sbin/" + name)
    if installed:
        return installed, dict(os.environ)
    if shutil.which("apt-get") and shutil.which("dpkg-deb"):
        with alone():
            folder = unpack(name)
        found = next(iter(glob.glob(os.path.join(folder, "usr", "*bin", name))), None) if folder else None
        libraries = ":".join(glob.glob(os.path.join(folder, "usr", "lib", "*-linux-*"))) if folder else ""
        environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
        if found and runs(found, environment):
            return found, environment
    print("%s is not installed, and its package cannot be had: what needs it is left out" % name)
    return None
