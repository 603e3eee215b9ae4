"""For tests of dftracerd-mpi: a daemon of several processes on this machine."""

import os
import re
import shutil
import signal

from web import BUILD, Skip, Web

PROGRAM = os.path.join(BUILD, "bin", "dftracerd-mpi")
# Open MPI: as root, and more processes than processors, which are for all of them.
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                  OMPI_MCA_hwloc_base_binding_policy="none")  # fmt: skip


def mpirun():
    """That of the library with which this build is linked."""
    with open(os.path.join(BUILD, "config.mk")) as f:
        compiler = re.search("^MPICC = *(.*)$", f.read(), re.M)[1]
    return shutil.which(os.path.basename(compiler).replace("mpicc", "mpirun"))


def needs_mpi():
    if not os.access(PROGRAM, os.X_OK) or not mpirun():
        raise Skip("there is no MPI: dftracerd-mpi is not built")


def environment_of(pid):
    try:
        with open("/proc/%d/environ" % pid, "rb") as f:
            return f.read().split(b"\0")
    except OSError:
        return []


class Ranks(Web):
    """with Ranks(3, directory) as w: as Web. It is ended by SIGTERM to rank 0. `wrapper`: starts each process."""

    wrapper = []

    def __init__(self, count, directory, *options, **more):
        self.launcher = [mpirun(), "-n", str(count), *self.wrapper, PROGRAM]
        super().__init__(directory, *options, **more)
        self.pid = next(pid for pid in self.pids() if self.rank_of(pid) == 0)

    def pids(self):
        """Of all processes of the job."""
        mine = b"--index-dir\0" + os.fsencode(self.index) + b"\0"
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % name, "rb") as f:
                    words = f.read()
            except OSError:
                continue
            if words.startswith(os.fsencode(PROGRAM)) and mine in words:
                found.append(int(name))
        return found

    @staticmethod
    def rank_of(pid):
        """Open MPI and MPICH name it in the environment."""
        return next((int(v.split(b"=")[1]) for v in environment_of(pid) if v.startswith((b"PMIX_RANK=", b"PMI_RANK="))), None)

    def stop(self, signal_number=signal.SIGTERM):
        if self.process.poll() is None and signal_number == signal.SIGTERM and hasattr(self, "pid"):
            os.kill(self.pid, signal_number)
            signal_number = 0  # mpirun ends with the job
        return super().stop(signal_number)
