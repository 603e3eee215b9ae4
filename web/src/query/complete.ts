// What may stand where the caret is: columns, values of a column, words of the language.
import { getJson } from "../api";
import { literal } from "../format";
import { selection, selectionParams } from "../state";
import { columnNames } from "./columns";

export interface Proposal { text: string; note: string }
export interface Place {
  /** The part of the text that a proposal takes the place of. */
  from: number;
  to: number;
  prefix: string;
  /** Values of this column are wanted. */
  column: string | null;
}

const WORDS = ["and", "or", "not", "in", "like", "ilike", "is null"];
const VALUE = /([A-Za-z_][\w.]*)\s*(?:==?|!=|<=?|>=?|~\*?|!~\*?|\bi?like|\bin\s*\[(?:[^\]]*,)?)\s*("?)([^"\s,\[\]()]*|"[^"]*)$/;

export function placeOf(text: string, caret: number): Place {
  const before = text.slice(0, caret), value = VALUE.exec(before);
  if (value) {
    const prefix = (value[3] as string).replace(/^"/, ""), opened = value[2] ? 1 : 0;
    const closed = opened && text[caret] === '"' ? 1 : 0;
    return { from: caret - prefix.length - opened, to: caret + closed, prefix, column: value[1] as string };
  }
  const word = /[A-Za-z_][\w.]*$/.exec(before)?.[0] ?? "";
  return { from: caret - word.length, to: caret, prefix: word, column: null };
}

async function values(p: Place, signal: AbortSignal): Promise<Proposal[]> {
  const { time_range: _, query: __, ...where } = selectionParams(selection.value);
  const params = { ...where, column: p.column, prefix: p.prefix, limit: 12 };
  const got = await getJson<{ values: { value: unknown; count: number | null }[] }>("/suggest", params, signal);
  return got.values.filter((v) => v.value != null).map((v) => ({ text: literal(v.value), note: v.count == null ? "" : String(v.count) }));
}

export async function proposals(p: Place, signal: AbortSignal): Promise<Proposal[]> {
  if (p.column) return values(p, signal);
  if (!p.prefix) return [];
  const low = p.prefix.toLowerCase(), fits = (name: string) => name.toLowerCase().startsWith(low) && name.toLowerCase() !== low;
  const names = (await columnNames()).filter((n) => !n.includes("(")), deep = names.filter((n) => n.startsWith("args.") && fits(n.slice(5)));
  return [
    ...WORDS.filter(fits).map((text) => ({ text, note: "" })),
    ...[...new Set([...names.filter(fits), ...deep])].map((text) => ({ text, note: "column" })),
  ].slice(0, 12);
}

const KEY = "dftracerd-queries", MOST = 20;

export function history(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((q): q is string => typeof q === "string") : [];
  } catch {
    return [];
  }
}

export function remember(query: string): void {
  if (!query.trim() || query.length > 2000) return;
  try {
    localStorage.setItem(KEY, JSON.stringify([query, ...history().filter((q) => q !== query)].slice(0, MOST)));
  } catch {
    // It is not kept then.
  }
}
