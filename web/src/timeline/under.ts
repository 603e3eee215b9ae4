// What is under the pointer.
import type { Placed } from "./boxes";
import type { Point } from "./counters";
import * as draw from "./draw";
import type { Row } from "./model";
import type { Stage } from "./stage";

export interface Under {
  row: Row;
  ns: number;
  box: Placed | null;
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

/** What is narrow is hit from beside it, too. */
function boxAt(stage: Stage, s: draw.Scene, row: Row, ns: number, y: number): Placed | null {
  const all = stage.boxesOf(row), slack = (3 / (s.width - s.gutter)) * (s.to - s.from);
  let box: Placed | null = null;
  for (const b of all.boxes) {
    if (b.start - slack > ns) break;
    const look = draw.lookOf(s, row, all, b), wide = draw.xOf(s, b.end) - draw.xOf(s, b.start) >= 1.5, end = Math.max(b.end, b.start + slack);
    if (ns >= b.start && ns <= end && y >= look.y && y <= look.y + look.height && (wide || all.complete)) box = b;
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
