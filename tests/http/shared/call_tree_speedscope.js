// node call_tree_speedscope.js MODULES CHROMIUM PROFILE URL: speedscope at the URL, in Chromium, with stacks in its sandwich view.
// Prints, as a line of JSON, the rows of its table (name, total, self) and what went wrong.
const path = require("path");

const [modules, executablePath, profile, url] = process.argv.slice(2);
const { chromium } = require(path.join(modules, "playwright-core"));
const SECONDS = 60 * 1000;
const args = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

(async () => {
  const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args, timeout: SECONDS });
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (e) => wrong.push(String(e)));
  page.on("console", (m) => m.type() === "error" && wrong.push(m.text()));
  page.on("dialog", (d) => (wrong.push(d.message()), d.dismiss()));
  await page.goto(url, { timeout: SECONDS });
  await page.waitForSelector("table tbody tr, tr td", { timeout: SECONDS });
  const rows = await page.$$eval("tr", (all) => all.map((tr) => [...tr.querySelectorAll("td, th")].map((cell) => cell.textContent)));
  console.log(JSON.stringify({ rows, wrong }));
  await context.close();
})().catch((e) => {
  console.log(JSON.stringify({ failed: String(e) }));
  process.exit(1);
});
