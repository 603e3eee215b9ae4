// Which lanes there are to choose from, and how they are asked for.
import type { Params } from "../host";

/** How lanes stand below each other: each level has its columns. */
export const LAYOUTS: Record<string, string[][]> = {
  threads: [["host"], ["rank", "pid"], ["tid"]],
  processes: [["host"], ["rank", "pid"]],
  hosts: [["host"]],
  categories: [["cat"]],
  names: [["name"]],
};
/** A layout by name, or columns with commas between. */
export const layoutOf = (text: string): string[][] =>
  LAYOUTS[text] ?? text.split(",").map((c) => c.trim()).filter(Boolean).map((c) => [c]);

/** More lanes than these are not listed; the page says so. */
export const LANES_MOST = 20000;

/** How all lanes are asked for. */
export const lanesParams = (base: Params, layout: string, color: string): Params =>
  ({ ...base, group_by: layoutOf(layout).flat().join(","), ...colored(color), width: 1, events: 0, limit: LANES_MOST });
/** More colours than these nobody tells apart. `values`: which these are, as JSON; empty: the most frequent ones of what is asked for. */
export const colored = (color: string, values = ""): Params => ({ color, colors: 64, color_values: values || undefined });
/** By what lanes are coloured unless somebody says so; and where that has one value only. */
export const LAYOUT = "threads", COLOR = "cat", ALONE = "name";
