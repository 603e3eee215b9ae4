import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { closest, distance } from "fastest-levenshtein";
import { getJson } from "../api";
import { stamp } from "../live";

/** Columns that queries know besides those that are stored. */
const ALWAYS = ["rank", "name", "cat", "host", "pid", "tid", "file", "dirname(file)", "basename(file)", "cmd", "exec", "trace", "bytes", "size", "dur", "ts", "te", "ph", "id"];

let known: { stamp: string; names: string[] } | null = null;

/** All columns, the usual ones first. */
export async function columnNames(): Promise<string[]> {
  if (known && known.stamp === stamp.value) return known.names;
  const got = await getJson<{ values: { value: string }[] }>("/suggest", { prefix: "", limit: 1000 }).catch(() => ({ values: [] }));
  known = { stamp: stamp.value, names: [...new Set([...ALWAYS, ...got.values.map((v) => v.value)])] };
  return known.names;
}

/** The column that a name may have meant, with two letters wrong at the most. */
export async function columnLike(name: string): Promise<string | null> {
  const names = (await columnNames()).filter((n) => !n.includes("(")), near = closest(name, name.startsWith("args.") ? names : names.map((n) => n.replace(/^args\./, "")));
  return distance(name, near) <= Math.min(2, name.length / 2) ? near : null;
}

/** Columns, comma-separated; the last one is completed. */
export function ColumnInput(p: { label: string; value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(p.value);
  const [names, setNames] = useState<string[]>(ALWAYS);
  useLayoutEffect(() => setText(p.value), [p.value]);
  useEffect(() => { void columnNames().then(setNames); }, []);
  const before = text.includes(",") ? text.slice(0, text.lastIndexOf(",") + 1) : "";
  return (
    <label class="choice">{p.label} <input list="columns" size={Math.min(48, Math.max(18, text.length + 2))} value={text} spellcheck={false} autocomplete="off" placeholder="none"
      onInput={(e) => setText(e.currentTarget.value)} onChange={() => p.onChange(text)} onKeyDown={(e) => { if (e.key === "Enter") p.onChange(text); }} />
      <datalist id="columns">{names.map((n) => <option key={n} value={before + n} />)}</datalist></label>
  );
}
