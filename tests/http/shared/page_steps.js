// node page_steps.js MODULES CHROMIUM PROFILE SHOTS: does, in Chromium, what the JSON array of steps on standard input says, one after the other, and
// prints a line of JSON: what each told, and `wrong`: errors of scripts, what the page's policy refused, dialogs that opened.
const path = require("path");
const [modules, executablePath, profile, shots] = process.argv.slice(2);
const { chromium } = require(path.join(modules, "playwright-core"));
const SECONDS = 60 * 1000;
const args = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--enable-precise-memory-info"];

const does = {
  open: (page, { url }) => page.goto(url, { timeout: SECONDS }),
  press: (page, { keys }) => page.keyboard.press(keys),
  type: (page, { text }) => page.keyboard.type(text),
  click: (page, { at }) => page.click(at, { timeout: SECONDS }),
  pick: (page, { at, value }) => page.selectOption(at, value, { timeout: SECONDS }),
  texts: (page, { at }) => page.locator(at).allTextContents(),
  eval: (page, { code }) => page.evaluate(code),
  // Until it is so; polled from here, since the page's policy allows no eval of its own.
  async until(page, { code }) {
    for (const end = Date.now() + SECONDS; !(await page.evaluate(code)); await page.waitForTimeout(50))
      if (Date.now() > end) throw new Error(`never: ${code}: ${(await page.textContent("body")).slice(0, 1500)}`);
  },
  // Of the canvas: where a script says, [x, y]; a drag goes from one to the other. `hover`: nothing is pressed.
  async point(page, { code, to, hover }) {
    const box = await page.locator(".timeline-stage canvas").boundingBox(), [x, y] = await page.evaluate(code);
    await page.mouse.move(box.x + x, box.y + y);
    if (hover) return;
    await page.mouse.down();
    if (to) {
      const [u, v] = await page.evaluate(to);
      await page.mouse.move(box.x + (x + u) / 2, box.y + (y + v) / 2);
      await page.mouse.move(box.x + u, box.y + v);
    }
    await page.mouse.up();
  },
  // Fingers on the canvas, each from one place to another, all at once: a script says [[from, to], ...].
  async touch(page, { code }) {
    const box = await page.locator(".timeline-stage canvas").boundingBox(), fingers = await page.evaluate(code), cdp = await page.context().newCDPSession(page);
    const at = (share) => fingers.map(([a, b], id) => ({ id, x: box.x + a[0] + (b[0] - a[0]) * share, y: box.y + a[1] + (b[1] - a[1]) * share }));
    await cdp.send("Emulation.setTouchEmulationEnabled", { enabled: true, maxTouchPoints: fingers.length });
    await cdp.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: at(0) });
    for (let i = 1; i <= 10; i++) await cdp.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: at(i / 10) });
    await cdp.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await cdp.detach();
  },
  // With a clock of its own time passes for the page when `passes` says so, too: its timers that are due by then have run.
  clock: (page) => page.clock.install(),
  passes: (page, { ms }) => page.clock.runFor(ms),
  size: (page, { width, height }) => page.setViewportSize({ width, height }),
  shot: (page, { name }) => page.screenshot({ path: path.join(shots, name + ".png") }),
};

async function main() {
  const steps = JSON.parse(require("fs").readFileSync(0, "utf8")), told = [], wrong = [];
  const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args, timeout: SECONDS, viewport: { width: 1360, height: 820 } });
  const page = await context.newPage();
  page.on("pageerror", (e) => wrong.push(String(e.stack || e)));
  page.on("dialog", (d) => { wrong.push("dialog " + d.message()); d.dismiss(); });
  page.on("console", (m) => { if (m.type() === "error" && !/Failed to load resource/.test(m.text())) wrong.push(m.text()); });
  for (const step of steps) {
    const got = await does[step.do](page, step);
    told.push(["texts", "eval"].includes(step.do) ? got ?? null : null);
  }
  await context.close();
  console.log(JSON.stringify({ told, wrong }));
}
main().catch((e) => {
  console.log(JSON.stringify({ failed: String(e.stack || e) }));
  process.exit(1);
});
