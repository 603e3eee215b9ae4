"""Two builds of the daemon: where their programs are, and daemons of both on copies of one index."""

import http.client
import os
import shutil
import subprocess

import measure

WORK = os.path.join(measure.TOP, "build", "same")


def run(*command, **more):
    return subprocess.run(command, check=True, text=True, **more)


def checkout(commit):
    """A work tree of the commit below build/same, kept for the next time."""
    tree = os.path.join(WORK, commit[:12])
    if not os.path.isdir(tree):
        run("git", "-C", measure.TOP, "worktree", "prune")
        run("git", "-C", measure.TOP, "worktree", "add", "--detach", "--quiet", tree, commit)
    page = os.path.join(measure.TOP, "build", "web", "dist")
    if os.path.isdir(page) and not os.path.isdir(os.path.join(tree, "build", "web", "dist")):  # building it takes npm and time
        shutil.copytree(page, os.path.join(tree, "build", "web", "dist"), copy_function=shutil.copyfile)
    return tree


def programs(what):
    """The folder with the programs of a build folder, or of a commit, which is built."""
    if os.access(os.path.join(what, "bin", "dftracerd"), os.X_OK):
        return os.path.abspath(os.path.join(what, "bin"))
    found = subprocess.run(["git", "-C", measure.TOP, "rev-parse", "--verify", "--quiet", what + "^{commit}"], stdout=subprocess.PIPE, text=True)
    if found.returncode:
        raise SystemExit("%s is neither a commit nor a build folder with bin/dftracerd" % what)
    tree = checkout(found.stdout.strip())
    run("make", "-C", tree, "--silent", "-j%d" % os.cpu_count(), stdout=subprocess.DEVNULL)
    return os.path.join(tree, "build", "bin")


MPIRUN = "mpirun --oversubscribe --bind-to none"


def ranks(build, count, mpirun=MPIRUN, folder=os.path.join(WORK, "ranks")):
    """A folder whose dftracerd is a job of so many processes."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "dftracerd")
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nexport OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n")
        f.write("exec %s -n %d '%s/bin/dftracerd-mpi' \"$@\"\n" % (mpirun, count, build))
    os.chmod(path, 0o755)
    return folder


def whole(answer):
    """The body; of one that was cut, its part and a word."""
    try:
        return answer.read()
    except http.client.IncompleteRead as error:
        return error.partial + b"[cut]"


class Daemon(measure.Daemon):
    """with Daemon(programs, traces, place) as d: d.request("GET", "/stats") -> (status, headers, body). `place`: a folder for its
    index (place/index, used if it is there) and what it writes (place/output)."""

    def __init__(self, programs, traces, place, *options):
        self.output = os.path.join(place, "output")
        os.makedirs(self.output, exist_ok=True)
        super().__init__(traces, os.path.join(place, "index"), None, "--output-dir", self.output, *options, programs=programs)

    def request(self, method, path, headers=None, body=None):
        answer = self.begin_answer(path, method, headers, body)
        return answer.status, answer.getheaders(), whole(answer)
