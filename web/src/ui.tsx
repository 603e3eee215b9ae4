// Pieces that views share.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, Cancelled, epoch } from "./api";
import { exact, label } from "./format";

export function Panel(props: { title: string; note?: ComponentChildren; tools?: ComponentChildren; wide?: boolean; busy?: boolean; children: ComponentChildren }) {
  return (
    <section class={`panel${props.wide ? " wide" : ""}`} aria-label={props.title} aria-busy={props.busy ?? false}>
      <div class="panel-head"><h2>{props.title}</h2>{props.note && <span class="note">{props.note}</span>}<span class="tools">{props.tools}</span></div>
      {props.children}
    </section>
  );
}

/** Names of parameters and endpoints are for those who write requests. */
const inWords = (text = ""): string => text.replace(/^`[\w.]+`: /, "").replace(/; [^;]*\/schema\b[^;]*$/, "");

/** Why something is not there. A query that cannot be read is shown with its place. */
export function Failure({ error }: { error: Error }) {
  const [first, ...rest] = error.message.split("\n");
  const status = error instanceof ApiError ? `${error.problem.status} ${error.problem.title}` : "";
  return (
    <div class="failure" role="alert">
      <p title={status}>{label(inWords(first), 2000)}</p>
      {rest.length > 0 && <pre>{rest.map((line) => line.slice(0, 4000)).join("\n")}</pre>}
      {(error instanceof Cancelled || (error instanceof ApiError && error.status >= 500)) && <button onClick={() => { epoch.value++; }}>Try again</button>}
    </div>
  );
}

/** What an answer is: not there yet, refused, empty, or what `children` make of it. */
export function Shown<T>(props: { answer: { data: T | null; error: Error | null }; empty?: (data: T) => boolean; nothing?: string; children: (data: T) => ComponentChildren }) {
  const { data, error } = props.answer;
  if (error) return <Failure error={error} />;
  if (data == null) return <p class="empty">…</p>;
  if (props.empty?.(data)) return <p class="empty">{props.nothing ?? "No events."}</p>;
  return <>{props.children(data)}</>;
}

/** A number with its exact value at hand. */
export function Num({ value, as, unit = "" }: { value: number | null | undefined; as: (n: number | null | undefined) => string; unit?: string }) {
  return <span class="num" title={value == null ? "none" : exact(value) + unit} data-value={value ?? ""}>{as(value)}</span>;
}

/** A name out of a trace: one line, shortened, its whole text at hand. Of a path the end is kept: many begin alike. */
export function Name({ value, most }: { value: unknown; most?: number }) {
  if (typeof value === "string" && value.startsWith("/")) return <bdi class="name path" title={label(value, 1000)}><bdi dir="ltr">{label(value, 1000)}</bdi></bdi>;
  return <bdi class="name" title={label(value, 1000)}>{label(value, most)}</bdi>;
}

/** A text field whose text counts once it is complete: at Enter, or when the field is left. The view may be drawn again while somebody types; the text
 *  typed so far stays. */
export function TextField({ value, onDone, ...more }: { value: string; onDone: (text: string) => void } & Omit<JSX.IntrinsicElements["input"], "value" | "onInput" | "onChange" | "onBlur">) {
  const [typed, setTyped] = useState<string | null>(null);
  return <input {...more} value={typed ?? value} onInput={(e) => setTyped(e.currentTarget.value)} onBlur={() => setTyped(null)}
    onChange={(e) => { setTyped(null); onDone(e.currentTarget.value); }} />;
}

/** How much of the greatest this is. */
export function Bar({ part }: { part: number }) {
  return <span class="bar" aria-hidden="true"><span style={{ width: `${Math.max(0, Math.min(1, part || 0)) * 100}%` }} /></span>;
}

/** Hands the user a file. */
export function save(name: string, content: Blob): void {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(content);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000);
}
