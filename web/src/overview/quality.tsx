// What is wrong with the traces, and the files with their state.
import type { Answer } from "../live";
import { bytes, count, exact, many, time } from "../format";
import { literalFile } from "../files";
import { setSelection } from "../state";
import { Name, Num, Panel, Shown } from "../ui";
import type { Info } from "./model";

/** So many files are told one by one; of more, totals only: the list would be megabytes. */
export const MOST_FILES = 2000;
const SHOWN_FILES = 200;

interface Finding { what: string; number: number; meaning: string }

function findings(info: Info): Finding[] {
  const t = info.totals, files = info.files ?? [];
  const all: Finding[] = [
    { what: "damaged files", number: t.files_damaged, meaning: "cut or corrupt; what could be read of them is here" },
    { what: "failed files", number: t.files_failed, meaning: "could not be read at all" },
    { what: "bad lines", number: t.invalid, meaning: "are no JSON objects and were left out" },
    { what: "mended lines", number: t.repaired, meaning: "were broken in a known way and are here" },
    { what: "unfinished processes", number: files.filter((f) => f.finished === false).length, meaning: "files whose process never wrote its end" },
    { what: "duplicates", number: info.duplicates?.length ?? 0, meaning: "files with the text of another one, not counted twice" },
    { what: "vanished files", number: info.missing?.length ?? 0, meaning: "were here before" },
  ];
  return all.filter((f) => f.number > 0);
}

export function Quality({ info }: { info: Info }) {
  const found = findings(info);
  return (
    <Panel title="Data quality">
      {info.index.error && <p class="failure">Indexing has stopped: {info.index.error}</p>}
      {!info.totals.lines ? <p class="empty">Nothing was read: no .pfw or .pfw.gz files here.</p> : !found.length ? <p class="good-news">Nothing is wrong with these traces: {exact(info.totals.lines)} lines read, none left out.</p> : (
        <ul class="findings">{found.map((f) => <li key={f.what}><strong title={exact(f.number)}>{count(f.number)}</strong> {f.what} <span class="soft">{f.meaning}</span></li>)}</ul>
      )}
    </Panel>
  );
}

export function Files({ answer, total }: { answer: Answer<Info>; total: number }) {
  if (total > MOST_FILES) return <p class="empty">{exact(total)} files: more than a list here would help with. Choose a directory or file above, or ask <code>/info?detail=files</code>.</p>;
  return (
    <Panel title="Files" wide note={`${many(total, "file")}; click one to see it alone`} busy={answer.loading}>
      <Shown answer={answer} empty={(d) => !d.files?.length} nothing="No trace files here.">{(d) => (
        <div class="scroll files" tabIndex={0} role="region" aria-label="List of files"><table>
          <thead><tr><th>file</th><th>state</th><th class="r">events</th><th class="r">packed</th><th class="r">span</th><th class="r">bad lines</th></tr></thead>
          <tbody>{d.files?.slice(0, SHOWN_FILES).map((f) => (
            <tr key={f.path}>
              <td><button class="link" onClick={() => setSelection({ file: literalFile(f.path) })}><Name value={f.path} /></button></td>
              <td><span class={`state ${f.state === "ready" ? "good" : f.state === "failed" || f.state === "damaged" ? "bad" : "busy"}`} title={f.error ?? ""}>{f.state}</span></td>
              <td class="r"><Num value={f.events} as={count} /></td>
              <td class="r"><Num value={f.compressed_bytes} as={bytes} unit=" B" /></td>
              <td class="r">{f.min_ts != null && f.max_te != null ? <Num value={f.max_te - f.min_ts} as={time} unit=" µs" /> : "–"}</td>
              <td class="r"><Num value={f.invalid} as={count} /></td>
            </tr>
          ))}</tbody>
        </table>{(d.files?.length ?? 0) > SHOWN_FILES && <p class="empty">{exact((d.files?.length ?? 0) - SHOWN_FILES)} more.</p>}</div>
      )}</Shown>
    </Panel>
  );
}
