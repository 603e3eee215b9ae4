// Lines and bars over time, by uPlot: colours of the page, as wide as its place, a drag selects a range of time.
import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { colour, dark, MOST_COLOURS, PLAIN_LINES } from "./theme";
import { after, PRECISE, time, type Format } from "./format";
import { marks, markText } from "./marks";

export interface Series {
  label: string;
  values: (number | null)[];
  /** What is drawn in place of the values: sums of what is stacked. */
  heights?: (number | null)[] | undefined;
  format: Format;
  bars?: boolean;
  axis?: "left" | "right";
}
interface Props {
  title: string;
  /** What the axis is, if not time. */
  across?: string;
  /** Microseconds, ascending: where buckets begin. */
  times: number[];
  /** What 0 is on the axis. */
  origin: number;
  series: Series[];
  height?: number;
  onRange?: (from: number, to: number) => void;
  onCanvas?: (canvas: HTMLCanvasElement) => void;
}

const NARROWEST = 80;

/** Values without a neighbour, which no line goes to. */
function lone(u: uPlot, i: number): number[] | null {
  const values = u.data[i] as (number | null)[], found = values.flatMap((v, k) => (v != null && values[k - 1] == null && values[k + 1] == null ? [k] : []));
  return found.length ? found : null;
}

/** The axis of time, whose numbers are seconds: marks as the timeline has them. */
function timeAxis(): uPlot.Axis {
  let step = 1;
  return { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, size: 34,
    splits: (u, _, from, to) => {
      const all: number[] = [], at = marks(from * 1e9, to * 1e9, u.bbox.width / devicePixelRatio / NARROWEST);
      step = at.step;
      if (to > from) for (let t = at.first; t <= to * 1e9; t += step) all.push(t / 1e9);
      return all;
    },
    values: (_, splits) => splits.map((n) => markText(Math.round(n * 1e9), step)) };
}

const SECOND = 1e6, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE;
const decades = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i)).flatMap((n) => [n, 2 * n, 5 * n]);
/** Microseconds between the marks of an axis, so that there are round seconds, minutes, hours and days on it. */
const DURATIONS = [...decades(-3, 6), 15 * SECOND, 30 * SECOND, ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE), ...[1, 2, 4, 6, 12].map((n) => n * HOUR), ...decades(0, 6).map((n) => n * 24 * HOUR)];

function axisOf(side: number, scale: string, format: Series["format"], grid: boolean, tint: string): uPlot.Axis {
  return { scale, side, stroke: colour(tint), size: 68, ...(format === time ? { incrs: DURATIONS } : {}), grid: { show: grid, stroke: colour("line"), width: 1 }, ticks: { show: false },
    values: (_, splits) => splits.map((n) => (n == null ? "" : format(n).replace("–", ""))) };
}

function optionsOf(p: Props, width: number): uPlot.Options {
  const left = p.series.find((s) => s.axis !== "right"), right = p.series.find((s) => s.axis === "right");
  const tintOf = (s: Series) => `s${p.series.indexOf(s) % MOST_COLOURS}`; // where there are two axes, each has the colour of what it is for
  const bars = uPlot.paths.bars?.({ size: [0.9, 100], align: 1 }); // each from where its bucket begins
  const room = p.series.some((s) => s.bars) ? ((p.times[1] ?? 0) - (p.times[0] ?? 0)) / 1e6 : 0;
  return {
    width, height: p.height ?? 220, padding: [8, right ? 0 : 16, 0, 0],
    cursor: { drag: { x: Boolean(p.onRange), y: false, setScale: false }, points: { size: 6 } },
    legend: { live: true, markers: { dash: (_, i) => (i > PLAIN_LINES && !p.series[i - 1]?.bars ? "dashed" : "solid") } },
    scales: { x: { time: false, ...(room > 0 ? { range: (_, min, max) => [min, max + room] } : {}) }, left: { range: (_, __, max) => [0, max > 0 ? max * 1.06 : 1] }, right: { range: (_, __, max) => [0, max > 0 ? max * 1.06 : 1] } },
    axes: [
      timeAxis(),
      ...(left ? [axisOf(3, "left", left.format, true, right ? tintOf(left) : "soft")] : []),
      ...(right ? [axisOf(1, "right", right.format, !left, left ? tintOf(right) : "soft")] : []),
    ],
    series: [
      p.across ? { label: p.across, value: (_, n) => (n == null ? "–" : time(n * 1e6, PRECISE)) } : { label: "time", value: (_, n) => (n == null ? "–" : after(Math.round(n * 1e6), 9)) },
      ...p.series.map((s, i): uPlot.Series => {
        const stroke = colour(`s${i % MOST_COLOURS}`);
        return { label: s.label, scale: s.axis ?? "left", stroke, width: s.bars ? 0 : 1.75, fill: s.bars ? stroke + (s.heights ? "" : "99") : undefined,
          dash: i >= PLAIN_LINES ? [6, 3] : undefined, points: s.bars ? { show: p.times.length < 2 } : { show: false, filter: lone, size: 5 }, paths: s.bars ? bars : undefined, value: (_, n, __, i) => s.format(i == null ? n : s.values[i], PRECISE) };
      }),
    ],
    hooks: {
      setSelect: [(u) => {
        if (u.select.width < 3) return;
        const at = (x: number) => Math.round(u.posToVal(x, "x") * 1e6) + p.origin;
        p.onRange?.(at(u.select.left), at(u.select.left + u.select.width));
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
    },
  } as uPlot.Options;
}

export function Chart(p: Props) {
  const place = useRef<HTMLDivElement>(null);
  const isDark = dark.value;
  useLayoutEffect(() => {
    const at = place.current as HTMLDivElement;
    const data = [p.times.map((t) => (t - p.origin) / 1e6), ...p.series.map((s) => s.heights ?? s.values)] as uPlot.AlignedData;
    const plot = new uPlot(optionsOf(p, at.clientWidth || 600), data, at);
    plot.root.querySelector("canvas")?.setAttribute("aria-hidden", "true");
    p.onCanvas?.(plot.ctx.canvas);
    const watch = new ResizeObserver(() => { if (at.clientWidth) plot.setSize({ width: at.clientWidth, height: p.height ?? 220 }); });
    watch.observe(at);
    return () => { watch.disconnect(); plot.destroy(); };
  }, [p.times, p.series, p.origin, isDark]);
  return <div class="chart" ref={place} role="group" aria-label={p.title} />;
}
