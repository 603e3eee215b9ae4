// Search over all data, on the daemon: the next and the previous match, and which of how many it is.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, getJson, isAbort, type Params } from "../api";
import { both, exact, literal } from "../format";
import { extra } from "../state";
import type { Key } from "./model";
import type { Place } from "./panel";

export interface Match extends Place {
  ts: number;
  dur: number | null;
  /** Its values of these columns. */
  keys: (columns: string[]) => Key[];
}
interface Found {
  count: number;
  position: number | null;
  event: (Place & { ts: number; dur: number | null } & Record<string, Key>) | null;
}

const text = extra("find", "");
const OPERATOR = /[=<>~!]|\b(in|like|ilike|is|not)\b/;

const inName = (t: string): string => `name ilike ${literal(`%${t.replace(/[%_\\]/g, "\\$&")}%`)}`;
const isBad = (e: unknown): e is ApiError => e instanceof ApiError && e.problem.code === "bad_query";

/** A query as it stands; text that is none is part of a name, `refused`: though it looks like one. */
async function asking<T>(t: string, ask: (query: string) => Promise<T>): Promise<{ answer: T; refused: string }> {
  try {
    return { answer: await ask(OPERATOR.test(t) ? t : inName(t)), refused: "" };
  } catch (e) {
    if (!isBad(e)) throw e;
    return { answer: await ask(inName(t)), refused: firstLine(e) };
  }
}
const firstLine = (e: Error): string => e.message.split("\n")[0] as string;

export function Search({ base, onMatch, from }: { base: Params; onMatch: (m: Match) => void; from: () => number }) {
  const [found, set] = useState<Found | null>(null), [error, setError] = useState(""), [last, setLast] = useState<Found["event"]>(null);
  const running = useRef<AbortController | null>(null);
  // With the text that is shown, not after it is painted: a search that was begun by then would be stopped.
  useLayoutEffect(() => { set(null); setLast(null); setError(""); return () => running.current?.abort(); }, [text.value, base["query"]]);
  const go = async (direction: "next" | "previous") => {
    if (!text.value.trim()) return;
    running.current?.abort();
    const control = (running.current = new AbortController());
    const at = last ? { at_file: last.file, at_object: last.object } : { at: Math.floor(from()) };
    try {
      const { answer, refused } = await asking(text.value, async (query) => {
        const params = { ...base, query: both(String(base["query"] ?? ""), query), direction }, first = await getJson<Found>("/find", { ...params, ...at }, control.signal);
        return first.event || !first.count ? first : getJson<Found>("/find", params, control.signal);
      });
      set(answer);
      setError(refused && !answer.count ? `no matching name, and not a valid query: ${refused}` : "");
      setLast(answer.event);
      const e = answer.event;
      if (e) onMatch({ file: e.file, object: e.object, ts: e.ts, dur: e.dur, keys: (columns) => columns.map((c) => e[c] ?? null) });
    } catch (e) {
      if (!isAbort(e)) setError(e instanceof ApiError ? firstLine(e) : String(e));
    }
  };
  const keys = (e: KeyboardEvent) => {
    if (e.key === "Enter") void go(e.shiftKey ? "previous" : "next");
    else if (e.key === "Escape") (e.currentTarget as HTMLInputElement).blur();
    else return;
    e.preventDefault();
  };
  return (
    <span class="timeline-search" role="search">
      <input id="timeline-search" type="search" aria-label="Search all events" placeholder="Search by name or query, e.g. dur > 1s" spellcheck={false}
        value={text.value} onInput={(e) => { text.value = e.currentTarget.value; }} onKeyDown={keys} />
      <button id="timeline-previous" aria-label="Previous match" title="Previous match (p)" disabled={!text.value} onClick={() => void go("previous")}>↑</button>
      <button id="timeline-next" aria-label="Next match" title="Next match (n)" disabled={!text.value} onClick={() => void go("next")}>↓</button>
      <output role="status" class={error ? "bad" : ""}>{error || (found && (found.count ? `${exact(found.position)} of ${exact(found.count)}` : "no match"))}</output>
    </span>
  );
}
