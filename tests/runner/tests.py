"""Which tests there are, in which builds each runs, and what has to be built for it.

A script in tests/lint, http, golden, fault or fuzz, or in a folder of these, is a test named SUITE/FILE. It says what it needs in
comments in its first lines:

    # check: asan tsan        builds in which `make check` runs it; `no`: only check-all does
    # check-all: plain asan   builds in which `make check-all` runs it (without this line: the same, or the suite's default)
    # timeout: 900            seconds, instead of 600
    # after: http             starts when all tests of that suite have ended
    # finds: ...              which bug only this test finds; every test of more than 20 s of processor time says it

A unit test says it in its first line, /* module: index; threads */: `threads` runs it under ThreadSanitizer too, `paths` with
portable code and zlib in check-all, `alone` builds a program of this file only.

The suite `answers` is one program that runs every tests/answers/*.case: ANSWERS has its tests.
"""

import glob
import os
import re

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TIMEOUT = int(os.environ.get("TEST_TIMEOUT", "600"))
SCRIPT_SUITES = ("lint", "http", "golden", "fault")
SUITES = ("lint", "unit", "answers", "fuzz", "http", "golden", "fault")
# Tests of all cases: builds in check, builds in check-all, options of the program, and what only they find.
ANSWERS = {
    "cases": ("asan tsan", "asan tsan portable", [], "wrong answers, and threads that change them"),
    "failing": ("asan", "asan", ["--failing"], "answers that lack something, crash or leak without memory"),
    "tight": ("asan", "asan", ["--tight"], "answers that depend on how much memory a query may use"),
}
# Where a script does not say it: builds in check, builds in check-all.
BUILDS = {"lint": ("source", "source"), "fuzz": ("source", "source"), "http": ("asan", "plain asan tsan"), "golden": ("asan", "plain asan"),
          "fault": ("plain", "plain")}  # fmt: skip


class Variant:
    """A build of the program, and the environment in which tests use it."""

    def __init__(self, folder, config="", fixed_addresses=False, **environment):
        self.folder, self.config = os.path.join(TOP, folder), config
        self.fixed_addresses, self.environment = fixed_addresses, environment


VARIANTS = {
    "plain": Variant("build"),
    "asan": Variant("build/asan", "--enable-sanitizer=address,undefined"),
    # gcc 12's ThreadSanitizer does not find its shadow memory when addresses are very random.
    "tsan": Variant("build/tsan", "--enable-sanitizer=thread", fixed_addresses=True),
    # The code of machines without AVX2, and zlib instead of ISA-L.
    "portable": Variant("build/asan", "--enable-sanitizer=address,undefined", DFTRACERD_CPU="portable", DFTRACERD_INFLATE="zlib"),
    # Tests that read the sources, or build by themselves.
    "source": Variant("build"),
}


class Test:
    def __init__(self, path, variant, command, target=None, settings=None):
        self.suite, file = path.split("/")[0], os.path.basename(path)
        self.name, self.variant, self.command, self.target = self.suite + "/" + file, variant, command, target
        self.paths = {self.suite, self.name, path, os.path.dirname(path)}
        self.settings = settings or {}
        self.timeout = int(self.settings.get("timeout", TIMEOUT))
        self.finds, self.after = self.settings.get("finds"), self.settings.get("after")

    def label(self):
        return self.name if self.variant == "source" else "%s %s" % (self.name, self.variant)


def settings_of(path):
    """The comments in the first lines of a script."""
    with open(path, encoding="utf-8", errors="replace") as f:
        head = f.read(2048)
    return {key: value.strip() for key, value in re.findall(r"^# (check|check-all|timeout|after|finds): (.*)$", head, re.M)}


def builds_of(suite, settings, everything):
    check, check_all = BUILDS[suite]
    check = settings.get("check", check)
    if not everything:
        return [] if check == "no" else check.split()
    return settings.get("check-all", check if "check" in settings else check_all).split()


def scripts(suite, everything):
    pattern = "*" if suite == "lint" else "test_*"
    found = [path for place in (suite, suite + "/*") for path in glob.glob(os.path.join(TOP, "tests", place, pattern))]
    for path in sorted(found, key=os.path.basename):
        if os.path.isfile(path) and "." not in os.path.basename(path):
            settings = settings_of(path)
            for variant in builds_of(suite, settings, everything):
                target = None if variant == "source" else "test-fault" if suite == "fault" else "all"
                yield Test(os.path.relpath(path, os.path.join(TOP, "tests")), variant, [path], target, settings)


def head_of_source(path):
    """(module, flags) of /* module: index; threads */"""
    with open(path, encoding="utf-8") as f:
        match = re.match(r"/\* module: ([a-z]+);?([a-z ,]*)\*/", f.readline())
    if not match:
        raise SystemExit("%s: the first line must be /* module: NAME */" % path)
    return match.group(1), match.group(2).replace(",", " ").split()


def unit_tests(everything):
    for path in sorted(glob.glob(os.path.join(TOP, "tests/unit/*/test_*.c"))):
        place, (module, flags) = os.path.relpath(path, os.path.join(TOP, "tests"))[:-2], head_of_source(path)
        program = os.path.basename(place) if "alone" in flags else "unit_" + module
        yield unit_test(place, "asan", program, "test-unit")
        if "threads" in flags:
            yield unit_test(place, "tsan", program if "alone" in flags else "unit_threads", "test-threads")
        if everything and "paths" in flags:
            yield unit_test(place, "portable", program, "test-unit")


def unit_test(place, variant, program, target):
    return Test(place, variant, [os.path.join(VARIANTS[variant].folder, "tests", program), os.path.basename(place)], target)


def answer_tests(everything):
    for name, (check, check_all, options, finds) in ANSWERS.items():
        for variant in (check_all if everything else check).split():
            program = os.path.join(VARIANTS[variant].folder, "tests", "answers")
            settings = {"finds": finds, "timeout": 3600 if everything else TIMEOUT}
            yield Test("answers/" + name, variant, [program, *options], "test-answers", settings)


def fuzz_tests(everything):
    for path in sorted(glob.glob(os.path.join(TOP, "tests/fuzz/fuzz_*.c"))):
        target, (_, flags) = os.path.basename(path)[:-2], head_of_source(path)
        corpus = os.path.join(TOP, "tests/fuzz/corpus", target[len("fuzz_") :])
        for variant in ("asan", "portable") if everything and "paths" in flags else ("asan",):
            program = os.path.join(VARIANTS[variant].folder, "fuzz", target)
            yield Test("fuzz/" + target, variant, [program, *([corpus] if os.path.isdir(corpus) else [])], "test-fuzz")


def all_tests(everything):
    tests = []
    for suite in SCRIPT_SUITES:
        tests += scripts(suite, everything)
    tests += [*unit_tests(everything), *answer_tests(everything), *fuzz_tests(everything), *scripts("fuzz", everything)]
    labels = [test.label() for test in tests]
    if twice := {label for label in labels if labels.count(label) > 1}:
        raise SystemExit("two files are the test %s" % min(twice))
    return tests


def select(names, everything, variant=None):
    """Tests named like `http`, `http/server`, `http/test_tls`, `http/server/test_tls` or `http/test_tls:dates`; SystemExit when a name
    fits none."""
    if not names:
        return only(all_tests(everything), variant)
    chosen, known = [], all_tests(True)
    usual = {t.label() for t in all_tests(everything)}
    for name in names:
        path, _, case = name.strip("/").removeprefix("tests/").partition(":")
        fitting = [t for t in known if path in t.paths]
        if not fitting:
            raise SystemExit("there is no test %s; tests/run --list prints all" % name)
        if case and path.split("/")[0] in ("lint", "fuzz"):
            raise SystemExit("%s has no cases" % path)
        fitting = only(fitting, variant) if variant else [t for t in fitting if t.label() in usual] or fitting
        for test in fitting:
            test.command += case.split(",") if case else []
        chosen += fitting
    return chosen


def only(tests, variant):
    chosen = [t for t in tests if not variant or t.variant == variant]
    if not chosen:
        raise SystemExit("no such test runs in the build %s" % variant)
    return chosen
