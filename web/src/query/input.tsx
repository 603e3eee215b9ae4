// The text of a query: completed while it is typed, from the columns and values that there are.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isAbort } from "../api";
import { label } from "../format";
import { history, placeOf, proposals, type Place, type Proposal } from "./complete";

interface Props {
  id: string;
  name: string;
  value: string;
  placeholder?: string;
  bad?: boolean;
  onInput: (text: string) => void;
  onEnter: (text: string) => void;
}
/** What is proposed for a text; place null: all of it, from the history. */
interface Open { text: string; place: Place | null; items: Proposal[]; at: number }
const CLOSED: Open = { text: "", place: null, items: [], at: -1 };
const PAUSE_MS = 120;

export function QueryInput(p: Props) {
  const box = useRef<HTMLInputElement>(null);
  const [open, setOpen] = useState<Open>(CLOSED);
  const waiting = useRef<{ timer: number; control: AbortController } | null>(null);
  const stop = () => { if (waiting.current) { clearTimeout(waiting.current.timer); waiting.current.control.abort(); waiting.current = null; } };
  useEffect(() => stop, []);
  // With the text that was taken, and before the next key.
  const caretTo = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (caretTo.current != null) { box.current?.focus(); box.current?.setSelectionRange(caretTo.current, caretTo.current); }
    caretTo.current = null;
  });
  const close = () => { stop(); setOpen(CLOSED); };
  const propose = (text: string, caret: number) => {
    stop();
    if (!text.trim()) {
      setOpen({ text, place: null, items: history().map((q) => ({ text: q, note: "before" })), at: -1 });
      return;
    }
    if (!open.place) setOpen(CLOSED);
    const control = new AbortController(), place = placeOf(text, caret);
    // Until they are there the old ones stay: who has chosen one by then keeps it.
    const show = (items: Proposal[]) => setOpen((old) => ({ text, place, items, at: items.findIndex((one) => one.text === old.items[old.at]?.text) }));
    const timer = window.setTimeout(() => {
      proposals(place, control.signal).then((items) => { if (!control.signal.aborted) show(items); }, (e) => { if (!isAbort(e)) setOpen(CLOSED); });
    }, PAUSE_MS);
    waiting.current = { timer, control };
  };
  const take = (item: Proposal) => {
    const caret = box.current?.selectionStart ?? p.value.length, place = open.place && (open.text === p.value ? open.place : placeOf(p.value, caret));
    const text = place ? p.value.slice(0, place.from) + item.text + " " + p.value.slice(place.to).trimStart() : item.text;
    caretTo.current = place ? place.from + item.text.length + 1 : text.length;
    p.onInput(text);
    close();
  };
  const keys = (e: KeyboardEvent) => {
    const { items, at } = open, step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
    if (step && items.length) {
      e.preventDefault();
      setOpen({ ...open, at: at < 0 && step < 0 ? items.length - 1 : (at + step + items.length) % items.length });
    } else if (step > 0) propose(p.value, box.current?.selectionStart ?? 0);
    else if ((e.key === "Enter" || e.key === "Tab") && items[at]) { e.preventDefault(); take(items[at]); }
    else if (e.key === "Enter") { e.preventDefault(); close(); p.onEnter(p.value); }
    else if (e.key === "Escape") close();
  };
  const list = `${p.id}-list`;
  return (
    <div class="query">
      <input id={p.id} ref={box} role="combobox" aria-label={p.name} aria-expanded={open.items.length > 0} aria-controls={list} aria-autocomplete="list"
        aria-activedescendant={open.at >= 0 ? `${list}-${open.at}` : undefined} aria-invalid={p.bad ?? false} spellcheck={false} autocomplete="off" autocapitalize="off"
        placeholder={p.placeholder} value={p.value} onKeyDown={keys} onBlur={() => setTimeout(() => { if (document.activeElement !== box.current) close(); }, 150)}
        onFocus={(e) => { if (!p.value) propose("", e.currentTarget.selectionStart ?? 0); }}
        onInput={(e) => { p.onInput(e.currentTarget.value); propose(e.currentTarget.value, e.currentTarget.selectionStart ?? 0); }} />
      <ul id={list} role="listbox" aria-label="Suggestions" hidden={!open.items.length}>{open.items.map((item, i) => (
        <li key={item.text} id={`${list}-${i}`} role="option" aria-selected={i === open.at} onMouseDown={(e) => { e.preventDefault(); take(item); }}>
          <code>{label(item.text, 200)}</code> <span class="note">{item.note}</span></li>
      ))}</ul>
    </div>
  );
}
