/* open.c - /open/ID: a page that opens Perfetto's UI and passes it the answer to a stored query.
 *
 * The UI cannot fetch from most hosts (content security, private networks, tokens), but it accepts
 * a trace by postMessage: the page sends PING until the UI answers PONG.
 * https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui
 */
#include "http/access/stored.h"
#include "http/endpoints/endpoints.h"

/* Browsers block windows that are not opened by a click, so the window is opened first and the
 * trace is fetched meanwhile. */
static const char script[] =
    "const button = document.querySelector('button'), output = document.querySelector('output');\n"
    "const { url, ui, title } = button.dataset, origin = new URL(ui).origin;\n"
    "const show = (text) => { output.textContent = text; };\n"
    "const answered = (perfetto) => new Promise((resolve, reject) => {\n"
    "  const timer = setInterval(() => {\n"
    "    if (perfetto.closed) { end(); reject(new Error('the Perfetto window was closed')); }\n"
    "    else perfetto.postMessage('PING', origin);\n"
    "  }, 50);\n"
    "  const hear = (e) => {\n"
    "    if (e.source === perfetto && e.origin === origin && e.data === 'PONG') { end(); "
    "resolve(); "
    "}\n"
    "  };\n"
    "  const end = () => { clearInterval(timer); removeEventListener('message', hear); };\n"
    "  addEventListener('message', hear);\n"
    "});\n"
    "const fetched = async () => {\n"
    "  const answer = await fetch(url);\n"
    "  if (!answer.ok) throw new Error((await answer.json()).detail);\n"
    "  return answer.arrayBuffer();\n"
    "};\n"
    "button.onclick = async () => {\n"
    "  const perfetto = open(ui);\n"
    "  if (!perfetto)\n"
    "    return show('The browser blocked the new window. Allow pop-up windows and try again.');\n"
    "  show('Preparing the trace ...');\n"
    "  try {\n"
    "    const [buffer] = await Promise.all([fetched(), answered(perfetto)]), size = "
    "buffer.byteLength;\n"
    "    perfetto.postMessage({ perfetto: { buffer, title, fileName: title } }, origin, "
    "[buffer]);\n"
    "    show(`Sent ${size} bytes to Perfetto.`);\n"
    "  } catch (e) {\n"
    "    show(`Could not open the trace in Perfetto: ${e.message}`);\n"
    "  }\n"
    "};\n";

static int make_policy(struct request *rq, char *ret_nonce)
{
    struct buf policy = {0};
    int rc = stored_random(ret_nonce);
    if (rc < 0)
        return rc;
    buf_printf(&policy,
               "default-src 'none'; script-src 'nonce-%s'; connect-src 'self'; style-src "
               "'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
               ret_nonce);
    if (!policy.error)
        rq->policy = arena_strdup(&rq->arena, (struct text){policy.data, policy.len});
    buf_done(&policy);
    return rq->policy ? 0 : -ENOMEM;
}

static int open_open(struct request *rq)
{
    rq->content_type = "text/html; charset=utf-8";
    if (!rq->stored)
        return ERR_NOT_FOUND;
    return make_policy(rq, rq->state);
}

/* Name and address contain no characters that need escaping: stored.c checks them. */
static int next_open(struct request *rq, struct buf *out)
{
    const struct stored_query *q = rq->stored;
    buf_printf(
        out,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>"
        "<meta name=\"viewport\" content=\"width=device-width\"><style>:root{color-scheme:"
        "light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;"
        "padding:0 1rem}</style></head><body><h1>%s</h1>\n<p><button data-url=\"/q/%s/%s\" "
        "data-ui=\"%s\" data-title=\"%s\">Open in Perfetto</button></p>\n"
        "<p><output></output></p>\n<p><a href=\"/q/%s/%s\" download>Download</a></p>\n"
        "<script nonce=\"%s\">\n%s</script></body></html>\n",
        q->name, q->name, q->id, q->name, q->ui, q->name, q->id, q->name, (const char *)rq->state,
        script);
    return ERR_END;
}

const struct endpoint endpoint_open = {
    .path = "/open/{id}",
    .summary = "page that opens the result of a stored query in Perfetto",
    .methods = METHOD_GET,
    .immediate = true,
    .state_size = 33, /* a nonce in hex */
    .open = open_open,
    .next = next_open,
};
