// One file comes out: script and style stand in the page, so that it works from disk, in a webview and under a strict policy.
// Beside it, `policy` is the Content-Security-Policy that lets this script run and no other.
import { createHash } from "node:crypto";
import { defineConfig } from "vite";

const hashOf = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

function inline() {
  return {
    name: "inline",
    enforce: "post",
    generateBundle(_, bundle) {
      const take = (end) => {
        const key = Object.keys(bundle).find((name) => name.endsWith(end));
        const part = bundle[key];
        delete bundle[key];
        return String(part.code ?? part.source).trim();
      };
      const script = take(".js").replaceAll("</script", "<\\/script");
      const style = take(".css").replaceAll("</style", "<\\/style");
      const page = bundle["index.html"];
      page.source = String(page.source)
        .replace(/<script type="module"[^>]*><\/script>/, () => `<script type="module">${script}</script>`)
        .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`);
      const policy =
        `default-src 'none'; script-src ${hashOf(script)}; style-src 'unsafe-inline'; connect-src 'self'; ` +
        "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
      this.emitFile({ type: "asset", fileName: "policy", source: policy });
    },
  };
}

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: { outDir: "made", target: "es2022", modulePreload: false, assetsInlineLimit: 1e9, reportCompressedSize: false },
  plugins: [inline()],
});
