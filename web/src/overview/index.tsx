// What is there: how much, when, by what, how long, how good.
import type { JSX } from "preact";
import { useLayoutEffect, useMemo } from "preact/hooks";
import { Chart } from "../chart";
import { after, both, bytes, clock, count, equals, exact, label, many, rate, time, zone } from "../format";
import { begin, everything, progress, useAnswer } from "../live";
import { shown } from "../shown";
import { isEverything, lookAt, period, selection, selectionParams, setSelection } from "../state";
import { Bar, Name, Num, Panel, Shown } from "../ui";
import { activityParams, sumsParams, wholeOf, type Group, type Histogram, type Info, type Rows, type Timeline } from "./model";
import { Training } from "./dlio";
import { Files, MOST_FILES, Quality } from "./quality";

const narrow = (more: string) => setSelection({ query: both(selection.value.query, more) });

const BYTES_MOVED = "Bytes that calls of POSIX, STDIO and sys transferred. Each byte counts once: the spans of libraries and readers around these calls add nothing.";
const NOTHING_MOVED = "No selected event is a call that transfers data, such as read or fwrite.";
const CALL_TIME = "Sum over all calls. Nested calls are counted at every level: for example a library call, and the POSIX reads inside it. Filter to one category to count each level alone.";

function Totals({ info }: { info: Info }) {
  const sums = useAnswer<Rows<Group>>("/aggregate", sumsParams(selectionParams(selection.value)));
  const s = selection.value, t = info.totals, mixed = t.counters + t.aggregated > 0, all = isEverything(s), events = sums.data?.rows[0];
  // /info knows files, not queries, runs and time ranges.
  const whole = period.value ? " (all runs)" : !s.query && s.from == null ? "" : s.dir || s.file ? " (whole files)" : " (all data)";
  const sum = (name: string): number | null => (sums.data ? Number(events?.[name] ?? 0) : null); // null: no answer yet, or an error
  const moved = events?.["bytes"] == null ? null : Number(events["bytes"]), none = events && moved == null;
  const cells: [string, number | null, (n: number | null | undefined) => string, string][] = [
    [mixed ? (all ? "Events and counters" : "Selected events and counters") : all ? "Events" : "Selected events", sum("events"), count, ""],
    ["Bytes moved", moved, (n) => (none ? "none" : bytes(n)), " B"],
    ["Total call time", sum("busy"), time, " µs"],
    [(mixed ? "Wall time of events" : "Wall time") + (period.value ? " (whole run)" : whole), period.value ? period.value.to - period.value.from : t.min_ts == null || t.max_te == null ? null : t.max_te - t.min_ts, time, " µs"],
    [(t.processes === 1 ? "Process" : "Processes") + whole, t.processes, count, ""], [(t.hosts === 1 ? "Host" : "Hosts") + whole, t.hosts, count, ""],
    [(t.files === 1 ? "File" : "Files") + whole, t.files, count, ""], [`Trace size${whole}`, t.compressed_bytes, bytes, " B"],
  ];
  return <dl class="totals" aria-busy={sums.loading}>{cells.map(([name, value, as, unit]) => <div key={name} title={name === "Bytes moved" ? (none ? NOTHING_MOVED : BYTES_MOVED) : name === "Total call time" ? CALL_TIME : undefined}><dt>{name}</dt><dd><Num value={value} as={as} unit={unit} /></dd></div>)}</dl>;
}

function Activity() {
  const request = activityParams(selectionParams(selection.value));
  const answer = useAnswer<Rows<Group>>("/aggregate", request);
  useLayoutEffect(() => { shown.value = { path: "/aggregate", params: request }; }, [JSON.stringify(request)]);
  const drawn = useMemo(() => (answer.data ? filled(answer.data) : null), [answer.data]), origin = begin.value ?? drawn?.times[0] ?? 0;
  return (
    <Panel title="Activity over time" wide busy={answer.loading}
      note={drawn && answer.data?.rows.length && Number.isFinite(drawn.step) ? `${time(drawn.step)} buckets from ${clock(origin)}; drag to select a time range` : ""}>
      <Shown answer={answer} empty={(d) => !d.rows.length}>
        {() => drawn && <Chart title={drawn.moved ? "Bandwidth and operations over time" : "Operations over time"} times={drawn.times} origin={origin} series={drawn.series}
          onRange={(from, to) => setSelection({ from, to })} />}
      </Shown>
    </Panel>
  );
}

/** Buckets without events are not told; between what there is they are zeros. */
function filled({ rows, time_interval }: Rows<Group>) {
  const seen = rows.filter((r) => r["time_bucket"] != null), starts = seen.map((r) => Number(r["time_bucket"]));
  const step = time_interval || Infinity;
  const first = starts[0] ?? 0;
  const length = Number.isFinite(step) ? Math.round(((starts.at(-1) ?? first) - first) / step) + 1 : starts.length;
  const times: number[] = [], counts: number[] = [], rates: number[] = [];
  for (let i = 0; i < length; i++) { times.push(first + i * (Number.isFinite(step) ? step : 0)); counts.push(0); rates.push(0); }
  seen.forEach((r, k) => {
    const i = Number.isFinite(step) ? Math.round(((starts[k] as number) - first) / step) : k;
    counts[i] = Number(r["count"]);
    rates[i] = (Number(r["bytes"] ?? 0) / (Number.isFinite(step) ? step : 1e6)) * 1e6;
  });
  const operations = { label: "operations", values: counts, format: count, axis: "right" as const };
  const moved = seen.some((r) => r["bytes"] != null);
  return { times, series: moved ? [{ label: "bandwidth", values: rates, format: rate }, operations] : [operations], moved, step };
}

/** Its host is told where there are several. */
const processOf = ([rank, host, pid]: Timeline["lanes"][number]["keys"], { lanes }: Timeline): string =>
  rank != null ? `rank ${rank}` : `${lanes.some((l) => l.keys[1] !== host) ? `${host ?? ""} ` : ""}${pid ?? ""}`;

function Slowest() {
  const answer = useAnswer<Timeline>("/timeline", { ...selectionParams(selection.value), group_by: "rank,host,pid", width: 1, events: 10 });
  return (
    <Panel title="Slowest calls" busy={answer.loading}>
      <Shown answer={answer} empty={(d) => !d.events.length}>{(d) => (
        <div class="scroll"><table class="slowest">
          <thead><tr><th>call</th><th class="r">duration</th><th>rank or process</th><th class="r">start</th></tr></thead>
          <tbody>{[...d.events].sort((a, b) => b.dur - a.dur).map((e) => {
            const keys = d.lanes[e.lane]?.keys ?? [];
            return (
              <tr key={`${e.file}.${e.object}`}>
                <td><button class="link" onClick={() => lookAt(e.ts, e.dur, `${e.object} ${e.file}`)} title={`Show in the timeline (${e.file}, object ${e.object})`}><Name value={e.name} /></button></td>
                <td class="r"><Num value={e.dur} as={time} unit=" µs" /></td>
                <td>{processOf(keys, d)}</td>
                <td class="r" title={clock(e.ts)}>{after(e.ts - (begin.value ?? d.from ?? e.ts))}</td>
              </tr>
            );
          })}</tbody>
        </table></div>
      )}</Shown>
    </Panel>
  );
}

const AGG = "count,time=sum:dur,bytes=sum:bytes,p99=p99:dur";

function Top({ title, by, sort, none }: { title: string; by: string; sort: string; none?: JSX.Element }) {
  const answer = useAnswer<Rows<Group>>("/aggregate", { ...selectionParams(selection.value), group_by: by, agg: AGG, sort: `-${sort}`, time_interval: 0, limit: 8, format: "json" });
  const rows = answer.data?.rows, most = Number(rows?.[0]?.[sort] ?? 0);
  if (none && rows?.length === 1 && rows[0]?.[by] == null) return none;
  return (
    <Panel title={title} busy={answer.loading}>
      <Shown answer={answer} empty={(d) => !d.rows.length || (sort === "bytes" && d.rows[0]?.["bytes"] == null)} nothing={answer.data?.rows.length ? NOTHING_MOVED : undefined}>{(d) => (
        <div class="scroll"><table class="top">
          <thead><tr><th>{by}</th><th class="r">count</th><th class="r">total time</th><th class="r" title="99th percentile of the durations, accurate to 1 %">p99</th><th class="r">bytes</th><th class="graph"><span class="hidden">share</span></th></tr></thead>
          <tbody>{d.rows.map((r) => (
            <tr key={String(r[by])}>
              <td><button class="link" title="Filter to this value" onClick={() => narrow(equals(by, r[by]))}><Name value={r[by] ?? "(none)"} most={60} /></button></td>
              <td class="r"><Num value={r["count"] as number} as={count} /></td>
              <td class="r"><Num value={r["time"] as number} as={time} unit=" µs" /></td>
              <td class="r"><Num value={r["p99"] as number} as={time} unit=" µs" /></td>
              <td class="r"><Num value={r["bytes"] as number | null} as={bytes} unit=" B" /></td>
              <td class="graph"><Bar part={Number(r[sort] ?? 0) / most} /></td>
            </tr>
          ))}</tbody>
        </table></div>
      )}</Shown>
    </Panel>
  );
}

function Durations() {
  const answer = useAnswer<Histogram>("/histogram", selectionParams(selection.value));
  return (
    <Panel title="Durations" busy={answer.loading} note="log2 buckets; click to filter">
      <Shown answer={answer} empty={(d) => !d.histogram.length} nothing={answer.data?.count ? "No selected event has a duration of 0 or more." : undefined}>{(d) => {
        const most = Math.max(...d.histogram.map((b) => b.count));
        return (
          <>
          <table class="histogram">
            <thead class="hidden"><tr><th>duration</th><th>share</th><th>calls</th></tr></thead>
            <tbody>{wholeOf(d.histogram).map((b) => (
              <tr key={b.lo}>
                <td class="r"><button class="link" onClick={() => narrow(b.hi > b.lo ? `dur >= ${b.lo} and dur < ${b.hi}` : `dur == ${b.lo}`)}>{time(b.lo)}</button></td>
                <td class="graph"><Bar part={b.count / most} /></td>
                <td class="r"><Num value={b.count} as={count} /></td>
              </tr>
            ))}</tbody>
          </table>
          {d.outside > 0 && <p class="note">{many(d.outside, "call")} with a negative duration (a clock stepped back) not shown.</p>}
          </>
        );
      }}</Shown>
    </Panel>
  );
}

/** How far it is, while it goes on. */
function Indexing() {
  const p = progress.value;
  if (p?.state !== "indexing") return null;
  return <p class="note" data-fact="indexing">Indexing: {count(p.files_ready)} of {count(p.files)} files, {bytes(p.bytes_done)} of {bytes(p.bytes)}{p.bytes_per_s ? `, ${rate(p.bytes_per_s)}` : ""}{p.eta_s ? `, ${time(p.eta_s * 1e6, 2)} left` : ""}</p>;
}

/** Before there is anything to look at. */
function Nothing({ info }: { info: Info }) {
  return (
    <Panel title="No traces yet" wide>
      <p>No <code>.pfw</code> or <code>.pfw.gz</code> files, and no tar archives of them, were found in</p>
      <ul class="findings">{info.roots.map((r) => <li key={r.path}><code>{label(r.path, 1000)}</code></li>)}</ul>
      <p>New files are indexed automatically and appear here.</p>
    </Panel>
  );
}

export function OverviewView() {
  const s = selection.value;
  const where = { dir: s.dir || undefined, file: s.file || undefined };
  const part = useAnswer<Info>("/info", s.dir || s.file ? where : null), info = s.dir || s.file ? part : everything.value;
  const few = (info.data?.totals.files ?? Infinity) <= MOST_FILES, detail = useAnswer<Info>("/info", few ? { detail: "files", ...where } : null);
  if (info === everything.value && info.data?.totals.files === 0 && !info.data.index.error && !info.data.missing?.length) return <Nothing info={info.data} />;
  return (
    <>
      <Shown answer={info}>{(d) => (
        <>
          <p class="roots">{d.roots.map((r) => <code key={r.path}><Name value={r.path} /></code>)}{d.totals.min_ts != null && <span> starts {[clock(d.totals.min_ts), zone(d.totals.min_ts)].filter(Boolean).join(" ")}, <span title={exact(d.totals.events)}>{count(d.totals.events)} {d.totals.events === 1 ? "event" : "events"}</span>{d.totals.counters > 0 && <> and <span title={exact(d.totals.counters)}>{count(d.totals.counters)} {d.totals.counters === 1 ? "counter" : "counters"}</span></>}</span>}</p>
          <Indexing />
          <Totals info={d} />
        </>
      )}</Shown>
      <div class="panels">
        <Activity />
        <Slowest />
        <Top title="Top ranks by bytes" by="rank" sort="bytes" none={<Top title="Top processes by bytes" by="pid" sort="bytes" />} />
        <Top title="Top calls by time" by="name" sort="time" />
        <Durations />
        <Training />
        <Top title="Top categories by time" by="cat" sort="time" />
        {info.data && <Quality info={detail.data ?? info.data} />}
      </div>
      <Files answer={detail} total={info.data?.totals.files ?? 0} />
    </>
  );
}
