// node page_drive.js MODULES CHROMIUM PROFILE SHOTS: a person before the page, for test_page. A line of JSON on standard input, {"do": NAME, ...},
// is done in Chromium and answered by a line: what is on screen then. `wrong` in each answer: errors, dialogs, and what the policy forbade.
const path = require("path");
const readline = require("readline");

const [modules, executablePath, profile, shots] = process.argv.slice(2);
const { chromium } = require(path.join(modules, "playwright-core"));
const axe = require.resolve(path.join(modules, "axe-core/axe.min.js"));
const SECONDS = 60 * 1000;
const args = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

let context, page, wrong = [], aborted = [], asked = [], waiting = [], refused = 0;

function listen(p) {
  p.on("pageerror", (e) => wrong.push("error: " + e));
  p.on("dialog", (d) => { wrong.push("dialog: " + d.message()); d.dismiss(); });
  p.on("console", (m) => { if (m.type() === "error" && !/Failed to load resource/.test(m.text())) wrong.push("console: " + m.text()); });
  p.on("request", (r) => asked.push(r.url()));
  p.on("requestfailed", (r) => { if (/ABORTED/.test(r.failure().errorText)) aborted.push(new URL(r.url()).pathname); });
}

// All panels have their answers.
const settled = () => page.waitForFunction(
  () => !document.querySelector('[aria-busy="true"]') && document.querySelector("#view") && ![...document.querySelectorAll(".empty")].some((p) => p.textContent === "…"),
  null, { timeout: SECONDS });

const verbs = {
  // A fresh tab; `before`: a script that runs first, as programs that embed the page have one.
  async open({ url, width, height, scheme, motion, before }) {
    if (page) await page.close();
    wrong = [], aborted = [], asked = [], waiting = [];
    page = await context.newPage();
    await page.clock.install();
    await page.setViewportSize({ width: width || 1360, height: height || 900 });
    await page.emulateMedia({ colorScheme: scheme || "light", reducedMotion: motion || "no-preference" });
    if (before) await page.addInitScript(before);
    await page.addInitScript(() => addEventListener("securitypolicyviolation", (e) => console.error("policy: " + e.violatedDirective + " " + e.blockedURI)));
    listen(page);
    await page.goto(url, { timeout: SECONDS });
  },
  settled,
  async shot({ name }) { await page.screenshot({ path: path.join(shots, name + ".png"), fullPage: true }); },
  click: ({ at }) => page.locator(at).first().click({ timeout: SECONDS }),
  press: ({ keys }) => page.keyboard.press(keys),
  type: ({ text }) => page.keyboard.type(text),
  fill: ({ at, text }) => page.locator(at).first().fill(text, { timeout: SECONDS }),
  select: ({ at, value }) => page.locator(at).first().selectOption(value, { timeout: SECONDS }),
  wait: ({ at, state }) => page.locator(at).first().waitFor({ state: state || "visible", timeout: SECONDS }),
  texts: ({ at }) => page.locator(at).allTextContents(),
  data: ({ at, name }) => page.locator(at).evaluateAll((all, n) => all.map((e) => e.getAttribute(n)), name),
  eval: ({ code }) => page.evaluate(code),
  // The policy of the page forbids what waitForFunction does with a text.
  async until({ code }) {
    for (const end = Date.now() + SECONDS; !(await page.evaluate(code)); await page.waitForTimeout(20)) if (Date.now() > end) throw new Error("never");
  },
  address: () => page.url(),
  back: () => page.goBack(),
  forward: () => page.goForward(),
  reload: () => page.reload(),
  aborted: () => aborted,
  asked: () => asked,
  async axe() {
    await page.evaluate(() => Promise.all(document.getAnimations().map((a) => a.finished.catch(() => undefined))).then(() => 0)); // colours have arrived
    await page.evaluate(require("fs").readFileSync(axe, "utf8"));
    const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
    return found.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target + " " + n.failureSummary.split("\n").pop()).join("; ")}`);
  },
  async download({ at }) {
    const [got] = await Promise.all([page.waitForEvent("download", { timeout: SECONDS }), page.locator(at).first().click()]);
    return { name: got.suggestedFilename(), path: await got.path() };
  },
  // Requests that match are answered with 401 unless they have this token.
  async guard({ token }) {
    await page.route(/\/(?!$|healthz)[a-z-]+(\?|$)/, (r) => r.request().headers().authorization === "Bearer " + token ? r.continue()
      : r.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ title: "Unauthorized", status: 401, detail: "wants a token" }) }));
  },
  // Requests for this path, the first `times` of them, are answered late: when `release` was called so often since.
  late: ({ path: slow, times }) => page.route((u) => u.pathname === slow, (r) => { waiting.push({ route: r, seen: 0 }); }, { times }),
  async release({ after }) {
    const due = waiting.filter((w) => ++w.seen >= after);
    waiting = waiting.filter((w) => w.seen < after);
    await Promise.all(due.map((w) => w.route.continue().then(() => w.route.request().response()).then((a) => a?.finished()).catch(() => undefined))); // some were aborted
    return due.length;
  },
  // Requests for this path that have this parameter are refused; how many these were, says refused.
  async refuse({ path: bad, name, value }) {
    refused = 0;
    const body = JSON.stringify({ title: "Busy", status: 503, detail: "too busy" });
    await page.route((u) => u.pathname === bad && u.searchParams.get(name) === value, (r) => { refused++; return r.fulfill({ status: 503, contentType: "application/problem+json", body }); });
  },
  // Whatever is asked from now on, but for the state of the daemon, is answered with this status; how often, says refused.
  async fail({ status, title, detail }) {
    refused = 0;
    await page.route(/\/(?!$|healthz|progress)[a-z-]+(\?|$)/, (r) => { refused++; return r.fulfill({ status, contentType: "application/problem+json", body: JSON.stringify({ title, status, detail }) }); });
  },
  refused: () => refused,
  // As if so much time had passed for the page: its timers that are due by then have run.
  passes: ({ ms }) => page.clock.runFor(ms),
  // Requests for this path are answered with that.
  tell: ({ path: told, type, body }) => page.route((u) => u.pathname === told, (r) => r.fulfill({ status: 200, contentType: type, body })),
  // Requests for this path are not answered; without a path all but those for the state of the daemon.
  hold: ({ path: held }) => page.route((u) => (held ? u.pathname === held : !/^\/($|healthz|progress|info)/.test(u.pathname)), () => undefined),
  free: () => page.unrouteAll({ behavior: "ignoreErrors" }),
  // Another site, which is not asked: this is what it says.
  site: ({ url, body }) => context.route(url, (r) => r.fulfill({ contentType: "text/html", body })),
  // What opens in a window of its own, where its button is pressed, until it says so much.
  async popup({ at, says }) {
    const [popup] = await Promise.all([page.waitForEvent("popup", { timeout: SECONDS }), page.locator(at).first().click()]);
    await popup.locator("button").waitFor({ timeout: SECONDS });
    const [second] = await Promise.all([popup.waitForEvent("popup", { timeout: SECONDS }), popup.locator("button").click()]);
    await popup.waitForFunction((s) => document.querySelector("output").textContent.includes(s), says, { timeout: SECONDS });
    await second.waitForFunction(() => window.taken, null, { timeout: SECONDS });
    const taken = await second.evaluate(() => window.taken);
    await Promise.all([popup.close(), second.close()]);
    return taken;
  },
};

(async () => {
  context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args, timeout: SECONDS, acceptDownloads: true, timezoneId: "UTC" });
  context.setDefaultTimeout(SECONDS);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line), answer = {};
    try {
      const got = await verbs[asked.do](asked);
      answer.got = got === undefined || (got && typeof got === "object" && got.constructor?.name === "JSHandle") ? null : got;
    } catch (e) {
      answer.failed = String(e);
      await page?.screenshot({ path: path.join(shots, "failed.png") }).catch(() => undefined);
    }
    process.stdout.write(JSON.stringify({ ...answer, wrong }) + "\n");
    wrong = [];
  }
  await context.close();
})();
