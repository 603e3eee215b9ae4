// Imported before all else: the page is seen as it stands in index.html before the rest of the script runs. Tabs that nobody looks at
// have no frames.
const LATEST_MS = 50;

await new Promise<void>((go) => {
  requestAnimationFrame(() => setTimeout(go));
  setTimeout(go, LATEST_MS);
});
export {};
