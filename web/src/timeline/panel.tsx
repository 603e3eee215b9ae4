// One event: what it has, what it is in, what is beside it, and how it stands among its like.
import { useEffect, useState } from "preact/hooks";
import { epoch, getJson, isAbort, request, type Params } from "../api";
import { both, clock, equals, exact, label, many, time } from "../format";
import { extra, selection, setSelection, view } from "../state";
import { wholeOf } from "../overview/model";
import { Failure } from "../ui";
import type { Match } from "./search";
import type { Key } from "./model";

/** An event: how many stand before it in its file. */
export interface Place {
  file: string;
  object: number;
}
interface Near extends Place {
  ts: number;
  dur: number | null;
  name: string | null;
  cat: string | null;
}
interface Event {
  columns: Record<string, Key>;
  event: Record<string, unknown>;
  callers: Near[];
  callers_total: number;
  previous: Near | null;
  next: Near | null;
}
interface Peers {
  longest: number | null;
  count: number;
  values: number;
  histogram: { lo: number; hi: number; count: number }[];
}

/** Numbers of arguments that doubles do not hold (addresses, hashes) stay as they were written. */
function parsed(text: string): Event {
  const times = new Set(["ts", "te", "dur"]);
  const asWritten = (key: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === "number" && !times.has(key) && context?.source && String(value) !== context.source ? context.source : value;
  return JSON.parse(text, asWritten as (key: string, value: unknown) => unknown) as Event;
}

interface Told { event: Event | null; peers: Peers | null; error: Error | null }
function useEvent(place: Place, base: Params): Told {
  const [state, set] = useState<Told>({ event: null, peers: null, error: null });
  useEffect(() => {
    const control = new AbortController(), fail = (error: unknown, event: Event | null) => { if (!isAbort(error)) set({ event, peers: null, error: error as Error }); };
    void (async () => {
      let event: Event | null = null;
      try {
        event = parsed(await (await request("/event", { file: place.file, object: place.object }, control.signal)).text());
        set({ event, peers: null, error: null });
        const like = both(equals("name", event.columns["name"]), equals("cat", event.columns["cat"]));
        const all = { ...base, query: both(String(base["query"] ?? ""), like) };
        const [peers, most] = await Promise.all([getJson<Peers>("/histogram", { ...all, column: "dur" }, control.signal),
          getJson<{ rows: { longest: number | null }[] }>("/aggregate", { ...all, group_by: "", agg: "longest=max:dur", time_interval: 0, format: "json" }, control.signal)]);
        set({ event, peers: { ...peers, longest: most.rows[0]?.longest ?? null }, error: null });
      } catch (e) {
        fail(e, event); // nothing of the one before stays
      }
    })();
    return () => control.abort();
  }, [place.file, place.object, base["query"], epoch.value]);
  return state;
}

/** Nested objects as paths with dots. */
function flat(value: unknown, path: string, into: [string, unknown][]): [string, unknown][] {
  if (value && typeof value === "object" && !Array.isArray(value)) {
    for (const [k, v] of Object.entries(value)) flat(v, path ? `${path}.${k}` : k, into);
  } else into.push([path, value]);
  return into;
}

/** Where it stands among its peers, of which it is known how many each bin has: `below` are shorter, `own` about as long. */
function rank(below: number, own: number, all: number): string {
  const shorter = Math.floor((100 * below) / all), upTo = Math.ceil((100 * (below + own)) / all);
  if (shorter > 0) return `Longer than at least ${shorter} %`;
  return upTo < 100 ? `Among the shortest ${upTo} %` : "About as long as most";
}

function Distribution({ peers, dur, name }: { peers: Peers; dur: number | null; name: Key }) {
  const bins = wholeOf(peers.histogram), most = Math.max(1, ...bins.map((b) => b.count));
  const own = bins.findIndex((b) => dur != null && (dur === b.lo || (dur > b.lo && dur < b.hi)));
  const below = bins.slice(0, Math.max(0, own)).reduce((n, b) => n + b.count, 0);
  if (!bins.length) return null;
  const calls = many(peers.values, `${label(name, 80)} call`), slowest = dur === peers.longest && below > 0;
  return (
    <figure class="peers">
      <figcaption title="Calls with the same name and category">{own >= 0 && peers.values > 1 ? (slowest ? `Slowest of ${calls}` : `${rank(below, bins[own]?.count ?? 0, peers.values)} of ${calls}`) : calls}</figcaption>
      <div role="img" aria-label={bins.map((b) => `${time(b.lo)} to ${time(b.hi)}: ${b.count}`).join(", ")}>
        {bins.map((b, i) => (
          <span key={b.lo} class={i === own ? "own" : ""} title={`${time(b.lo)} – ${time(b.hi)}: ${exact(b.count)}`}
            style={{ height: `${Math.max(3, (100 * Math.log1p(b.count)) / Math.log1p(most))}%` }} />
        ))}
      </div>
      <small><span>{time(bins[0]?.lo)}</span><span>{time(bins[bins.length - 1]?.hi)}</span></small>
    </figure>
  );
}

const toMatch = (n: Near, columns: Record<string, Key>): Match => ({ ...n, keys: (wanted) => wanted.map((c) => (c === "name" ? n.name : c === "cat" ? n.cat : columns[c] ?? null)) });

/** What hashes among the arguments stand for. */
const NAMED: Record<string, string> = { hhash: "host", fhash: "file", exec_hash: "exec", cmd_hash: "cmd" };

function Values({ rows, names = {} }: { rows: [string, unknown][]; names?: Record<string, Key> }) {
  const named = (key: string): Key => names[NAMED[key] ?? ""] ?? null;
  return (
    <table class="values"><tbody>
      {rows.map(([k, v]) => {
        const long = typeof v === "object" ? JSON.stringify(v) : String(v);
        return <tr key={k}><th scope="row">{label(k, 60)}</th><td title={long.length > 300 ? undefined : label(long, 300)}>{label(v, 300)}{named(k) != null && <small> {label(named(k), 200)}</small>}</td></tr>;
      })}
    </tbody></table>
  );
}

/** `onSeen`: it is told; from here on its lane is known. */
export function EventPanel({ place, base, onSeen, onGo, onClose }: { place: Place; base: Params; onSeen: (m: Match) => void; onGo: (m: Match) => void; onClose: () => void }) {
  const { event, peers, error } = useEvent(place, base), first = event?.event;
  useEffect(() => { if (event) onSeen(toMatch({ ...place, ts: event.columns["ts"] as number, dur: null, name: null, cat: null }, event.columns)); }, [first]);
  const close = <button class="quiet" aria-label="Close" title="Esc" onClick={onClose}>✕</button>;
  if (!event) return <aside class="event-panel" aria-label="Event"><header><h2>Event</h2>{close}</header>{error ? <Failure error={error} /> : <p class="empty">…</p>}</aside>;
  const c = event.columns, dur = c["dur"] as number | null, go = (n: Near | null) => { if (n) onGo(toMatch(n, c)); };
  const own = Object.entries(c).filter(([k, v]) => v != null && !["name", "cat", "ts", "te", "dur"].includes(k)) as [string, unknown][];
  const args = flat(event.event["args"] ?? {}, "", []);
  return (
    <aside class="event-panel" aria-label="Event">
      <header>
        <h2>{label(c["name"], 200)}</h2><span class="chip">{label(c["cat"], 60)}</span>
        {close}
      </header>
      {error && <Failure error={error} />}
      <p><b title={dur == null ? "no duration" : `${dur} µs`}>{dur == null ? "instant" : time(dur)}</b> at <span title={`${c["ts"]} µs`}>{clock(c["ts"] as number)}</span></p>
      <p class="buttons">
        <button id="event-previous" title="Previous event of the thread ([)" disabled={!event.previous} onClick={() => go(event.previous)}>← Previous</button>
        <button id="event-next" title="Next event of the thread (])" disabled={!event.next} onClick={() => go(event.next)}>Next →</button>
        <button onClick={() => onGo(toMatch({ ...place, ts: c["ts"] as number, dur, name: null, cat: null }, c))}>Zoom to</button>
      </p>
      {peers && <Distribution peers={peers} dur={dur} name={c["name"] ?? null} />}
      <p class="buttons">
        <button onClick={() => setSelection({ query: both(selection.value.query, equals("name", c["name"])) })}>Filter to this name</button>
        <button onClick={() => { extra("focus", "").value = String(c["name"] ?? ""); extra("calls", "flame").value = "sandwich"; view.value = "calls"; }}>Open in Calls</button>
      </p>
      {event.callers.length > 0 && <>
        <h3>Call stack ({event.callers_total > event.callers.length ? `the ${event.callers.length} longest of ${exact(event.callers_total)}` : exact(event.callers_total)})</h3>
        <ol class="callers">{event.callers.map((n) => (
          <li key={`${n.object} ${n.file}`}><button class="link" onClick={() => go(n)}>{label(n.name, 100)}</button> <small>{label(n.cat, 40)} {time(n.dur)}</small></li>
        ))}</ol>
      </>}
      <h3>Location</h3>
      <Values rows={[...own, ["trace", place.file], ["object", place.object]]} />
      {args.length > 0 && <><h3>Arguments</h3><Values rows={args} names={c} /></>}
    </aside>
  );
}
