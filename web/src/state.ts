// What the page shows, as its address has it behind the #: a link shows another person the same.
import { effect, signal, type Signal } from "@preact/signals";
import { host, type Params } from "./api";

export const VIEWS = ["overview", "timeline", "calls", "groups", "compare", "query"] as const;
export type View = (typeof VIEWS)[number];

/** Which events; times in microseconds, both ends in it. Empty texts and nulls: all. */
export interface Selection {
  query: string;
  from: number | null;
  to: number | null;
  dir: string;
  file: string;
}
export const EVERYTHING: Selection = { query: "", from: null, to: null, dir: "", file: "" };

export const isEverything = (s: Selection): boolean => Object.keys(EVERYTHING).every((key) => s[key as keyof Selection] === EVERYTHING[key as keyof Selection]);

export const view: Signal<View> = signal("overview");
export const selection: Signal<Selection> = signal(EVERYTHING);

const extras = new Map<string, { value: Signal<string>; fallback: string }>();
/** How many there are: those of views that come later are written, too. */
const known = signal(0);
/** Parameters of views that were not shown yet. */
let waiting = new URLSearchParams();

/** A signal that is bound to one parameter of the address. The same name is the same signal. */
export function extra(name: string, fallback: string): Signal<string> {
  const there = extras.get(name);
  if (there) return there.value;
  const value = signal(waiting.get(name) ?? fallback);
  waiting.delete(name);
  extras.set(name, { value, fallback });
  quietly(() => { known.value++; });
  return value;
}

/** Longer queries are not sent, nor would they be read in a box. */
const MOST_QUERY = 60000;
export const isShort = (query: string): boolean => query.length <= MOST_QUERY;
/** How long the query was that was not taken; 0: the last one was. */
export const tooLong = signal(0);

/** Changes a part of the selection. The timeline goes where a new range of time is, unless it is what chose it. */
export function setSelection(patch: Partial<Selection>): void {
  tooLong.value = isShort(patch.query ?? "") ? 0 : (patch.query ?? "").length;
  if (tooLong.value) return;
  selection.value = { ...selection.value, ...patch };
  extra("row", "0").value = "0"; // rows are others
  if (patch.from != null && view.value !== "timeline") extra("at", "").value = "";
}

/** Shows one event in the timeline, with something around it; `place`, its object and file, picks it there. What is chosen stays: to look at
 *  one event is not to ask all views about its time. */
export function lookAt(ts: number, dur: number, place = ""): void {
  const pad = Math.max(dur, 100);
  extra("at", "").value = `${ts - pad},${ts + dur + pad}`;
  extra("event", "").value = place;
  view.value = "timeline";
}

let silent = false;

/** Without a step of its own in the browser's history. */
export function quietly(change: () => void): void {
  const before = silent;
  silent = true;
  change();
  silent = before;
}

/** The only time of which events are shown, where clocks are far apart. */
export const period = signal<{ from: number; to: number } | null>(null);

/** The first and the last microsecond of a selection; null: of all. */
export function rangeOf(s: Selection): [number, number] | null {
  if (s.from != null && s.to != null) return [Math.floor(s.from), Math.ceil(s.to)];
  return period.value && s.dir === selection.value.dir && s.file === selection.value.file ? [period.value.from, period.value.to] : null;
}

/** What of a request says which events. */
export function selectionParams(s: Selection): Params {
  const range = rangeOf(s)?.join(",");
  return { query: s.query || undefined, time_range: range, dir: s.dir || undefined, file: s.file || undefined };
}

function numberOf(text: string | null): number | null {
  return text && Number.isFinite(Number(text)) ? Number(text) : null;
}

function addressOf(): string {
  const p = new URLSearchParams(), s = known.value >= 0 ? selection.value : EVERYTHING;
  if (view.value !== "overview") p.set("view", view.value);
  for (const key of ["query", "dir", "file"] as const) if (s[key]) p.set(key, s[key]);
  for (const key of ["from", "to"] as const) if (s[key] != null) p.set(key, String(s[key]));
  for (const [name, e] of extras) if (e.value.value !== e.fallback) p.set(name, e.value.value);
  waiting.forEach((value, name) => p.set(name, value));
  return p.toString();
}

const OWN = ["view", "query", "dir", "file", "from", "to"];

function read(): void {
  const p = new URLSearchParams(location.hash.slice(1));
  const wanted = p.get("view") as View;
  view.value = VIEWS.includes(wanted) ? wanted : "overview";
  selection.value = { query: p.get("query") ?? "", dir: p.get("dir") ?? "", file: p.get("file") ?? host.file ?? "",
    from: numberOf(p.get("from")), to: numberOf(p.get("to")) };
  for (const [name, e] of extras) e.value.value = p.get(name) ?? e.fallback;
  waiting = new URLSearchParams([...p].filter(([name]) => !extras.has(name) && !OWN.includes(name)));
}

// What was not taken is told where it was asked for.
effect(() => { void view.value; tooLong.value = 0; });

/** What others are sent: the address, as it is now. */
export const address = signal(location.href);
/** How the next address comes into the browser's history; null: it is there. */
let pending: "push" | "replace" | null = null;

function write(): void {
  const next = addressOf(), how = pending;
  pending = null;
  if (next !== new URLSearchParams(location.hash.slice(1)).toString()) {
    try {
      history[how === "push" ? "pushState" : "replaceState"](null, "", `#${next}`);
    } catch {
      // A webview may have no address of its own.
    }
  }
  address.value = location.href;
}

quietly(read);
for (const event of ["popstate", "hashchange"]) addEventListener(event, () => quietly(read));
// One step of the history for all that a click changes: written once it is over.
quietly(() => effect(() => {
  addressOf();
  if (!pending) queueMicrotask(write);
  if (pending !== "push") pending = silent ? "replace" : "push";
}));
