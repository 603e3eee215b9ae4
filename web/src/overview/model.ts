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
export interface Histogram { count: number; values: number; histogram: { lo: number; hi: number; count: number }[] }

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
