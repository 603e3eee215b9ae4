export function GroupsView() {
  return <p class="empty">Not there yet.</p>;
}
