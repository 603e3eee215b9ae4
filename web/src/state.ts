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
  known.value++;
  return value;
}

/** Changes a part of the selection. `replace`: no step of its own in the browser's history (while something is dragged). */
export function setSelection(patch: Partial<Selection>, replace = false): void {
  replaceNext = replace;
  selection.value = { ...selection.value, ...patch };
}

/** Without a step of its own in the browser's history. */
export function quietly(change: () => void): void {
  replaceNext = true;
  change();
  replaceNext = false;
}

/** What of a request says which events. */
export function selectionParams(s: Selection): Params {
  const range = s.from != null && s.to != null ? `${Math.floor(s.from)},${Math.ceil(s.to)}` : undefined;
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

let replaceNext = false;

function write(): void {
  const next = addressOf();
  if (next === new URLSearchParams(location.hash.slice(1)).toString()) return;
  try {
    history[replaceNext ? "replaceState" : "pushState"](null, "", `#${next}`);
  } catch {
    // A webview may have no address of its own.
  }
  replaceNext = false;
}

read();
addEventListener("popstate", read);
addEventListener("hashchange", read);
effect(write);
