// The peer: DuckDB over the same traces. Loads them into a native table and a zstd Parquet file, then times each
// query from a list. Reads a JSON job on stdin, prints one JSON object:
//   {"glob", "threads", "runs", "dir", "queries": {name: SQL with $T for the table}}
import { DuckDBInstance } from "@duckdb/node-api";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";

const job = JSON.parse(readFileSync(0, "utf8"));
const ARGS = ["hhash VARCHAR", "fhash VARCHAR", "ret BIGINT", "count BIGINT", '"offset" BIGINT', "size BIGINT", "fd BIGINT",
  "flags BIGINT", "mode BIGINT", "whence BIGINT", "epoch BIGINT", "step BIGINT", "image_idx BIGINT", "image_size BIGINT",
  "device_id BIGINT", "stream_id BIGINT", "batch_size BIGINT", "correlation_id BIGINT", "num_events BIGINT",
  "ppid BIGINT", "version VARCHAR", "date VARCHAR", "cmd_hash VARCHAR", "exec_hash VARCHAR", "cwd VARCHAR",
  "name VARCHAR", "value VARCHAR"];
const COLUMNS = `{id:'BIGINT',name:'VARCHAR',cat:'VARCHAR',pid:'BIGINT',tid:'BIGINT',ts:'BIGINT',dur:'BIGINT',ph:'VARCHAR',
  args:'STRUCT(${ARGS.join(",").replaceAll("'", "''")})'}`;
const flat = ARGS.map((a) => a.split(" ")[0]).map((n) => `args.${n} AS a_${n.replaceAll('"', "")}`).join(",");
const source = `SELECT id,name,cat,pid,tid,ts,dur,ph,${flat} FROM read_json('${job.glob}', format='newline_delimited',
  columns=${COLUMNS}, ignore_errors=true, compression='gzip') WHERE name IS NOT NULL`;

const median = (xs) => xs.sort((a, b) => a - b)[Math.floor(xs.length / 2)];
const out = { threads: job.threads, seconds: {}, rows: {} };

async function timed(name, fn) {
  const t = process.hrtime.bigint();
  const result = await fn();
  out.seconds[name] = Number(process.hrtime.bigint() - t) / 1e9;
  return result;
}

rmSync(job.dir, { recursive: true, force: true });
mkdirSync(job.dir, { recursive: true });
const db = await DuckDBInstance.create(`${job.dir}/native.duckdb`, { threads: String(job.threads) });
const c = await db.connect();
await timed("load_native", () => c.run(`CREATE TABLE events AS ${source}`));
await timed("write_parquet", () => c.run(`COPY events TO '${job.dir}/events.parquet' (FORMAT parquet, COMPRESSION zstd)`));
await c.run("CHECKPOINT");
out.native_bytes = statSync(`${job.dir}/native.duckdb`).size;
out.parquet_bytes = existsSync(`${job.dir}/events.parquet`) ? statSync(`${job.dir}/events.parquet`).size : 0;
out.events = Number((await c.runAndReadAll("SELECT count(*) FROM events")).getRows()[0][0]);
for (const [name, sql] of Object.entries(job.queries)) {
  for (const [where, table] of [["native", "events"], ["parquet", `'${job.dir}/events.parquet'`]]) {
    const times = [];
    for (let i = 0; i <= job.runs; i++) {
      const t = process.hrtime.bigint();
      const r = await c.runAndReadAll(sql.replaceAll("$T", table));
      if (i > 0) times.push(Number(process.hrtime.bigint() - t) / 1e9);
      out.rows[name] = r.currentRowCount;
    }
    out.seconds[`${name}/${where}`] = median(times);
  }
}
console.log(JSON.stringify(out));
