import type { Params } from "../host";

export interface Totals {
  files: number; files_ready: number; files_pending: number; files_failed: number; files_damaged: number;
  compressed_bytes: number; uncompressed_bytes: number; index_bytes: number; lines: number; objects: number; events: number;
  counters: number; aggregated: number; metadata: number; invalid: number; repaired: number; processes: number; threads: number;
  hosts: number; min_ts: number | null; max_te: number | null;
}
export interface TraceFile {
  path: string; state: string; error: string | null; compressed_bytes: number; events: number; invalid: number; finished: boolean | null;
  min_ts: number | null; max_te: number | null;
}
export interface Info {
  roots: { path: string; label?: string; network?: string }[];
  index: { path: string; bytes: number; error: string | null };
  totals: Totals;
  duplicates?: unknown[];
  missing?: unknown[];
  files?: TraceFile[];
}
/** `time_interval`: of buckets, in microseconds. Only those that have something are rows. */
export interface Rows<T> { rows: T[]; time_interval?: number }
export interface Group { [column: string]: string | number | null }
export interface Longest { ts: number; dur: number; name: string; cat: string; file: string; object: number; lane: number }
export interface Timeline {
  from: number | null; to: number | null; count: number; busy: number;
  lanes: { keys: (string | number | null)[] }[];
  events: Longest[];
}
/** `outside`: negative values, which no bin has. */
export interface Histogram { count: number; values: number; outside: number; histogram: { lo: number; hi: number; count: number }[] }

/** With those that have nothing, from the first to the last: each bin is twice as long as the one before; 0 has one of its own, before that from 1. */
export function wholeOf(bins: Histogram["histogram"]): Histogram["histogram"] {
  const whole: Histogram["histogram"] = [];
  for (const bin of bins) {
    const last = whole.at(-1);
    for (let lo = last ? Math.max(1, last.hi) : bin.lo; lo < bin.lo; lo *= 2) whole.push({ lo, hi: lo * 2, count: 0 });
    whole.push(bin);
  }
  return whole;
}

/** Longer without any event: what comes then is another time. */
export const APART = 30 * 86400e6;
/** Whether events may be of times that are far apart, or are not all that has times. */
export const perhapsApart = (t: Totals): boolean =>
  t.counters + t.aggregated > 0 || (t.min_ts != null && t.max_te != null && t.max_te - t.min_ts > APART);

const POINTS = 200;
export const activityParams = (chosen: Params): Params =>
  ({ ...chosen, group_by: "time_bucket", max_points: POINTS, agg: "count,bytes=sum:bytes", sort: "time_bucket", format: "json" });
export const sumsParams = (chosen: Params): Params =>
  ({ ...chosen, group_by: "", agg: "events=count,bytes=sum:bytes,busy=sum:dur", time_interval: 0, format: "json" });

/** Names that events of a training loop's body have, as /dlio-config looks for them. */
export const LOOP_BODY = `(cat ilike "dataloader" and name == "fetch.block") or (cat ilike "data_loader" and name == "loop.yield") or (cat ilike "dlio_benchmark" and name in ["loop.yield", "_train"])`;
export interface DlioFit {
  samples: number; mean_s: number; stdev_s: number; constant: boolean; type: string;
  histogram: { from_s: number; width_s: number; counts: number[]; above: number; density: (number | null)[] };
}
export interface DlioConfig {
  ranks: number; steps: number; steps_most: number;
  fits: { computation_time: DlioFit };
  simulation: { traced_e2e_s: number; simulated_e2e_s: number; e2e_error: number | null; cdf_similarity: number };
  percentiles: { traced_s: number[]; simulated_s: number[] };
}
type Format = (n: number | null | undefined) => string;
const whole = (n: number): number => Math.round(n * 1000) / 1000;

/** The histogram, and the density as the number of steps that it expects in each bar. */
export function densityOf({ fits: { computation_time: { type, samples, histogram: h } } }: DlioConfig) {
  const times = h.width_s > 0 ? h.counts.map((_, i) => whole((h.from_s + i * h.width_s) * 1e6)) : [];
  const middle = (i: number): number => ((h.density[i] ?? 0) + (h.density[i + 1] ?? 0)) / 2;
  return { times, series: (format: Format) => [
    { label: "steps", values: h.counts, format, bars: true },
    { label: `fitted ${type}`, values: h.counts.map((_, i) => (h.density.length ? middle(i) * h.width_s * samples : null)), format },
  ] };
}

/** Of sorted percentiles 0 to 100: the part of the values up to `x`. */
function partUpTo(percentiles: number[], x: number): number {
  let i = 0;
  while (i < percentiles.length && (percentiles[i] as number) <= x) i++;
  if (i === 0) return 0;
  if (i === percentiles.length) return 1;
  const low = percentiles[i - 1] as number, high = percentiles[i] as number;
  return (i - 1 + (x - low) / (high - low)) / (percentiles.length - 1);
}

/** Both distribution functions, at all values that either of them has. */
export function distributionOf({ percentiles: { traced_s, simulated_s } }: DlioConfig) {
  const xs = [...new Set([...traced_s, ...simulated_s])].sort((a, b) => a - b);
  return { times: xs.map((x) => whole(x * 1e6)), series: (format: Format) => [
    { label: "traced", values: xs.map((x) => partUpTo(traced_s, x)), format },
    { label: "simulated", values: xs.map((x) => partUpTo(simulated_s, x)), format },
  ] };
}
