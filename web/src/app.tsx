// The frame around the views: what is served, which events are chosen, what went wrong.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { cancelAll, host, online, pending, wantsToken } from "./api";
import { CallsView } from "./calls";
import { CompareView } from "./compare";
import { GroupsView } from "./groups";
import { following, followProgress, progress } from "./live";
import { OverviewView } from "./overview";
import { Periods, settled } from "./periods";
import { QueryView } from "./query";
import { SelectionBar } from "./query/bar";
import { VIEWS, view, type View } from "./state";
import { TimelineView } from "./timeline";
import { cycleTheme, theme } from "./theme";
import { TokenForm } from "./token";
import { count, exact, time } from "./format";

const TITLES: Record<View, string> = {
  overview: "Overview", timeline: "Timeline", calls: "Calls", groups: "Explore", compare: "Compare", query: "Events",
};
const THEME_ICONS = { auto: "◐", light: "☀", dark: "☾" };
const SHOWN: Record<View, () => JSX.Element> = {
  overview: OverviewView, timeline: TimelineView, calls: CallsView, groups: GroupsView, compare: CompareView, query: QueryView,
};

function Tabs() {
  useEffect(() => document.getElementById(`tab-${view.value}`)?.scrollIntoView({ block: "nearest", inline: "nearest" }), [view.value]);
  const move = (e: KeyboardEvent) => {
    const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    e.preventDefault();
    const next = VIEWS[(VIEWS.indexOf(view.value) + step + VIEWS.length) % VIEWS.length] as View;
    view.value = next;
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views" onKeyDown={move}>
      {VIEWS.map((v) => (
        <button key={v} id={`tab-${v}`} role="tab" aria-selected={view.value === v} aria-controls="view"
          tabIndex={view.value === v ? 0 : -1} onClick={() => { view.value = v; }}>{TITLES[v]}</button>
      ))}
    </div>
  );
}

function State() {
  const p = progress.value;
  if (!online.value) return <span class="state bad" role="status">Disconnected, reconnecting…</span>;
  if (!p) return <span class="state" role="status">…</span>;
  const done = p.bytes ? p.bytes_done / p.bytes : 1;
  const words = p.state === "indexing"
    ? `Indexing ${Math.floor(done * 100)} %${p.eta_s ? `, ${time(p.eta_s * 1e6, 2)} left` : ""}`
    : `${count(p.files_ready)} ${p.files_ready === 1 ? "file" : "files"}${p.files_failed ? `, ${p.files_failed} failed` : ""}`;
  return (
    <span class={`state ${p.state === "ready" ? "good" : p.state === "indexing" ? "busy" : "bad"}`} role="status"
      title={`State: ${p.state}. ${exact(p.files_ready)} of ${exact(p.files)} files indexed, index generation ${p.generation}`}>{words}</span>
  );
}

const LONG_MS = 1000;

/** Who waits for long sees for how long, and need not. */
function Waiting() {
  const busy = pending.value > 0, [since, set] = useState(0), [seconds, tick] = useState(0);
  useEffect(() => {
    set(0);
    if (!busy) return;
    const began = Date.now(), timer = setInterval(() => { set(began); tick(Math.floor((Date.now() - began) / 1000)); }, LONG_MS);
    return () => clearInterval(timer);
  }, [busy]);
  if (!busy || !since) return null;
  return <span class="waiting"><span class="soft">Querying… {seconds} s</span> <button onClick={cancelAll} title="Cancel all running queries">Cancel</button></span>;
}

function Notices() {
  if (!host.error && online.value) return null;
  return (
    <section aria-label="Notices">
      {host.error && <p class="notice bad" role="alert">{host.error}</p>}
      {!online.value && <p class="notice bad" role="alert">The daemon cannot be reached. Showing the last results; the page reconnects automatically.</p>}
    </section>
  );
}

function keys(e: KeyboardEvent): void {
  const inText = e.target instanceof HTMLElement && e.target.closest("input, textarea, select, [contenteditable]");
  if (inText || e.ctrlKey || e.metaKey || e.altKey) return;
  const number = Number(e.key);
  if (number >= 1 && number <= VIEWS.length) view.value = VIEWS[number - 1] as View;
  else if (e.key === "/") document.getElementById("query-text")?.focus();
  else return;
  e.preventDefault();
}

export function App() {
  useEffect(() => {
    followProgress();
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  const Shown = SHOWN[view.value];
  return (
    <>
      <header>
        <h1>dftracer<span>d</span></h1>
        <Tabs />
        <div class="side">
          <Waiting />
          <State />
          <button class="quiet" aria-pressed={following.value} onClick={() => { following.value = !following.value; }}
            title="Update the results as new events are indexed">Live</button>
          <button class="quiet" onClick={cycleTheme} aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}. Click to change`}>{THEME_ICONS[theme.value]}</button>
        </div>
      </header>
      <Notices />
      {!wantsToken.value && <SelectionBar />}
      {!wantsToken.value && <Periods />}
      <main data-view={view.value}>
        <div id="view" role="tabpanel" aria-labelledby={`tab-${view.value}`}>{wantsToken.value ? <TokenForm /> : settled.value ? <Shown key={view.value} /> : <p class="empty">…</p>}</div>
      </main>
    </>
  );
}
