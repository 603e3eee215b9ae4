export function QueryView() {
  return <p class="empty">Not there yet.</p>;
}
