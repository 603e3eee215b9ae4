// Which values of a column of very many have colours of their own: the same in all tiles of a screen, those that are most frequent in it.
import { isOthers, type Answer, type Color, type Key } from "./model";

type Counted = Color & { count: number };
const countOf = (colors: readonly Counted[]): number => colors.reduce((n, c) => n + c.count, 0);
/** Integers of 64 bits, as JSON has them. */
const written = (value: Key): string => (typeof value === "bigint" ? String(value) : JSON.stringify(value));
const isWritten = (value: Key): boolean => value != null && typeof value !== "object" && (typeof value !== "bigint" || BigInt.asIntN(64, value) === value);

/** `color_values` of these values, in an order of their own, so that the same ones are the same text. Empty where all answers agree: they are
 *  numbers by powers of two, or all that there are; of a window (`part`) others may be beside it. */
export function keptOf({ colors }: Answer, part = false): string {
  if (colors.some((c) => c.below !== undefined)) return "";
  const values = colors.filter((c) => !isOthers(c) && isWritten(c.value)).map((c) => written(c.value)).sort();
  return values.length && (part || colors.some(isOthers)) ? `[${values.join(",")}]` : "";
}

/** Colours change when much is gained by it only: who moves a little sees the same ones. */
const MUCH = 4;
export const better = {
  /** Whether others may be worth asking for: more than a quarter of the window has no colour. */
  wanted: ({ colors, count }: Answer): boolean => countOf(colors.filter(isOthers)) * MUCH > count,
  /** Whether a quarter more has colours there. */
  is: (a: Answer, b: Answer): boolean => countOf(a.colors.filter((c) => !isOthers(c))) * MUCH > countOf(b.colors.filter((c) => !isOthers(c))) * (MUCH + 1),
};
