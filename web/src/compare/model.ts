import type { Params } from "../api";
import { bytes, count, rate, time, type Amount } from "../format";
import { EVERYTHING, selectionParams, type Selection } from "../state";

export interface Row {
  node: string; group: string | null; metric: string; baseline: number | null; variant: number | null; delta: number | null; pct_change: number | null;
  baseline_zero: boolean; cohens_d: number | null; significance: string; is_regression: boolean;
  welch_p_holm: number | null; mann_whitney_p_holm: number | null; cliffs_delta: number | null; difference: string | null;
}

/** A side as its parameter in the address has it. */
export function sideOf(text: string): Selection {
  try {
    const o = JSON.parse(text || "{}") as Partial<Selection>;
    return { ...EVERYTHING, ...Object.fromEntries(Object.entries(o).filter(([k]) => k in EVERYTHING)) };
  } catch {
    return EVERYTHING;
  }
}
export const textOf = (s: Selection): string => JSON.stringify(Object.fromEntries(Object.entries(s).filter(([, v]) => v !== "" && v != null)));

/** What /compare is asked: everything of a side but its query and time is where it reads. */
export function requestOf(a: Selection, b: Selection, by: string, common: string): Params {
  const side = (name: string, s: Selection): Params => {
    const p = selectionParams(s);
    return { [`${name}.query`]: p["query"], [`${name}.time_range`]: p["time_range"], [`${name}.dir`]: s.dir || (s.file ? undefined : "."), [`${name}.file`]: s.file || undefined };
  };
  return { ...side("baseline", a), ...side("variant", b), query: common, group_by: by, format: "ndjson" };
}

const FORMATS: [RegExp, (n: Amount) => string, string][] = [
  [/^(time_|dur_)/, time, " µs"], [/^(total_bytes|size_|transfer_size)/, bytes, " B"], [/^bandwidth/, rate, " B/s"], [/./, count, ""],
];
export const formatOf = (metric: string): [(n: Amount) => string, string] => {
  const found = FORMATS.find(([pattern]) => pattern.test(metric)) as (typeof FORMATS)[number];
  return [found[1], found[2]];
};
export const isSummary = (r: Row): boolean => r.node === "root" && r.group == null;
const CLASSES = ["NEGLIGIBLE", "SMALL", "MEDIUM", "LARGE"];
export const weightOf = (r: Row): number => CLASSES.indexOf(r.significance);

const TITLES: Record<string, string> = { count: "operations", time_pipeline: "wall time", time_io: "total call time", total_bytes: "bytes moved",
  count_peak_mean: "operations at peaks", dur_peak_mean: "mean duration at peaks", transfer_size: "mean transfer size" };
/** What people call a metric. */
export function titleOf(metric: string): string {
  const [, what, of] = /^(dur|size)_(.+)$/.exec(metric) ?? [], measure = what === "dur" ? "duration" : "size";
  if (TITLES[metric] || !of) return TITLES[metric] ?? metric.replace(/_/g, " ");
  return /^p\d/.test(of) ? `${of.slice(1).replace("_", ".")}th percentile of ${measure}` : `${of} ${measure}`;
}

/** How much a row has to say: what tests tell from chance first, by its effect, then by how large the change is. */
const saying = (r: Row): [number, number] =>
  [r.difference && r.difference !== "none" ? 1 + Math.max(0, weightOf(r)) : 0, r.baseline_zero && r.variant ? Infinity : Math.abs(r.pct_change ?? 0)];
const byMost = (a: Row, b: Row): number => {
  const [x, y] = [saying(a), saying(b)];
  return y[0] - x[0] || (y[1] === x[1] ? 0 : y[1] - x[1]);
};
/** Rows of an operation stay together. */
export function ordered(rows: readonly Row[]): Row[] {
  const operations = new Map<string, Row[]>();
  for (const r of rows) {
    const key = JSON.stringify([r.node, r.group]), known = operations.get(key);
    if (known) known.push(r);
    else operations.set(key, [r]);
  }
  const all = [...operations.values()].map((own) => own.sort(byMost));
  return all.sort((a, b) => byMost(a[0] as Row, b[0] as Row)).flat();
}
