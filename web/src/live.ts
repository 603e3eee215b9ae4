// How far indexing is, told by the daemon as it changes; and answers that follow it.
import { computed, effect, signal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, asking, epoch, getJson, getPieces, heard, isAbort, pathOf, type Params } from "./api";
import type { Info } from "./overview/model";
import { period } from "./state";

export interface Progress {
  generation: number;
  state: string;
  files: number;
  files_ready: number;
  files_failed: number;
  bytes: number;
  bytes_done: number;
  bytes_per_s: number | null;
  eta_s: number | null;
}
export const progress = signal<Progress | null>(null);
/** Whether views are asked again when the index changes. */
export const following = signal(true);
const round = signal(0);
/** Changes when answers are out of date. */
export const stamp = computed(() => `${round.value}.${epoch.value}`);

const REFRESH_MS = 1000, AGAIN_MS = 200;
let timer = 0;
/** The generation for which views were asked again; 0: none yet. */
let generation = 0;
/** Whether what was heard may be of a time before all files were known. A daemon that finds after a restart what it has left keeps
 * its generation: only the end of indexing tells that answers are complete now. */
let unsettled = true;

/** What was asked for is answered first: answers that take longer than the index takes to change would never come. Those that have
 * come may be of the new generation already. */
function refresh(): void {
  timer = 0;
  if (!following.value || !progress.value) return;
  if (asking()) { timer = window.setTimeout(refresh, AGAIN_MS); return; }
  const now = progress.value.generation, shown = Number.isFinite(heard.generation) ? heard.generation : generation;
  const ended = unsettled && progress.value.state !== "indexing";
  unsettled &&= !ended;
  if (shown >= now && !(ended && heard.incomplete)) return;
  heard.generation = Infinity;
  heard.incomplete = false;
  generation = now;
  round.value++;
}
effect(() => {
  if (!progress.value) return;
  unsettled ||= progress.value.state === "indexing";
  if (following.value && (unsettled || progress.value.generation !== generation)) timer ||= window.setTimeout(refresh, REFRESH_MS);
});

function take(piece: string): void {
  const data = piece.split("\n").find((line) => line.startsWith("data: "));
  if (data) progress.value = JSON.parse(data.slice(6)) as Progress;
}

/** As long as somebody looks: a browser has six connections to a host, and other tabs need some, too. */
export function followProgress(): void {
  let control: AbortController | null = null;
  const run = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      try {
        unsettled = true;
        await getPieces("/progress", { follow: true }, "\n\n", take, signal);
      } catch (e) {
        if (isAbort(e)) return;
      }
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  };
  const turn = () => {
    control?.abort();
    control = document.hidden ? null : new AbortController();
    if (control) void run(control.signal);
  };
  document.addEventListener("visibilitychange", turn);
  let seen = epoch.peek();
  effect(() => { if (epoch.value !== seen) { seen = epoch.value; turn(); } });
  turn();
}

/** What is served: asked once for all views. */
export const everything = signal<Answer<Info>>({ data: null, error: null, loading: true });
let asked: AbortController | null = null;
effect(() => {
  void stamp.value;
  asked?.abort();
  asked = new AbortController();
  getJson<Info>("/info", {}, asked.signal).then(
    (data) => { everything.value = { data, error: null, loading: false }; },
    (error) => { if (!isAbort(error)) everything.value = { ...everything.peek(), error: error as Error, loading: false }; },
  );
});
/** When the first event of all that are shown begins: times are told from there. */
export const begin = computed(() => period.value?.from ?? everything.value.data?.totals.min_ts ?? null);
export interface Answer<T> {
  data: T | null;
  error: ApiError | Error | null;
  loading: boolean;
}

/** The answer to a request, asked again when it or the index changes; the old one stays until the new one is there. A request
 * that nobody needs any more is aborted. `params` null: nothing is asked. It is sent before the view is painted, not after. */
export function useAnswer<T>(path: string, params: Params | null): Answer<T> {
  const key = params ? pathOf(path, params) : "";
  const [answer, setAnswer] = useState<Answer<T>>({ data: null, error: null, loading: true });
  const shown = useRef("");
  const now = stamp.value;
  useLayoutEffect(() => {
    if (!params) { setAnswer({ data: null, error: null, loading: false }); return; }
    const control = new AbortController();
    const other = shown.current !== path;
    shown.current = path;
    setAnswer((a) => (a.loading && !a.error && !(other && a.data) ? a : { data: other ? null : a.data, error: null, loading: true }));
    getJson<T>(path, params, control.signal).then(
      (data) => setAnswer({ data, error: null, loading: false }),
      (e) => { if (!isAbort(e)) setAnswer({ data: null, error: e as Error, loading: false }); },
    );
    return () => control.abort();
  }, [key, now]);
  return answer;
}
