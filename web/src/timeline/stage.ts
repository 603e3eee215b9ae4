// The timeline's state and its clockwork: window, rows, tiles, frames.
import { signal } from "@preact/signals";
import type { Params } from "../api";
import { begin } from "../live";
import { dark } from "../theme";
import { gapsOf, place, type Gap, type RowBoxes } from "./boxes";
import * as draw from "./draw";
import type { ChosenGap } from "./gaps";
import { closedOf, Counters, headsOf, hostOf, type Found, type Point } from "./counters";
import { columnsOf, isLane, rowsOf, treeOf, type Answer, type Clock, type Node, type Row, type Tree } from "./model";
import { HEAD, heights } from "./heights";
import { keptOf } from "./kept";
import { colored } from "./lanes";
import { byTime, Palette } from "./palette";
import { Tiles, type Tile } from "./tiles";

/** Selected time, nanoseconds from the origin on, and the first and the last selected row; `last` Infinity: all rows. */
export interface Area {
  from: number;
  to: number;
  first: number;
  last: number;
  /** It is one. */
  gap?: ChosenGap | undefined;
}

export class Stage {
  readonly clock: Clock;
  readonly palette = new Palette();
  tree: Tree;
  tiles: Tiles;
  readonly counters: Counters;
  rows: Row[] = [];
  closed = new Set<string>();
  /** Those that are closed and were not at first, or the other way round. */
  readonly toggled = new Set<string>();
  /** Counts what somebody has done to the rows. */
  readonly arranged = signal(0);
  whole: { from: number; to: number };
  scroll = 0;
  focus = "";
  picked = "";
  private gapsDrawn = false;
  area: Area | null = null;
  /** Counts changes of the window, for what is asked once it stands still. */
  readonly moved = signal(0);
  /** Counts answers. */
  readonly loaded = signal(0);
  private scene: draw.Scene | null = null;
  private canvas: HTMLCanvasElement | null = null;
  private frame = 0;
  private placed = new Map<string, { of: Tile[]; boxes: RowBoxes }>();
  private chosenHeight = 0;
  /** Milliseconds of the last frames, for tests. */
  readonly frames: number[] = [];

  constructor(readonly layout: string[][], answer: Answer, private found: Found, readonly base: Params, readonly color: string) {
    this.clock = found.clock;
    this.whole = this.wholeOf(answer) ?? { from: 0, to: 1000 };
    for (const c of byTime(answer.colors)) this.palette.number(c);
    this.tree = treeOf(layout, answer);
    this.tiles = new Tiles(this.tree, this.whole.to - this.whole.from, this.clock, this.palette, base, color, () => this.answered());
    this.keep(keptOf(answer));
    this.counters = new Counters(this.clock, base, () => this.answered());
    for (const root of this.roots()) for (const id of closedOf(root.track === null ? root.children : this.headsOf(root))) this.closed.add(id);
    this.window = { ...this.whole };
  }

  window: { from: number; to: number };
  private kept = "";

  /** Values with colours of their own, the same in all that is asked for; see kept.ts. */
  keep(values: string): void {
    this.kept = values;
    this.tiles.recolour(values);
    this.redraw();
  }
  /** How objects are coloured, as requests say it. */
  get coloured(): Params {
    return colored(this.color, this.kept);
  }

  /** Times are told from the same moment in all views. */
  get zero(): number {
    return begin.peek() == null ? this.whole.from : this.clock.ns(begin.peek() as number);
  }

  get shown(): draw.Scene | null {
    return this.scene;
  }

  /** Whether there is a time in the last answer: else neither clock nor window are of what comes later. */
  timed = false;

  private wholeOf(answer: Answer): { from: number; to: number } | null {
    const times = this.found.tracks.flatMap((t) => [t.from, t.to]);
    if (answer.from != null && answer.to != null) times.push(this.clock.ns(answer.from), this.clock.ns(answer.to));
    this.timed = times.length > 0;
    if (!this.timed) return null;
    const from = times.reduce((a, b) => Math.min(a, b), Infinity), to = times.reduce((a, b) => Math.max(a, b), from);
    return { from, to: Math.max(to, from + 1000) };
  }

  /** Whether the window leaves nothing out. */
  get all(): boolean {
    return this.window.from <= this.whole.from && this.window.to >= this.whole.to;
  }
  /** Whether there is nothing to be shown. */
  get empty(): boolean {
    return !this.tree.roots.length && !this.found.tracks.length;
  }
  /** Not all counters became tracks. */
  get cut(): boolean {
    return this.found.cut;
  }

  // ---- rows ----

  private get byHost(): boolean {
    return this.layout[0]?.[0] === "host" && this.layout[0].length === 1;
  }
  private readonly headsOf = (root: Node): Node[] => (this.byHost && root.track === undefined ? headsOf(this.found.tracks, root.keys[0] ?? null) : []);
  /** Lanes, and hosts that have counters only. */
  private roots(): Node[] {
    const there = new Set(this.byHost ? this.tree.roots.map((r) => r.keys[0]) : []), hosts = [...new Set(this.found.tracks.map((t) => t.keys[0] ?? null))];
    return [...this.tree.roots, ...hosts.filter((h) => !there.has(h)).map((h) => hostOf(h, headsOf(this.found.tracks, h)))];
  }

  setHeight(height: number): void {
    this.chosenHeight = height;
    this.layRows();
    this.redraw();
  }

  layRows(): void {
    const heightOf = heights(this.tree, (this.scene?.height ?? 500) - draw.RULER, (this.whole.to - this.whole.from) / 1000, this.chosenHeight);
    const before = this.rows;
    this.rows = rowsOf(this.roots(), this.closed, heightOf, HEAD, this.headsOf);
    if (this.area && !this.relocate(this.area, before)) this.area = null;
    this.setScroll(this.scroll);
  }

  /** Gives an area the places that its rows have now. False: a row is folded away. */
  private relocate(area: Area, before: Row[]): boolean {
    const placeOf = (i: number) => this.rows.findIndex((r) => r.node.id === before[i]?.node.id);
    if (area.last === Infinity) return true;
    const first = placeOf(area.first);
    let last = placeOf(area.last);
    if (first < 0 || last < 0) return false;
    // A group that was selected while it was collapsed is selected with all that is in it.
    if (!before[area.last]?.head) for (const { depth } = this.rows[last] as Row; (this.rows[last + 1]?.depth ?? 0) > depth;) last++;
    Object.assign(area, { first, last }); // it stays the one that the edges of a gap are requested for
    return true;
  }

  get height(): number {
    const last = this.rows[this.rows.length - 1];
    return last ? last.y + last.height : 0;
  }

  setScroll(y: number): void {
    const before = this.scroll;
    this.scroll = Math.max(0, Math.min(y, this.height - (this.scene?.height ?? 0) + draw.RULER));
    if (this.scroll !== before) this.arranged.value++;
    this.redraw();
  }

  toggle(id: string): void {
    for (const set of [this.closed, this.toggled]) if (!set.delete(id)) set.add(id);
    this.layRows();
    this.arranged.value++;
    this.redraw();
  }

  get gaps(): boolean {
    return this.gapsDrawn;
  }
  set gaps(drawn: boolean) {
    if (drawn !== this.gapsDrawn) this.arranged.value++;
    this.gapsDrawn = drawn;
    this.redraw();
  }

  visible(): Row[] {
    const top = this.scroll, bottom = this.scroll + (this.scene?.height ?? 0) - draw.RULER;
    return this.rows.filter((r) => r.y + r.height > top && r.y < bottom);
  }

  rowAt(y: number): Row | null {
    return this.rows.find((r) => y - draw.RULER + this.scroll >= r.y && y - draw.RULER + this.scroll < r.y + r.height) ?? null;
  }

  focusRow(step: number): Row | null {
    const i = this.rows.findIndex((r) => r.node.id === this.focus);
    const row = this.rows[Math.max(0, Math.min(this.rows.length - 1, i < 0 ? 0 : i + step))];
    if (!row) return null;
    this.focus = row.node.id;
    this.showRow(row);
    return row;
  }

  showRow(row: Row): void {
    const room = (this.scene?.height ?? 0) - draw.RULER;
    if (row.y < this.scroll) this.setScroll(row.y);
    else if (row.y + row.height > this.scroll + room) this.setScroll(row.y + row.height - room);
    this.redraw();
  }

  // ---- window ----

  /** The precision of doubles is a quarter of a microsecond for times of today's clocks, and for those that are as long after the first event. */
  private get least(): number {
    return Math.max(100, Math.max(Math.abs(this.clock.origin) * 1000, this.whole.to) * 2 ** -52 * 100);
  }

  show(from: number, to: number): void {
    const whole = this.whole.to - this.whole.from;
    const span = Math.max(this.least, Math.min(to - from, whole * 1.1)), middle = (from + to) / 2;
    let start = middle - span / 2;
    start = Math.max(this.whole.from - span * 0.5, Math.min(start, this.whole.to - span * 0.5));
    this.window = { from: start, to: start + span };
    this.moved.value++;
    this.redraw();
  }

  zoom(factor: number, at = (this.window.from + this.window.to) / 2): void {
    const { from, to } = this.window;
    this.show(at - (at - from) * factor, at + (to - at) * factor);
  }

  pan(share: number): void {
    const by = (this.window.to - this.window.from) * share;
    this.show(this.window.from + by, this.window.to + by);
  }

  fit(): void {
    const pad = (this.whole.to - this.whole.from) * 0.01;
    this.show(this.whole.from - pad, this.whole.to + pad);
  }

  /** So that it can be seen, with something around it where it is not in the window. */
  reveal(from: number, to: number): void {
    if (from >= this.window.from && to <= this.window.to && to - from > (this.window.to - this.window.from) / 200) return;
    const span = Math.max((to - from) * 4, this.least);
    const now = this.window.to - this.window.from, fits = span <= now && to - from > now / 200;
    const half = (fits ? now : span) / 2, middle = (from + to) / 2;
    this.show(middle - half, middle + half);
  }

  // ---- tiles ----

  private get nsPerPixel(): number {
    const s = this.scene;
    return (this.window.to - this.window.from) / Math.max(1, s ? s.width - s.gutter : 1000);
  }
  private get level(): number {
    return Tiles.level(this.nsPerPixel);
  }
  readonly pointsOf = (row: Row): Point[] => (row.node.track ? this.counters.points(row.node.track, this.nsPerPixel, this.window.from, this.window.to) : []);

  readonly tilesOf = (row: Row): Tile[] => this.tiles.find(row.node, this.level, this.window.from, this.window.to);

  readonly boxesOf = (row: Row): RowBoxes => {
    const tiles = this.tilesOf(row), known = this.placed.get(row.node.id);
    if (known && known.of.length === tiles.length && known.of.every((t, i) => t === tiles[i])) return known.boxes;
    const boxes = place(tiles, row.node.id);
    this.placed.set(row.node.id, { of: tiles, boxes });
    return boxes;
  };

  private answered(): void {
    this.loaded.value++;
    this.redraw();
  }

  /** The index has changed: lanes may be new, and tiles are asked for again; until then the old ones stay. */
  renew(answer: Answer, found: Found): void {
    this.tree = treeOf(this.layout, answer);
    this.found = found;
    const { from, to } = this.wholeOf(answer) ?? this.whole, { all } = this;
    this.whole = { from: Math.min(this.whole.from, from), to: Math.max(this.whole.to, to) };
    this.tiles.renew(this.tree, this.whole.to - this.whole.from);
    if (all || !this.kept) this.keep(keptOf(answer));
    this.counters.renew();
    if (this.area?.gap) this.area = { ...this.area, gap: undefined }; // there may be something now
    this.layRows();
    if (all) this.fit();
    else this.redraw();
  }

  gapsShown(): Gap[] {
    return this.visible().filter(isLane)
      .flatMap((r) => gapsOf(this.tilesOf(r), r.node.id, r.node.title, this.window.from, this.window.to))
      .sort((a, b) => b.end - b.start - (a.end - a.start)).slice(0, 200);
  }

  // ---- frames ----

  attach(canvas: HTMLCanvasElement): void {
    this.canvas = canvas;
    this.resize();
    this.wanting(this.visible());
  }

  resize(): void {
    const c = this.canvas;
    if (!c) return;
    const width = c.clientWidth, height = c.clientHeight, ratio = devicePixelRatio || 1;
    if (this.scene?.g.canvas === c && this.scene.width === width && this.scene.height === height && c.width === Math.round(width * ratio)) return;
    c.width = Math.round(width * ratio);
    c.height = Math.round(height * ratio);
    const g = c.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
    this.scene = { g, width, height, gutter: width < 600 ? 96 : draw.GUTTER, ...this.window, scroll: this.scroll, zero: this.zero, us: (ns) => this.clock.us(ns) };
    this.layRows();
    this.moved.value++;
    this.paint(); // a canvas is black until then
  }

  redraw(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  /** Asks for what these rows show and what is not there yet. */
  private wanting(rows: Row[]): void {
    this.tiles.want(rows.filter(isLane).map((r) => r.node), this.level, Math.max(this.window.from, this.whole.from), Math.min(this.window.to, this.whole.to + 1));
    this.counters.want(rows.flatMap((r) => (!r.head && r.node.track) || []), this.nsPerPixel, this.window.from, this.window.to);
  }

  /** Boxes of other rows, which would keep tiles that are kept no more. */
  private forget(rows: Row[]): void {
    const shown = new Set(rows.map((r) => r.node.id));
    for (const id of this.placed.keys()) if (!shown.has(id)) this.placed.delete(id);
  }

  private paint(): void {
    const s = this.scene;
    if (!s || !this.canvas) return;
    const began = performance.now(), rows = this.visible();
    Object.assign(s, this.window, { scroll: this.scroll, zero: this.zero });
    this.wanting(rows);
    const colours = draw.coloursNow();
    const look: draw.Look = { colours, palette: this.palette, theme: this.palette.changes * 2 + Number(dark.peek()), tiles: this.tilesOf, boxes: this.boxesOf, points: this.pointsOf,
      focus: this.focus, picked: this.picked, closed: this.closed, gaps: this.gaps };
    draw.begin(s, colours, this.canvas.width / Math.max(1, s.width));
    for (const row of rows) draw.drawRow(s, row, look);
    this.forget(rows);
    draw.drawRuler(s, colours);
    draw.drawArea(s, this.areaPixels(), colours);
    this.frames.push(performance.now() - began);
    if (this.frames.length > 600) this.frames.shift();
  }

  private areaPixels(): Parameters<typeof draw.drawArea>[1] {
    const a = this.area, first = a && this.rows[a.first], last = a && this.rows[Math.min(a.last, this.rows.length - 1)];
    return a && first && last ? { from: a.from, to: a.to, top: draw.RULER + first.y, bottom: draw.RULER + last.y + last.height } : null;
  }

  columns(): string[] {
    return columnsOf(this.layout, this.layout.length - 1);
  }

  /** For good: what comes late is not drawn, and asks for nothing. */
  stop(): void {
    this.canvas = null;
    cancelAnimationFrame(this.frame);
    this.tiles.stop();
    this.counters.stop();
    this.tiles.kept.clear();
    this.placed.clear();
  }
}
