// How the timeline looks: everything here only paints, from what is loaded.
import { clock as clockText, count, label } from "../format";
import { marks, markText } from "../marks";
import { colour, dark } from "../theme";
import { gapsOf, type Gap, type RowBoxes } from "./boxes";
import type { Point, Track } from "./counters";
import type { Row } from "./model";
import type { Palette } from "./palette";
import type { Box } from "./slices";
import type { Tile } from "./tiles";

export const RULER = 26;
export const GUTTER = 196;
const SMALL = "10px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";

export interface Scene {
  g: CanvasRenderingContext2D;
  width: number;
  height: number;
  gutter: number;
  from: number;
  to: number;
  scroll: number;
  /** What is 0 on the ruler. */
  zero: number;
  us: (ns: number) => number;
}
export const xOf = (s: Scene, ns: number): number => s.gutter + ((ns - s.from) / (s.to - s.from)) * (s.width - s.gutter);
export const nsOf = (s: Scene, x: number): number => s.from + ((x - s.gutter) / (s.width - s.gutter)) * (s.to - s.from);
export const yOf = (s: Scene, row: Row): number => RULER + row.y - s.scroll;

/** The variables of style.css, read once a frame. */
export type Colours = Record<"bg" | "panel" | "text" | "soft" | "line" | "hover" | "accent" | "accent-soft", string>;
export const coloursNow = (): Colours =>
  Object.fromEntries(["bg", "panel", "text", "soft", "line", "hover", "accent", "accent-soft"].map((n) => [n, colour(n)])) as Colours;

// ---- density ----

/** How opaque columns are that are hardly busy, on light and on dark ground. */
const FAINT = [60, 110];
/** Red comes first, in the lowest byte. */
const tintOf = ([r, g, b]: [number, number, number]): number => r | (g << 8) | (b << 16);

/** A pixel a column and lane. How busy it is, is how opaque; what only begins there can still be seen. */
export function paint(tile: Tile, palette: Palette, theme: number): HTMLCanvasElement {
  if (tile.image && tile.painted === theme) return tile.image;
  const image = tile.image ?? document.createElement("canvas");
  let slots = 1;
  for (const lane of tile.rest.values()) slots = Math.max(slots, lane.slot + 1);
  image.width = tile.columns;
  image.height = slots;
  const g = image.getContext("2d") as CanvasRenderingContext2D, pixels = g.createImageData(tile.columns, slots), words = new Uint32Array(pixels.data.buffer);
  const all = tile.step / 1000, tints: number[] = [], faint = FAINT[dark.peek() ? 1 : 0] as number;
  for (const { slot, columns, busy, colours } of tile.rest.values()) {
    for (let i = 0; i < columns.length; i++) {
      const n = colours[i] as number, alpha = faint + Math.round((255 - faint) * Math.sqrt(Math.min(1, (busy[i] as number) / all)));
      const tint = (tints[n] ??= tintOf(palette.parts(n)));
      words[slot * tile.columns + (columns[i] as number)] = tint | (alpha << 24);
    }
  }
  g.putImageData(pixels, 0, 0);
  tile.image = image;
  tile.painted = theme;
  return image;
}

function density(s: Scene, tile: Tile, node: string, y: number, height: number, palette: Palette, theme: number): void {
  const lane = tile.rest.get(node);
  if (!lane) return;
  const image = paint(tile, palette, theme);
  const from = Math.max(tile.from, s.from), to = Math.min(tile.to, s.to);
  if (to <= from) return;
  s.g.drawImage(image, (from - tile.from) / tile.step, lane.slot, (to - from) / tile.step, 1, xOf(s, from), y, xOf(s, to) - xOf(s, from), height);
}

// ---- boxes ----

const widths = new Map<string, number>();
function widthOf(g: CanvasRenderingContext2D, text: string): number {
  let w = widths.get(text);
  if (w === undefined) {
    if (widths.size > 5000) widths.clear();
    widths.set(text, (w = g.measureText(text).width));
  }
  return w;
}

/** Where there is no room for a lane's title, the process of a rank is left out first, or what it is a number of. */
function titleIn(g: CanvasRenderingContext2D, row: Row, room: number): string {
  const { title } = row.node, short = title.replace(/^(rank [^ ]+) · .*$/, "$1");
  return [title, short].find((t) => widthOf(g, t) <= room) ?? clipped(g, short.replace(/^(process|rank|thread) /, ""), room);
}

/** As much of a text as there is room for. */
function clipped(g: CanvasRenderingContext2D, text: string, room: number): string {
  if (widthOf(g, text) <= room) return text;
  const n = Math.floor((text.length * room) / widthOf(g, text)) - 1;
  return n > 1 ? text.slice(0, n) + "…" : "";
}

export interface BoxLook {
  y: number;
  height: number;
}
/** Where not all events are considered for boxes, the density of the others is below them: so much of a row, so many pixels at least. */
const BELOW = 0.4, BEHIND = 0.25, LEAST_SPLIT = 30;
export const MOST_BELOW = 16;
const roomOf = (row: Row, all: RowBoxes): number => row.height - 3 - (all.complete ? 0 : Math.min(MOST_BELOW, (row.height - 3) * BELOW));
const isWide = (s: Scene, b: Box): boolean => b.left <= s.to && b.right >= s.from && xOf(s, b.right) - xOf(s, b.left) >= 1.5;
const roomAbove = (s: Scene, row: Row, all: RowBoxes): number =>
  !all.complete && row.height >= LEAST_SPLIT && all.boxes.some((b) => isWide(s, b)) ? Math.round(Math.min(roomOf(row, all), eachOf(row, all) * all.levels)) : 0;
/** Of a level of boxes. */
const eachOf = (row: Row, all: RowBoxes): number => Math.max(4, Math.min(22, roomOf(row, all) / Math.max(1, all.levels)));

export function lookOf(s: Scene, row: Row, all: RowBoxes, box: Box): BoxLook {
  const each = eachOf(row, all);
  const y = Math.min(box.depth * each, Math.max(0, row.height - 3 - each));
  return { y: yOf(s, row) + 1 + y, height: Math.max(2, each - 1) };
}

function luminous([r, g, b]: [number, number, number]): boolean {
  return r * 0.299 + g * 0.587 + b * 0.114 > 150;
}

function drawBox(s: Scene, row: Row, all: RowBoxes, box: Box, palette: Palette): void {
  const { g } = s, x0 = Math.max(s.gutter - 1, xOf(s, box.left)), width = Math.min(s.width + 1, xOf(s, box.right)) - x0, look = lookOf(s, row, all, box);
  g.fillStyle = palette.text(box.colour);
  if (width < 1) g.fillRect(Math.floor(x0), look.y, 1, look.height);
  else g.fillRect(x0, look.y, width - (width > 4 ? 1 : 0), look.height);
  if (width < 34 || look.height < 11) return;
  const text = clipped(g, label(box.name, 200), width - 8);
  if (!text) return;
  const low = look.height < 14; // the underscores of __xstat would be below it
  g.font = low ? SMALL : FONT;
  g.fillStyle = luminous(palette.parts(box.colour)) ? "#101318" : "#fff";
  g.fillText(text, x0 + 4, look.y + look.height / 2 + (low ? -1 : 0.5));
  g.font = FONT;
}

function drawPicked(s: Scene, row: Row, all: RowBoxes, box: Box): void {
  const { g } = s, x0 = Math.max(s.gutter - 1, xOf(s, box.left)), width = Math.min(s.width + 1, xOf(s, box.right)) - x0, look = lookOf(s, row, all, box);
  g.strokeStyle = colour("text");
  g.lineWidth = 2;
  g.strokeRect(x0, look.y, Math.max(2, width), look.height);
}

/** Of those that are narrower than a pixel the longest of each pixel and depth is drawn. */
function drawBoxes(s: Scene, row: Row, all: RowBoxes, palette: Palette, picked: string): void {
  const narrow: (Box | undefined)[] = [], pixel = (box: Box) => Math.floor(xOf(s, box.left)), one = (s.to - s.from) / (s.width - s.gutter), object = parseInt(picked);
  let chosen: Box | null = null;
  for (const box of all.boxes) {
    if (box.left > s.to || box.right < s.from) continue;
    if (box.object === object && picked === `${box.object} ${box.file}`) chosen = box;
    const last = narrow[box.depth];
    if (box.right - box.left >= one) drawBox(s, row, all, box, palette);
    else if (!last || pixel(last) !== pixel(box)) {
      if (last) drawBox(s, row, all, last, palette);
      narrow[box.depth] = box;
    } else if (box.end - box.start > last.end - last.start) narrow[box.depth] = box;
  }
  for (const box of narrow) if (box) drawBox(s, row, all, box, palette);
  if (chosen) drawPicked(s, row, all, chosen);
}

// ---- rows, ruler, what is chosen ----

export interface Look {
  colours: Colours;
  palette: Palette;
  theme: number;
  tiles: (row: Row) => Tile[];
  boxes: (row: Row) => RowBoxes;
  points: (row: Row) => Point[];
  focus: string;
  picked: string;
  closed: ReadonlySet<string>;
  gaps: boolean;
}

function drawGaps(s: Scene, row: Row, gaps: Gap[], c: Colours): void {
  const { g } = s, least = (s.to - s.from) / 100;
  g.fillStyle = c.soft;
  g.globalAlpha = 0.22;
  for (const gap of gaps) if (gap.end - gap.start >= least) g.fillRect(xOf(s, gap.start), yOf(s, row) + 2, xOf(s, gap.end) - xOf(s, gap.start), row.height - 4);
  g.globalAlpha = 1;
}

/** From the least to the greatest value of all; from 0 where that is not far away. */
function scaleOf(t: Track): { low: number; high: number } {
  const low = t.least > 0 && t.least < t.most / 2 ? 0 : t.least, high = t.most > low ? t.most : low + 1;
  return { low: t.least > 0 && t.least === t.most ? 0 : low, high };
}

/** A value holds until the next; where a column has several, all that they reach is behind their mean. */
function drawTrack(s: Scene, row: Row, track: Track, points: Point[], c: Colours): void {
  const { g } = s, { low, high } = scaleOf(track), top = yOf(s, row) + 3, room = row.height - 7, end = Math.min(s.width, xOf(s, track.to) + 1);
  const y = (v: number) => top + room * (1 - (v - low) / (high - low)), tint = colour(`s${track.colour % 8}`);
  g.save();
  g.beginPath();
  g.rect(s.gutter, yOf(s, row), s.width - s.gutter, row.height);
  g.clip();
  const shown = points.filter((p, i) => (points[i + 1]?.at ?? Infinity) >= s.from && p.at <= s.to);
  g.fillStyle = g.strokeStyle = tint;
  shown.forEach((p, i) => {
    const x0 = xOf(s, p.at), x1 = Math.max(x0 + 1, Math.min(end, xOf(s, shown[i + 1]?.at ?? Infinity)));
    g.globalAlpha = 0.16;
    g.fillRect(x0, y(p.mean), x1 - x0, y(low) - y(p.mean));
    if (p.most === p.least) return;
    g.globalAlpha = 0.35;
    g.fillRect(x0, y(p.most), Math.max(1, Math.min(3, x1 - x0)), y(p.least) - y(p.most));
  });
  g.globalAlpha = 1;
  g.lineWidth = 1.5;
  g.beginPath();
  shown.forEach((p, i) => {
    const x0 = xOf(s, p.at), x1 = Math.max(x0, Math.min(end, xOf(s, shown[i + 1]?.at ?? Infinity)));
    if (i) g.lineTo(x0, y(p.mean));
    else g.moveTo(x0, y(p.mean));
    g.lineTo(x1, y(p.mean));
  });
  g.stroke();
  g.font = SMALL;
  for (const [text, at] of [[count(high), top + 5], [count(low), top + room - 4]] as const) noteOn(g, text, s.gutter + 3, at, c);
  g.font = FONT;
  g.restore();
}

/** Readable, whatever is below it. */
function noteOn(g: CanvasRenderingContext2D, text: string, x: number, y: number, c: Colours): void {
  g.globalAlpha = 0.8;
  g.fillStyle = c.panel;
  g.fillRect(x - 2, y - 6, g.measureText(text).width + 4, 12);
  g.globalAlpha = 1;
  g.fillStyle = c.soft;
  g.fillText(text, x, y);
}

export function drawRow(s: Scene, row: Row, look: Look): void {
  const { g } = s, c = look.colours, y = yOf(s, row);
  if (!row.head && row.node.track) drawTrack(s, row, row.node.track, look.points(row), c);
  else if (row.head || row.node.track === null) {
    g.fillStyle = c.bg;
    g.fillRect(s.gutter, y, s.width, row.height);
  } else {
    const tiles = look.tiles(row), boxes = look.boxes(row);
    g.imageSmoothingEnabled = false;
    const above = roomAbove(s, row, boxes);
    g.globalAlpha = BEHIND; // where a box is not among those that are there
    if (above) for (const tile of tiles) density(s, tile, row.node.id, y + 1, above, look.palette, look.theme);
    g.globalAlpha = 1;
    if (!boxes.complete) for (const tile of tiles) density(s, tile, row.node.id, y + 1 + above, row.height - 3 - above, look.palette, look.theme);
    if (look.gaps) drawGaps(s, row, gapsOf(tiles, row.node.id, "", s.from, s.to), c);
    g.save();
    g.beginPath();
    g.rect(s.gutter, y, s.width - s.gutter, row.height);
    g.clip();
    drawBoxes(s, row, boxes, look.palette, look.picked);
    g.restore();
  }
  g.fillStyle = c.line;
  g.globalAlpha = 0.6;
  g.fillRect(0, y + row.height - 1, s.width, 1);
  g.globalAlpha = 1;
  drawTitle(s, row, look);
}

function drawTitle(s: Scene, row: Row, look: Look): void {
  const { g } = s, c = look.colours, y = yOf(s, row);
  g.fillStyle = look.focus === row.node.id ? c["accent-soft"] : row.head ? c.bg : c.panel;
  g.fillRect(0, y, s.gutter - 1, row.height - 1);
  const narrow = s.gutter < GUTTER, x = narrow ? 3 + row.depth * 6 : 8 + row.depth * 12, branch = row.node.children.length > 0 && (row.head || look.closed.has(row.node.id));
  g.fillStyle = c.soft;
  if (branch) {
    g.beginPath();
    const m = y + row.height / 2;
    if (row.head) { g.moveTo(x, m - 2); g.lineTo(x + 7, m - 2); g.lineTo(x + 3.5, m + 3); }
    else { g.moveTo(x + 1, m - 4); g.lineTo(x + 6, m); g.lineTo(x + 1, m + 4); }
    g.fill();
  }
  if (row.height < 11) return;
  g.fillStyle = row.head ? c.soft : c.text;
  g.fillText(titleIn(g, row, s.gutter - x - (narrow ? 14 : 18)), x + 12, y + row.height / 2);
}

/** As close as their texts allow. */
function marksOf(s: Scene): { step: number; first: number } {
  const from = s.from - s.zero, to = s.to - s.zero, close = marks(from, to, (s.width - s.gutter) / 48), last = close.first + Math.floor((to - close.first) / close.step) * close.step;
  const room = (close.step / (to - from)) * (s.width - s.gutter) - 14;
  return Math.max(widthOf(s.g, markText(last, close.step)), widthOf(s.g, markText(last - close.step, close.step))) <= room ? close : marks(from, to, (s.width - s.gutter) / 110);
}

export function drawRuler(s: Scene, c: Colours): void {
  const { g } = s, { step, first } = marksOf(s);
  g.fillStyle = c.panel;
  g.fillRect(0, 0, s.width, RULER);
  g.fillStyle = c.line;
  g.fillRect(0, RULER - 1, s.width, 1);
  for (let t = first; t <= s.to - s.zero; t += step) {
    const x = Math.round(xOf(s, t + s.zero));
    g.fillStyle = c.line;
    g.fillRect(x, RULER - 7, 1, 7);
    g.globalAlpha = 0.35;
    g.fillRect(x, RULER, 1, s.height);
    g.globalAlpha = 1;
    g.fillStyle = c.soft;
    const text = markText(t, step);
    if (x + 4 + widthOf(g, text) <= s.width) g.fillText(text, x + 4, RULER / 2 - 2);
  }
  g.fillStyle = c.panel;
  g.fillRect(0, 0, s.gutter - 1, RULER - 1);
  g.fillStyle = c.soft;
  const date = clockText(s.us(s.from)), room = s.gutter - 12;
  g.fillText(clipped(g, widthOf(g, date) <= room ? date : date.replace(/^\d{4}-\d\d-\d\d /, ""), room), 8, RULER / 2);
  g.fillStyle = c.line;
  g.fillRect(s.gutter - 1, 0, 1, s.height);
}

/** Time and rows that are being chosen, or are. */
export function drawArea(s: Scene, area: { from: number; to: number; top: number; bottom: number } | null, c: Colours): void {
  if (!area) return;
  const { g } = s, x0 = Math.max(s.gutter, xOf(s, area.from)), x1 = Math.min(s.width, xOf(s, area.to));
  const y0 = Math.max(RULER, area.top - s.scroll), y1 = Math.min(s.height, area.bottom - s.scroll);
  if (x1 < s.gutter || x0 > s.width || y1 <= y0) return;
  g.globalAlpha = 0.14;
  g.fillStyle = c.accent;
  g.fillRect(x0, y0, x1 - x0, y1 - y0);
  g.globalAlpha = 1;
  g.strokeStyle = c.accent;
  g.lineWidth = 1;
  g.strokeRect(x0 + 0.5, y0 + 0.5, Math.max(1, x1 - x0 - 1), y1 - y0 - 1);
  g.fillStyle = c.accent;
  g.fillRect(x0, RULER - 4, Math.max(1, x1 - x0), 3);
}

export function begin(s: Scene, c: Colours, ratio: number): void {
  s.g.setTransform(ratio, 0, 0, ratio, 0, 0);
  s.g.fillStyle = c.panel;
  s.g.fillRect(0, 0, s.width, s.height);
  s.g.font = FONT;
  s.g.textBaseline = "middle";
}
