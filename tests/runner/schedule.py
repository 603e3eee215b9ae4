"""Runs builds and tests, as many at once as there are processors and more while these are idle."""

import os
import queue
import signal
import subprocess
import threading
import time

from tools import system_first

from .tests import TOP, VARIANTS

OUTPUT_LIMIT = 200_000  # bytes of a failing test's output that are printed: its end
AT_ONCE = max(2, min(8, len(os.sched_getaffinity(0))))
MOST = 2 * AT_ONCE  # tests that wait for something need no processor

running = set()  # process groups, to be ended when we are interrupted


class Result:
    def __init__(self, job, outcome, why, output, seconds, cpu):
        self.job, self.outcome, self.why, self.output = job, outcome, why, output
        self.seconds, self.cpu = seconds, cpu


class Build:
    """make of all targets that the tests of one variant need."""

    after = finds = None
    timeout = 3600

    def __init__(self, folder, config, targets, jobs):
        self.folder, self.name = folder, "build " + os.path.relpath(folder, TOP)
        self.command = ["make", "-C", TOP, "BUILD=" + os.path.relpath(folder, TOP), "-k", "-j%d" % jobs, *sorted(targets)]
        self.environment = dict(os.environ)
        if config:
            self.command.append("CONFIG=" + config)

    def label(self):
        return self.name

    def may_run_beside(self, other):
        return not isinstance(other, Build) or other.folder != self.folder


class Run:
    """One test in one variant."""

    def __init__(self, test, environment):
        variant = VARIANTS[test.variant]
        self.test, self.name, self.timeout, self.after, self.finds = test, test.name, test.timeout, test.after, test.finds
        self.folder = None if test.target is None else variant.folder
        self.command = [*(["setarch", os.uname().machine, "-R"] if variant.fixed_addresses and may_fix() else []), *test.command]
        self.environment = {**environment, "DFTRACERD_BUILD": variant.folder, **variant.environment}

    def label(self):
        return self.test.label()

    def may_run_beside(self, other):
        """A script runs once at a time: what it computes for the oracle is there for the next."""
        return isinstance(other, Build) or self.test.command[0] != other.test.command[0] or self.test.target in ("test-unit", "test-threads", "test-answers")


def may_fix():
    return subprocess.run(["setarch", os.uname().machine, "-R", "true"], capture_output=True, check=False).returncode == 0


def test_environment(everything):
    """What every test sees: the system's tools before others, nothing of the make that runs us."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKE_TERMOUT", "MAKE_TERMERR")}
    environment["PATH"] = system_first(environment.get("PATH", ""))
    shared = os.path.join(os.path.dirname(TOP), "shared")
    environment.setdefault("DFTRACERD_SHARED", shared if os.path.isdir(shared) else "")
    environment.setdefault("DFTRACERD_ORACLE", os.path.join(TOP, "build", "oracle"))
    environment["ASAN_OPTIONS"] = "detect_leaks=1:abort_on_error=0:quarantine_size_mb=32:" + environment.get("ASAN_OPTIONS", "")
    environment["UBSAN_OPTIONS"] = "print_stacktrace=1:" + environment.get("UBSAN_OPTIONS", "")
    environment["TSAN_OPTIONS"] = "halt_on_error=1:second_deadlock_stack=1:" + environment.get("TSAN_OPTIONS", "")
    if everything:
        environment["DFTRACERD_CHECK_ALL"] = "1"
    return environment


class Processors:
    """Whether they were idle for the last half second at least."""

    def __init__(self):
        self.look()

    def look(self):
        with open("/proc/stat", encoding="ascii") as f:
            self.when, self.idle = time.monotonic(), int(f.readline().split()[4]) / os.sysconf("SC_CLK_TCK")

    def are_idle(self):
        when, idle = self.when, self.idle
        if time.monotonic() - when < 0.5:
            return False
        self.look()
        return (self.idle - idle) / (self.when - when) > 0.4


def has_ended(process):
    """Leaves the exit status for run_command, which reads the processor time with it."""
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def stop_group(process):
    """Ends the test and everything it started."""
    for sig in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sig)
        except ProcessLookupError:
            return
        end = time.monotonic() + 3
        while not has_ended(process) and time.monotonic() < end:
            time.sleep(0.02)


def stop_all():
    for process in list(running):
        stop_group(process)


def run_command(job):
    """Exit status (None: out of time, a negative signal number: killed), output and processor seconds, those of the processes
    that it started and waited for included."""
    process = subprocess.Popen(job.command, cwd=TOP, env=job.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
    running.add(process)
    late = threading.Event()

    def out_of_time():
        late.set()
        stop_group(process)

    timer = threading.Timer(job.timeout, out_of_time)
    timer.start()
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    stop_group(process)  # a daemon that the test left behind
    running.discard(process)
    return None if late.is_set() else process.returncode, output.decode("utf-8", "replace"), usage.ru_utime + usage.ru_stime


def outcome_of(status, timeout, output):
    if status == 0:
        return "ok", ""
    if status == 77:
        lines = output.strip().splitlines()
        return "skip", lines[-1] if lines else "no reason given"
    if status is None:
        return "FAIL", "no end within %d s" % timeout
    if status < 0:
        return "FAIL", "killed by %s" % signal.Signals(-status).name
    return "FAIL", "exit status %d" % status


class Schedule:
    """Builds first, each test as soon as its build has ended; the longest tests begin first."""

    def __init__(self, builds, runs, report):
        self.waiting = [*builds, *sorted(runs, key=lambda run: -run.timeout)]
        self.under_way, self.report = [], report

    def begin(self, job):
        begin = time.monotonic()
        if isinstance(job, Run) and not os.access(job.test.command[0], os.X_OK):
            return Result(job, "FAIL", "%s was not built" % os.path.relpath(job.test.command[0], TOP), "", 0.0, 0.0)
        status, output, cpu = run_command(job)
        outcome, why = outcome_of(status, job.timeout, output)
        if len(output) > OUTPUT_LIMIT:
            output = "[...]\n" + output[-OUTPUT_LIMIT:]
        return Result(job, outcome, why, output, time.monotonic() - begin, cpu)

    def next_job(self):
        """The first that may run now, or None."""
        unbuilt = {j.folder for j in [*self.under_way, *self.waiting] if isinstance(j, Build)}
        unfinished = {j.name.split("/")[0] for j in [*self.under_way, *self.waiting] if isinstance(j, Run) and not j.after}
        for job in self.waiting:
            if isinstance(job, Run) and (job.folder in unbuilt or job.after in unfinished):
                continue
            if all(job.may_run_beside(other) for other in self.under_way):
                return job
        return None

    def run(self):
        ended, processors = queue.Queue(), Processors()
        while self.waiting or self.under_way:
            count = len(self.under_way)
            job = self.next_job() if count < AT_ONCE or count < MOST and processors.are_idle() else None
            if job:
                self.waiting.remove(job)
                self.under_way.append(job)
                threading.Thread(target=lambda job=job: ended.put(self.begin(job))).start()
                processors.look()
                continue
            try:
                result = ended.get(timeout=0.6)
            except queue.Empty:
                continue
            self.under_way.remove(result.job)
            self.report(result)
