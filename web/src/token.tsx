import { useState } from "preact/hooks";
import { hasToken, useToken } from "./api";

/** Asked for when the daemon refuses: no token yet, a wrong one, or one that has expired. */
export function TokenForm() {
  const [text, setText] = useState("");
  return (
    <form class="token" onSubmit={(e) => { e.preventDefault(); useToken(text); }}>
      <h2>Access token required</h2>
      {hasToken() && <p class="failure" role="alert">The daemon does not accept this token.</p>}
      <p>Only the user who runs this daemon has access without a token. Ask the administrator for one. A token that worked before may have expired.</p>
      <label>Token <input type="password" autocomplete="off" autofocus value={text} onInput={(e) => setText(e.currentTarget.value)} /></label>
      <button type="submit" class="main" disabled={!text.trim()}>Continue</button>
    </form>
  );
}
