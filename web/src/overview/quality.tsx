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

/** `what`: of one, and of several. */
interface Finding { what: [string, string]; number: number; meaning: string }

function findings(info: Info): Finding[] {
  const t = info.totals, files = info.files ?? [];
  const all: Finding[] = [
    { what: ["corrupt file", "corrupt files"], number: t.files_damaged, meaning: "truncated or corrupt; the readable part is included" },
    { what: ["unreadable file", "unreadable files"], number: t.files_failed, meaning: "could not be read at all" },
    { what: ["line skipped", "lines skipped"], number: t.invalid, meaning: "invalid JSON" },
    { what: ["line repaired", "lines repaired"], number: t.repaired, meaning: "broken in a known way, and included" },
    { what: ["trace not finalized", "traces not finalized"], number: files.filter((f) => f.finished === false).length, meaning: "the traced process did not write the end of its file" },
    { what: ["duplicate file", "duplicate files"], number: info.duplicates?.length ?? 0, meaning: "same content as another file; counted once" },
    { what: ["missing file", "missing files"], number: info.missing?.length ?? 0, meaning: "indexed before, now deleted or moved" },
  ];
  return all.filter((f) => f.number > 0);
}

export function Quality({ info }: { info: Info }) {
  const found = findings(info);
  return (
    <Panel title="Data quality">
      {info.index.error && <p class="failure">Indexing stopped: {info.index.error}</p>}
      {found.length ? (
        <ul class="findings">{found.map((f) => <li key={f.what[0]}><strong title={exact(f.number)}>{count(f.number)}</strong> {f.what[f.number === 1 ? 0 : 1]} <span class="soft">{f.meaning}</span></li>)}</ul>
      ) : info.totals.lines ? <p class="good-news">No problems: {exact(info.totals.lines)} lines parsed.</p>
        : <p class="empty">{info.totals.files ? "No lines." : "No .pfw or .pfw.gz files."}</p>}
    </Panel>
  );
}

export function Files({ answer, total }: { answer: Answer<Info>; total: number }) {
  if (total > MOST_FILES) return <p class="empty">{exact(total)} files are too many to list here. Request <code>/info?detail=files</code> for all of them.</p>;
  return (
    <Panel title="Files" wide note={`${many(total, "file")}; click to filter`} busy={answer.loading}>
      <Shown answer={answer} empty={(d) => !d.files?.length} nothing="No trace files.">{(d) => (
        <div class="scroll files" tabIndex={0} role="region" aria-label="List of files"><table>
          <thead><tr><th>file</th><th>state</th><th class="r">events</th><th class="r">size</th><th class="r">wall time</th><th class="r">lines skipped</th></tr></thead>
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
        </table>{(d.files?.length ?? 0) > SHOWN_FILES && <p class="empty">{exact((d.files?.length ?? 0) - SHOWN_FILES)} more files are not listed.</p>}</div>
      )}</Shown>
    </Panel>
  );
}
