// What the timeline asks for: lanes once for each selection, and what a window has.
import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isAbort, type Params } from "../api";
import { everything, stamp } from "../live";
import { shown } from "../shown";
import { extra, quietly, selection, selectionParams } from "../state";
import { findTracks } from "./counters";
import { better, keptOf } from "./kept";
import { ALONE, COLOR, colored, lanesParams, LAYOUT, layoutOf } from "./lanes";
import { ask, type Answer } from "./model";
import { Stage } from "./stage";

export const lanes = extra("lanes", LAYOUT);
/** Empty: by category, or by name where there is but one category. */
export const color = extra("color", "");
export const at = extra("at", "");
export const picked = extra("event", "");

const hasCounters = (): boolean => {
  const t = everything.value.data?.totals;
  return !t || t.counters + t.aggregated > 0;
};

/** What is asked, besides the window. Counters are tracks; where there are none, all that is there is events. */
function baseParams(): Params {
  return { ...selectionParams({ ...selection.value, from: null, to: null }), phase: hasCounters() ? "events" : undefined };
}

/** Of everything together, in a window if the parameters have one. */
const askColours = (params: Params, signal: AbortSignal): Promise<Answer> => ask({ ...params, group_by: "", width: 1, events: 0 }, signal);

/** All lanes, and by what they are coloured: `known`, where they were asked for before. There are many lanes, so of those of one category only
 *  the colours are asked for once more. */
async function askLanes(base: Params, known: string, signal: AbortSignal): Promise<{ first: Answer; by: string }> {
  const by = known || color.peek() || COLOR, first = await ask(lanesParams(base, lanes.peek(), by), signal);
  if (known || color.peek() || first.colors.length !== 1) return { first, by };
  const { colors } = await askColours({ ...base, ...colored(ALONE) }, signal);
  return { first: { ...first, colors }, by: ALONE };
}

interface Told { stage: Stage | null; error: Error | null; first: Answer | null }

/** The lanes of everything, once for each selection; and again when the index changes. */
export function useStage(): Told {
  const [state, set] = useState<Told>({ stage: null, error: null, first: null });
  const key = JSON.stringify([baseParams(), lanes.value, color.value]), kept = useRef({ key: "", stage: null as Stage | null });
  useLayoutEffect(() => {
    const control = new AbortController(), base = baseParams(), layout = layoutOf(lanes.value), old = kept.current.stage, same = kept.current.key === key && old?.timed ? old : null;
    askLanes(base, same?.color ?? "", control.signal).then(async ({ first, by }) => {
      const found = await findTracks(base, first.from, hasCounters(), control.signal);
      if (same && same.clock.origin === found.clock.origin) { // else days have come before what was the first
        same.renew(first, found);
        set({ stage: same, error: null, first });
        return;
      }
      old?.stop();
      const stage = new Stage(layout, first, found, base, by);
      keepWindow(stage, old);
      kept.current = { key, stage };
      set({ stage, error: null, first });
    }).catch((error) => { if (!isAbort(error)) set((s) => ({ ...s, error: error as Error })); });
    return () => control.abort();
  }, [key, stamp.value]);
  useEffect(() => () => kept.current.stage?.stop(), []);
  return state;
}

/** What of `at` the stage knows: it wrote it, or was shown that. */
let shownAt = "";

/** The window goes where the address says when something else has changed it: who goes back in the browser's history, or follows a link. */
export function useAddress(stage: Stage): void {
  useEffect(() => effect(() => {
    const text = at.value, [from, to] = text.split(",").map(Number);
    if (text === shownAt) return;
    shownAt = text;
    if (text && Number.isFinite(from) && Number.isFinite(to)) stage.show(stage.clock.ns(from as number), stage.clock.ns(to as number));
    else stage.fit();
  }), [stage]);
}

/** The window of the stage before if it left something out, of the address, of the selection, else all; where nothing is, all. */
function keepWindow(stage: Stage, old: Stage | null): void {
  const [from, to] = at.peek().split(",").map(Number), s = selection.peek();
  const wanted = old && !old.all && old.base["time_range"] === stage.base["time_range"] ? [old.clock.us(old.window.from), old.clock.us(old.window.to)] : at.peek() ? [from, to] : [s.from ?? NaN, s.to == null ? NaN : s.to + 1]; // with its last microsecond
  const [first, last] = wanted.map((us) => stage.clock.ns(us as number)) as [number, number];
  if (first <= stage.whole.to && last >= stage.whole.from) stage.show(first, last);
  else stage.fit();
  shownAt = at.peek();
}

/** What a window has. Where most of it would be one colour, other values get colours of their own. */
async function askFacts(stage: Stage, range: Params, signal: AbortSignal): Promise<Answer> {
  const told = await askColours({ ...range, ...stage.coloured }, signal);
  if (!better.wanted(told)) return told;
  const other = await askColours({ ...range, ...colored(stage.color) }, signal);
  if (!better.is(other, told)) return told;
  stage.keep(keptOf(other, true));
  return other;
}

/** What the window has, exactly: of all, what the lanes came with; else requested once it stands still. Not `current`: that is of a window before. */
export function useFacts(stage: Stage, first: Answer): { facts: Answer | null; current: boolean } {
  void stage.moved.value;
  const { from, to } = stage.window, whole = stage.all, told = whole && !first.untimed && !stage.base["time_range"];
  const [{ facts, of }, setFacts] = useState<{ facts: Answer | null; of: string }>({ facts: null, of: "" });
  const key = `${from},${to}`, set = (facts: Answer | null) => setFacts({ facts, of: key });
  useEffect(() => {
    if (told) { set(first); stage.keep(keptOf(first)); }
    const control = new AbortController(), range = { ...stage.base, time_range: stage.clock.range(from, to) };
    const timer = setTimeout(() => {
      shown.value = { path: "/timeline", params: { ...range, ...colored(stage.color), group_by: stage.columns().join(",") } };
      shownAt = whole ? "" : `${stage.clock.us(from)},${stage.clock.us(to)}`;
      quietly(() => { at.value = shownAt; });
      if (!told) askFacts(stage, range, control.signal).then(set, (e) => { if (!isAbort(e)) set(null); });
    }, 200);
    return () => { clearTimeout(timer); control.abort(); };
  }, [stage, told && first, `${key}.${stamp.value}`]);
  return told ? { facts: first, current: true } : { facts, current: of === key };
}
