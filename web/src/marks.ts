// Where an axis of time has its marks, and what stands there. In ns.
import { time } from "./format";

const SECOND = 1e9, DAY = 86400 * SECOND;
const LONG = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
/** About so many marks, at round times: beyond a second those of clocks, beyond a day whole days. */
export function marks(from: number, to: number, most: number): { step: number; first: number } {
  // Below the precision of doubles, adding a step changes nothing, and a loop over the marks would never end.
  const least = Math.max((to - from) / Math.max(1, most), Math.max(Math.abs(from), Math.abs(to)) * 2 ** -51), unit = least > DAY ? DAY : 1, power = unit * 10 ** Math.floor(Math.log10(least / unit));
  const short = (least > SECOND / 2 && LONG.map((n) => n * SECOND).find((n) => n >= least)) || 0;
  const step = short || power * ([1, 2, 5, 10].find((n) => power * n >= least) ?? 10);
  return { step, first: Math.ceil(from / step) * step };
}

/** A mark's time, as exact as the step between them; from a minute on as clocks tell it, from a day on with days. */
export function markText(ns: number, step: number): string {
  const us = ns / 1000, digits = Math.max(0, Math.ceil(-Math.log10(step / SECOND) - 1e-9));
  if (Math.abs(ns) < 60 * SECOND) return ns === 0 ? "0" : time(us, Math.max(1, Math.ceil(Math.log10(Math.abs(ns) / step) - 1e-9) + 1));
  const sign = ns < 0 ? "−" : "", days = Math.floor(Math.abs(ns) / DAY), s = (Math.abs(ns) % DAY) / SECOND, two = (n: number) => String(n).padStart(2, "0");
  const rest = (s % 60).toFixed(Math.min(9, digits)), whole = Math.floor(s / 60), hours = two(Math.floor(whole / 60));
  if (days) return `${sign}${days} d${step % DAY ? ` ${hours}:${two(whole % 60)}${step % (60 * SECOND) ? `:${Number(rest) < 10 ? "0" : ""}${rest}` : ""}` : ""}`;
  return `${sign}${whole >= 60 ? `${Math.floor(whole / 60)}:${two(whole % 60)}` : whole}:${Number(rest) < 10 ? "0" : ""}${rest}`;
}
