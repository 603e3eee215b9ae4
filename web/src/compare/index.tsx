// Two runs, ranks or windows of time beside each other: what differs, whether that is chance, and in which calls.
import { useLayoutEffect, useState } from "preact/hooks";
import { getLines, isAbort, type Params } from "../api";
import { FlameDiff } from "../calls";
import { fileName, literalFile } from "../files";
import { after, clock, equals, exact, label, percent } from "../format";
import { stamp, useAnswer } from "../live";
import type { Info } from "../overview/model";
import { ColumnInput } from "../query/columns";
import { QueryInput } from "../query/input";
import { shown } from "../shown";
import { extra, period, selection, type Selection } from "../state";
import { Failure, Name, Num, Panel, TextField } from "../ui";
import { formatOf, isSummary, ordered, requestOf, sideOf, textOf, titleOf, weightOf, type Row } from "./model";

const first = extra("a", ""), second = extra("b", ""), by = extra("of", "name"), common = extra("both", "");
const metrics = extra("metrics", "");

function Side({ name, title, side, onChange, files }: { name: "A" | "B"; title: string; side: Selection; onChange: (s: Selection) => void; files: string[] }) {
  const [query, setQuery] = useState(side.query);
  useLayoutEffect(() => setQuery(side.query), [side.query]);
  const id = `side-${name}`;
  return (
    <Panel title={title} tools={<button onClick={() => onChange(selection.value)} title="Copy the filter of the page">Use current filter</button>}>
      <QueryInput id={id} name={`Query of ${title}`} placeholder="Query, e.g. rank == 0" value={query} onInput={setQuery} onEnter={(text) => onChange({ ...side, query: text.trim() })} />
      <div class="choices">
        <label class="choice">File or directory <TextField list="places" size={24} value={fileName(side.file) || side.dir} placeholder="all" onDone={(typed) => {
          const text = typed.trim(), isFile = /\.pfw(\.gz)?$|[*?[]/.test(text);
          onChange({ ...side, file: !isFile ? "" : files.includes(text) ? literalFile(text) : text, dir: isFile ? "" : text });
        }} /></label>
        {side.from != null && side.to != null && <span class="chip">{clock(side.from)}, {after(side.to - side.from + 1)}<button aria-label="Remove the time range" onClick={() => onChange({ ...side, from: null, to: null })}>×</button></span>}
        <button onClick={() => onChange({ ...side, query: query.trim() })} class={query.trim() !== side.query ? "main" : ""}>Apply</button>
      </div>
      <datalist id="places">{files.map((f) => <option key={f} value={f} />)}</datalist>
    </Panel>
  );
}

const signed = (n: number | null, as: (n: number | null | undefined) => string) => (n == null ? "–" : (n > 0 ? "+" : "") + as(n));
const SIGNIFICANT: Record<string, string> = { none: "no", both: "yes", mean: "mean only", ranks: "ranks only" };
const MEANINGS: Record<string, string> = { none: "neither test finds a difference", both: "both tests find a difference", mean: "only the means differ: a few long events changed", ranks: "only the ranks differ: most events changed, but a few long ones hide it in the mean" };

const nameOf = (r: Row): string => (isSummary(r) ? "all" : String(r.group ?? r.node));

function Table({ rows }: { rows: Row[] }) {
  return (
    <div class="scroll long" tabIndex={0} role="region" aria-label="Comparison"><table class="comparison">
      <thead><tr><th>operation</th><th>metric</th><th class="r">A</th><th class="r">B</th><th class="r">B − A</th><th class="r">change</th><th>effect</th><th class="r">p</th><th>significant</th></tr></thead>
      <tbody>{rows.map((r, i) => {
        const name = nameOf(r), again = i > 0 && nameOf(rows[i - 1] as Row) === name;
        const [as, unit] = formatOf(r.metric), p = r.welch_p_holm, class_ = weightOf(r) > 0 ? (r.is_regression ? "worse" : "better") : "";
        return (
          <tr key={`${r.node}.${r.group}.${r.metric}`} data-row={`${r.node}.${r.group}.${r.metric}`} class={again ? "again" : ""}>
            <td><Name value={name} most={80} /></td><td title={r.metric}>{titleOf(r.metric)}</td>
            <td class="r"><Num value={r.baseline} as={as} unit={unit} /></td><td class="r"><Num value={r.variant} as={as} unit={unit} /></td>
            <td class="r"><span title={exact(r.delta)}>{signed(r.delta, as)}</span></td>
            <td class={`r change ${class_}`}>{r.baseline_zero && r.variant ? "new" : percent(r.pct_change)}</td>
            <td class={class_} title={r.cohens_d == null ? "" : `Cohen's d ${exact(r.cohens_d)}`}>{r.difference == null ? "" : r.significance.toLowerCase()}</td>
            <td class="r" title="Welch's t-test with Holm's correction. The last column takes the Mann-Whitney U test into account, too.">{p == null ? "" : p < 1e-4 ? "< 0.0001" : p.toFixed(4)}</td>
            <td title={r.difference ? MEANINGS[r.difference] : ""}>{r.difference ? SIGNIFICANT[r.difference] ?? r.difference : ""}</td>
          </tr>
        );
      })}</tbody>
    </table></div>
  );
}

function useRows(request: Params) {
  const [state, setState] = useState<{ rows: Row[] | null; error: Error | null; busy: boolean }>({ rows: null, error: null, busy: false });
  useLayoutEffect(() => {
    const control = new AbortController(), rows: Row[] = [];
    setState((s) => ({ ...s, error: null, busy: true }));
    getLines<Row>("/compare", request, (row) => { rows.push(row); }, control.signal).then(
      () => setState({ rows, error: null, busy: false }),
      (e) => { if (!isAbort(e)) setState({ rows: null, error: e as Error, busy: false }); },
    );
    return () => control.abort();
  }, [JSON.stringify(request), stamp.value]);
  return state;
}

/** More rows than these would take a browser many seconds. */
const MOST_ROWS = 1000;
const FEW = ["count", "dur_mean", "dur_p95", "size_mean", "bandwidth"];

function Result({ a, b }: { a: Selection; b: Selection }) {
  const request = requestOf(a, b, by.value, common.value), { rows, error, busy } = useRows(request);
  useLayoutEffect(() => { shown.value = { path: "/compare", params: request }; }, [JSON.stringify(request)]);
  const wanted = (r: Row) => metrics.value === "all" || (r.baseline !== 0 || r.variant !== 0) && (isSummary(r) || FEW.includes(r.metric));
  const counts = rows?.find((r) => isSummary(r) && r.metric === "count"), without = [counts?.baseline === 0 && "A", counts?.variant === 0 && "B"].filter(Boolean), none = without.length > 0;
  const chosen = none ? [] : rows?.filter(wanted) ?? [];
  return (
    <>
      <Panel title="Differences" wide busy={busy} note={rows ? `${exact(chosen.length)} of ${exact(rows.length)} rows, by impact${chosen.length > MOST_ROWS ? `; the first ${exact(MOST_ROWS)} are shown` : ""}` : ""}
        tools={<label class="choice">Metrics <select value={metrics.value} onChange={(e) => { metrics.value = e.currentTarget.value; }}><option value="">common</option><option value="all">all</option></select></label>}>
        {error ? <Failure error={error} /> : !rows ? <p class="empty">…</p> : !chosen.length ? <p class="empty">{without.length === 1 ? `${without[0]} has no events, so there is nothing to compare.` : "No events on either side."}</p> : <Table rows={ordered(chosen).slice(0, MOST_ROWS)} />}
      </Panel>
      {!none && <Panel title="Slower and faster calls in B" wide><FlameDiff a={a} b={b} /></Panel>}
    </>
  );
}

/** What can be compared here, for who does not know yet. */
function Suggestions({ info, places }: { info: Info; places: Partial<Selection>[] }) {
  const ranks = useAnswer<{ values: { value: unknown }[] }>("/suggest", { column: "rank", prefix: "", limit: 1000 }).data?.values.map((v) => v.value).filter((v) => v != null) ?? [];
  const { min_ts, max_te } = info.totals, { from, to } = period.value ?? { from: min_ts, to: max_te }, half = from == null || to == null ? 0 : Math.floor((from + to) / 2);
  const all: [string, Partial<Selection>, Partial<Selection>][] = [];
  if (places.length > 1) all.push(["First vs last run or file", places[0] ?? {}, places.at(-1) ?? {}]);
  const [one, two] = ranks.sort((a, b) => Number(a) - Number(b)).map((v) => equals("rank", v));
  if (one && two) all.push([`Two ranks: ${one}, ${two}`, { query: one }, { query: two }]);
  if (from != null && to != null && to > from) all.push(["First half vs second half of the time", { from, to: half }, { from: half + 1, to: Math.ceil(to) }]);
  const take = (a: Partial<Selection>, b: Partial<Selection>) => { first.value = textOf({ ...sideOf(""), ...a }); second.value = textOf({ ...sideOf(""), ...b }); };
  return <div class="choices suggestions" role="group" aria-label="Suggestions">{all.map(([title, a, b]) => <button key={title} onClick={() => take(a, b)}>{title}</button>)}</div>;
}

const MOST_FILES = 2000;

export function CompareView() {
  const a = sideOf(first.value), b = sideOf(second.value), chosen = first.value !== "" || second.value !== "";
  const info = useAnswer<Info>("/info", { detail: "files" });
  const files = (info.data?.files ?? []).slice(0, MOST_FILES).map((f) => f.path), folders = [...new Set(files.filter((f) => f.includes("/")).map((f) => f.replace(/\/[^/]*$/, "")))];
  return (
    <>
      <div class="sides">
        <Side name="A" title="Baseline (A)" side={a} files={[...folders, ...files]} onChange={(s) => { first.value = textOf(s); }} />
        <Side name="B" title="Candidate (B)" side={b} files={[...folders, ...files]} onChange={(s) => { second.value = textOf(s); }} />
      </div>
      <div class="controls"><div class="choices">
        <ColumnInput label="Group by" value={by.value} onChange={(v) => { by.value = v || "name"; }} />
        <label class="choice">Include <select value={common.value} onChange={(e) => { common.value = e.currentTarget.value; }}>
          <option value="">all events</option><option value={'cat == "POSIX" or cat == "STDIO"'}>POSIX and STDIO</option></select></label>
        <button onClick={() => { const old = first.value; first.value = second.value || "{}"; second.value = old || "{}"; }}>Swap A and B</button>
      </div></div>
      {chosen ? <Result a={a} b={b} /> : <>
        <p class="empty">{label("Pick two runs, ranks or time ranges to compare.")}</p>
        {info.data && <Suggestions info={info.data} places={folders.length > 1 ? folders.map((dir) => ({ dir })) : files.map((file) => ({ file: literalFile(file) }))} />}
      </>}
    </>
  );
}
