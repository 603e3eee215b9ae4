export function OverviewView() {
  return <p class="empty">Not there yet.</p>;
}
