// node open_page.js MODULES CHROMIUM PROFILE URL: what a user does with /open/ID, in Chromium. Opens the page, presses its button, and
// prints, as a line of JSON, what the window that it opened has got, and what the page says of it.
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
  await page.goto(url, { timeout: SECONDS });
  const [popup] = await Promise.all([page.waitForEvent("popup", { timeout: SECONDS }), page.click("button")]);
  await page.waitForFunction(() => /Sent|Could not/.test(document.querySelector("output").textContent), null, { timeout: SECONDS });
  const said = await page.textContent("output");
  if (/Sent/.test(said)) await popup.waitForFunction(() => window.taken, null, { timeout: SECONDS });
  await popup.waitForURL((u) => u.protocol !== "about:", { timeout: SECONDS }); // it has arrived, and does not go elsewhere while it is read
  console.log(JSON.stringify({ said, wrong, taken: await popup.evaluate(() => window.taken ?? null) }));
  await context.close();
})().catch((e) => {
  console.log(JSON.stringify({ failed: String(e) }));
  process.exit(1);
});
