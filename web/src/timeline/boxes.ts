// Single events as boxes: which of the loaded ones stand in a row, and how deep in each other.
import type { Box, Tile } from "./tiles";

export interface Placed extends Box {
  depth: number;
}
export interface RowBoxes {
  boxes: Placed[];
  levels: number;
  /** No event of the row is left out. */
  complete: boolean;
}

const sorted = new WeakMap<Tile, Map<string, Box[]>>();
/** A tile's boxes of a row. */
function boxesOf(tile: Tile, node: string): Box[] {
  let rows = sorted.get(tile);
  if (!rows) {
    sorted.set(tile, (rows = new Map()));
    for (const box of tile.boxes) {
      const row = rows.get(box.node);
      if (row) row.push(box);
      else rows.set(box.node, [box]);
    }
  }
  return rows.get(node) ?? [];
}

/** Each event once, by start, the longer first: what contains another comes before it. */
function inOrder(tiles: readonly Tile[], node: string): Box[] {
  const seen = new Set<string>(), boxes: Box[] = [];
  for (const tile of tiles) {
    for (const box of boxesOf(tile, node)) {
      const id = `${box.object} ${box.file}`;
      if (seen.has(id)) continue;
      seen.add(id);
      boxes.push(box);
    }
  }
  return boxes.sort((a, b) => a.start - b.start || b.end - a.end || a.object - b.object);
}

/** An event stands below the last one that is not over when it begins. */
export function place(tiles: readonly Tile[], node: string): RowBoxes {
  const open: Box[] = [], boxes: Placed[] = [];
  let levels = 0;
  for (const box of inOrder(tiles, node)) {
    let last = open[open.length - 1];
    while (last && (last.end <= box.start && !(last.start === box.start && last.end === box.end))) {
      open.pop();
      last = open[open.length - 1];
    }
    boxes.push({ ...box, depth: open.length });
    if (box.end > box.start) open.push(box);
    levels = Math.max(levels, open.length, 1);
  }
  return { boxes, levels, complete: tiles.length > 0 && tiles.every((t) => t.complete) };
}

/** Stretches of a row in which nothing runs, by the columns of its tiles: each is at least so long. */
export interface Gap {
  node: string;
  title: string;
  start: number;
  end: number;
  /** How long the columns beside it are: in these are the last event before and the next one. */
  before: number;
  after: number;
}
export function gapsOf(tiles: readonly Tile[], node: string, title: string, from: number, to: number): Gap[] {
  const gaps: Gap[] = [];
  let last = -1, before = 0;
  for (const tile of tiles) {
    const lane = tile.lanes.get(node);
    if (!lane) continue;
    for (const column of lane.columns) {
      const start = tile.from + column * tile.step;
      if (start + tile.step <= from || start >= to) continue;
      if (last >= 0 && start > last) gaps.push({ node, title, start: last, end: start, before, after: tile.step });
      last = start + tile.step;
      before = tile.step;
    }
  }
  return gaps;
}
