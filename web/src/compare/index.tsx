export function CompareView() {
  return <p class="empty">Not there yet.</p>;
}
