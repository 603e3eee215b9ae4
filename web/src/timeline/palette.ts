// Which value has which colour: the same in all tiles, and in the legend.
import { count, equals, label, many, time } from "../format";
import { colour, dark } from "../theme";
import { idOf, isOthers, type Color } from "./model";

const NAMED = 8;
const MOST = 4096;
/** From the least to the greatest number, in the dark; the other way round where it is light, so that the greatest stand out. */
const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]] as const;

const isBin = (c: Color): boolean => c.below !== undefined;
/** Of a bin, from 0 on. */
const exponent = (c: Color): number => (c.value == null ? 0 : Number(c.value) < 1 ? 1 : Math.log2(Number(c.value)) + 2);

function binOf(n: number): Color {
  if (n < 1) return n < 0 ? { value: null, below: 0 } : { value: 0, below: 1 };
  const low = 2 ** Math.floor(Math.log2(n));
  return { value: low, below: low * 2 };
}

/** Those with most time first; numbers that are put together in their order; others last. */
export const byTime = <C extends Color & { count: number; busy: number }>(colors: C[]): C[] =>
  [...colors].sort((a, b) => Number(isOthers(a)) - Number(isOthers(b)) || (isBin(a) && isBin(b) ? exponent(a) - exponent(b) : b.busy - a.busy || b.count - a.count));

const UNITS = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/** A power of two, or 0. */
function power(column: string, n: number): string {
  if (["dur", "ts", "te"].includes(column)) return time(n);
  const step = n < 1 ? 0 : Math.floor(Math.log2(n) / 10), bytes = /size$|^bytes$/.test(column) ? "B" : "";
  return UNITS[step] === undefined ? count(n) : `${n / 1024 ** step} ${UNITS[step]}${bytes}`.trim();
}

/** Of a long path its end tells more. */
const ending = (text: string): string => (text.includes("/") && text.length > 40 ? `…${label(text.slice(-39), 240)}` : label(text, 40));

export function colorName(column: string, c: Color): string {
  if (isOthers(c)) return c.others ? many(c.others, "other") : "others";
  if (!isBin(c)) return c.value == null ? "none" : ending(String(c.value));
  if (c.value == null) return "below 0";
  return c.below == null ? `${count(Number(c.value))} or more` : `${power(column, Number(c.value))} – ${power(column, c.below)}`;
}

/** Objects of that colour. */
export function colorQuery(column: string, c: Color): string {
  if (!isBin(c)) return equals(column, c.value);
  const parts = [c.value == null ? "" : `${column} >= ${c.value}`, c.below == null ? "" : `${column} < ${c.below}`];
  return parts.filter(Boolean).join(" and ");
}

export class Palette {
  private numbers = new Map<string, number>();
  readonly colors: Color[] = [];
  private css: string[] = [];
  private rgb: [number, number, number][] = [];
  private low = Infinity;
  private high = -Infinity;
  /** So often have numbers got other colours. */
  changes = 0;
  private isDark = dark.peek();

  /** In the order in which they come: those with most time first. Where numbers were put together once, a single one has the colour
   *  of those that it belongs to. */
  number(c: Color): number {
    if (this.high > this.low && !isBin(c) && ["number", "bigint"].includes(typeof c.value)) c = binOf(Number(c.value));
    const id = idOf([c.value, c.below ?? null, isOthers(c) ? "others" : isBin(c)]), known = this.numbers.get(id);
    if (known !== undefined) return known;
    const n = this.colors.length < MOST ? this.colors.push(c) - 1 : this.colors.length % MOST;
    this.numbers.set(id, n);
    if (isBin(c)) this.widen(exponent(c));
    return n;
  }

  private widen(e: number): void {
    if (e >= this.low && e < this.high) return;
    this.low = Math.min(this.low, e);
    this.high = Math.max(this.high, e + 1);
    this.forget();
  }

  private forget(): void {
    this.changes++;
    this.css = [];
    this.rgb = [];
  }

  text(n: number): string {
    if (this.isDark !== dark.peek()) this.forget();
    this.isDark = dark.peek();
    return (this.css[n] ??= this.made(n, this.colors[n]));
  }

  private made(n: number, c: Color | undefined): string {
    if (c && isOthers(c)) return dark.peek() ? "hsl(0 0% 45%)" : "hsl(0 0% 65%)";
    if (c?.value == null && c?.below === undefined) return dark.peek() ? "hsl(215 14% 32%)" : "hsl(215 22% 82%)"; // no value: nothing to look at
    if (c && isBin(c)) return this.ramp((exponent(c) - this.low) / Math.max(1, this.high - 1 - this.low));
    return n < NAMED ? colour(`s${n}`) || "#888" : `hsl(${Math.round((n * 137.508) % 360)} 45% ${dark.peek() ? 64 : 46}%)`;
  }

  private ramp(share: number): string {
    const at = (dark.peek() ? share : 1 - share) * (RAMP.length - 1), i = Math.min(RAMP.length - 2, Math.floor(at));
    const [a, b] = [RAMP[i], RAMP[i + 1]] as [readonly number[], readonly number[]];
    return `rgb(${a.map((x, k) => Math.round(x + ((b[k] as number) - x) * (at - i))).join(" ")})`;
  }

  /** Red, green, blue. */
  parts(n: number): [number, number, number] {
    const text = this.text(n); // of the theme that is shown
    return (this.rgb[n] ??= this.read(text));
  }

  private read(text: string): [number, number, number] {
    const g = (Palette.pot ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true })) as CanvasRenderingContext2D;
    g.fillStyle = text;
    g.fillRect(0, 0, 1, 1);
    const d = g.getImageData(0, 0, 1, 1).data;
    return [d[0] as number, d[1] as number, d[2] as number];
  }
  private static pot: CanvasRenderingContext2D | null = null;
}
