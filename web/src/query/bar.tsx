// Which events all views show, how many these are, and how others ask for them.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { getJson } from "../api";
import { fileName } from "../files";
import { after, bytes, clock, count, exact, label } from "../format";
import { useAnswer } from "../live";
import { EVERYTHING, isEverything, isShort, selection, selectionParams, setSelection, tooLong } from "../state";
import { Failure } from "../ui";
import { columnLike } from "./columns";
import { remember } from "./complete";
import { QueryInput } from "./input";
import { Share } from "./share";

function Chips() {
  const s = selection.value;
  return (
    <>
      {s.from != null && s.to != null && <span class="chip" title={`${exact(s.from)} to ${exact(s.to)} µs`}>{clock(s.from)}, {after(s.to - s.from + 1)}
        <button type="button" aria-label="Remove the time range" onClick={() => setSelection({ from: null, to: null })}>×</button></span>}
      {s.dir && <span class="chip">in <bdi>{label(s.dir)}</bdi><button type="button" aria-label="Remove the directory filter" onClick={() => setSelection({ dir: "" })}>×</button></span>}
      {s.file && <span class="chip"><bdi>{label(fileName(s.file))}</bdi><button type="button" aria-label="Remove the file filter" onClick={() => setSelection({ file: "" })}>×</button></span>}
    </>
  );
}

function Matches() {
  const params = selectionParams(selection.value), some = !isEverything(selection.value);
  const answer = useAnswer<{ events: number; unknown?: string[] }>("/event-count", some ? { ...params, format: "json" } : null);
  if (!some || !answer.data) return null;
  return (
    <>
      <span class="note" role="status" title={exact(answer.data.events)}>{count(answer.data.events)} {answer.data.events === 1 ? "event" : "events"}</span>
      {answer.data.unknown?.map((name) => <Unknown key={name} name={name} />)}
    </>
  );
}

/** A test of such a column never holds. */
function Unknown({ name }: { name: string }) {
  const [like, setLike] = useState<string | null>(null);
  useEffect(() => { void columnLike(name).then(setLike); }, [name]);
  return <span class="note warning" role="status">No event has a column <code>{label(name, 100)}</code>{like && <>. Did you mean <code>{label(like, 100)}</code>?</>}</span>;
}

export function SelectionBar() {
  const s = selection.value;
  const [text, setText] = useState(s.query), [error, setError] = useState<Error | null>(null);
  useLayoutEffect(() => { setText(s.query); setError(null); }, [s.query]);
  const last = useRef(0);
  const apply = async (query: string) => {
    const mine = ++last.current; // of two that are looked at, the later one is wanted
    try {
      if (query.trim() && isShort(query)) await getJson("/event-count", { query, format: "json", dir: s.dir || undefined, file: s.file || undefined });
    } catch (e) {
      if (mine === last.current) setError(e as Error);
      return;
    }
    if (mine !== last.current) return;
    setError(null);
    remember(query);
    setSelection({ query: query.trim() });
  };
  const clear = () => {
    last.current++;
    setText("");
    setError(null);
    setSelection(EVERYTHING);
  };
  return (
    <div class="selection" role="search" aria-label="Filter">
      <QueryInput id="query-text" name="Filter query" value={text} bad={error != null} onInput={setText} onEnter={apply}
        placeholder={'Filter all views, e.g. cat == "POSIX" and dur > 10ms   (press /)'} />
      <button type="button" class={text !== s.query ? "main" : ""} onClick={() => apply(text)}>Filter</button>
      <Chips />
      <Matches />
      {!isEverything(s) && <button type="button" class="quiet" onClick={clear}>Clear filters</button>}
      <Share />
      {tooLong.value > 0 ? <Failure error={new Error(`The query is too long (${bytes(tooLong.value)}). Filter by another column.`)} /> : error && <Failure error={error} />}
    </div>
  );
}
