// What was asked of /timeline, kept as tiles: so many columns of a power of two of nanoseconds, for a block of lanes.
import { Cancelled, type Params } from "../api";
import { both } from "../format";
import { colored } from "./lanes";
import { ask, columnsOf, filterOf, idOf, type Answer, type Cells, type Clock, type Node, type Tree } from "./model";
import type { Palette } from "./palette";
import { BOX_BYTES, boxesOf, type Box } from "./slices";

export const COLUMNS = 1024;
export const BLOCK = 64;
/** Coloured by other columns than these, a tile of so many objects has columns that many times as wide: what the daemon keeps by name is
 *  coarser than what it keeps by these, and where columns are finer than that, or for all others, it looks at each object. */
const KEPT = new Set(["cat", "host", "rank", "pid", "tid"]);
const MANY = 4e6;
const WIDER = 4;
const AT_ONCE = 4;
/** What was refused is asked for again, but not at once. */
const RETRY_MS = 2000;
/** What all tiles may take, in bytes as counted by sizeOf. */
export const MOST_BYTES = 48 << 20;

/** Cells of a lane that are not empty, by column. */
export interface Lane {
  node: string;
  slot: number;
  columns: Uint16Array;
  counts: Float64Array;
  busy: Float64Array;
  colours: Uint16Array;
}
export interface Tile {
  key: string;
  level: number;
  from: number;
  to: number;
  columns: number;
  step: number;
  lanes: Map<string, Lane>;
  /** Where not all events are considered for boxes: cells of those that are not. */
  rest: Map<string, Lane>;
  boxes: Box[];
  /** Each event is a box or one of the others of a box; else those are that are longer than a column. */
  complete: boolean;
  image: HTMLCanvasElement | null;
  painted: number;
  bytes: number;
  used: number;
  generation: number;
  /** Which values have colours of their own in it. */
  values: string;
}
interface Wanted {
  key: string;
  level: number;
  index: number;
  k: number;
  nodes: Node[];
  whole: boolean;
}

const sizeOf = (t: Tile): number => {
  let bytes = 400 + t.boxes.length * BOX_BYTES + t.lanes.size * COLUMNS * 4;
  for (const lane of [...t.lanes.values(), ...t.rest.values()]) bytes += 300 + lane.columns.length * 20;
  return bytes;
};

function laneOf(cells: Cells, before: number, node: string, slot: number, colours: number[]): Lane {
  const { slot: first, count, busy, color, slots } = cells, n = slots ? slots.reduce((sum, run) => sum + run, 0) : first.length;
  const lane: Lane = { node, slot, columns: new Uint16Array(n), counts: new Float64Array(n), busy: new Float64Array(n), colours: new Uint16Array(n) };
  let i = 0;
  for (let run = 0; run < first.length; run++) {
    const end = i + (slots?.[run] ?? 1);
    for (let column = first[run] as number; i < end; column++, i++) {
      lane.columns[i] = column;
      // What began before the tile is of the tile before.
      lane.counts[i] = (count[run] as number) - (column === 0 ? before : 0);
      lane.busy[i] = busy[run] as number;
      lane.colours[i] = colours[color[run] as number] as number;
    }
  }
  return lane;
}

/** Of its block. */
const numberOf = (node: Node): number => Math.floor(node.position / BLOCK);

export class Tiles {
  readonly kept = new Map<string, Tile>();
  private running = new Map<string, AbortController>();
  private wanted: Wanted[] = [];
  /** Given up by hand: not asked for again of itself. */
  private unwanted = new Set<string>();
  private clockwork = 0;
  private bytes = 0;
  generation = 0;
  /** The last answers' milliseconds, for the curious and for tests. */
  readonly took: number[] = [];
  failed: Error | null = null;

  /** Values with colours of their own, see kept.ts. */
  private values = "";
  /** For tests to set. */
  many = MANY;

  /** `whole`: nanoseconds from the first begin to the last end. */
  constructor(private tree: Tree, private whole: number, private clock: Clock, private palette: Palette, private base: Params, private color: string,
    private changed: () => void) {}

  get asking(): number {
    return this.running.size + this.wanted.length;
  }
  get size(): number {
    return this.bytes;
  }

  static level(nsPerPixel: number): number {
    return Math.max(0, Math.ceil(Math.log2(nsPerPixel)));
  }

  private block(node: Node): { nodes: Node[]; whole: boolean } {
    const all = this.tree.levels[node.level] as Node[], first = numberOf(node) * BLOCK;
    const whole = all.length <= BLOCK && !this.tree.truncated;
    return { nodes: whole ? all : all.slice(first, first + BLOCK), whole };
  }

  private key(node: Node, k: number, index: number): string {
    return `${node.level}/${numberOf(node)}/${k}/${index}`;
  }

  /** The best that is there for a node and a stretch of time, coarser where it must be: from left to right. */
  find(node: Node, k: number, from: number, to: number): Tile[] {
    const span = COLUMNS * 2 ** k, found: Tile[] = [];
    if (!this.kept.size) return found;
    for (let i = Math.floor(from / span); i * span < to; i++) {
      const tile = this.nearest(node, k, i);
      if (tile && found[found.length - 1] !== tile) found.push(tile);
    }
    return found;
  }

  private nearest(node: Node, k: number, index: number): Tile | null {
    for (let up = 0; up < 50; up++) {
      const tile = this.kept.get(this.key(node, k + up, Math.floor(index / 2 ** up)));
      if (tile) {
        tile.used = ++this.clockwork;
        return tile;
      }
    }
    return null;
  }

  /** Asks for what of this is not there; what was asked for before and is not wanted any more is given up. */
  want(nodes: Node[], k: number, from: number, to: number): void {
    const span = COLUMNS * 2 ** k, wanted = new Map<string, Wanted>();
    for (const node of nodes) {
      for (let i = Math.floor(from / span); i * span < to; i++) {
        const key = this.key(node, k, i), have = this.kept.get(key);
        if (!wanted.has(key) && !this.unwanted.has(key) && (have?.generation !== this.generation || have.values !== this.values)) wanted.set(key, { key, level: node.level, index: i, k, ...this.block(node) });
      }
    }
    for (const [key, control] of this.running) if (!wanted.has(key)) { control.abort(); this.running.delete(key); }
    this.wanted = [...wanted.values()].filter((w) => !this.running.has(w.key));
    this.next();
  }

  private next(): void {
    while (this.running.size < AT_ONCE && this.wanted.length) void this.fetch(this.wanted.shift() as Wanted);
  }

  private columns(span: number): number {
    const all = this.tree.roots.reduce((sum, root) => sum + root.count, 0), part = Math.min(1, span / this.whole);
    return !KEPT.has(this.color) && all * part > this.many ? COLUMNS / WIDER : COLUMNS;
  }

  private params(w: Wanted, from: number, to: number, columns: number): Params {
    return { ...this.base, query: w.whole ? this.base["query"] : both(String(this.base["query"] ?? ""), filterOf(this.tree, w.nodes)),
      group_by: columnsOf(this.tree.layout, w.level).join(","), ...colored(this.color, this.values), width: columns, events: 0, slices: true, time_range: this.clock.range(from, to) };
  }

  private async fetch(w: Wanted): Promise<void> {
    const span = COLUMNS * 2 ** w.k, from = w.index * span, columns = this.columns(span);
    const control = new AbortController(), began = performance.now(), { generation, values } = this;
    this.running.set(w.key, control);
    try {
      const answer = await ask(this.params(w, from, from + span, columns), control.signal);
      this.took.push(performance.now() - began);
      if (this.took.length > 500) this.took.shift();
      this.keep({ ...this.made(w, from, columns, answer), generation, values });
      this.failed = null;
    } catch (e) {
      if (control.signal.aborted) return;
      this.failed = e as Error;
      if (e instanceof Cancelled) this.unwanted.add(w.key);
      this.changed();
      await new Promise((again) => setTimeout(again, RETRY_MS));
      if (control.signal.aborted) return;
    }
    if (this.running.get(w.key) === control) this.running.delete(w.key);
    this.next();
    this.changed();
  }

  private made(w: Wanted, from: number, columns: number, answer: Answer): Omit<Tile, "generation" | "values"> {
    const colours = answer.colors.map((c) => this.palette.number(c)), lanes = new Map<string, Lane>(), rest = new Map<string, Lane>();
    const slots = new Map(w.nodes.map((n, i) => [n.id, i])), ids = answer.lanes.map((told) => idOf(told.keys));
    answer.lanes.forEach((told, i) => {
      const id = ids[i] as string, slot = slots.get(id);
      if (slot === undefined) return;
      lanes.set(id, laneOf(told.cells, told.before, id, slot, colours));
      if (told.rest) rest.set(id, laneOf(told.rest, 0, id, slot, colours));
    });
    const span = COLUMNS * 2 ** w.k, boxes = boxesOf(answer, from, span / columns, ids, colours), complete = answer.slices_complete === true;
    return { key: w.key, level: w.k, from, to: from + span, columns, step: span / columns, lanes, rest, boxes, complete, image: null, painted: -1, bytes: 0,
      used: ++this.clockwork };
  }

  private keep(tile: Tile): void {
    tile.bytes = sizeOf(tile);
    this.bytes += tile.bytes - (this.kept.get(tile.key)?.bytes ?? 0);
    this.kept.set(tile.key, tile);
    if (this.bytes <= MOST_BYTES) return;
    for (const old of [...this.kept.values()].sort((a, b) => a.used - b.used)) {
      if (this.bytes <= MOST_BYTES * 0.8 || old === tile) break;
      this.bytes -= old.bytes;
      this.kept.delete(old.key);
    }
  }

  /** The index has changed: what is there stays until it has come anew. */
  renew(tree: Tree, whole: number): void {
    this.stop();
    this.tree = tree;
    this.whole = whole;
    this.generation++;
  }

  /** Other values have colours: as with a new index, tiles that have others stay until theirs have come. */
  recolour(values: string): void {
    if (values === this.values) return;
    this.stop();
    this.values = values;
  }

  stop(): void {
    for (const control of this.running.values()) control.abort();
    this.running.clear();
    this.wanted = [];
    this.unwanted.clear();
  }
}
