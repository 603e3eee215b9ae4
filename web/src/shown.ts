// What is on screen, as others would ask for it: curl, dftracerctl, Perfetto.
import { signal } from "@preact/signals";
import { addressOf, pathOf, postJson, urlOf, type Params } from "./api";
import { both } from "./format";
import { placeOf, roots } from "./live";
import { rangeOf, selectionParams, type Selection } from "./state";

export interface Request {
  path: string;
  params: Params;
  /** Words of dftracerctl that answer the same, but for the selection and the daemon; null where it cannot. */
  ctl: string[] | null;
  /** A query that says what the selection does, and more. */
  query?: string;
}
/** The request behind the view that is shown. */
export const shown = signal<Request | null>(null);

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);

/** A query that says all that a selection says of events. */
export function wholeQuery(s: Selection): string {
  const range = rangeOf(s);
  return both(s.query, range ? `ts >= ${range[0]} and ts <= ${range[1]}` : "");
}

export function curlLine(r: Request): string {
  const words = ["curl", "-sG", addressOf(r.path)];
  for (const [name, value] of Object.entries(r.params))
    for (const item of value == null ? [] : Array.isArray(value) ? value : [value]) words.push("--data-urlencode", `${name}=${item}`);
  return words.map(quoted).join(" ");
}

/** What `view` of the client takes for everything: it wants a query. */
const ANY = 'ph != "M"';

/** The line for dftracerctl; null where it has no options for what is asked. */
export function ctlLine(r: Request, s: Selection): string | null {
  if (!r.ctl) return null;
  const words = ["dftracerctl", ...r.ctl, "--url", addressOf("")], query = (r.query ?? wholeQuery(s)) || (r.ctl[0] === "view" ? ANY : "");
  if (r.ctl[0] === "comparator") return words.map(quoted).join(" "); // its sides have places and times of their own
  if (query) words.push("--query", query);
  if (r.ctl[0] === "call_tree") words.push("-r", ...(s.file || s.dir ? [placeOf(s.file || s.dir)] : roots.value.map((root) => root.path)));
  else if (s.file) words.push("--files", placeOf(s.file));
  else if (s.dir) words.push("-r", "-d", placeOf(s.dir)); // directories are asked for with what is below them
  return words.map(quoted).join(" ");
}

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
