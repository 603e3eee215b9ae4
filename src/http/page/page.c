/* page.c - /: the page for browsers, built from web/ together with the daemon. */
#include "http/page/page.h"

#include "http/page/page_text.h"

#include <string.h>

/* The page is the same for all users and contains no data of traces, which it requests itself. */
static int open_page(struct request *rq)
{
    rq->content_type = "text/html; charset=utf-8";
    rq->fixed = (struct text){page_html, (size_t)(page_html_end - page_html)};
    if (rq->fixed.len)
        rq->policy = page_policy;
    return 0;
}

static void write_text(struct buf *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '<')
            buf_puts(out, "&lt;");
        else if (*s == '&')
            buf_puts(out, "&amp;");
        else
            buf_putc(out, *s);
    }
}

static void write_endpoint(struct buf *out, const struct endpoint *e)
{
    if (strchr(e->path, '{'))
        buf_printf(out, "<details><summary><code>%s</code> ", e->path);
    else
        buf_printf(out, "<details><summary><a href=\"%s\"><code>%s</code></a> ", e->path, e->path);
    write_text(out, e->summary);
    buf_puts(out, "</summary><table>");
    struct param_cursor all = {0};
    for (const struct param_spec *p; (p = params_next(e, &all));) {
        buf_printf(out, "<tr><td><code>%s</code></td><td>", p->name);
        write_text(out, p->help);
        if (p->choices) {
            buf_puts(out, " (");
            write_text(out, p->choices);
            buf_puts(out, ")");
        }
        buf_puts(out, "</td></tr>");
    }
    buf_puts(out, "</table></details>\n");
}

/* If the page could not be built, lists the endpoints. */
static int next_page(struct request *rq, struct buf *out)
{
    if (rq->fixed.len) {
        buf_append(out, rq->fixed.ptr, rq->fixed.len);
        return ERR_END;
    }
    buf_puts(
        out,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>dftracerd</title>"
        "<meta name=\"viewport\" content=\"width=device-width\"><style>:root{color-scheme:light "
        "dark}"
        "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
        "td{padding:0 1rem 0 0;vertical-align:top}summary{cursor:pointer;padding:.2rem 0}"
        "</style></head><body><h1>dftracerd</h1>\n<p>This daemon was built without the web "
        "page, which requires <code>npm</code>; <code>make page</code> reports what is missing. "
        "Available endpoints:</p>\n");
    for (const struct endpoint *const *e = rq->http->endpoints; *e; e++)
        write_endpoint(out, *e);
    buf_printf(out, "<p><small>version %s</small></p></body></html>\n", rq->http->options->version);
    return ERR_END;
}

const struct endpoint endpoint_page = {
    .path = "/",
    .summary = "web page: traces in the browser",
    .methods = METHOD_GET,
    .immediate = true,
    .public = true,
    .open = open_page,
    .next = next_page,
};
