/* access_log.c - writes the log line of a request. */
#include "http/server/server.h"

#include <string.h>

static void put_word(struct buf *line, const char *before, const char *word)
{
    buf_puts(line, before);
    buf_puts(line, word);
}

static void put_number(struct buf *line, const char *before, uint64_t number)
{
    char digits[24];
    num_format_u64(number, digits);
    put_word(line, before, digits);
}

/* Returns the path without parameters, and without the id of a stored query, whatever happened to
 * the request: whoever knows the id may run that query. A request that was refused early has no
 * path yet, only a URI. */
static struct text logged_path(const struct exchange *x)
{
    struct text path = x->path ? text_of(x->path) : text_of(x->uri);
    if (!x->path && path.ptr)
        path.len = strcspn(path.ptr, "?");
    if (path.ptr && memmem(path.ptr, path.len, "/q/", 3))
        return TEXT("/q/{id}/{name}");
    if (path.ptr && memmem(path.ptr, path.len, "/open/", 6))
        return TEXT("/open/{id}");
    return path;
}

void access_log(const struct exchange *x, bool cut)
{
    const struct http_options *o = &x->http->options;
    struct buf line = {0};
    if (!o->log)
        return;
    buf_reserve(&line, 256);
    put_word(&line, "request id=", *x->id ? x->id : "-");
    put_word(&line, " method=", x->method ? x->method : "-");
    buf_puts(&line, " path=");
    buf_json_text(&line, logged_path(x));
    put_number(&line, " status=", (uint64_t)x->status);
    put_number(&line, " bytes=", x->sent);
    uint64_t tenths = (uint64_t)(clock_mono_ns() - x->rq.started_ns + 50000) / 100000;
    put_number(&line, " ms=", tenths / 10);
    put_number(&line, ".", tenths % 10);
    if (x->error)
        put_word(&line, " error=", err_name(x->error));
    buf_puts(&line, cut ? " cut=true" : "");
    buf_putc(&line, '\0');
    if (!line.error)
        o->log(o->log_arg, 6, line.data);
    buf_done(&line);
}
