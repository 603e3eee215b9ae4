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


def run_command(command, cwd, environment):
    """(exit status, standard output, standard error)"""
    ran = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env={**(environment or os.environ), **ENVIRONMENT}, timeout=120 * SLOW)  # fmt: skip
    return ran.returncode, ran.stdout.decode(), ran.stderr.decode()


def run(ranks, name, *arguments, cwd=None, environment=None):
    """0 ranks: one process, without mpirun."""
    path = program(name)
    start = [*launcher(path), "-n", str(ranks)] if ranks else []
    return run_command([*start, path, *arguments], cwd, environment)


def run_each(variables, name, *arguments, cwd=None, environment=None):
    """A process for each item of a list of variables, which only its environment has."""
    path = program(name)
    command = launcher(path)
    for i, own in enumerate(variables):
        command = [*command, *[":"] * (i > 0), "-n", "1", "env", *("%s=%s" % v for v in own.items()), path, *arguments]
    return run_command(command, cwd, environment)
