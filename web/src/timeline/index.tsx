// The timeline: lanes over time, of any number of events.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { both, count, exact, label, many, time } from "../format";
import { markText } from "../marks";
import { stamp } from "../live";
import { columnNames } from "../query/columns";
import { extra, selection, setSelection } from "../state";
import { dark } from "../theme";
import { Failure, TextField } from "../ui";
import { listen } from "./input";
import { nextGap, type ChosenGap } from "./gaps";
import { arrange, useArranged } from "./arranged";
import { color, lanes, picked, useAddress, useFacts, useStage } from "./asked";
import type { Point, Track } from "./counters";
import { LANES_MOST, LAYOUT, LAYOUTS } from "./lanes";
import { ask, exactFilterOf, idOf, isLane, isOthers, type Answer, type Color, type Node } from "./model";
import { byTime, colorName, colorQuery } from "./palette";
import { EventPanel, type Place } from "./panel";
import { Search, type Match } from "./search";
import type { Stage } from "./stage";
import type { Under } from "./under";
import "./timeline.css";

// ---- around the canvas ----

function Legend({ stage, facts }: { stage: Stage; facts: Answer | null }) {
  const told = byTime(facts?.colors ?? []), listed = told.filter((c, i) => i < 24 || isOthers(c));
  const only = (c: Color) => setSelection({ query: both(selection.value.query, colorQuery(stage.color, c)) });
  return (
    <ul class="legend" aria-label={`Colours: ${stage.color}`}>
      {listed.map((c) => (
        <li key={idOf([c.value, c.below ?? null, c.others ?? null])}>
          <button class="quiet" onClick={() => only(c)} disabled={isOthers(c)} title={`${many(c.count, "event")}, ${exact(c.busy)} µs in this window. ${isOthers(c) ? "Only the more frequent values have their own colour" : "Click to filter"}`}>
            <i style={{ background: stage.palette.text(stage.palette.number(c)) }} />{colorName(stage.color, c)} <small>{count(c.count)}</small>
          </button>
        </li>
      ))}
      {told.length > listed.length && <li><small>and {told.length - listed.length} more</small></li>}
    </ul>
  );
}

/** How many of a window's events began before it. */
const beforeOf = (facts: Answer | null): number => facts?.lanes.reduce((n, lane) => n + lane.before, 0) ?? 0;

function Status({ stage, facts, first }: { stage: Stage; facts: Answer | null; first: Answer }) {
  void stage.loaded.value;
  const { whole, all, window: w } = stage, failed = stage.tiles.failed, before = beforeOf(facts);
  const span = time((Math.min(w.to, whole.to) - Math.max(w.from, whole.from)) / 1000);
  return (
    <p class="timeline-status" role="status" aria-live="polite">
      <b data-fact="count" title={facts ? exact(facts.count) : ""}>{facts ? exact(facts.count) : "…"}</b> {facts?.count === 1 ? "event" : "events"} in <b>{span}</b>
      {before > 0 && <> ({exact(before)} started earlier)</>}
      {!all && <> of <span title={`${exact(first.count)} events`}>{count(first.count)} in {time((whole.to - whole.from) / 1000)}</span></>},
      {" "}{many(first.lanes_total, "lane")}
      {first.untimed > 0 && <>, {exact(first.untimed)} without a time not shown</>}
      {stage.tree.truncated > 0 && <strong>, only the first {exact(LANES_MOST)} lanes are listed: filter, or set the lanes to processes or hosts</strong>}
      {!first.complete && <>, still indexing</>}
      {stage.cut && <>, only the counters with the most values are shown</>}
      {failed && <strong class="bad"> {failed.message}</strong>}
    </p>
  );
}

const HEIGHTS = { auto: 0, small: 14, medium: 24, large: 112 };
const height = extra("height", "auto");

function Toolbar({ stage, onMatch, onGap, onHelp }: { stage: Stage; onMatch: (m: Match) => void; onGap: () => void; onHelp: () => void }) {
  useEffect(() => stage.setHeight(HEIGHTS[height.value as keyof typeof HEIGHTS] ?? 0), [stage, height.value]);
  const custom = !(lanes.value in LAYOUTS), [entered, setEntered] = useState(false);
  return (
    <div class="timeline-bar">
      <label>Lanes <select aria-label="Lanes" value={custom ? "custom" : lanes.value}
        onChange={(e) => { const v = e.currentTarget.value; lanes.value = v === "custom" ? "host,cat" : v; }}>
        {Object.keys(LAYOUTS).map((l) => <option key={l} value={l}>{l}</option>)}<option value="custom">custom columns…</option>
      </select></label>
      {custom && <TextField aria-label="Columns for the lanes" value={lanes.value} size={16} onDone={(text) => { lanes.value = text || "threads"; }} />}
      <label>Colour by <TextField aria-label="Column for the colour" list="timeline-columns" value={color.value || stage.color} size={10} onFocus={() => setEntered(true)}
        onDone={(text) => { color.value = text; }} /></label>
      <Columns wanted={entered} />
      <label>Height <select aria-label="Height of lanes" value={height.value} onChange={(e) => { height.value = e.currentTarget.value; }}>
        {Object.keys(HEIGHTS).map((h) => <option key={h}>{h}</option>)}
      </select></label>
      <Search base={stage.base} onMatch={onMatch} from={() => stage.clock.us((stage.window.from + stage.window.to) / 2)} />
      <span class="timeline-zoom">
        <button aria-label="Zoom out" title="Zoom out (S or -)" onClick={() => stage.zoom(1.6)}>−</button>
        <button aria-label="Zoom in" title="Zoom in (W or +)" onClick={() => stage.zoom(1 / 1.6)}>+</button>
        <button title="Show everything (0)" onClick={() => stage.fit()}>Fit</button>
        <button title="Select the next long gap, in which a lane has no events (g)" onClick={onGap}>Next gap</button>
        <button title="Keyboard shortcuts (?)" aria-label="Keyboard shortcuts" onClick={onHelp}>?</button>
      </span>
    </div>
  );
}

/** Asked for when the box that they complete is entered. */
function Columns({ wanted }: { wanted: boolean }) {
  const [names, set] = useState<string[]>(["cat", "name", "host", "rank", "pid", "tid", "file"]);
  useEffect(() => { if (wanted) void columnNames().then(set); }, [wanted, stamp.value]);
  return <datalist id="timeline-columns">{names.map((n) => <option key={n} value={n} />)}</datalist>;
}

function Value({ track, point: p }: { track: Track; point: Point | null }) {
  if (!p) return <div class="soft">no value yet</div>;
  return (
    <div><span>{track.column}</span> <b data-fact="counter">{exact(p.mean)}</b>
      {p.most > p.least && <div class="soft">mean of several values: {exact(p.least)} to {exact(p.most)}</div>}</div>
  );
}

function Tooltip({ stage, under, x, y }: { stage: Stage; under: Under; x: number; y: number }) {
  const { box, cell } = under, right = x > (stage.shown?.width ?? 0) * 0.65;
  return (
    <div class="timeline-tip" style={{ top: `${y + 14}px`, ...(right ? { right: `${(stage.shown?.width ?? 0) - x + 12}px` } : { left: `${x + 12}px` }) }}>
      {box ? <>
        <b>{label(box.name, 80)}</b> <span>{label(box.cat, 40)}</span>
        <div>{box.dur ? time(box.dur) : "instant"} at {markText(Math.round(box.start - stage.zero), 1000)}</div>
        {box.others > 0 && <div class="soft">and {many(box.others, "shorter event")} here: zoom in</div>}
      </> : <b>{under.row.node.title}</b>}
      {under.row.node.track && <Value track={under.row.node.track} point={under.point} />}
      {cell && <div class="soft">{many(cell.count, "event")} {cell.count === 1 ? "starts" : "start"} within {time((cell.to - cell.from) / 1000)}, busy {time(cell.busy)}
        {cell.count + cell.busy > 0 && <>, mostly {colorName(stage.color, stage.palette.colors[cell.colour] ?? { value: null })}</>}
        {cell.count + cell.busy > 0 && !stage.boxesOf(under.row).complete && <div>too many events to draw each one: zoom in</div>}</div>}
    </div>
  );
}

const KEYS: [string, string][] = [
  ["W / S, + / −, Ctrl + wheel", "zoom"], ["A / D, ← / →, Shift + wheel, Shift + drag", "move in time"], ["↑ / ↓", "previous, next lane"],
  ["Enter", "expand or collapse the group; in a lane: select its longest visible event"], ["Drag", "select time and lanes; on the ruler: time"],
  ["/", "search"], ["n / p", "next, previous match"], ["] / [", "next, previous event of the thread"], ["g", "next long gap"],
  ["z", "zoom to selection"], ["x", "filter to selection"], ["0", "show everything"], ["Esc", "clear selection"],
];

function Help({ onClose }: { onClose: () => void }) {
  return (
    <div class="timeline-help" role="dialog" aria-label="Keyboard shortcuts">
      <button class="quiet" aria-label="Close" onClick={onClose}>✕</button>
      <dl>{KEYS.map(([k, what]) => <><dt>{k}</dt><dd>{what}</dd></>)}</dl>
    </div>
  );
}

// ---- what is chosen ----

/** The lanes of an area; where it has titles of groups only, these groups. Counters are none. */
function nodesIn(stage: Stage): Node[] {
  const a = stage.area, rows = a ? stage.rows.slice(a.first, a.last + 1) : [], lanes = rows.filter(isLane);
  return (lanes.length ? lanes : rows.filter((r) => r.node.track === undefined)).map((r) => r.node);
}

/** null: all lanes. */
function queryOf(stage: Stage): string {
  const nodes = nodesIn(stage), lanes = stage.rows.filter(isLane);
  if (!nodes.length || (nodes.length === lanes.length && nodes[0] === lanes[0]?.node)) return "";
  const levels = [...new Set(nodes.map((n) => n.level))];
  const told = levels.map((l) => exactFilterOf(stage.tree, nodes.filter((n) => n.level === l)));
  return told.length > 1 ? told.map((t) => `(${t})`).join(" or ") : told[0] ?? "";
}

function useChoice(stage: Stage): { area: Stage["area"]; version: number; changed: () => void } {
  const [version, set] = useState(0);
  return { area: stage.area, version, changed: () => set((v) => v + 1) };
}

/** Areas end before their last nanosecond, selections with a microsecond that is in them. */
export function takeArea(stage: Stage): void {
  const a = stage.area;
  if (!a) return;
  const [from, to] = stage.clock.whole(a.from, a.to);
  setSelection({ from, to, query: both(selection.value.query, queryOf(stage)) });
}

/** As long as columns tell, until its edges are known. */
function GapText({ gap, us }: { gap: ChosenGap; us: number }) {
  return <>gap of <b data-fact="gap" title={gap.exact ? `${exact(us)} µs` : undefined}>{gap.exact ? time(us) : `about ${time(us, 2)}`}</b>, {gap.title}</>;
}

function AreaBar({ stage, onClear }: { stage: Stage; onClear: () => void }) {
  const a = stage.area, [facts, set] = useState<Answer | null>(null), query = queryOf(stage);
  const key = a && !a.gap ? `${a.from},${a.to},${query}` : "";
  useEffect(() => set(null), [key]);
  useEffect(() => {
    if (!a || a.gap) return;
    const control = new AbortController();
    const params = { ...stage.base, query: both(String(stage.base["query"] ?? ""), query), group_by: "", ...stage.coloured, width: 1, events: 0, time_range: stage.clock.range(a.from, a.to) };
    const timer = setTimeout(() => ask(params, control.signal).then(set, () => undefined), 120);
    return () => { clearTimeout(timer); control.abort(); };
  }, [key, stamp.value]);
  if (!a) return null;
  return (
    <div class="timeline-area" role="group" aria-label="Selection">
      {a.gap ? <span role="status"><GapText gap={a.gap} us={(a.to - a.from) / 1000} /></span> : <span role="status"><b>{time((a.to - a.from) / 1000)}</b> × {many(query ? nodesIn(stage).length : stage.rows.filter(isLane).length + stage.tree.truncated, "lane")}: <b data-fact="area">{facts ? exact(facts.count) : "…"}</b> {facts?.count === 1 ? "event" : "events"}{beforeOf(facts) > 0 && <> ({exact(beforeOf(facts))} started earlier)</>}{facts && <>, busy {time(facts.busy)}</>}</span>}
      <button class="main" onClick={() => takeArea(stage)} title="Filter all views to the selection (x)">Filter to selection</button>
      <button onClick={() => stage.show(a.from, a.to)} title="Zoom to the selection (z)">Zoom</button>
      <button class="quiet" onClick={onClear} title="Clear the selection (Esc)">Clear</button>
    </div>
  );
}

// ---- the view ----

const placeOf = (text: string): Place | null => {
  const i = text.indexOf(" ");
  return i > 0 ? { object: Number(text.slice(0, i)), file: text.slice(i + 1) } : null;
};

function Shown({ stage, first }: { stage: Stage; first: Answer }) {
  const canvas = useRef<HTMLCanvasElement>(null), { facts, current } = useFacts(stage, first), choice = useChoice(stage);
  useAddress(stage);
  useArranged(stage);
  const [hover, setHover] = useState<{ under: Under; x: number; y: number } | null>(null), [help, setHelp] = useState(false);
  const pick = (p: Place | null) => { picked.value = p ? `${p.object} ${p.file}` : ""; };
  useEffect(() => { stage.picked = picked.value; stage.redraw(); }, [stage, picked.value]);
  useEffect(() => {
    const s = selection.value;
    stage.area = s.from != null && s.to != null ? { from: stage.clock.ns(s.from), to: stage.clock.ns(s.to + 1), first: 0, last: Infinity } : null;
    stage.redraw();
    choice.changed();
  }, [stage, selection.value.from, selection.value.to]);
  useLayoutEffect(() => {
    const c = canvas.current as HTMLCanvasElement;
    stage.attach(c);
    arrange(stage);
    const observer = new ResizeObserver(() => stage.resize());
    observer.observe(c);
    const off = listen(stage, c, {
      hover: (under, x, y) => setHover(under && { under, x, y }),
      pick: (p) => pick(p),
      clear: () => { stage.area = null; stage.gaps = false; if (selection.peek().from != null) setSelection({ from: null, to: null }); pick(null); setHelp(false); stage.redraw(); choice.changed(); },
      area: choice.changed,
      take: () => takeArea(stage),
      help: () => setHelp((h) => !h),
    });
    Object.assign(window, { timelineStage: stage });
    return () => { observer.disconnect(); off(); };
  }, [stage]);
  useEffect(() => { stage.redraw(); choice.changed(); }, [dark.value]); // the legend, too
  const lead = (m: Match) => { // to its lane
    const keys = m.keys(stage.columns()), row = stage.rows.find((r) => isLane(r) && r.node.keys.every((k, i) => k === keys[i]));
    if (row) { stage.focus = row.node.id; stage.showRow(row); }
  };
  const match = (m: Match) => {
    stage.reveal(stage.clock.ns(m.ts), stage.clock.ns(m.ts + (m.dur ?? 0)));
    lead(m);
    pick(m);
  };
  const place = placeOf(picked.value), rows = stage.visible().filter((r) => !r.head && r.node.track !== null);
  void stage.loaded.value;
  return (
    <div class="timeline">
      <Toolbar stage={stage} onMatch={match} onGap={() => nextGap(stage, choice.changed)} onHelp={() => setHelp(!help)} />
      <Legend stage={stage} facts={facts} />
      <div class="timeline-body">
        <div class="timeline-left">
          <div class="timeline-stage">
            <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription="timeline" aria-label="Timeline. Press ? for keyboard shortcuts." aria-describedby="timeline-text" />
            {hover && <Tooltip stage={stage} {...hover} />}
            {help && <Help onClose={() => setHelp(false)} />}
          </div>
          <AreaBar stage={stage} onClear={() => { stage.area = null; setSelection({ from: null, to: null }); stage.redraw(); choice.changed(); }} />
          <Status stage={stage} facts={current ? facts : null} first={first} />
        </div>
        {place && <EventPanel place={place} base={stage.base} onSeen={lead} onGo={match} onClose={() => pick(null)} />}
      </div>
      <div id="timeline-text" class="unseen">
        {facts && current && `${exact(facts.count)} events, busy ${time(facts.busy)}. `}
        {rows.slice(0, 40).map((r) => `${r.node.title}: ${exact(r.node.count)} ${r.node.track ? "values" : `events, busy ${time(r.node.busy)}`}. `).join("")}
      </div>
    </div>
  );
}

/** What was asked for cannot be, and there are no boxes yet to write something else into. */
function Refused({ error }: { error: Error }) {
  const back = () => { lanes.value = LAYOUT; color.value = ""; };
  return <>
    <Failure error={error} />
    {(lanes.value !== LAYOUT || color.value) && <p class="empty"><button onClick={back}>Reset lanes and colours</button></p>}
  </>;
}

export function TimelineView() {
  const { stage, error, first } = useStage();
  if (error && !(stage && first && !stage.empty)) return <Refused error={error} />;
  if (!stage || !first) return <p class="empty" role="status">Loading…</p>;
  if (stage.empty) return <p class="empty">No selected event has a time{first.untimed > 0 ? ` (${many(first.untimed, "event")} without one)` : ""}.</p>;
  return <>{error && <Failure error={error} />}<Shown stage={stage} first={first} key={JSON.stringify(stage.base) + stage.color} /></>;
}
