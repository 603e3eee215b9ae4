// One file comes out: script and style stand in the page, so that it works from disk, in a webview and under a strict policy.
// Beside it, `policy` is the Content-Security-Policy that lets these scripts run and no others.
import { createHash } from "node:crypto";
import { build, defineConfig } from "vite";

const target = "es2022";
const closed = (script) => script.replaceAll("</script", "<\\/script");
const hashOf = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The small script that runs first. */
async function first() {
  const made = await build({ configFile: false, logLevel: "warn", build: { write: false, target, lib: { entry: "src/first.ts", formats: ["iife"], name: "first" } } });
  return made[0].output[0].code.trim();
}

/** uPlot asks for the formats of the user's language when it is evaluated, which takes longer than all else before the first view is
 * drawn. Charts here write their numbers and times themselves. */
const plain = {
  name: "plain",
  transform(code, id) {
    if (!id.endsWith("uPlot.esm.js")) return null;
    const made = code.replace(/new Intl\.NumberFormat\(.*\);/, "{ format: String };").replace("new Intl.DateTimeFormat().resolvedOptions().timeZone;", '"";');
    if (/^[^/]*= new Intl/m.test(made)) throw new Error("uPlot asks for formats elsewhere");
    return { code: made, map: null };
  },
};

function inline() {
  return {
    name: "inline",
    enforce: "post",
    async generateBundle(_, bundle) {
      const take = (end) => {
        const key = Object.keys(bundle).find((name) => name.endsWith(end));
        const part = bundle[key];
        delete bundle[key];
        return String(part.code ?? part.source).trim();
      };
      const script = closed(take(".js")), early = closed(await first());
      const style = take(".css").replaceAll("</style", "<\\/style");
      const page = bundle["index.html"];
      // The script is last: what stands before it is seen while it is read.
      page.source = String(page.source)
        .replace(/ *<script type="module"[^>]*><\/script>\n/, "")
        .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`)
        .replace("<body>", () => `<body><script>${early}</script>`)
        .replace("</body>", () => `<script type="module">${script}</script></body>`);
      const policy =
        `default-src 'none'; script-src ${hashOf(early)} ${hashOf(script)}; style-src 'unsafe-inline'; connect-src 'self'; ` +
        "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
      this.emitFile({ type: "asset", fileName: "policy", source: policy });
    },
  };
}

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: { outDir: "made", target, modulePreload: false, assetsInlineLimit: 1e9, reportCompressedSize: false },
  plugins: [plain, inline()],
});
