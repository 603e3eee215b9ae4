// The aggregate explorer: groups by any columns, a metric, over time or in all.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Cancelled, isAbort, request as send } from "../api";
import { Chart, type Series } from "../chart";
import { after, both, clock, count, equals, exact, label, many, time } from "../format";
import { begin, stamp } from "../live";
import { pictureOf, type Caption } from "../picture";
import { shown } from "../shown";
import { extra, selection, selectionParams, setSelection } from "../state";
import { Bar, Failure, Name, Num, Panel, save } from "../ui";
import { ColumnInput } from "../query/columns";
import { HeatMap, mostOf } from "./heat";
import { ask, bucketsRequest, columnsOf, isPlain, METRICS, totalsRequest, type Grid, type Metric, type Question } from "./model";

const by = extra("by", "rank"), metric = extra("metric", "bytes"), interval = extra("interval", "auto"), shape = extra("shape", "heat"), top = extra("top", "50");
const only = extra("only", ""), each = extra("each", "");

const WRITES = 'name ilike "%write%"', READS = 'name ilike "%read%" and not name ilike "%readdir%" and not name ilike "%readlink%"';
const RECIPES: [string, Record<"by" | "metric" | "interval" | "shape" | "only", string> & { each?: string }][] = [
  ["Top writers over time", { by: "rank", metric: "bytes", interval: "1s", shape: "heat", only: WRITES }],
  ["Top readers over time", { by: "rank", metric: "bytes", interval: "1s", shape: "heat", only: READS }],
  ["Time by call", { by: "name", metric: "time", interval: "auto", shape: "bars", only: "" }],
  ["Slowest call per rank", { by: "rank,name", metric: "max", interval: "0", shape: "table", only: "", each: "1" }],
  ["Top files by bytes", { by: "file", metric: "bytes", interval: "0", shape: "table", only: "" }],
  ["Top directories by operations", { by: "dirname(file)", metric: "count", interval: "0", shape: "table", only: "" }],
];
const INTERVALS: [string, string][] = [["auto", "auto"], ["1ms", "1 ms"], ["10ms", "10 ms"], ["100ms", "100 ms"], ["1s", "1 s"], ["10s", "10 s"], ["1min", "1 min"], ["1h", "1 h"], ["0", "none"]];
const SHAPES: [string, string][] = [["heat", "heat map"], ["line", "lines"], ["bars", "bars"], ["table", "table"]];

function questionOf(): Question {
  const params = selectionParams(selection.value);
  const query = both(String(params["query"] ?? ""), only.value) || undefined;
  return { selection: { ...params, query }, by: by.value, metric: METRICS[metric.value] ? metric.value : "count", interval: interval.value, top: Number(top.value) || 0, each: each.value !== "" };
}

function useGrid(q: Question) {
  const [state, setState] = useState<{ grid: Grid | null; error: Error | null; busy: boolean }>({ grid: null, error: null, busy: true });
  const key = JSON.stringify(q), now = stamp.value;
  useLayoutEffect(() => {
    const control = new AbortController();
    setState((s) => ({ ...s, error: null, busy: true }));
    ask(q, control.signal).then(
      (grid) => setState({ grid, error: null, busy: false }),
      (e) => { if (!isAbort(e)) setState((s) => (e instanceof Cancelled && s.grid ? { ...s, busy: false } : { grid: null, error: e as Error, busy: false })); },
    );
    return () => control.abort();
  }, [key, now]);
  return state;
}

function Choice(p: { name: string; value: string; options: [string, string][]; onChange: (value: string) => void }) {
  return <label class="choice">{p.name} <select value={p.value} onChange={(e) => p.onChange(e.currentTarget.value)}>{p.options.map(([v, t]) => <option key={v} value={v}>{t}</option>)}</select></label>;
}

function Controls() {
  const metrics = Object.entries(METRICS).map(([name, m]): [string, string] => [name, m.title]);
  return (
    <div class="controls">
      <div class="recipes" role="group" aria-label="Presets">{RECIPES.map(([title, r]) => {
        const on = r.by === by.value && r.metric === metric.value && r.interval === interval.value && r.only === only.value && (r.each ?? "") === each.value;
        return <button key={title} aria-pressed={on} onClick={() => { by.value = r.by; metric.value = r.metric; interval.value = r.interval; shape.value = r.shape; only.value = r.only; each.value = r.each ?? ""; }}>{title}</button>;
      })}</div>
      <div class="choices">
        <ColumnInput label="Group by" value={by.value} onChange={(v) => { by.value = v; }} />
        <Choice name="Metric" value={metric.value} options={metrics} onChange={(v) => { metric.value = v; }} />
        <Choice name="Interval" value={interval.value} options={INTERVALS} onChange={(v) => { interval.value = v; }} />
        <Choice name="Show as" value={shape.value} options={SHAPES} onChange={(v) => { shape.value = v; }} />
        <Choice name="Show top" value={top.value} options={[["8", "8"], ["20", "20"], ["50", "50"], ["200", "200"], ["0", "all"]]} onChange={(v) => { top.value = v; }} />
        {each.value && columnsOf(by.value).length > 1 && <span class="chip">top one per {columnsOf(by.value)[0]}<button aria-label="Show all of them" onClick={() => { each.value = ""; }}>×</button></span>}
        {only.value && <span class="chip"><code>{only.value}</code><button aria-label="Remove this filter" onClick={() => { only.value = ""; }}>×</button></span>}
      </div>
    </div>
  );
}

const UNITS: Record<number, string> = { 1e6: "second", 6e7: "minute", 3.6e9: "hour", 8.64e10: "day" };

function Peak({ grid, m, origin }: { grid: Grid; m: Metric; origin: number }) {
  const p = grid.peak;
  if (!p || !grid.columns.length) return null;
  const name = grid.columns.length === 1 ? `${grid.columns[0]} ${label(p.key)}` : label(p.key);
  const look = () => {
    const which = both(only.value, grid.columns.filter(isPlain).map((c) => equals(c, p.group[c])).join(" and "));
    setSelection({ from: p.bucket, to: p.bucket + Math.max(grid.step, 1) - 1, query: both(selection.value.query, which) });
    only.value = "";
  };
  return (
    <p class="peak">Peak {m.title}: <strong data-peak-key={p.key}><bdi>{name}</bdi></strong> in the {p.bucket < origin && "first "}{grid.step ? UNITS[grid.step] ?? time(grid.step) : "time"} from <strong data-peak-bucket={p.bucket} title={clock(p.bucket)}>{after(Math.max(0, p.bucket - origin))}</strong> ({clock(p.bucket)}): <strong data-peak-value={p.value} title={exact(p.value) + m.unit}>{m.format(p.value)}</strong>.
      {" "}<button class="link" onClick={look}>Filter to this</button></p>
  );
}

/** A question by something that no event has is answered by one group: the next best question is offered. */
function Without({ grid }: { grid: Grid }) {
  const [column = ""] = grid.columns, none = grid.columns.length > 0 && grid.groups.every((g) => g.row[column] == null);
  if (!none || column === "pid") return null;
  return <p class="note">No event has a {column}. <button class="link" onClick={() => { by.value = ["pid", ...columnsOf(by.value).slice(1)].join(","); }}>Group by process</button></p>;
}

/** What is not drawn, and what to do. */
function Left({ grid }: { grid: Grid }) {
  if (grid.buckets > grid.times.length) return <p class="note warning" role="status">Only the first {after(grid.times.length * grid.step)} of {after(grid.buckets * grid.step)} are drawn. Choose a longer interval or a shorter time range.</p>;
  return grid.cut ? <p class="note warning" role="status">Too many rows: only a part of them is shown. Choose a longer interval, fewer groups or a filter.</p> : null;
}

/** More rows than these would take a browser many seconds. */
const MOST_ROWS = 1000;

function Totals({ grid, m }: { grid: Grid; m: Metric }) {
  const most = Math.max(...grid.groups.map((g) => g.total ?? 0));
  const simple = grid.columns.every(isPlain);
  const narrow = (row: Grid["groups"][number]["row"]) => setSelection({ query: both(selection.value.query, grid.columns.map((c) => equals(c, row[c])).join(" and ")) });
  return (
    <div class="scroll"><table class="totals-table">
      <thead><tr>{grid.columns.map((c) => <th key={c}>{c}</th>)}<th class="r">{m.title}</th>{m.agg !== "count" && <th class="r">operations</th>}<th class="graph"><span class="hidden">share</span></th></tr></thead>
      <tbody>{grid.groups.slice(0, MOST_ROWS).map((g) => (
        <tr key={g.key}>
          {grid.columns.map((c, i) => <td key={c}>{i === 0 && simple ? <button class="link" title="Filter to this value" onClick={() => narrow(g.row)}><Name value={g.row[c] ?? "(none)"} most={80} /></button> : <Name value={g.row[c] ?? "(none)"} most={80} />}</td>)}
          <td class="r"><Num value={g.total} as={m.format} unit={m.unit} /></td>{m.agg !== "count" && <td class="r"><Num value={g.row["count"] as number} as={count} /></td>}
          <td class="graph"><Bar part={(g.total ?? 0) / most} /></td>
        </tr>
      ))}</tbody>
    </table>{grid.groups.length > MOST_ROWS && <p class="note">Showing the first {exact(MOST_ROWS)} of {exact(grid.groups.length)}. CSV and Arrow have all.</p>}</div>
  );
}

function Downloads({ q, picture }: { q: Question; picture: () => HTMLCanvasElement | null }) {
  const [error, setError] = useState("");
  const request = q.interval === "0" ? totalsRequest(q) : bucketsRequest(q);
  const get = async (format: string, name: string) => {
    setError("");
    await send("/aggregate", { ...request, format }).then((a) => a.blob()).then((b) => save(name, b)).catch((e) => setError(String((e as Error).message)));
  };
  return (
    <>
      <button onClick={() => get("csv", "groups.csv")}>CSV</button>
      <button onClick={() => get("arrow", "groups.arrow")}>Arrow</button>
      <button disabled={q.interval === "0" || shape.value === "table"} onClick={() => picture()?.toBlob((b) => { if (b) save("groups.png", b); })}>PNG</button>
      {error && <span class="failure" role="alert">{label(error, 300)}</span>}
    </>
  );
}

/** Lines may be dashed, bars have colours only; browsers draw nothing on canvases that are too high. */
const MOST_DRAWN: Record<string, number> = { line: 12, bars: 8, heat: 2000 };

/** "500 ms buckets". */
const bucketOf = (grid: Grid): string => `${time(grid.step)} buckets`;

/** Those that have a line, bars or a row. */
const drawnOf = (grid: Grid): Grid["groups"] => grid.groups.slice(0, MOST_DRAWN[shape.value]);

function captionOf(title: string, grid: Grid, q: Question, origin: number): Caption {
  const heat = shape.value === "heat", which = [q.selection["query"], q.selection["dir"], q.selection["file"]].filter(Boolean).join("; ") || "all events";
  return {
    title: `${title} over time, ${bucketOf(grid)}`,
    notes: [which, `time starts at ${clock(origin)}${heat ? `; darkest: ${grid.metric.format(mostOf(grid))}` : ""}`].map((t) => label(t, 1000)),
    names: heat ? [] : drawnOf(grid).map((g) => label(g.key, 40)),
    lines: shape.value === "line",
  };
}

/** Bars stand on those of the groups behind them, where that means something. */
function seriesOf(grid: Grid, m: Metric, bars: boolean): Series[] {
  const all = drawnOf(grid).map((g): Series => ({ label: label(g.key, 40), values: m.ofEvents ? g.values : g.values.map((v) => v ?? 0), format: m.format, bars }));
  const sums = new Array<number>(grid.times.length).fill(0);
  if (bars && m.adds) for (const s of [...all].reverse()) s.heights = s.values.map((v, i) => (sums[i] = (sums[i] as number) + (v ?? 0)));
  return all;
}

function Drawing({ grid, m, origin, onCanvas }: { grid: Grid; m: Metric; origin: number; onCanvas: (c: HTMLCanvasElement) => void }) {
  const heat = shape.value === "heat", series = useMemo(() => (heat ? [] : seriesOf(grid, m, shape.value === "bars")), [grid, shape.value, m]);
  const part = useMemo(() => ({ ...grid, groups: drawnOf(grid) }), [grid, shape.value]);
  const range = (from: number, to: number) => setSelection({ from, to });
  return (
    <>
      {heat ? <HeatMap grid={part} origin={origin} format={m.format} onRange={range} onCanvas={onCanvas} />
        : <Chart title={`${m.title} over time`} times={grid.times} origin={origin} series={series} height={320} onRange={range} onCanvas={onCanvas} />}
      {grid.groups.length > part.groups.length && <p class="note">Only the top {exact(part.groups.length)} groups are drawn; the table lists others.</p>}
    </>
  );
}

export function GroupsView() {
  const q = questionOf(), { grid, error, busy } = useGrid(q);
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const m = grid?.metric ?? (METRICS[q.metric] as Metric), key = JSON.stringify(q);
  useLayoutEffect(() => {
    const params = q.interval === "0" ? totalsRequest(q) : bucketsRequest(q), first = q.each && q.interval === "0" && columnsOf(q.by).length > 1;
    shown.value = first ? { path: "/aggregate", params: { ...params, format: "csv" }, then: " | awk -F, '!seen[$1]++'" } : { path: "/aggregate", params };
  }, [key]);
  const origin = begin.value ?? grid?.times[0] ?? 0, drawn = grid && shape.value !== "table" && grid.times.length > 0;
  const by = grid ? grid.columns.join(", ") : q.by, named = `${m.title}${by ? ` by ${by}` : ""}`, title = named[0]?.toUpperCase() + named.slice(1);
  return (
    <>
      <Controls />
      <Panel title={title} busy={busy} wide
        note={grid ? `${many(grid.groupsTotal, "group")}${grid.groups.length < grid.groupsTotal ? `, top ${grid.groups.length} shown` : ""}${grid.step ? `; ${bucketOf(grid)}` : ""}${grid.cut ? "; too many rows, only a part is shown" : ""}` : ""}
        tools={<Downloads q={q} picture={() => (drawn && canvas.current ? pictureOf(canvas.current, captionOf(title, grid, q, origin)) : null)} />}>
        {error ? <Failure error={error} /> : !grid ? <p class="empty">…</p> : !grid.groups.length ? <p class="empty">No events.</p> : (
          <>
            <Without grid={grid} />
            <Peak grid={grid} m={m} origin={origin} />
            {drawn && <Left grid={grid} />}
            {drawn && <Drawing grid={grid} m={m} origin={origin} onCanvas={(c) => { canvas.current = c; }} />}
            <Totals grid={grid} m={m} />
          </>
        )}
      </Panel>
    </>
  );
}
