"""Those we are measured against: programs of the distribution, and DuckDB (npm, pinned in package-lock.json)."""

import json
import os
import shutil
import subprocess

from measure import TOP

COLUMNS = [
    "hhash VARCHAR", "fhash VARCHAR", "ret BIGINT", "count BIGINT", '"offset" BIGINT', "size BIGINT", "fd BIGINT",
    "flags BIGINT", "mode BIGINT", "whence BIGINT", "epoch BIGINT", "step BIGINT", "image_idx BIGINT", "image_size BIGINT",
    "device_id BIGINT", "stream_id BIGINT", "batch_size BIGINT", "correlation_id BIGINT", "num_events BIGINT", "ppid BIGINT",
    "version VARCHAR", "date VARCHAR", "cmd_hash VARCHAR", "exec_hash VARCHAR", "cwd VARCHAR", "name VARCHAR",
    "value VARCHAR"]  # fmt: skip


def has(program):
    return shutil.which(program) is not None


def source_sql(pattern):
    """The events of our generator's files, their arguments as columns of their own."""
    flat = ",".join("args.%s AS a_%s" % (c.split()[0], c.split()[0].strip('"')) for c in COLUMNS)
    return ("SELECT id,name,cat,pid,tid,ts,dur,ph,%s FROM read_json('%s', format='newline_delimited', ignore_errors=true, "
            "columns={id:'BIGINT',name:'VARCHAR',cat:'VARCHAR',pid:'BIGINT',tid:'BIGINT',ts:'BIGINT',dur:'BIGINT',"
            "ph:'VARCHAR',args:'STRUCT(%s)'}) WHERE name IS NOT NULL" % (flat, pattern, ",".join(COLUMNS)))  # fmt: skip


class Duck:
    """A DuckDB of its own process. Duck.start gives None, and says why, where it cannot be had."""

    @staticmethod
    def start(directory, threads):
        here = os.path.join(TOP, "bench")
        if not has("node"):
            print("left out: DuckDB: node is not installed", flush=True)
            return None
        if not os.path.isdir(os.path.join(here, "node_modules")) and has("npm"):
            subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=here, capture_output=True, check=False)
        if not os.path.isdir(os.path.join(here, "node_modules", "@duckdb")):
            print("left out: DuckDB: npm ci in bench/ failed", flush=True)
            return None
        return Duck(directory, threads)

    def __init__(self, directory, threads):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        self.directory = directory
        self.process = subprocess.Popen(["node", os.path.join(TOP, "bench", "duckdb.mjs")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.version = self.job(op="open", path=os.path.join(directory, "native.duckdb"), threads=threads)["version"]

    def job(self, **what):
        try:
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        said = json.loads(line) if line else {"error": "DuckDB has exited (out of memory?)"}
        if "error" in said:
            raise RuntimeError(said["error"])
        return said

    def run(self, sql):
        """(wall, cpu)"""
        said = self.job(op="run", sql=sql)
        return said["wall"], said["cpu"]

    def value(self, sql):
        return self.job(op="value", sql=sql)["value"]

    def parquet(self, name):
        return os.path.join(self.directory, name + ".parquet")

    def write_parquet(self, name, sql):
        """Bytes of the file."""
        self.run("COPY (%s) TO '%s' (FORMAT parquet, COMPRESSION zstd)" % (sql, self.parquet(name)))
        return os.path.getsize(self.parquet(name))

    def stop(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)
