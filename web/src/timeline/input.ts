// Pointer, wheel, touch and keys of the timeline.
import { nextGap } from "./gaps";
import { ask, filterOf } from "./model";
import * as draw from "./draw";
import type { Place } from "./panel";
import { both } from "../format";
import type { Stage } from "./stage";
import { under, type Under } from "./under";

export interface Wishes {
  hover: (under: Under | null, x: number, y: number) => void;
  pick: (place: Place | null) => void;
  clear: () => void;
  area: () => void;
  take: () => void;
  help: () => void;
}

/** The longest event of a row in a window is told; null: there is none. */
async function longest(stage: Stage, row: Under["row"], from: number, to: number): Promise<Place | null> {
  const query = both(String(stage.base["query"] ?? ""), filterOf(stage.tree, [row.node]));
  const answer = await ask({ ...stage.base, query, group_by: "", ...stage.coloured, width: 1, events: 1, time_range: stage.clock.range(from, to) });
  return answer.events[0] ?? null;
}

/** Rows of the selection may be others then. */
function toggle(stage: Stage, id: string, wishes: Wishes): void {
  stage.toggle(id);
  wishes.area();
}

class Pointer {
  private down = new Map<number, { x: number; y: number }>();
  private began: { x: number; y: number; ns: number; row: number; how: "area" | "time" | "move" | "none" } | null = null;
  private moved = false;
  private clicks = 0;

  constructor(private stage: Stage, private canvas: HTMLCanvasElement, private wishes: Wishes) {}

  private at(e: MouseEvent): { x: number; y: number } {
    const r = this.canvas.getBoundingClientRect();
    return { x: e.clientX - r.left, y: e.clientY - r.top };
  }

  private rowIndex(y: number): number {
    const row = this.stage.rowAt(y);
    return row ? this.stage.rows.indexOf(row) : y < draw.RULER ? 0 : this.stage.rows.length - 1;
  }

  private how(e: PointerEvent, p: { x: number; y: number }): "area" | "time" | "move" | "none" {
    if (p.x < (this.stage.shown?.gutter ?? 0)) return "none";
    if (e.pointerType === "touch" || e.shiftKey || e.button === 1) return "move";
    return p.y < draw.RULER ? "time" : "area";
  }

  readonly press = (e: PointerEvent): void => {
    const p = this.at(e), s = this.stage.shown;
    if (!s || e.button > 1) return;
    this.canvas.setPointerCapture(e.pointerId);
    this.canvas.focus({ preventScroll: true });
    this.down.set(e.pointerId, p);
    this.moved = false;
    this.began = { ...p, ns: draw.nsOf(s, p.x), row: this.rowIndex(p.y), how: this.how(e, p) };
    this.wishes.hover(null, 0, 0);
  };

  readonly move = (e: PointerEvent): void => {
    const p = this.at(e), s = this.stage.shown, before = this.down.get(e.pointerId);
    if (!s) return;
    if (!before || !this.began) {
      this.wishes.hover(under(this.stage, p.x, p.y), p.x, p.y);
      return;
    }
    if (!this.moved && Math.abs(p.x - this.began.x) + Math.abs(p.y - this.began.y) < 4) return;
    this.moved = true;
    if (this.down.size === 2) this.pinch(e.pointerId, p);
    else if (this.began.how === "move") this.drag(before, p);
    else if (this.began.how !== "none") this.choose(p);
    this.down.set(e.pointerId, p);
  };

  private drag(before: { x: number; y: number }, p: { x: number; y: number }): void {
    const s = this.stage.shown as draw.Scene;
    this.stage.pan(-(p.x - before.x) / (s.width - s.gutter));
    this.stage.setScroll(this.stage.scroll - (p.y - before.y));
  }

  private pinch(id: number, p: { x: number; y: number }): void {
    const s = this.stage.shown as draw.Scene, other = [...this.down].find(([i]) => i !== id)?.[1], before = this.down.get(id);
    if (!other || !before) return;
    const was = Math.abs(before.x - other.x), is = Math.abs(p.x - other.x);
    if (was > 10 && is > 10) this.stage.zoom(was / is, draw.nsOf(s, other.x));
  }

  private choose(p: { x: number; y: number }): void {
    const s = this.stage.shown as draw.Scene, b = this.began as NonNullable<Pointer["began"]>, now = draw.nsOf(s, Math.max(s.gutter, Math.min(p.x, s.width)));
    const row = this.rowIndex(p.y), all = b.how === "time";
    this.stage.area = { from: Math.min(b.ns, now), to: Math.max(b.ns, now), first: all ? 0 : Math.min(b.row, row), last: all ? Infinity : Math.max(b.row, row) };
    this.stage.redraw();
    this.wishes.area();
  }

  readonly release = (e: PointerEvent): void => {
    const p = this.at(e), began = this.began;
    this.down.delete(e.pointerId);
    if (this.down.size) return;
    this.began = null;
    if (began && !this.moved && e.type === "pointerup") this.click(p);
  };

  private click(p: { x: number; y: number }): void {
    const s = this.stage.shown, row = this.stage.rowAt(p.y);
    if (!s || !row || p.y < draw.RULER) return;
    this.stage.focus = row.node.id;
    this.stage.redraw();
    if (p.x < s.gutter) {
      if (row.node.children.length) toggle(this.stage, row.node.id, this.wishes);
      return;
    }
    const found = under(this.stage, p.x, p.y), mine = ++this.clicks;
    if (found?.box) this.wishes.pick(found.box);
    else if (found?.cell && found.cell.count + found.cell.busy > 0) void longest(this.stage, row, found.cell.from, found.cell.to).then((p) => { if (mine === this.clicks) this.wishes.pick(p); }, () => undefined);
    else this.wishes.pick(null);
  }

  readonly leave = (): void => this.wishes.hover(null, 0, 0);

  readonly wheel = (e: WheelEvent): void => {
    const s = this.stage.shown, p = this.at(e);
    if (!s) return;
    const dx = e.shiftKey ? e.deltaX || e.deltaY : e.deltaX, unit = e.deltaMode === 1 ? 30 : 1;
    if (e.ctrlKey || e.metaKey || p.y < draw.RULER) this.stage.zoom(1.002 ** (e.deltaY * unit), draw.nsOf(s, Math.max(s.gutter, p.x)));
    else if (dx) this.stage.pan((dx * unit) / (s.width - s.gutter));
    else if (!this.scrolls(e.deltaY * unit)) return;
    this.wishes.hover(null, 0, 0); // what was told there is somewhere else now
    e.preventDefault();
  };

  /** Whether there was something to scroll: else it is the page's turn. */
  private scrolls(by: number): boolean {
    const before = this.stage.scroll;
    this.stage.setScroll(before + by);
    return this.stage.scroll !== before;
  }

  readonly twice = (e: MouseEvent): void => {
    const p = this.at(e), found = under(this.stage, p.x, p.y);
    if (found?.box) this.stage.show(found.box.start - (found.box.end - found.box.start) * 0.2, found.box.end + (found.box.end - found.box.start) * 0.2);
    else if (found) this.stage.zoom(1 / 3, found.ns);
  };
}

function openRow(stage: Stage, wishes: Wishes): void {
  const row = stage.rows.find((r) => r.node.id === stage.focus) ?? stage.focusRow(0);
  if (!row) return;
  if (row.node.children.length) toggle(stage, row.node.id, wishes);
  else if (row.node.track === undefined) void longest(stage, row, stage.window.from, stage.window.to).then((p) => { if (p) wishes.pick(p); }, () => undefined);
}

function actions(stage: Stage, wishes: Wishes): Record<string, () => void> {
  const zoomIn = () => stage.zoom(1 / 1.5), zoomOut = () => stage.zoom(1.5), left = () => stage.pan(-0.15), right = () => stage.pan(0.15);
  return {
    w: zoomIn, "+": zoomIn, "=": zoomIn, s: zoomOut, "-": zoomOut, a: left, ArrowLeft: left, d: right, ArrowRight: right,
    ArrowUp: () => stage.focusRow(-1), ArrowDown: () => stage.focusRow(1), PageDown: () => stage.focusRow(10), PageUp: () => stage.focusRow(-10),
    Enter: () => openRow(stage, wishes), Escape: wishes.clear, "0": () => stage.fit(), Home: () => stage.fit(), "?": wishes.help,
    g: () => nextGap(stage, wishes.area), x: wishes.take, z: () => { if (stage.area) stage.show(stage.area.from, stage.area.to); },
    "/": () => document.getElementById("timeline-search")?.focus(),
    n: () => document.getElementById("timeline-next")?.click(), p: () => document.getElementById("timeline-previous")?.click(),
    "[": () => document.getElementById("event-previous")?.click(), "]": () => document.getElementById("event-next")?.click(),
  };
}

/** Until the function is called that comes back. Keys work wherever no text is written and no button has the focus. */
export function listen(stage: Stage, canvas: HTMLCanvasElement, wishes: Wishes): () => void {
  const p = new Pointer(stage, canvas, wishes), does = actions(stage, wishes);
  const keys = (e: KeyboardEvent) => {
    const there = e.target instanceof HTMLElement ? e.target : null, act = does[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey || there?.closest("input, textarea, select, [contenteditable]")) return;
    if (there !== canvas && there?.closest("button, a, [role=tab]") && /^(Enter|Arrow|Home)/.test(e.key)) return;
    e.preventDefault();
    e.stopPropagation();
    act();
  };
  const on = [["pointerdown", p.press], ["pointermove", p.move], ["pointerup", p.release], ["pointercancel", p.release], ["pointerleave", p.leave],
    ["dblclick", p.twice]] as [string, EventListener][];
  for (const [name, f] of on) canvas.addEventListener(name, f);
  canvas.addEventListener("wheel", p.wheel, { passive: false });
  window.addEventListener("keydown", keys, true);
  return () => {
    for (const [name, f] of on) canvas.removeEventListener(name, f);
    canvas.removeEventListener("wheel", p.wheel);
    window.removeEventListener("keydown", keys, true);
  };
}
