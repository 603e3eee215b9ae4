// What is on screen for other programs: a link, curl, dftracerctl, Perfetto.
import { useRef, useState } from "preact/hooks";
import { ApiError } from "../api";
import { ctlLine, curlLine, openInPerfetto, shown } from "../shown";
import { address as link, selection } from "../state";
import { Failure } from "../ui";

/** Over plain HTTP, unless from the same machine, browsers have no clipboard: the text is selected, and copied as a person would. */
async function copyOf(code: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection()?.selectAllChildren(code);
    return document.execCommand("copy");
  }
}

function Line({ title, text }: { title: string; text: string }) {
  const [copied, setCopied] = useState(false), code = useRef<HTMLElement>(null);
  const copy = async () => {
    if (!(await copyOf(code.current as HTMLElement))) return;
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return <div class="line"><span>{title}</span><code ref={code} tabIndex={0} data-line={title}>{text}</code><button type="button" onClick={copy}>{copied ? "Copied" : "Copy"}</button></div>;
}

export function Share() {
  const [open, setOpen] = useState(false), [error, setError] = useState<Error | null>(null), [address, setAddress] = useState("");
  const s = selection.value, r = shown.value;
  const perfetto = () => {
    setError(null);
    setAddress("");
    openInPerfetto(s).then(setAddress, (e) => setError(e instanceof ApiError ? e : new Error("The browser did not open a new tab.")));
  };
  return (
    <>
      <button type="button" class="quiet" aria-expanded={open} onClick={() => setOpen(!open)} title="Link to this view, and the equivalent curl and dftracerctl commands">Share / API</button>
      <button type="button" class="quiet" onClick={perfetto} title="Open the selected events in the Perfetto UI, in a new tab">Open in Perfetto</button>
      {error && <Failure error={error} />}
      {address && <p class="note">Press the button in the new tab to continue. If no tab opened, <a href={address} target="_blank" rel="noopener">open it here</a>.</p>}
      {open && r && (
        <div class="lines"><Line title="link" text={link.value} /><Line title="curl" text={curlLine(r)} /><Line title="dftracerctl" text={ctlLine(r)} /></div>
      )}
    </>
  );
}
