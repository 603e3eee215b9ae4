import type { Selection } from "../state";

export function CallsView() {
  return <p class="empty">The call tree is not there yet.</p>;
}

/** Calls of two selections, by what takes more and what less time. */
export function FlameDiff(_props: { a: Selection; b: Selection }) {
  return <p class="empty">The differential flame graph is not there yet.</p>;
}
