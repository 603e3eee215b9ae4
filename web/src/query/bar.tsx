// Which events all views show.
import { EVERYTHING, selection, setSelection } from "../state";
import { clock, time } from "../format";
import { useState } from "preact/hooks";

export function SelectionBar() {
  const s = selection.value;
  const [text, setText] = useState(s.query);
  return (
    <form class="selection" role="search" onSubmit={(e) => { e.preventDefault(); setSelection({ query: text }); }}>
      <input id="query-text" aria-label="Query" placeholder={'Filter, for instance: cat == "POSIX" and dur > 10ms'} spellcheck={false}
        value={text} onInput={(e) => setText(e.currentTarget.value)} />
      {s.from != null && s.to != null && <span class="chip">{clock(s.from)} + {time(s.to - s.from)}</span>}
      {s !== EVERYTHING && <button type="button" class="quiet" onClick={() => { setText(""); setSelection(EVERYTHING); }}>All events</button>}
    </form>
  );
}
