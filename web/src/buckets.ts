// How long buckets of time are. Answers tell only those that have something: two that follow one another may have others between them.

const SECOND = 1e6;
/** The lengths that the daemon chooses from for `max_points`, in microseconds. */
const LENGTHS = [
  ...[1, 10, 100, 1e3, 1e4, 1e5].flatMap((unit) => [1, 2, 5].map((n) => n * unit)),
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((n) => n * SECOND),
  ...Array.from({ length: 22 }, (_, i) => 604800 * SECOND * 2 ** (i + 1)),
];
const UNITS: Record<string, number> = { us: 1, ms: 1e3, s: SECOND, min: 60 * SECOND, h: 3600 * SECOND, d: 86400 * SECOND };

const fits = (length: number, from: number, to: number, most: number): boolean => Math.floor(to / length) - Math.floor(from / length) < most;
const common = (a: number, b: number): number => (b ? common(b, a % b) : a);

/** `asked`: an interval as the daemon takes it, or how many buckets there may be at most, in `range` where that is known. 0: not known. */
export function lengthOf(starts: number[], asked: string | number, range?: string): number {
  const steps = starts.slice(1).reduce((all, t, i) => common(all, t - (starts[i] as number)), 0);
  if (typeof asked === "string") {
    const [, n, unit = "ms"] = /^([\d.]+)([a-z]+)?$/.exec(asked) ?? [];
    return Number(n) * (UNITS[unit] ?? 0) || steps;
  }
  const [from, to] = range?.split(",").map(Number) ?? [];
  if (from != null && to != null && to > from) return LENGTHS.find((n) => fits(n, from, to, asked)) ?? steps;
  // What is chosen may have begun after where the first bucket does, and end after where the last one does.
  const first = starts[0] ?? 0, last = starts.at(-1) ?? 0, able = steps ? LENGTHS.filter((n) => steps % n === 0 && fits(n, first, last, asked)) : [];
  return able.find((n, i) => fits(n, first, last + ((able[i + 1] ?? n) - 1), asked)) ?? able[0] ?? steps;
}
