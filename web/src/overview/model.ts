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
  roots: { path: string; network?: string }[];
  index: { path: string; bytes: number; error: string | null };
  totals: Totals;
  duplicates?: unknown[];
  missing?: unknown[];
  files?: TraceFile[];
}
export interface Rows<T> { rows: T[] }
export interface Group { [column: string]: string | number | null }
export interface Longest { ts: number; dur: number; name: string; cat: string; file: string; object: number; lane: number }
export interface Timeline {
  from: number | null; to: number | null; count: number; busy: number;
  lanes: { keys: (string | number | null)[] }[];
  events: Longest[];
}
export interface Histogram { count: number; values: number; histogram: { lo: number; hi: number; count: number }[] }
