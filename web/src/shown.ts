// What is on screen, as others would ask for it: curl, dftracerctl, Perfetto.
import { signal } from "@preact/signals";
import { addressOf, pathOf, postJson, urlOf, type Params } from "./api";
import { selectionParams, type Selection } from "./state";

export interface Request {
  path: string;
  params: Params;
  /** What the page does with the answer, as a shell says it. */
  then?: string;
}
/** The request behind the view that is shown. */
export const shown = signal<Request | null>(null);

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);

const wordsOf = (params: Params): string[] =>
  Object.entries(params).flatMap(([name, value]) => (value == null ? [] : Array.isArray(value) ? value : [value]).map((item) => `${name}=${item}`));

const lineOf = (words: string[], r: Request): string => words.map(quoted).join(" ") + (r.then ?? "");

export const curlLine = (r: Request): string =>
  lineOf(["curl", "-sG", addressOf(r.path), ...wordsOf(r.params).flatMap((word) => ["--data-urlencode", word])], r);

export const ctlLine = (r: Request): string => lineOf(["dftracerctl", "get", "--url", addressOf(""), r.path, ...wordsOf(r.params)], r);

/** Has the daemon keep the question under an address of its own, and opens the page that hands the answer to Perfetto. The window is
 * opened before there is an address, in the click: browsers block others. Returns the address. */
export async function openInPerfetto(s: Selection): Promise<string> {
  const tab = window.open("about:blank", "_blank");
  try {
    const query = pathOf("/view", { format: "perfetto", ...selectionParams(s) });
    const stored = await postJson<{ open: string }>("/q", { query, name: "selection.json.gz" });
    const address = urlOf(stored.open);
    if (tab) tab.location.href = new URL(address, location.href).href;
    return address;
  } catch (e) {
    tab?.close();
    throw e;
  }
}
