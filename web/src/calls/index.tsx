// Calls: the flame graph, one function between its callers and callees, whose own time it is, and a table.
import { useLayoutEffect } from "preact/hooks";
import type { Params } from "../api";
import { exact, label, many, time } from "../format";
import { useAnswer } from "../live";
import { shown } from "../shown";
import { extra, selection, selectionParams, type Selection } from "../state";
import { Failure, Name, Num, TextField } from "../ui";
import { Flame } from "./flame";
import { bottomUp, functionsOf, together, type Answer, type Call, type Function } from "./model";
import "./calls.css";

const MODES = { flame: "Flame graph", sandwich: "Callers & callees", bottomup: "Bottom-up", table: "Table" } as const;
type Mode = keyof typeof MODES;
const mode = extra("calls", "flame");
const focus = extra("focus", "");
const search = extra("callfind", "");
const levels = extra("levels", "64");
const sorted = extra("callsort", "self"), zoom = extra("zoom", "");

/** Paths that took less than this part of all durations are left out of what is asked for: nobody could see them. In a table they count. */
const PART = 100000, PART_OF_TABLE = 1e9;

/** The tree of a selection without what is too small to be seen, and below which time that is. */
function useTree(s: Selection, more: Params = {}): { data: Answer | null; error: Error | null; loading: boolean; least: number; params: Params } {
  const base = { ...selectionParams(s), format: "json" };
  const first = useAnswer<{ duration?: { sum: number | null } }>("/stats", { ...base, report: "duration", phase: "events" });
  const total = first.data?.duration?.sum ?? 0, least = Math.floor(total / (mode.value === "table" ? PART_OF_TABLE : PART));
  const params = { ...base, ...more, max_depth: levels.value, min_total: least || undefined };
  const answer = useAnswer<Answer>("/call-tree", first.data ? params : null);
  return { data: answer.data, error: first.error ?? answer.error, loading: first.loading || answer.loading, least, params };
}

function Facts({ answer, least }: { answer: Answer; least: number }) {
  return (
    <p class="soft" role="status">
      <b data-fact="calls" title={exact(answer.in_tree)}>{exact(answer.in_tree)}</b> {answer.in_tree === 1 ? "call" : "calls"} in {many(answer.threads, "thread")}, {many(answer.levels, "level")}
      {answer.levels > Number(levels.value) && <strong> ({levels.value} shown)</strong>}
      {least > 0 && <>; paths under {time(least)} hidden</>}
      {answer.untimed > 0 && <>; {exact(answer.untimed)} events without a time not shown</>}
      {answer.partial_overlaps > 0 && <>; {many(answer.partial_overlaps, "call")} partly overlapping another</>}
    </p>
  );
}

const COLUMNS: [keyof Function, string][] = [["name", "Function"], ["cat", "Category"], ["count", "Calls"], ["self", "Self time"], ["total", "Total time"], ["min", "Shortest"], ["max", "Longest"]];

function Table({ root }: { root: Call }) {
  const by = (COLUMNS.find(([k]) => k === sorted.value)?.[0] ?? "self") as keyof Function, text = search.value.toLowerCase();
  const rows = functionsOf(root).filter((f) => f.name.toLowerCase().includes(text))
    .sort((a, b) => (by === "name" || by === "cat" ? String(a[by]).localeCompare(String(b[by])) : Number(b[by] ?? -1) - Number(a[by] ?? -1)));
  return (
    <div class="scroll"><table class="calls-table">
      <thead><tr>{COLUMNS.map(([k, title]) => <th key={k} aria-sort={by === k ? "descending" : "none"}><button class="quiet" onClick={() => { sorted.value = k; }}>{title}{by === k ? " ▾" : ""}</button></th>)}</tr></thead>
      <tbody>{rows.slice(0, 1000).map((f) => (
        <tr key={f.key}>
          <td><button class="link" onClick={() => { focus.value = f.name; mode.value = "sandwich"; }}>{label(f.name, 120)}</button></td><td><Name value={f.cat} most={40} /></td>
          <td><Num value={f.count} as={exact} /></td><td><Num value={f.self} as={time} unit=" µs" /></td><td><Num value={f.total} as={time} unit=" µs" /></td>
          <td><Num value={f.min} as={time} unit=" µs" /></td><td><Num value={f.max} as={time} unit=" µs" /></td>
        </tr>
      ))}</tbody>
    </table>{rows.length > 1000 && <p class="soft">Showing the first 1000 of {exact(rows.length)}.</p>}</div>
  );
}

function Sandwich({ names }: { names: Function[] }) {
  const s = selection.value, name = focus.value || names[0]?.name || "";
  const params = { ...selectionParams(s), focus: name, max_depth: levels.value }, answer = useAnswer<Answer>("/call-tree", name ? params : null);
  useLayoutEffect(() => { shown.value = { path: "/call-tree", params }; }, [JSON.stringify(params)]);
  return (
    <>
      <label class="choice">Function <TextField aria-label="Function" list="call-names" value={name} size={30} onDone={(text) => { focus.value = text; }} /></label>
      <datalist id="call-names">{names.slice(0, 500).map((f) => <option key={f.key} value={f.name} />)}</datalist>
      {answer.error ? <Failure error={answer.error} /> : !answer.data ? <p class="empty">…</p> : !answer.data.callees?.count ? <p class="empty">No calls of {label(name)}.</p> : (
        <>
          <h2>Callers</h2><Flame root={answer.data.callers as Call} title={`Callers of ${label(name)}`} up onOpen={(n) => { focus.value = n; }} />
          <h2>Callees</h2><Flame root={answer.data.callees as Call} title={`Callees of ${label(name)}`} onOpen={(n) => { focus.value = n; }} />
        </>
      )}
    </>
  );
}

/** A picture of so few levels says little: the table is below it. */
const FLAT = 2;

function Body({ answer }: { answer: Answer }) {
  const root = answer.tree as Call, open = (name: string) => { focus.value = name; mode.value = "sandwich"; };
  switch (mode.value as Mode) {
    case "sandwich": return <Sandwich names={functionsOf(root)} />;
    case "bottomup": return <Flame root={bottomUp(root)} title="Bottom-up: functions by self time, with their callers below them" zoom={zoom} search={search.value} onOpen={open} />;
    case "table": return <Table root={root} />;
    default: return <>
      <Flame root={root} title="Flame graph" zoom={zoom} search={search.value} levels={Number(levels.value)} onOpen={open} />
      {answer.levels <= FLAT && <Table root={root} />}
    </>;
  }
}

function Bar() {
  return (
    <div class="calls-bar">
      <div class="choices" role="radiogroup" aria-label="View of calls">
        {(Object.keys(MODES) as Mode[]).map((m) => <button key={m} role="radio" aria-checked={mode.value === m} class={mode.value === m ? "main" : ""} onClick={() => { mode.value = m; }}>{MODES[m]}</button>)}
      </div>
      <input type="search" aria-label="Search calls" placeholder="Search calls" value={search.value} onInput={(e) => { search.value = e.currentTarget.value; }} />
      <label class="choice">Levels <select aria-label="Levels" value={levels.value} onChange={(e) => { levels.value = e.currentTarget.value; }}>
        {["4", "8", "16", "64", "256"].map((n) => <option key={n}>{n}</option>)}
      </select></label>
    </div>
  );
}

export function CallsView() {
  const tree = useTree(selection.value);
  useLayoutEffect(() => { if (mode.value !== "sandwich") shown.value = { path: "/call-tree", params: tree.params }; }, [JSON.stringify(tree.params), mode.value]);
  return (
    <section class="panel wide calls" aria-label="Calls" aria-busy={tree.loading}>
      <Bar />
      {tree.error ? <Failure error={tree.error} /> : !tree.data ? <p class="empty" role="status">…</p> : <>
        <Facts answer={tree.data} least={tree.least} />
        {tree.data.in_tree ? <Body answer={tree.data} /> : <p class="empty">No selected event has a time.</p>}
      </>}
    </section>
  );
}

/** Calls of two selections in one flame graph, each as wide as in the one where it took longer. */
export function FlameDiff({ a, b }: { a: Selection; b: Selection }) {
  const one = useTree(a), two = useTree(b), error = one.error ?? two.error;
  if (error) return <Failure error={error} />;
  if (!one.data?.tree || !two.data?.tree) return <p class="empty">…</p>;
  return (
    <div class="calls" aria-busy={one.loading || two.loading}>
      <p class="soft">Each box is as wide as the longer of its times in A and B. <b class="more">Red: longer in B</b>, <b class="less">blue: shorter in B</b>.
        {one.least + two.least > 0 && <> Paths under {time(Math.max(one.least, two.least))} hidden.</>}</p>
      <Flame root={together(one.data.tree, two.data.tree)} title="Differential flame graph" zoom={zoom} />
    </div>
  );
}
