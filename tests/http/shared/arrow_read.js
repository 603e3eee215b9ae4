// node arrow_read.js MODULES rows|concat|formula|damage FILE [FILE]: an Arrow IPC file or stream as Apache Arrow's own reader has it.
// rows: a line with the types of the columns, one with their units, then each row as a line of JSON, 64-bit integers as {"i":"digits"}.
// concat: the same of the rows of both files, which must have the same columns.
// formula: the rows that tests/unit/format/test_arrow.c writes, each looked at; prints how many there were.
// damage: every proper beginning of the file in steps of 8 bytes; prints how many of them were taken for whole, or read as more
// than a beginning of it.
const fs = require("fs");
const path = require("path");

const [modules, mode, file, second] = process.argv.slice(2);
const arrow = require(path.join(modules, "apache-arrow"));

// A stream that was cut between two messages is one without its closing words, which the reader does not miss.
const closed = (bytes) =>
  bytes.length > 8 &&
  (bytes.subarray(0, 6).toString("latin1") === "ARROW1"
    ? bytes.subarray(-6).toString("latin1") === "ARROW1"
    : bytes.readUInt32LE(bytes.length - 8) === 0xffffffff && bytes.readUInt32LE(bytes.length - 4) === 0);

function read(bytes) {
  if (!closed(bytes)) throw new Error("it has no end");
  return arrow.tableFromIPC(bytes);
}

function rows(table) {
  const told = (v) => (typeof v === "bigint" ? { i: String(v) } : v);
  console.log(JSON.stringify(Object.fromEntries(table.schema.fields.map((f) => [f.name, String(f.type)]))));
  console.log(JSON.stringify(Object.fromEntries(table.schema.fields.map((f) => [f.name, f.metadata.get("unit") ?? null]))));
  for (const row of table) console.log(JSON.stringify(Object.fromEntries(Object.entries(row.toJSON()).map(([k, v]) => [k, told(v)]))));
}

async function formula() {
  const word = (i) => (i === 0 ? "0" : i === 1 ? '\u{1F600} "1"\n' : i === 2 ? "bad \uFFFD" : "word " + i);
  const same = (got, wanted, i, what) => {
    if (got !== wanted) throw new Error(`row ${i}: ${what} is ${got}, not ${wanted}`);
  };
  let i = 0;
  const reader = await arrow.RecordBatchReader.from(fs.createReadStream(file, { highWaterMark: 1 << 20 }));
  for await (const batch of reader) {
    const [id, minus, half, odd, text, none] = ["id", "minus", "half", "odd", "word", "none"].map((n) => batch.getChild(n));
    for (let r = 0; r < batch.numRows; r++, i++) {
      same(id.get(r), (1n << 63n) + BigInt(i), i, "id");
      same(minus.get(r), i % 3 ? -BigInt(i) : null, i, "minus");
      same(half.get(r), i / 2, i, "half");
      same(odd.get(r), i % 5 ? i % 2 === 1 : null, i, "odd");
      same(text.get(r), i % 7 ? word(i % 1000) : null, i, "word");
      same(none.get(r), null, i, "none");
    }
  }
  const end = Buffer.alloc(8);
  const fd = fs.openSync(file);
  fs.readSync(fd, end, 0, 8, fs.fstatSync(fd).size - 8);
  if (!closed(Buffer.concat([Buffer.alloc(8), end])) && end.subarray(2).toString("latin1") !== "ARROW1") throw new Error("it has no end");
  console.log(i);
}

function damage() {
  const whole = fs.readFileSync(file);
  let taken = 0;
  for (let n = 0; n < whole.length; n += 8) {
    try {
      read(whole.subarray(0, n));
      taken++;
    } catch {
      continue;
    }
  }
  console.log(taken);
}

if (mode === "formula") formula().catch((e) => (console.log(e), process.exit(1)));
else if (mode === "damage") damage();
else if (mode === "concat") rows(read(fs.readFileSync(file)).concat(read(fs.readFileSync(second))));
else rows(read(fs.readFileSync(file)));
