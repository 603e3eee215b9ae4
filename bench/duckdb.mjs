// The peer: DuckDB over the same traces, a process that answers one JSON line per JSON line of stdin, so that its runs can
// alternate with others. {"op": "open", "dir", "threads"}, {"op": "run", "sql"} -> {"wall", "cpu"} in seconds, {"op": "value",
// "sql"} -> {"value"}: the first one of the first row. An answer of `run` is a whole result in DuckDB's own memory.
import { DuckDBInstance } from "@duckdb/node-api";
import { createInterface } from "node:readline";

let connection;

async function timed(sql) {
  const cpu = process.cpuUsage();
  const begin = process.hrtime.bigint();
  await connection.run(sql);
  const wall = Number(process.hrtime.bigint() - begin) / 1e9;
  const used = process.cpuUsage(cpu);
  return { wall, cpu: (used.user + used.system) / 1e6 };
}

async function answer(job) {
  if (job.op === "open") {
    const db = await DuckDBInstance.create(job.path, { threads: String(job.threads) });
    connection = await db.connect();
    return { version: (await connection.runAndReadAll("SELECT version()")).getRows()[0][0] };
  }
  if (job.op === "value") {
    const rows = (await connection.runAndReadAll(job.sql)).getRows();
    return { value: Number(rows[0][0]) };
  }
  return timed(job.sql);
}

for await (const line of createInterface({ input: process.stdin })) {
  let said;
  try {
    said = await answer(JSON.parse(line));
  } catch (e) {
    said = { error: String(e.message ?? e).slice(0, 400) };
  }
  console.log(JSON.stringify(said));
}
