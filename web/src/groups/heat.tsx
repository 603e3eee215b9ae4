// A heat map: a row a group, a column a bucket, the colour what the metric says there.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { fitted } from "../fitted";
import { after, PRECISE, type Format } from "../format";
import { colour, dark } from "../theme";
import { marks, markText } from "../marks";
import type { Grid } from "./model";

const MOST_LABELS = 110, AXIS = 22, LEAST_ROW = 5, MOST_ROW = 22;

interface Props {
  grid: Grid;
  origin: number;
  format: Format;
  onRange: (from: number, to: number) => void;
  onCanvas: (canvas: HTMLCanvasElement) => void;
}

/** Room for the names of groups. */
const roomOf = (grid: Grid): number => Math.min(MOST_LABELS, 16 + 7 * grid.groups.reduce((most, g) => Math.max(most, g.key.length), 0));
const channels = (hex: string): number[] => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

export function mostOf(grid: Grid): number {
  let most = 0;
  for (const g of grid.groups) for (const v of g.values) if (v != null && v > most) most = v;
  return most;
}

/** Where there are more buckets than points, a point has the most of its own. */
function drawn(values: readonly (number | null)[], points: number): readonly (number | null)[] {
  if (values.length <= points) return values;
  const most = new Array<number | null>(points).fill(null);
  values.forEach((v, i) => {
    const at = Math.floor((i * points) / values.length);
    if (v != null && v > (most[at] ?? -Infinity)) most[at] = v;
  });
  return most;
}

/** How dark a share of the most is: small ones can be told from nothing. */
const darkness = (share: number): number => (share > 0 ? 0.12 + 0.88 * Math.sqrt(share) : 0);

function paint(canvas: HTMLCanvasElement, p: Props, width: number, row: number, at: { x: number; y: number } | null): void {
  const { grid } = p, ratio = devicePixelRatio || 1, height = grid.groups.length * row + AXIS, room = roomOf(grid), wide = (width - room) / Math.max(1, grid.times.length);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  const c = canvas.getContext("2d") as CanvasRenderingContext2D;
  c.scale(ratio, ratio);
  c.fillStyle = colour("panel");
  c.fillRect(0, 0, width, height);
  const low = channels(colour("heat-0")), high = channels(colour("heat-1"));
  const most = mostOf(grid), points = Math.max(1, Math.floor(width - room));
  grid.groups.forEach((g, y) => {
    const values = drawn(g.values, points), each = (width - room) / Math.max(1, values.length);
    values.forEach((v, x) => {
      const part = darkness((v ?? 0) / most);
      c.fillStyle = `rgb(${low.map((l, i) => Math.round(l + ((high[i] as number) - l) * part)).join(" ")})`;
      c.fillRect(room + x * each, y * row, each - (each > 4 ? 0.5 : 0), row - 0.5);
    });
  });
  labels(c, p, width, row, wide);
  if (at) {
    c.strokeStyle = colour("text");
    c.strokeRect(room + at.x * wide, at.y * row, Math.max(wide, 2), row);
  }
}

function labels(c: CanvasRenderingContext2D, p: Props, width: number, row: number, wide: number): void {
  const { grid } = p, room = roomOf(grid), every = Math.ceil(13 / row), bottom = grid.groups.length * row + 15;
  c.font = "12px system-ui, sans-serif";
  c.fillStyle = colour("soft");
  c.textAlign = "right";
  c.textBaseline = "middle";
  grid.groups.forEach((g, y) => { if (y % every === 0) c.fillText(fitted(c, g.key, room - 8, "end", 60), room - 6, Math.max(y * row + row / 2, 6)); });
  c.textAlign = "center";
  c.textBaseline = "alphabetic";
  const from = ((grid.times[0] ?? 0) - p.origin) * 1000, to = from + grid.step * grid.times.length * 1000, { step, first } = marks(from, to, (width - room) / 80);
  if (to > from) for (let t = first; t <= to; t += step) c.fillText(markText(t, step), room + ((t - from) / 1000 / grid.step) * wide, bottom);
  else c.fillText(after(from / 1000), room + wide / 2, bottom);
}

export function HeatMap(p: Props) {
  const place = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [pointed, setAt] = useState<{ x: number; y: number } | null>(null);
  const isDark = dark.value, { grid } = p, room = roomOf(grid);
  const at = pointed && pointed.x < grid.times.length && pointed.y < grid.groups.length ? pointed : null; // of the map that is there now
  const row = Math.max(LEAST_ROW, Math.min(MOST_ROW, 480 / Math.max(1, grid.groups.length)));
  useLayoutEffect(() => {
    const canvas = place.current as HTMLCanvasElement;
    setWidth(canvas.clientWidth);
    const watch = new ResizeObserver(() => setWidth(canvas.clientWidth));
    watch.observe(canvas);
    p.onCanvas(canvas);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => { if (width && place.current) paint(place.current, p, width, row, at); }, [grid, p.origin, width, at, isDark]);
  const cellOf = (e: MouseEvent) => {
    const x = Math.floor((e.offsetX - room) / ((width - room) / grid.times.length)), y = Math.floor(e.offsetY / row);
    return x >= 0 && x < grid.times.length && y >= 0 && y < grid.groups.length ? { x, y } : null;
  };
  const move = (e: KeyboardEvent) => {
    const step = ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] } as Record<string, number[]>)[e.key];
    if (e.key === "Enter" && at) choose(at);
    if (!step) return;
    e.preventDefault();
    const from = at ?? { x: 0, y: 0 };
    setAt({ x: Math.min(grid.times.length - 1, Math.max(0, from.x + (step[0] as number))), y: Math.min(grid.groups.length - 1, Math.max(0, from.y + (step[1] as number))) });
  };
  const choose = ({ x }: { x: number }) => { const t = grid.times[x] as number; p.onRange(t, t + grid.step - 1); };
  const g = at && grid.groups[at.y], value = g ? g.values[at.x] : null;
  return (
    <div class="heat">
      <canvas ref={place} tabIndex={0} role="img" aria-label={`Heat map of ${grid.groups.length} groups over time. Arrow keys move between cells, Enter selects the time. The table below lists the totals.`}
        onMouseMove={(e) => setAt(cellOf(e))} onMouseLeave={() => setAt(null)} onKeyDown={move} onClick={(e) => { const c = cellOf(e); if (c) choose(c); }} />
      <p class="scale" aria-hidden="true">0 <i /> {p.format(mostOf(grid))}</p>
      <p class="readout" role="status">{g ? <>{grid.columns.length === 1 && `${grid.columns[0]} `}<bdi>{g.key.slice(0, 200)}</bdi>, {after(Math.max(0, (grid.times[at.x] as number) - p.origin))} to {after((grid.times[at.x] as number) + grid.step - p.origin)}: <strong>{p.format(value ?? null, PRECISE)}</strong></> : "Hover for values, click to select the time."}</p>
    </div>
  );
}
