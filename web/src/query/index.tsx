// Events, row by row: the first ones, those in order of time, or the longest.
import { useLayoutEffect, useState } from "preact/hooks";
import { getJson, isAbort, getLines, type Params } from "../api";
import { literalFile } from "../files";
import { after, bytes, clock, equals, exact, label, time } from "../format";
import { begin, stamp, useAnswer } from "../live";
import { shown } from "../shown";
import { extra, lookAt, selection, selectionParams } from "../state";
import { Failure, Name, Num, Panel } from "../ui";
import type { Timeline } from "../overview/model";
import { ColumnInput } from "./columns";

type Row = Record<string, unknown>;
/** What tells the event of a row, and is asked for with the columns that are shown. */
const PLACE = ["ts", "dur", "name", "cat", "pid", "tid", "trace"];
const columns = extra("columns", "ts,dur,name,cat,rank,pid,tid,size,file"), order = extra("order", "ts"), from = extra("row", "0");
const PAGE = 100;

const shownColumns = (): string[] => columns.value.split(",").map((c) => c.trim()).filter(Boolean);

function requestOf(): Params {
  const select = [...new Set([...shownColumns(), ...PLACE])].join(",");
  return { ...selectionParams(selection.value), select, order: order.value === "ts" ? "ts" : undefined, limit: PAGE, offset: Number(from.value) || 0 };
}

/** Shows it in the timeline, picked; where another has come in its place meanwhile, only its time. */
async function show(row: Row): Promise<void> {
  const ts = Number(row["ts"]), from = Math.floor(ts), query = ["dur", "name", "cat", "pid", "tid"].map((c) => equals(c, row[c])).join(" and ");
  const found = row["object"] != null ? { object: row["object"], file: row["trace"] }
    : await getJson<{ event: { object: number; file: string } | null }>("/find", { file: literalFile(String(row["trace"])), query, time_range: `${from},${from + 1}`, at: from }).then((a) => a.event, () => null);
  lookAt(ts, Number(row["dur"] ?? 0), found ? `${found.object} ${found.file}` : "");
}

/** `of`: what the rows are the answer to, `names`: the columns that are shown of it; another question may be under way. */
function useRows(params: Params) {
  const [state, setState] = useState<{ rows: Row[] | null; of: Params; names: string[]; error: Error | null; busy: boolean }>({ rows: null, of: params, names: [], error: null, busy: true });
  const key = JSON.stringify(params), now = stamp.value;
  useLayoutEffect(() => {
    const control = new AbortController(), rows: Row[] = [], names = shownColumns();
    setState((s) => ({ ...s, error: null, busy: true }));
    getLines<Row>("/view", params, (row) => { rows.push(row); }, control.signal).then(
      () => setState({ rows, of: params, names, error: null, busy: false }),
      (e) => { if (!isAbort(e)) setState({ rows: null, of: params, names, error: e as Error, busy: false }); },
    );
    return () => control.abort();
  }, [key, now]);
  return state;
}

function Cell({ column, value }: { column: string; value: unknown }) {
  if (value == null) return <>–</>;
  if (typeof value === "number") {
    if (column === "ts" || column === "te") return <span class="num" title={`${clock(value)} (${exact(value)} µs)`}>{begin.value == null ? exact(value) : after(value - begin.value, 9)}</span>;
    if (column === "dur") return <Num value={value} as={time} unit=" µs" />;
    if (column === "size" || column === "bytes") return <Num value={value} as={bytes} unit=" B" />;
  }
  if (typeof value === "number" || typeof value === "bigint") return <span class="num">{String(value)}</span>;
  return <Name value={value} most={200} />;
}

const ALWAYS_RIGHT = new Set(["ts", "te", "dur", "size", "bytes"]);

function Table({ rows, names }: { rows: Row[]; names: string[] }) {
  const timed = (row: Row) => typeof row["ts"] === "number";
  const right = new Set(names.filter((n) => ALWAYS_RIGHT.has(n) || rows.some((row) => /number|bigint/.test(typeof row[n]))));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of events"><table class="events">
      <thead><tr>{names.map((n) => <th key={n} class={right.has(n) ? "r" : ""}>{n === "ts" ? "start" : n}</th>)}<th><span class="hidden">Timeline</span></th></tr></thead>
      <tbody>{rows.map((row, i) => (
        <tr key={i}>{names.map((n) => <td key={n} class={right.has(n) ? "r" : ""}><Cell column={n} value={row[n]} /></td>)}
          <td>{timed(row) && <button class="link" onClick={() => void show(row)}>Timeline</button>}</td></tr>
      ))}</tbody>
    </table></div>
  );
}

function Longest() {
  const request = { ...selectionParams(selection.value), group_by: "rank,host,pid,tid", width: 1, events: PAGE };
  const { data, error, loading } = useAnswer<Timeline>("/timeline", request);
  useLayoutEffect(() => { shown.value = { path: "/timeline", params: request }; }, [JSON.stringify(request)]);
  if (error) return <Failure error={error} />;
  if (!data) return <p class="empty">…</p>;
  const rows = [...data.events].sort((a, b) => b.dur - a.dur).map((e) => {
    const [rank, host, pid, tid] = data.lanes[e.lane]?.keys ?? [];
    return { dur: e.dur, ts: e.ts, name: e.name, cat: e.cat, rank, host, pid, tid, trace: e.file, object: e.object };
  });
  return rows.length ? <div aria-busy={loading}><Table rows={rows} names={["dur", "ts", "name", "cat", "rank", "host", "pid", "tid", "trace"]} /></div> : <p class="empty">No events.</p>;
}

function Rows({ request }: { request: Params }) {
  const { rows, of, names, error, busy } = useRows(request), start = Number(of["offset"]);
  useLayoutEffect(() => { shown.value = { path: "/view", params: request }; }, [JSON.stringify(request)]);
  if (error) return <Failure error={error} />;
  if (!rows) return <p class="empty">…</p>;
  return (
    <div aria-busy={busy}>
      {rows.length ? <Table rows={rows} names={names} /> : <p class="empty">No events.</p>}
      <div class="choices">
        <button disabled={start === 0} onClick={() => { from.value = String(Math.max(0, start - PAGE)); }}>Previous</button>
        <span class="note">{rows.length ? `${exact(start + 1)}–${exact(start + rows.length)}` : ""}</span>
        <button disabled={rows.length < PAGE} onClick={() => { from.value = String(start + PAGE); }}>Next</button>
      </div>
    </div>
  );
}

export function QueryView() {
  return (
    <Panel title="Events" wide note={label(selection.value.query || "All events", 200)}>
      <div class="choices">
        <label class="choice">Sort <select value={order.value} onChange={(e) => { order.value = e.currentTarget.value; from.value = "0"; }}>
          <option value="ts">by time</option><option value="longest">longest first</option><option value="file">in file order</option></select></label>
        {order.value !== "longest" && <ColumnInput label="Columns" value={columns.value} onChange={(v) => { columns.value = v || "ts,name"; }} />}
      </div>
      {order.value === "longest" ? <Longest /> : <Rows request={requestOf()} />}
    </Panel>
  );
}
