import { useState } from "preact/hooks";
import { useToken } from "./api";

/** Asked for when the daemon refuses: no token yet, a wrong one, or one that has expired. */
export function TokenForm() {
  const [text, setText] = useState("");
  return (
    <form class="token" onSubmit={(e) => { e.preventDefault(); useToken(text); }}>
      <h2>This daemon wants a token</h2>
      <p>It serves the user that runs it; others need a token, which the administrator gives. One that was good before may have expired.</p>
      <label>Token <input type="password" autocomplete="off" autofocus value={text} onInput={(e) => setText(e.currentTarget.value)} /></label>
      <button type="submit" class="main" disabled={!text.trim()}>Go on</button>
    </form>
  );
}
