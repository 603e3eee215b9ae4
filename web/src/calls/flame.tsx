// A flame graph: calls as wide as the time that they took, below those that they stand in.
import { useSignal, type Signal } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import { count, exact, label, many, percent, PRECISE, time } from "../format";
import { Palette } from "../timeline/palette";
import { dark } from "../theme";
import { layout, pathOf, wayTo, widthOf, type Box, type Call } from "./model";

const ROW = 21;
const LEAST = 0.0015;

export interface FlameProps {
  root: Call;
  /** What the picture is of, for those who do not see it. */
  title: string;
  search?: string;
  levels?: number;
  /** Which call has all of the width: it stays when the tree comes anew. */
  zoom?: Signal<string>;
  /** Callers stand above: from the bottom up. */
  up?: boolean;
  onOpen?: (name: string) => void;
}

const palette = new Palette();

/** Red took longer than in the other tree, blue less; how much of it decides how strongly, as far as the text on it can be read. */
function difference(c: Call): string {
  const a = c.other?.total ?? 0, b = c.total, most = Math.max(a, b), share = most > 0 ? (b - a) / most : 0;
  const strength = Math.round(Math.min(1, Math.abs(share)) * 50) + (share ? 12 : 0);
  return `color-mix(in srgb, ${share > 0 ? "#c62828" : "#1c64c8"} ${strength}%, var(--panel))`;
}

function told(c: Call, all: number): string {
  const share = all > 0 ? ` (${((100 * widthOf(c)) / all).toFixed(1)} %)` : "";
  if (!c.other) return `${label(c.name, 200)}${c.cat ? ` [${label(c.cat, 60)}]` : ""}: ${time(c.total, PRECISE)}${share}, self ${time(c.self, PRECISE)}, ${many(c.count, "call")}`;
  const change = c.other.total > 0 ? percent((100 * (c.total - c.other.total)) / c.other.total) : "not in A";
  return `${label(c.name, 200)}: A ${time(c.other.total, PRECISE)} in ${many(c.other.count, "call")}, B ${time(c.total, PRECISE)} in ${exact(c.count)}, ${c.total ? change : "not in B"}`;
}

function Bar({ box, props, all, found, height, onZoom, onHover }:
  { box: Box; props: FlameProps; all: number; found: boolean; height: number; onZoom: (b: Box) => void; onHover: (c: Call | null) => void }) {
  const c = box.call, y = props.up ? height - (box.depth + 1) * ROW : box.depth * ROW, root = box.depth === 0;
  const back = root ? "var(--hover)" : c.other ? difference(c) : `color-mix(in srgb, ${palette.text(palette.number({ value: c.cat ?? null }))} 34%, var(--panel))`;
  return (
    <button class={`flame-box${found ? " found" : props.search ? " faint" : ""}`} aria-label={told(c, all)} title={told(c, all)}
      style={{ left: `${box.x * 100}%`, width: `${box.width * 100}%`, top: `${y}px`, background: found || props.search ? undefined : back }}
      onClick={() => onZoom(box)} onDblClick={() => props.onOpen?.(c.name)} onMouseEnter={() => onHover(c)} onMouseLeave={() => onHover(null)} onFocus={() => onHover(c)}>
      {box.width > 0.024 ? label(c.name, 200) : ""}
    </button>
  );
}

export function Flame(props: FlameProps) {
  const own = useSignal(""), zoom = props.zoom ?? own, [hover, setHover] = useState<Call | null>(null);
  const setPath = (path: readonly Call[]) => { zoom.value = wayTo(path); };
  void dark.value;
  for (const c of props.root.children) palette.number({ value: c.cat ?? null }); // those that took most have the first colours, as elsewhere
  const levels = props.levels ?? 64, shown = useMemo(() => pathOf(props.root, zoom.value), [props.root, zoom.value]);
  const { boxes, hidden } = useMemo(() => layout(props.root, shown, LEAST, levels), [props.root, shown, levels]);
  const height = (Math.max(0, ...boxes.map((b) => b.depth)) + 1) * ROW, all = widthOf(props.root);
  const text = props.search?.toLowerCase() ?? "", isFound = (c: Call) => text !== "" && c !== props.root && c.name.toLowerCase().includes(text);
  const keys = (e: KeyboardEvent) => {
    if (e.key !== "Escape" || shown.length < 2) return;
    setPath([props.root]);
    e.stopPropagation();
  };
  return (
    <div class="flame" role="group" aria-label={props.title} onKeyDown={keys}>
      <div class="flame-boxes" style={{ height: `${height}px` }}>
        {boxes.map((b) => <Bar key={b.path.map((c) => c.name + c.cat).join("\n")} box={b} props={props} all={all} found={isFound(b.call)} height={height}
          onZoom={(z) => setPath(z.path)} onHover={setHover} />)}
      </div>
      <p class="flame-text" role="status">
        {hover ? told(hover, all) : shown.length > 1 ? <><button class="link" onClick={() => setPath([props.root])}>all</button>{shown.slice(1).map((c, i) => <> › <button class="link" onClick={() => setPath(shown.slice(0, i + 2))}>{label(c.name, 60)}</button></>)}</>
          : props.root.other ? told(props.root, all) : `${time(all)} in ${count(props.root.count)} ${props.root.count === 1 ? "call" : "calls"}`}
        {!hover && hidden > 0 && <> · {many(hidden, "box", "boxes")} too narrow or too deep to draw; click a box to zoom in</>}
      </p>
    </div>
  );
}
