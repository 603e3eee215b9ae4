"""For tests of programs that run as several processes: mpirun of the MPI library that the build is for."""

import functools
import os
import shutil
import subprocess

from web import BUILD, SLOW, Skip

ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def program(name):
    path = os.path.join(BUILD, "bin", name)
    if not os.path.exists(path):
        raise Skip("there is no %s: it is built where an MPI library is installed" % name)
    return path


@functools.lru_cache
def launcher(path):
    linked = subprocess.run(["ldd", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    library = "mpich" if "libmpich" in linked else "openmpi"
    mpirun = shutil.which("mpirun." + library) or shutil.which("mpirun")
    if not mpirun:
        raise Skip("there is no mpirun of " + library)
    return [mpirun, *(["--oversubscribe", "--bind-to", "none"] if library == "openmpi" else [])]


def run(ranks, name, *arguments, cwd=None, environment=None):
    """(exit status, standard output, standard error). 0 ranks: one process, without mpirun."""
    path = program(name)
    start = [*launcher(path), "-n", str(ranks)] if ranks else []
    ran = subprocess.run([*start, path, *arguments], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env={**(environment or os.environ), **ENVIRONMENT}, timeout=120 * SLOW)  # fmt: skip
    return ran.returncode, ran.stdout.decode(), ran.stderr.decode()
