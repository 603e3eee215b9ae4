"""The dense data: seven layers of a training run over POSIX calls, with durations of a heavy tail and lines that differ in layout.

Of the events 60 % are reads and 17 % seeks; 14 % are POSIX calls of more than 1 ms (the reference data: 2 %); of 9 % the members of
`args` differ from those of the line before of the same name. 64 processes on 8 hosts, 5,000 files. The same bytes each time."""

import gzip
import io
import multiprocessing
import os
import random

PROCESSES, HOSTS, FILES, NAMES = 64, 8, 16, 5000
# cat, name, and the events of it in a thousand
LAYERS = (
    ("pipeline", "epoch.block", 2), ("pipeline", "train", 8), ("compute", "forward", 25), ("compute", "backward", 25), ("data", "preprocess", 20),
    ("data", "item", 20), ("dataloader", "fetch.block", 15), ("dataloader", "fetch.iter", 15), ("comm", "all_reduce", 15), ("device", "transfer", 15),
    ("checkpoint", "save", 2),
)  # fmt: skip
CALLS = (("read", 480), ("pread64", 120), ("lseek64", 170), ("open64", 14), ("close", 14), ("write", 20), ("__fxstat64", 14), ("fopen64", 3), ("fclose", 3))
MIXED_UP = 0.09
TAIL_MEDIAN, TAIL_SIGMA = 4.2, 2.8  # of the logarithm of us
START = 1_781_800_000_000_000


def hashed(number):
    return "%016x" % (number * 0x9E3779B97F4A7C15 % 2**64)


def files_of(process):
    return range(process * NAMES // PROCESSES, (process + 1) * NAMES // PROCESSES)


def heads(process):
    """The metadata records of a process: its host and its files."""
    host = process % HOSTS
    hhash = hashed(host + 1)
    yield '{"name":"HH","ph":"M","args":{"hhash":"%s","name":"node-%d","value":"%s"}}' % (hhash, host, hhash)
    for i in files_of(process):
        yield '{"name":"FH","ph":"M","args":{"hhash":"%s","name":"/lustre/dense/train/part_%d/img_%d.npz","value":"%s"}}' % (hhash, i % 7, i, hashed(1000 + i))


def members(rng, name, step, file):
    """The members of `args` by name, in the order in which a tracer writes them."""
    size = rng.choice((4096, 65536, 1 << 20, 262144))
    if name in ("read", "pread64", "write"):
        found = [("fhash", '"%s"' % hashed(1000 + file)), ("ret", size), ("count", size), ("offset", step * size)]
    elif name == "lseek64":
        found = [("fhash", '"%s"' % hashed(1000 + file)), ("offset", step * size), ("whence", 0), ("ret", step * size)]
    elif name in ("open64", "close", "__fxstat64", "fopen64", "fclose"):
        found = [("fhash", '"%s"' % hashed(1000 + file)), ("ret", 3)]
    else:
        found = [("epoch", step // 500), ("step", step), ("level", rng.randrange(4))]
    if rng.random() < MIXED_UP:
        found += [("p_idx", rng.randrange(10**6)), ("image_idx", rng.randrange(5000))][: rng.randrange(1, 3)]
        rng.shuffle(found)
    return found


def events(rng, process, count):
    pid, hhash = 40000 + 10 * process, hashed(process % HOSTS + 1)
    names = [("POSIX", name) for name, _ in CALLS] + [layer[:2] for layer in LAYERS]
    weights = [n for _, n in CALLS] + [n for _, _, n in LAYERS]
    now, file = START + pid, files_of(process)[0]
    for number, (cat, name) in enumerate(rng.choices(names, weights, k=count)):
        if name in ("open64", "fopen64"):
            file = rng.choice(files_of(process))
        dur = min(int(rng.lognormvariate(TAIL_MEDIAN, TAIL_SIGMA)), 30_000_000)
        args = ",".join('"%s":%s' % pair for pair in members(rng, name, number // 40, file))
        yield ('{"id":%d,"name":"%s","cat":"%s","pid":%d,"tid":%d,"ts":%d,"dur":%d,"ph":"X","args":{"hhash":"%s",%s}}'
               % (number + 1, name, cat, pid, pid + number % 3, now, dur, hhash, args))  # fmt: skip
        now += min(dur, 400) + number % 7


def write_file(job):
    path, number, count = job
    rng = random.Random(number)
    with gzip.GzipFile(path, "wb", 6, mtime=0) as packed, io.TextIOWrapper(packed, encoding="ascii") as out:
        out.write("[\n")
        for process in range(number, PROCESSES, FILES):
            out.writelines(line + "\n" for line in heads(process))
            out.writelines(line + "\n" for line in events(rng, process, count * FILES // PROCESSES))
        out.write("]\n")


def write(folder, count):
    """`count` events in FILES files."""
    jobs = [(os.path.join(folder, "dense_%d.pfw.gz" % i), i, count // FILES) for i in range(FILES)]
    with multiprocessing.Pool(os.cpu_count()) as pool:
        pool.map(write_file, jobs, chunksize=1)
