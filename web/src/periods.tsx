// Traces whose clocks are far apart, as of one with times since it began and one with dates: all runs they would be two dots.
import { computed, effect, signal } from "@preact/signals";
import { getJson, isAbort } from "./api";
import { clock, count, exact, many, time } from "./format";
import { everything, stamp } from "./live";
import { APART, perhapsApart } from "./overview/model";
import { extra, period, selection } from "./state";

interface Period { from: number; to: number; count: number }
const DAY_MS = 86400e3;

/** Where events are, by time; null: not known yet. One: nothing is far apart. */
const found = signal<Period[] | null>(null);
/** `all`, or when the chosen one begins; empty: the one with most events. */
const chosen = extra("period", "");

function joined(rows: { count: number; from: number | null; to: number | null }[]): Period[] {
  const periods: Period[] = [];
  for (const r of rows) {
    const last = periods[periods.length - 1];
    if (r.from == null || r.to == null) continue;
    if (last && r.from - last.to <= APART) Object.assign(last, { to: Math.max(last.to, r.to), count: last.count + r.count });
    else periods.push({ from: r.from, to: r.to, count: r.count });
  }
  return periods;
}

const where = computed(() => JSON.stringify([selection.value.dir, selection.value.file]));
let asked: AbortController | null = null;
effect(() => {
  const [dir, file] = JSON.parse(where.value) as [string, string], info = everything.value;
  void stamp.value;
  asked?.abort();
  if (info.loading) return;
  if (!info.data || !perhapsApart(info.data.totals)) { found.value = []; return; }
  asked = new AbortController();
  getJson<{ rows: { count: number; from: number | null; to: number | null }[] }>("/aggregate", { dir: dir || undefined, file: file || undefined, group_by: "time_bucket",
    time_interval: 30 * DAY_MS, agg: "count,from=min:ts,to=max:te", format: "json" }, asked.signal)
    .then(({ rows }) => { found.value = joined(rows); }, (e) => { if (!isAbort(e)) found.value = []; });
});

const most = computed(() => found.value?.reduce<Period | null>((best, p) => (best && best.count >= p.count ? best : p), null) ?? null);
/** Where the one of the address is not there, as of other traces: the one with most events. */
const shown = computed(() => found.value?.find((p) => String(p.from) === chosen.value) ?? most.value);
effect(() => {
  const all = found.value ?? [], one = shown.value;
  period.value = all.length < 2 || chosen.value === "all" || !one ? null : { from: Math.floor(one.from), to: Math.ceil(one.to) };
});
/** Whether it is known what views are to ask for. */
export const settled = computed(() => found.value != null);

const text = (p: Period): string => `${clock(p.from)} (${time(p.to - p.from)}, ${count(p.count)} records)`;

export function Periods() {
  const all = found.value ?? [];
  if (all.length < 2) return null;
  const others = all.reduce((n, p) => n + p.count, 0) - (all.find((p) => Math.floor(p.from) === period.value?.from)?.count ?? 0);
  return (
    <section class="notice periods" aria-label="Runs">
      <label>{many(all.length, "run")} found, more than a month apart. Showing:{" "}
        <select value={chosen.value === "all" ? "all" : String(shown.value?.from)} onChange={(e) => { extra("at", "").value = ""; chosen.value = e.currentTarget.value; }}>
          {all.map((p) => <option key={p.from} value={String(p.from)}>{text(p)}</option>)}
          <option value="all">all runs</option>
        </select></label>
      {period.value && <span title={exact(others)}> {count(others)} records of other runs are hidden.</span>}
    </section>
  );
}
