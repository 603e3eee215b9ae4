// A script of its own, before all that can be seen and before the large script is read: the colours, and the questions whose answers
// are seen first. What views ask for is taken from these answers where it is the same.
import { base, colourAs, host, isDark, keptTheme, keptToken, pathOf, type Params } from "./host";
import { activityParams, perhapsApart, sumsParams, type Info } from "./overview/model";
import { COLOR, LAYOUT, lanesParams } from "./timeline/lanes";

const token = keptToken(), hash = new URLSearchParams(location.hash.slice(1)), asked = (window.dftracerFirst = new Map());

/** `then` is done before anybody has the answer. */
function ask(path: string, params: Params = {}, then?: (answer: Response) => Promise<void>): void {
  const url = base + pathOf(path, params), control = new AbortController();
  const sent = fetch(url, { signal: control.signal, headers: token ? { Authorization: `Bearer ${token}` } : {} });
  const answer = then ? sent.then((a) => then(a.clone()).then(() => a)) : sent;
  answer.catch(() => undefined); // whoever takes it hears of its failure
  asked.set(url, { answer, control });
}

/** Whether the address leaves these as they are. */
const plain = (...names: string[]): boolean => !host.file && ["query", "dir", "file", "period", ...names].every((name) => !hash.has(name));

async function views(answer: Response): Promise<void> {
  const info = answer.ok ? ((await answer.json()) as Info) : null, view = hash.get("view") ?? "overview";
  if (!info || perhapsApart(info.totals)) return;
  if (view === "timeline" && plain("lanes", "color")) ask("/timeline", lanesParams({}, LAYOUT, COLOR));
  if (view === "overview" && plain("from", "to")) for (const params of [sumsParams({}), activityParams({})]) ask("/aggregate", params);
}

ask("/info", {}, views);
colourAs(isDark(keptTheme()));
