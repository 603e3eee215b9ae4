// What the aggregate explorer asks, and the answer as a grid of groups and buckets.
import { getLines, type Params } from "../api";
import { both, bytes, count, equals, rate, time, type Format } from "../format";

export type Row = Record<string, string | number | bigint | null>;
export interface Metric {
  agg: string;
  title: string;
  format: Format;
  unit: string;
  /** What groups have can be added up. */
  adds?: boolean;
  /** Where there is no event, there is none: not 0. */
  ofEvents?: boolean;
}

export const METRICS: Record<string, Metric> = {
  count: { agg: "count", title: "operations", format: count, unit: "", adds: true },
  bytes: { agg: "sum:bytes", title: "bytes", format: bytes, unit: " B", adds: true },
  time: { agg: "sum:dur", title: "total time", format: time, unit: " µs", adds: true },
  mean: { agg: "mean:dur", title: "mean duration", format: time, unit: " µs", ofEvents: true },
  max: { agg: "max:dur", title: "longest duration", format: time, unit: " µs", ofEvents: true },
  p99: { agg: "p99:dur", title: "99th percentile of durations", format: time, unit: " µs", ofEvents: true },
  bandwidth: { agg: "bandwidth:bytes", title: "bandwidth", format: rate, unit: " B/s", ofEvents: true },
  busy: { agg: "busy", title: "busy time", format: time, unit: " µs" },
  concurrency: { agg: "concurrency", title: "concurrency", format: count, unit: "" },
  files: { agg: "distinct:file", title: "distinct files", format: count, unit: "" },
};

export interface Question {
  selection: Params;
  by: string;
  metric: string;
  /** "auto", "0" (none), or a length as the daemon takes it. */
  interval: string;
  top: number;
  /** Of the groups that have the first column in common only the one with most: the slowest call of each rank. */
  each: boolean;
}
export interface Cell { key: string; group: Row; bucket: number; value: number }
export interface Grid {
  /** What was asked: the question may be another one by now. */
  metric: Metric;
  columns: string[];
  groups: { key: string; row: Row; total: number | null; values: (number | null)[] }[];
  groupsTotal: number;
  times: number[];
  /** Those that `times` would have if there were no limit. */
  buckets: number;
  step: number;
  peak: Cell | null;
  cut: boolean;
}

const MOST_GROUPS = 100000;
const MOST_ROWS = 300000;
const MOST_POINTS = 300;
/** As fine as anybody looks; of more only the first are drawn, which is said. */
const MOST_BUCKETS = 20000;

export const columnsOf = (by: string): string[] => by.split(",").map((c) => c.trim()).filter(Boolean);

export function nameOf(row: Row, columns: string[]): string {
  return columns.length ? columns.map((c) => (row[c] == null ? "(none)" : String(row[c]))).join(" · ") : "all";
}

/** The request for totals of groups, most first. */
export function totalsRequest(q: Question): Params {
  const metric = METRICS[q.metric] as Metric;
  return { ...q.selection, group_by: columnsOf(q.by).join(","), agg: `value=${metric.agg},count`, sort: "-value", time_interval: 0 };
}

/** The request for what each group has in each bucket. */
export function bucketsRequest(q: Question): Params {
  const request: Params = { ...totalsRequest(q), group_by: [...columnsOf(q.by), "time_bucket"].join(","), sort: undefined };
  return q.interval === "auto" ? { ...request, time_interval: undefined, max_points: MOST_POINTS } : { ...request, time_interval: q.interval };
}

/** `step`: how long a bucket is, in microseconds; only those that have something are rows. */
async function lines(params: Params, signal: AbortSignal): Promise<{ rows: Row[]; step: number }> {
  const rows: Row[] = [];
  await getLines<Row>("/aggregate", { ...params, summary: true }, (row) => { rows.push(row); }, signal);
  const { summary } = rows.pop() as unknown as { summary: { time_interval?: number } };
  return { rows, step: summary.time_interval ?? 0 };
}

/** Rows come with most first. */
function firstOfEach(rows: Row[], column: string): Row[] {
  const seen = new Set<unknown>();
  return rows.filter((r) => !seen.has(r[column]) && seen.add(r[column]));
}

function only(groups: Row[], columns: string[]): string {
  return groups.map((g) => columns.map((c) => equals(c, g[c])).join(" and ")).map((g) => `(${g})`).join(" or ");
}

/** Columns that a filter knows; of others (dirname(file)) all rows are fetched. */
export const isPlain = (column: string): boolean => /^[\w.]+$/.test(column);

export async function ask(q: Question, signal: AbortSignal): Promise<Grid> {
  const columns = columnsOf(q.by), { rows } = await lines({ ...totalsRequest(q), limit: MOST_GROUPS }, signal);
  const totals = q.each && columns.length > 1 ? firstOfEach(rows, columns[0] as string) : rows;
  const chosen = totals.slice(0, q.top || totals.length);
  const groups = chosen.map((row) => ({ key: nameOf(row, columns), row, total: row["value"] as number | null, values: [] as (number | null)[] }));
  const empty: Grid = { metric: METRICS[q.metric] as Metric, columns, groups, groupsTotal: totals.length, times: [], buckets: 0, step: 0, peak: null, cut: rows.length >= MOST_GROUPS };
  if (q.interval === "0" || !chosen.length) return empty;
  const request = bucketsRequest(q);
  const narrow = columns.length > 0 && columns.every(isPlain) && chosen.length < totals.length && chosen.length <= 50;
  const query = narrow ? both(String(request["query"] ?? ""), only(chosen, columns)) : request["query"];
  const [all, most] = await Promise.all([
    lines({ ...request, query, limit: MOST_ROWS }, signal),
    lines({ ...request, sort: "-value", limit: 1 }, signal),
  ]);
  return fill(empty, all.rows, all.step, most.rows[0]);
}

function fill(grid: Grid, rows: Row[], one: number, most: Row | undefined): Grid {
  const stamps = [...new Set(rows.flatMap((r) => (r["time_bucket"] == null ? [] : [Number(r["time_bucket"])])))].sort((a, b) => a - b);
  const first = stamps[0] ?? 0;
  const all = one ? Math.round(((stamps.at(-1) ?? first) - first) / one) + 1 : stamps.length, length = Math.min(all, MOST_BUCKETS);
  const times = Array.from({ length }, (_, i) => first + i * one);
  const places = new Map(grid.groups.map((g) => [g.key, g]));
  for (const g of grid.groups) g.values = new Array<number | null>(length).fill(null);
  for (const row of rows) {
    const at = one ? Math.round((Number(row["time_bucket"]) - first) / one) : 0;
    const place = row["time_bucket"] == null ? undefined : places.get(nameOf(row, grid.columns));
    if (place && at < length) place.values[at] = row["value"] as number | null;
  }
  const peak = most && most["value"] != null && most["time_bucket"] != null
    ? { key: nameOf(most, grid.columns), group: most, bucket: Number(most["time_bucket"]), value: Number(most["value"]) } : null;
  return { ...grid, times, step: one, peak, buckets: all, cut: grid.cut || rows.length >= MOST_ROWS };
}
