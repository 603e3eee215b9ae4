// Counters as tracks: which there are, and what they say by columns of a power of two of nanoseconds.
import { Cancelled, getJson, getLines, isAbort, type Params } from "../api";
import { both, equals, label } from "../format";
import { Clock, type Key, type Node } from "./model";

/** One number of one counter. */
export interface Track {
  id: string;
  /** Of the counter: host, pid, and what its group has besides. */
  keys: Key[];
  group: Group;
  column: string;
  title: string;
  least: number;
  most: number;
  /** Nanoseconds from the origin on: its first and its last value. */
  from: number;
  to: number;
  count: number;
  colour: number;
}
/** Counters that are asked for together: of one name. */
interface Group {
  source: Params;
  columns: string[];
  query: string;
  id: string;
}
/** What a track says in a column: of one value all three are it. */
export interface Point {
  at: number;
  mean: number;
  least: number;
  most: number;
}
interface Tile {
  from: number;
  points: Map<string, Point[]>;
  used: number;
  generation: number;
}
type Row = Record<string, Key>;

/** Rows of `/aggregate` of the class system; what else counts, counts events. */
const SYSTEM = 'args.freq is null and args.time is null and (cat == "sys" or (args.dft_cnt is null and dur is null and args.dur is null and args.dur_sum is null))';
const SOURCES: Params[] = [{ phase: "counters", query: SYSTEM }, { phase: "counters", query: `not (${SYSTEM})` }, { phase: "aggregated", query: "" }];
const TITLES = ["system counters", "call counters", "aggregated records"];
/** Of each source so many counters become tracks: those with most values. */
const MOST_COUNTERS = 100;
/** More of a host are shown when they are asked for. */
const MOST_OPEN = 30;
const MOST_NUMBERS = 100;
const MOST_TEXTS = 50;
const COLUMNS = 512;
const MOST_TILES = 400;
const AT_ONCE = 3;
const RETRY_MS = 2000;

interface Column { path: string; type: string; distinct: number | null }
const isNumber = (c: Column): boolean => c.path.startsWith("args.") && (c.type === "int" || c.type === "float");
/** What tells counters of one name apart: a device, a source. */
const isText = (c: Column): boolean => c.path.startsWith("args.") && c.type === "string" && (c.distinct ?? Infinity) <= MOST_TEXTS && !/hash$|hostname$/.test(c.path);

/** Times are microseconds yet. */
async function tracksOf(source: Params, base: Params, signal: AbortSignal): Promise<{ tracks: Track[]; cut: boolean }> {
  const asked = { ...base, ...source, query: both(String(base["query"] ?? ""), String(source["query"])) || undefined };
  const { columns } = await getJson<{ columns: Column[] }>("/schema", asked, signal);
  const numbers = columns.filter(isNumber).slice(0, MOST_NUMBERS).map((c) => c.path), keys = ["host", "pid", ...columns.filter(isText).map((c) => c.path)];
  if (!numbers.length) return { tracks: [], cut: false };
  const rows: Row[] = [];
  await getLines<Row>("/aggregate", { ...asked, group_by: [...keys, "cat", "name"].join(","), time_interval: 0, sort: "-count", limit: MOST_COUNTERS + 1,
    agg: ["count", "from=min:ts", "to=max:ts", ...numbers.flatMap((n, i) => [`l${i}=min:${n}`, `h${i}=max:${n}`])].join(",") }, (row) => { rows.push(row); }, signal);
  const tracks: Track[] = [], groups = new Map<string, Group>();
  for (const row of rows.slice(0, MOST_COUNTERS)) {
    const own = numbers.filter((_, i) => row[`l${i}`] != null), query = both(equals("cat", row["cat"]), equals("name", row["name"])), id = JSON.stringify([source["phase"], source["query"], query]);
    if (!own.length || row["from"] == null) continue;
    const group = groups.get(id) ?? { source, columns: keys, query, id };
    groups.set(id, group);
    for (const column of own) {
      const i = numbers.indexOf(column), values = keys.map((k) => row[k] ?? null);
      const title = [row["name"], ...values.slice(2).filter((v) => v != null)].map((v) => label(v, 40)).join(" ");
      tracks.push({ id: JSON.stringify([id, values.map(String), column]), keys: values, group, column, title, least: Number(row[`l${i}`]), most: Number(row[`h${i}`]),
        from: Number(row["from"]), to: Number(row["to"]), count: Number(row["count"]), colour: 0 });
    }
  }
  return { tracks, cut: rows.length > MOST_COUNTERS };
}

export interface Found {
  clock: Clock;
  tracks: Track[];
  cut: boolean;
}
/** `first`: when the first event begins, null where there is none; times are told from there. `any`: whether there are counters. */
export async function findTracks(base: Params, first: number | null, any: boolean, signal: AbortSignal): Promise<Found> {
  const found = await Promise.all(any ? SOURCES.map((source) => tracksOf(source, base, signal)) : []);
  const tracks = found.flatMap((f) => f.tracks), names = [...new Set(tracks.map((t) => t.column))];
  const clock = new Clock(first ?? tracks.reduce((least, t) => Math.min(least, t.from), tracks[0]?.from ?? 0));
  for (const t of tracks) Object.assign(t, { colour: names.indexOf(t.column), from: clock.ns(t.from), to: clock.ns(t.to) });
  return { clock, tracks, cut: found.some((f) => f.cut) };
}

/** A track, several of one counter, or a title for those, in the tree of lanes. */
const nodeOf = (id: string, title: string, track: Track | null, children: Node[]): Node =>
  ({ id, title, track, children, level: -1, keys: [], count: track?.count ?? 0, busy: 0, position: 0 });

/** By counter. The process is told where a host has the counter of several. */
function countersOf(tracks: readonly Track[]): Node[] {
  const counters = new Map<string, Track[]>(), pids = new Map<string, Set<unknown>>();
  for (const t of tracks) {
    const id = JSON.stringify([t.group.id, t.keys.map(String)]), plain = t.group.id + t.title;
    counters.set(id, [...(counters.get(id) ?? []), t]);
    pids.set(plain, (pids.get(plain) ?? new Set()).add(t.keys[1]));
  }
  const short = (column: string) => column.replace(/^args\./, "");
  return [...counters].sort(([, [a]], [, [b]]) => ((a as Track).title < (b as Track).title ? -1 : 1)).map(([id, all]) => {
    const first = all[0] as Track, several = (pids.get(first.group.id + first.title)?.size ?? 0) > 1;
    const title = first.title + (several ? ` (${label(first.keys[1], 20)})` : "");
    const one = all.map((t) => nodeOf(t.id, all.length > 1 ? short(t.column) : `${title} ${short(t.column)}`, t, []));
    return all.length === 1 ? (one[0] as Node) : nodeOf(id, `${title}: ${short(first.column)} +${all.length - 1}`, first, one);
  });
}

/** The tracks of a host, by what kind they are. */
export function headsOf(tracks: readonly Track[], host: Key): Node[] {
  return SOURCES.flatMap((source, i) => {
    const own = tracks.filter((t) => t.group.source === source && t.keys[0] === host);
    return own.length ? [nodeOf(JSON.stringify([TITLES[i], host]), TITLES[i] as string, null, countersOf(own))] : [];
  });
}
/** Where there are hosts without lanes, or lanes that are not of hosts. */
export const hostOf = (host: Key, heads: Node[]): Node => nodeOf(JSON.stringify(["counters of", host]), host == null ? "no host" : label(host, 80), null, heads);

/** What is closed at first: counters with several numbers, and all where there are many. */
export const closedOf = (heads: readonly Node[]): string[] => heads.flatMap((h) => [...(h.children.length > MOST_OPEN ? [h.id] : []), ...h.children.filter((c) => c.children.length).map((c) => c.id)]);

export class Counters {
  private kept = new Map<string, Tile>();
  /** Given up by hand: not asked for again of itself. */
  private unwanted = new Set<string>();
  private running = new Map<string, AbortController>();
  private wanted: { key: string; group: Group; tracks: Track[]; k: number; from: number }[] = [];
  private clockwork = 0;
  private generation = 0;
  private readonly origin: bigint;

  constructor(private clock: Clock, private base: Params, private changed: () => void) {
    this.origin = BigInt(clock.origin) * 1000n;
  }

  get asking(): number {
    return this.running.size + this.wanted.length;
  }

  /** Columns are not much finer than values are apart, so that there is one in the tile before the window, and it holds until the next. */
  private level(t: Track, nsPerPixel: number): number {
    const apart = (t.to - t.from) / Math.max(1, t.count);
    return Math.max(10, Math.ceil(Math.log2(nsPerPixel)), Math.floor(Math.log2(Math.max(1, apart / 64))));
  }
  /** Buckets of the daemon begin at multiples of their length since 1970. */
  private start(k: number, ns: number): number {
    const span = COLUMNS * 2 ** k, offset = Number(((this.origin % BigInt(span)) + BigInt(span)) % BigInt(span));
    return Math.floor((ns + offset) / span) * span - offset;
  }
  private key(t: Track, k: number, from: number): string {
    return `${t.group.id}/${t.column}/${k}/${from}`;
  }

  /** What is known of a track from `from` to `to`, and the last value before; coarser where it must be. */
  points(t: Track, nsPerPixel: number, from: number, to: number): Point[] {
    const found: Point[] = [], seen = new Set<Tile>(), k = this.level(t, nsPerPixel), span = COLUMNS * 2 ** k;
    for (let at = this.start(k, Math.max(from, t.from)) - span; at < Math.min(to, t.to + 1); at += span) {
      for (let up = k; up < 62; up++) {
        const tile = this.kept.get(this.key(t, up, this.start(up, at)));
        if (!tile) continue;
        tile.used = ++this.clockwork;
        if (!seen.has(tile)) found.push(...(tile.points.get(t.id) ?? []));
        seen.add(tile);
        break;
      }
    }
    return found;
  }

  want(tracks: readonly Track[], nsPerPixel: number, from: number, to: number): void {
    const wanted = new Map<string, { key: string; group: Group; tracks: Track[]; k: number; from: number }>();
    for (const t of tracks) {
      const k = this.level(t, nsPerPixel), span = COLUMNS * 2 ** k;
      for (let at = this.start(k, Math.max(from, t.from)) - span; at < Math.min(to, t.to + 1); at += span) {
        if (at + span <= t.from || this.kept.get(this.key(t, k, at))?.generation === this.generation) continue;
        const key = `${t.group.id}/${k}/${at}`;
        if (this.unwanted.has(key)) continue;
        const one = wanted.get(key) ?? { key, group: t.group, tracks: [], k, from: at };
        one.tracks.push(t);
        wanted.set(key, one);
      }
    }
    for (const [key, control] of this.running) if (!wanted.has(key)) { control.abort(); this.running.delete(key); }
    this.wanted = [...wanted.values()].filter((w) => !this.running.has(w.key));
    this.next();
  }

  private next(): void {
    while (this.running.size < AT_ONCE && this.wanted.length) void this.fetch(this.wanted.shift() as (typeof this.wanted)[number]);
  }

  private async fetch(w: (typeof this.wanted)[number]): Promise<void> {
    const control = new AbortController(), columns = [...new Set(w.tracks.map((t) => t.column))], generation = this.generation;
    const points = new Map<string, Point[]>();
    this.running.set(w.key, control);
    try {
      const query = both(String(this.base["query"] ?? ""), both(String(w.group.source["query"]), w.group.query));
      await getLines<Row>("/aggregate", { ...this.base, phase: w.group.source["phase"] as string, query, time_range: this.clock.range(w.from, w.from + COLUMNS * 2 ** w.k),
        group_by: [...w.group.columns, "time_bucket"].join(","), time_interval: `${2 ** w.k}ns`,
        agg: ["at=min:ts", ...columns.flatMap((c, i) => [`m${i}=mean:${c}`, `l${i}=min:${c}`, `h${i}=max:${c}`])].join(",") }, (row) => this.take(w.group, columns, row, points), control.signal);
    } catch (e) {
      if (isAbort(e)) return;
      if (e instanceof Cancelled) this.unwanted.add(w.key);
      await new Promise((again) => setTimeout(again, RETRY_MS));
      w.tracks = [];
    }
    for (const t of w.tracks) this.kept.set(this.key(t, w.k, w.from), { from: w.from, points, used: ++this.clockwork, generation });
    if (this.kept.size > MOST_TILES) for (const [key] of [...this.kept].sort(([, a], [, b]) => a.used - b.used).slice(0, MOST_TILES / 4)) this.kept.delete(key);
    if (this.running.get(w.key) === control) this.running.delete(w.key);
    this.next();
    this.changed();
  }

  private take(group: Group, columns: string[], row: Row, points: Map<string, Point[]>): void {
    const values = group.columns.map((c) => String(row[c] ?? null));
    columns.forEach((column, i) => {
      if (row[`m${i}`] == null) return;
      const id = JSON.stringify([group.id, values, column]), list = points.get(id) ?? [];
      list.push({ at: this.clock.ns(Number(row["at"])), mean: Number(row[`m${i}`]), least: Number(row[`l${i}`]), most: Number(row[`h${i}`]) });
      points.set(id, list);
    });
  }

  /** The index has changed: what is there stays until it has come anew. */
  renew(): void {
    this.unwanted.clear();
    this.generation++;
  }

  stop(): void {
    for (const control of this.running.values()) control.abort();
    this.running.clear();
    this.wanted = [];
  }
}
