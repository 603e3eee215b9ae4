// Long times in which a lane has nothing: one after the other, and how long each is exactly.
import { getJson, type Params } from "../api";
import { both } from "../format";
import type { Gap } from "./boxes";
import { filterOf, isLane, type Node } from "./model";
import type { Stage } from "./stage";

/** A gap that is chosen. */
export interface ChosenGap extends Gap {
  /** Where it was looked for. */
  window: Stage["window"];
  /** Its edges are those of events, not of columns. */
  exact: boolean;
}

interface Edge { te: number | null; ts: number | null }

/** Of a lane's events in a stretch of time. */
async function edge(stage: Stage, node: Node, agg: string, from: number, to: number, more: Params): Promise<Edge | undefined> {
  const query = both(String(stage.base["query"] ?? ""), filterOf(stage.tree, [node]));
  const params = { ...stage.base, query, group_by: "", agg, time_interval: 0, format: "json", time_range: stage.clock.range(from, to), ...more };
  return (await getJson<{ rows: Edge[] }>("/aggregate", params)).rows[0];
}

/** From the end of the last event before to the begin of the next: the columns beside it have both. Null where they do not. */
async function edges(stage: Stage, gap: Gap, node: Node): Promise<{ from: number; to: number } | null> {
  const [last, next] = await Promise.all([edge(stage, node, "te=max:te,ts=max:ts", gap.start - gap.before, gap.start, { time: "overlap" }), edge(stage, node, "te=min:te,ts=min:ts", gap.end, gap.end + gap.after, {})]);
  if (last?.ts == null || next?.ts == null) return null;
  const from = stage.clock.ns(Math.max(last.ts, last.te ?? last.ts)), to = stage.clock.ns(next.ts);
  return from > gap.start - gap.before - 1000 && from <= gap.start && to >= gap.end && to < gap.end + gap.after ? { from, to } : null;
}

/** Whether a gap comes after what is chosen; of those that begin together, as where all ranks wait, one lane after the other. Once the window
 *  has changed, what was chosen before is no place to go on from. */
function isNext(stage: Stage, g: Gap, row: number): boolean {
  const { area, window: w } = stage, chosen = area?.gap;
  if (!area || (chosen ? chosen.window !== w : area.from < w.from || area.from >= w.to)) return true;
  if (chosen && g.node === chosen.node && g.start < chosen.end && g.end > chosen.start) return false;
  const from = chosen?.start ?? area.from;
  return g.start > from || (g.start === from && row > area.first);
}

/** The next stretch in which a lane that is on screen has nothing for long becomes what is chosen. */
export function nextGap(stage: Stage, changed: () => void): void {
  const { window } = stage, span = window.to - window.from;
  stage.gaps = true;
  const rows = new Map(stage.rows.flatMap((r, i) => (isLane(r) ? [[r.node.id, i]] : []))), rowOf = (g: Gap) => rows.get(g.node) ?? -1;
  const gap = stage.gapsShown().filter((g) => g.end - g.start >= span / 100).sort((a, b) => a.start - b.start || rowOf(a) - rowOf(b)).find((g) => isNext(stage, g, rowOf(g)));
  const first = gap ? rowOf(gap) : 0, node = stage.rows[first]?.node;
  const area = gap ? { from: gap.start, to: gap.end, first, last: first, gap: { ...gap, window, exact: false } } : null;
  stage.area = area;
  stage.redraw();
  changed();
  if (!area || !node) return;
  edges(stage, area.gap, node).then((found) => {
    if (!found || stage.area !== area) return;
    stage.area = { ...area, ...found, gap: { ...area.gap, exact: true } };
    stage.redraw();
    changed();
  }, () => undefined); // then it is told as columns have it
}
