"""Traces whose texts are all different: what takes most memory and most of the index."""

import json
import os
import random
import time


def generate(folder, files, lines, seed=1):
    """`files` files fNNNNN.pfw of `lines` lines each, the same ones for the same seed. Returns the number of events."""
    rng = random.Random(seed)
    os.makedirs(folder, exist_ok=True)
    for i in range(files):
        path = os.path.join(folder, "f%05d.pfw" % i)
        with open(path, "w") as f:
            for j in range(lines):
                line = {"id": j, "name": "n%032x" % rng.getrandbits(128), "cat": "c", "pid": i, "tid": i, "ts": rng.getrandbits(50),
                        "dur": rng.getrandbits(30), "ph": "X",
                        "args": {"fname": "/p/%064x" % rng.getrandbits(256), "x": rng.getrandbits(50)}}  # fmt: skip
                f.write(json.dumps(line, separators=(",", ":")) + "\n")
        os.utime(path, (time.time() - 3600,) * 2)
    return files * lines
