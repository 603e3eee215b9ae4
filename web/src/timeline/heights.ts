// How high lanes are.
import { MOST_BELOW } from "./draw";
import type { Node, Tree } from "./model";

/** Of what only stands above others. */
export const HEAD = 20;
/** Names fit into a level of calls. */
const LEAST_LANE = 16, MOST_LANE = 112, LEVEL = 15;
/** Fewer lanes than there is room for are no higher than that, unless calls stand in each other. */
const PLAIN_LANE = 72;

/** `room`: pixels; `span`: the microseconds that there are; `chosen`: the height of all lanes, 0: as it fits. */
export function heights({ levels, roots }: Tree, room: number, span: number, chosen: number): (lane: Node) => number {
  const lanes = levels.at(-1)?.length ?? 0, least = Math.max(LEAST_LANE, Math.min(PLAIN_LANE, Math.floor((room - HEAD * roots.length) / Math.max(1, lanes))));
  // Calls stand in each other as deep as they are busy together for longer than the time there is, or one deeper where some take little.
  const deep = (lane: Node) => 3 + LEVEL * (Math.ceil(lane.busy / span) + 1) + MOST_BELOW;
  return (lane) => chosen || Math.max(least, lane.busy > span ? Math.min(MOST_LANE, deep(lane)) : 0);
}
