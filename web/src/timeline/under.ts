// What is under the pointer.
import type { Point } from "./counters";
import * as draw from "./draw";
import type { Row } from "./model";
import type { Box } from "./slices";
import type { Stage } from "./stage";

export interface Under {
  row: Row;
  ns: number;
  box: Box | null;
  cell: { from: number; to: number; count: number; busy: number; colour: number } | null;
  /** Of a track: its last value before. */
  point: Point | null;
}

export function under(stage: Stage, x: number, y: number): Under | null {
  const s = stage.shown, row = stage.rowAt(y);
  if (!s || !row || row.head || row.node.track === null || x < s.gutter || y < draw.RULER) return null;
  const ns = draw.nsOf(s, x);
  if (row.node.track) return { row, ns, box: null, cell: null, point: stage.pointsOf(row).filter((p) => p.at <= ns).pop() ?? null };
  return { row, ns, box: boxAt(stage, s, row, ns, y), cell: cellAt(stage, row, ns), point: null };
}

/** What is narrow is hit from beside it, too; of several the nearest, then the longest. */
function boxAt(stage: Stage, s: draw.Scene, row: Row, ns: number, y: number): Box | null {
  const all = stage.boxesOf(row), pixel = (s.to - s.from) / (s.width - s.gutter), slack = 3 * pixel;
  const away = (b: Box) => Math.floor(Math.max(0, b.start - ns, ns - b.end) / pixel);
  let box: Box | null = null;
  for (const b of all.boxes) {
    if (b.start - slack > ns) break;
    if (b.end + slack < ns) continue;
    const look = draw.lookOf(s, row, all, b);
    if (y < look.y || y > look.y + look.height) continue;
    const nearer = box ? away(box) - away(b) : 1;
    if (nearer > 0 || (nearer === 0 && b.end - b.start >= (box as Box).end - (box as Box).start)) box = b;
  }
  return box;
}

function cellAt(stage: Stage, row: Row, ns: number): Under["cell"] {
  const tile = stage.tilesOf(row).find((t) => ns >= t.from && ns < t.to), lane = tile?.lanes.get(row.node.id);
  if (!tile || !lane) return null;
  const column = Math.floor((ns - tile.from) / tile.step), from = tile.from + column * tile.step, at = lane.columns.indexOf(column);
  if (at < 0) return { from, to: from + tile.step, count: 0, busy: 0, colour: 0 };
  return { from, to: from + tile.step, count: lane.counts[at] as number, busy: lane.busy[at] as number, colour: lane.colours[at] as number };
}
