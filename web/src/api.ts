// Requests to the daemon: where it is, who asks, what comes back, and what is done when it is away.
import { signal } from "@preact/signals";
import { base, encoded, keptToken, pathOf, takeFirst, TOKEN_KEY, type Params } from "./host";

export { host, pathOf, type Params } from "./host";

export interface Problem {
  title: string;
  status: number;
  detail: string;
  code?: string;
  param?: string;
  position?: number;
}

export class ApiError extends Error {
  constructor(readonly status: number, readonly problem: Problem) {
    super(problem.detail || problem.title);
  }
}

/** Whether the daemon can be reached. */
export const online = signal(true);
/** Whether it wants a token, or another one than it got. */
export const wantsToken = signal(false);
/** Counts what makes all answers out of date: a token, a daemon that is back. */
export const epoch = signal(0);
/** The oldest state of the index that an answer was computed on since this was set to infinity; whether one said that it is not all. */
export const heard = { generation: Infinity, incomplete: false };

let token = keptToken();

/** Whether one was sent, which was refused if another one is wanted. */
export const hasToken = (): boolean => token !== "";

/** For this tab, as long as it is open. */
export function useToken(text: string): void {
  token = text.trim();
  window.dftracerFirst?.clear();
  try {
    sessionStorage.setItem(TOKEN_KEY, token);
  } catch {
    // It is kept in memory then.
  }
  wantsToken.value = false;
  epoch.value++;
}

export const urlOf = (path: string, params: Params = {}): string => base + pathOf(path, params);
/** The same from anywhere. */
export const addressOf = (path: string): string => new URL(base || ".", location.href).href.replace(/[#?].*/, "").replace(/\/$/, "") + path;

/** What somebody did not want to wait for any longer. */
export class Cancelled extends Error {
  constructor() {
    super("Cancelled.");
  }
}

export const isAbort = (e: unknown): boolean => e instanceof DOMException && e.name === "AbortError";

const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const aborted = () => { clearTimeout(timer); reject(new DOMException("aborted", "AbortError")); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", aborted); resolve(); }, ms);
    if (signal?.aborted) aborted();
    else signal?.addEventListener("abort", aborted, { once: true });
  });

let returning: Promise<void> | null = null;

/** Asks until it is back; all who wait share that. */
function back(): Promise<void> {
  returning ??= (async () => {
    online.value = false;
    for (let wait = 250; ; wait = Math.min(wait * 1.5, 5000)) {
      await sleep(wait);
      const answer = await fetch(base + "/healthz").catch(() => null);
      if (answer?.ok) break;
    }
    online.value = true;
    returning = null;
    epoch.value++;
  })();
  return returning;
}

const aborted = (signal?: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));

const LONGEST_URL = 8000;

async function send(path: string, params: Params, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  const text = encoded(params), asked = takeFirst(urlOf(path, params));
  if (asked) {
    init.signal?.addEventListener("abort", () => asked.control.abort(init.signal?.reason), { once: true });
    return asked.answer;
  }
  if (text.length <= LONGEST_URL || init.body) return fetch(urlOf(path, params), { ...init, headers });
  headers.set("Content-Type", "application/x-www-form-urlencoded");
  return fetch(base + path, { ...init, method: "POST", body: text, headers });
}

async function problemOf(answer: Response): Promise<ApiError> {
  const problem = await answer.json().catch(() => null);
  if (answer.status === 401) wantsToken.value = true;
  return new ApiError(answer.status, { title: answer.statusText, status: answer.status, detail: "", ...(problem as object | null) });
}

/** An answer that is one; else an ApiError. While the daemon cannot be reached, it waits, and asks again when it is back. */
export async function request(path: string, params: Params = {}, signal?: AbortSignal, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    try {
      const answer = await send(path, params, { ...init, signal: signal ?? null });
      if (!answer.ok) throw await problemOf(answer);
      heard.generation = Math.min(heard.generation, Number(answer.headers.get("X-Dftracer-Generation") ?? Infinity));
      heard.incomplete ||= answer.headers.get("X-Dftracer-Complete") === "false";
      return answer;
    } catch (e) {
      if (isAbort(e) || e instanceof ApiError || e instanceof Cancelled) throw e;
      await Promise.race([back(), aborted(signal)]);
    }
  }
}

/** For an answer that breaks off, as when the daemon ends: it is worth another attempt. */
function lost(e: unknown): never {
  throw isAbort(e) || e instanceof Cancelled ? e : new ApiError(503, { title: "Connection lost", status: 503, detail: "The connection was lost before the answer was complete." });
}

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;
const LARGE = /(?<![\d.])(?:9\d{15}|\d{17})/;
/** Integers that doubles do not hold keep all their digits where they may be an argument (an address, a counter). What else is that
 * large is a sum, or a time: rounded. It is slow, so only texts that have one are looked through. */
const keeping = (wanted: (key: string, holder: unknown) => boolean): Reviver => function (key, value, context) {
  if (typeof value !== "number" || Number.isSafeInteger(value) || !/^-?\d+$/.test(context?.source ?? "")) return value;
  return wanted(key, this) ? BigInt(context?.source as string) : value;
};
const ofRow = keeping((key) => key.startsWith("args."));
const ofKeys = keeping((key, holder) => key === "value" || Array.isArray(holder));
/** Keys are lists, as columns of cells and slices are. */
const NUMBERS = new Set(["count", "busy", "start", "dur", "object"]);
const ofLanes: Reviver = function (key, value, context) {
  return NUMBERS.has(key) && Array.isArray(value) ? value.map(Number) : ofKeys.call(this, key, value, context);
};
const parsed = (text: string, reviver: Reviver): unknown => JSON.parse(text, LARGE.test(text) ? reviver : undefined);

const open = new Set<AbortController>();
/** How many answers have not come yet, or not all of them. */
export const pending = signal(0);
export const asking = (): boolean => open.size > 0;
/** All that is waited for is given up. */
export const cancelAll = (): void => { for (const control of open) control.abort(new Cancelled()); };

/** Until it is there, `outer` and cancelAll end it. */
async function counted<T>(outer: AbortSignal | undefined, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const control = new AbortController(), stop = () => control.abort(outer?.reason);
  if (outer?.aborted) stop();
  outer?.addEventListener("abort", stop, { once: true });
  pending.value = open.add(control).size;
  try {
    return await ask(control.signal);
  } finally {
    outer?.removeEventListener("abort", stop);
    open.delete(control);
    pending.value = open.size;
  }
}

export const getJson = <T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<T> =>
  counted(signal, async (own) => parsed(await (await request(path, params, own)).text().catch(lost), ofLanes) as T);

export async function postJson<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const init = { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  return (await (await request(path, {}, signal, init)).json()) as T;
}

/** Each piece that `end` ends, as it comes. */
export async function getPieces(path: string, params: Params, end: string, onPiece: (text: string) => void, signal?: AbortSignal): Promise<void> {
  const reader = (await request(path, params, signal)).body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch(lost);
    const pieces = (rest + (value ?? "")).split(end);
    rest = done ? "" : (pieces.pop() as string);
    for (const piece of pieces) if (piece) onPiece(piece);
    if (done) return;
  }
}

/** NDJSON, row by row. An answer that breaks off has a last line that says why. */
export async function getLines<T>(path: string, params: Params, onRow: (row: T) => void, signal?: AbortSignal): Promise<void> {
  await counted(signal, (own) => getPieces(path, { format: "ndjson", ...params }, "\n", (line) => {
    const row = parsed(line, ofRow) as { error: Problem }, keys = Object.keys(row);
    if (keys.length === 1 && keys[0] === "error") throw new ApiError(500, row.error);
    onRow(row as T);
  }, own));
}
