// What the timeline is about: answers of /timeline, the tree of lanes, time as nanoseconds from the origin.
import { getJson, type Params } from "../api";
import { equals, label, literal } from "../format";
import type { Track } from "./counters";

/** Of slots that are not empty: objects that begin there, busy microseconds, number of the colour; how many slots from there on are alike,
 *  where some are. */
export interface Cells {
  slot: number[];
  count: number[];
  busy: number[];
  color: number[];
  slots?: number[];
}
export type Key = string | number | bigint | boolean | null;
/** Of one depth; start: microseconds from the window's start on, others: shorter ones there. */
export interface Slices {
  slot: number[];
  start: number[];
  dur: number[];
  color: number[];
  name: number[];
  file: number[];
  object: number[];
  others: number[];
}
/** A value of the column that gives the colour; or many: numbers from it to before `below` (null: all before, all behind), or so many
 *  `others` (null: nobody has counted). */
export interface Color {
  value: Key;
  below?: number | null;
  others?: number | null;
}
export const isOthers = (c: Color): boolean => c.others !== undefined;
export interface Answer {
  generation: number;
  complete: boolean;
  from: number | null;
  to: number | null;
  count: number;
  busy: number;
  untimed: number;
  colors: (Color & { count: number; busy: number })[];
  lanes_total: number;
  lanes: { keys: Key[]; count: number; before: number; busy: number; cells: Cells; rest?: Cells; slices?: Slices[] }[];
  slices_complete?: boolean;
  slice_names?: [string | null, string | null][];
  slice_files?: string[];
  events_complete: boolean;
  events: Told[];
}
export interface Told {
  lane: number;
  color: number;
  ts: number;
  dur: number | null;
  name: string | null;
  cat: string | null;
  file: string;
  object: number;
}

/** A line of the tree: all objects whose first columns have these values. */
export interface Node {
  id: string;
  level: number;
  keys: Key[];
  title: string;
  count: number;
  busy: number;
  children: Node[];
  /** Of all nodes of its level. */
  position: number;
  /** Of counters, not of objects; null: a title for some. */
  track?: Track | null;
}
export interface Tree {
  layout: string[][];
  roots: Node[];
  levels: Node[][];
  truncated: number;
}

export const idOf = (keys: readonly Key[]): string => JSON.stringify(keys, (_, key) => (typeof key === "bigint" ? [String(key)] : key as unknown));
export const columnsOf = (layout: string[][], level: number): string[] => layout.slice(0, level + 1).flat();

function titleOf(columns: string[], keys: Key[]): string {
  if (columns.length === 2) return keys[0] == null ? `process ${label(keys[1], 60)}` : `rank ${label(keys[0], 20)} · ${label(keys[1], 40)}`;
  const column = columns[0] as string;
  if (keys[0] == null) return `no ${column}`;
  return column === "tid" ? `thread ${label(keys[0], 60)}` : label(keys[0], 80);
}

/** The tree of what an answer with all columns has for lanes. */
export function treeOf(layout: string[][], answer: Answer): Tree {
  const levels: Node[][] = layout.map(() => []);
  const known = new Map<string, Node>();
  const roots: Node[] = [];
  for (const lane of answer.lanes) {
    let parent: Node | null = null, taken = 0;
    layout.forEach((columns, level) => {
      const keys = lane.keys.slice(0, taken + columns.length), id = idOf(keys);
      let node = known.get(id);
      if (!node) {
        node = { id, level, keys, title: titleOf(columns, keys.slice(taken)), count: 0, busy: 0, children: [], position: (levels[level] as Node[]).length };
        known.set(id, node);
        (levels[level] as Node[]).push(node);
        (parent ? parent.children : roots).push(node);
      }
      node.count += lane.count;
      node.busy += lane.busy;
      taken += columns.length;
      parent = node;
    });
  }
  return { layout, roots, levels, truncated: answer.lanes_total - answer.lanes.length };
}

/** What a question about these nodes, all of one level, adds to the query; it may choose others of their level, too: of two hosts those
 *  with the same processes. Values that are there once are said once. */
export function filterOf(tree: Tree, nodes: readonly Node[]): string {
  const columns = columnsOf(tree.layout, nodes[0]?.level ?? 0);
  if (nodes.length === 1) return columns.map((c, i) => equals(c, nodes[0]?.keys[i])).join(" and ");
  const parts: string[] = [];
  columns.forEach((column, i) => {
    const values = [...new Set(nodes.map((n) => n.keys[i]))];
    const some = values.filter((v) => v != null).map(literal);
    const told = some.length ? [some.length === 1 ? `${column} == ${some[0]}` : `${column} in [${some.join(", ")}]`] : [];
    if (some.length < values.length) told.push(`${column} is null`);
    parts.push(told.length > 1 ? `(${told.join(" or ")})` : told.join(""));
  });
  return parts.join(" and ");
}

/** The same, and no others: where need be, one column after the other is told by each of its values. */
export function exactFilterOf(tree: Tree, nodes: readonly Node[], column = 0): string {
  const all = tree.levels[nodes[0]?.level ?? 0] ?? [], chosen = new Set(nodes.map((n) => n.id)), values = nodes[0]?.keys.map((_, i) => new Set(nodes.map((n) => idOf([n.keys[i] as Key])))) ?? [];
  if (all.every((n) => chosen.has(n.id) || n.keys.some((k, i) => !values[i]?.has(idOf([k]))))) return filterOf(tree, nodes);
  const parts = new Map<string, Node[]>();
  for (const n of nodes) {
    const id = idOf([n.keys[column] as Key]);
    parts.set(id, [...(parts.get(id) ?? []), n]);
  }
  const told = [...parts.values()].map((part) => exactFilterOf(tree, part, column + 1));
  return told.length > 1 ? told.map((t) => `(${t})`).join(" or ") : told[0] ?? "";
}

/** A row of the screen. */
export interface Row {
  node: Node;
  /** Only the title of what stands below it. */
  head: boolean;
  depth: number;
  y: number;
  height: number;
}
/** Whether objects are in it. */
export const isLane = (row: Row): boolean => !row.head && row.node.track === undefined;
const TRACK_HEIGHT = 40;

/** A node with one child only is shown as that child. */
function shownAs(node: Node): Node {
  let n = node;
  while (n.children.length === 1 && n.level > 0) n = n.children[0] as Node;
  return n;
}

/** `heads`: what stands below a root besides its lanes. */
export function rowsOf(roots: readonly Node[], closed: ReadonlySet<string>, heightOf: (lane: Node) => number, headHeight: number, heads: (root: Node) => Node[]): Row[] {
  const rows: Row[] = [];
  let y = 0;
  const add = (node: Node, depth: number): void => {
    const shown = shownAs(node), open = shown.children.length > 0 && !closed.has(node.id);
    const height = open || node.track === null ? headHeight : node.track ? TRACK_HEIGHT : heightOf(node);
    const title = shown === node ? shown : { ...shown, title: node.title };
    rows.push({ node: open ? node : shown.children.length ? node : title, head: open, depth, y, height });
    y += height;
    if (open) for (const child of shown.children) add(child, depth + 1);
  };
  for (const root of roots) {
    add(root, 0);
    if (!closed.has(root.id)) for (const head of heads(root)) add(head, 1);
  }
  return rows;
}

/** Origins are multiples of so many microseconds, which are 2^40 ns times 125: so tiles, of powers of two of nanoseconds from the origin on,
 *  begin at multiples of their columns, as the daemon's densities of chunks do. */
const GRID = 2 ** 37;

/** Times: microseconds since 1970 are too large to tell nanoseconds apart, so all is kept from an origin on. */
export class Clock {
  readonly origin: number;
  constructor(from: number) {
    this.origin = Math.floor(from / GRID) * GRID;
  }
  /** Nanoseconds from the origin on. */
  ns(us: number): number {
    return (us - this.origin) * 1000;
  }
  us(ns: number): number {
    return this.origin + ns / 1000;
  }
  /** In whole nanoseconds, the end not within; one at least. */
  private ends(from: number, to: number): [number, number] {
    return [Math.floor(from), Math.max(Math.ceil(to), Math.floor(from) + 1)];
  }
  /** The microseconds in which range(from, to) begins and ends: by whole nanoseconds, which are exact where sums with the origin are not. */
  whole(from: number, to: number): [number, number] {
    const [first, end] = this.ends(from, to);
    return [this.origin + Math.floor(first / 1000), this.origin + Math.floor((end - 1) / 1000)];
  }
  /** `time_range` from one to before the other, to the nanosecond. */
  range(from: number, to: number): string {
    const origin = BigInt(this.origin) * 1000n, [first, end] = this.ends(from, to);
    return `${origin + BigInt(first)}ns,${origin + BigInt(end) - 1n}ns`;
  }
}

export const ask = (params: Params, signal?: AbortSignal): Promise<Answer> => getJson<Answer>("/timeline", params, signal);
