// Single events as boxes: which of the loaded ones a row has.
import type { Box } from "./slices";
import type { Tile } from "./tiles";

export interface RowBoxes {
  /** By start, the longer first. */
  boxes: Box[];
  levels: number;
  /** Each event of the row is a box or one of the others of a box. */
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

/** Each event once: what reaches into two tiles is in both; and a coarser tile may lie over finer ones. */
export function place(tiles: readonly Tile[], node: string): RowBoxes {
  const seen = new Set<string>(), boxes: Box[] = [], over = tiles.some((t, i) => t.from < (tiles[i - 1]?.to ?? t.from));
  let levels = 0;
  for (const tile of tiles) {
    for (const box of boxesOf(tile, node)) {
      if (over || box.start < tile.from || box.end >= tile.to) {
        const id = `${box.object} ${box.file}`;
        if (seen.has(id)) continue;
        seen.add(id);
      }
      boxes.push(box);
      levels = Math.max(levels, box.depth + 1);
    }
  }
  boxes.sort((a, b) => a.start - b.start || b.end - a.end || a.depth - b.depth);
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
