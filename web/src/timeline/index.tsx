export function TimelineView() {
  return <p class="empty">The timeline is not there yet.</p>;
}
