/* negotiate.c - Accept and Accept-Encoding with q-values (RFC 9110 section 12.5). */
#include "http/request/negotiate.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* One element of a header list: the trimmed `name`, and its weight in 1/1000. */
struct element {
    struct text name;
    int weight;
};

/* Parses "q=0.5" as 500. An invalid weight is 0, which excludes the element. */
static int weight_of_parameter(struct text p, int otherwise)
{
    double q;
    if (p.len < 2 || (p.ptr[0] | 0x20) != 'q' || p.ptr[1] != '=')
        return otherwise;
    bool ok = num_parse_double((struct text){p.ptr + 2, p.len - 2}, &q) == 0 && q >= 0 && q <= 1;
    return ok ? (int)(q * 1000 + 0.5) : 0;
}

static bool next_element(struct text *list, struct element *ret)
{
    struct text item, part;
    if (!list->len || !text_split(list, ',', &item) || !text_split(&item, ';', &part))
        return false;
    ret->name = text_trim(part);
    ret->weight = 1000;
    while (text_split(&item, ';', &part))
        ret->weight = weight_of_parameter(text_trim(part), ret->weight);
    return true;
}

/* Returns how well a media range matches a content type: 0 not at all, 1 any, 2 its main type, 3
 * exactly. */
static int match_range(struct text range, const char *type)
{
    if (text_eq(range, TEXT("*/*")))
        return 1;
    size_t main = strcspn(type, "/"), whole = strcspn(type, ";");
    if (range.len == main + 2 && strncasecmp(range.ptr, type, main + 1) == 0 &&
        range.ptr[main + 1] == '*')
        return 2;
    return range.len == whole && strncasecmp(range.ptr, type, whole) == 0 ? 3 : 0;
}

static int weight_of(const char *accept, const char *type, bool *ret_named)
{
    struct text list = text_of(accept);
    struct element e;
    int best = 0, weight = 0;
    while (next_element(&list, &e)) {
        int m = match_range(e.name, type);
        if (m > best)
            best = m, weight = e.weight;
    }
    *ret_named = best == 3;
    return weight;
}

static int refuse_format(struct request *rq, const char *what)
{
    struct buf list = {0};
    for (size_t i = 0; i < rq->endpoint->format_count; i++)
        buf_printf(&list, "%s%s (%s)", i ? ", " : "", format_name(rq->endpoint->formats[i]),
                   format_content_type(rq->endpoint->formats[i]));
    if (rq->endpoint->own_format)
        buf_printf(&list, ", %s", rq->endpoint->own_format);
    buf_putc(&list, '\0');
    int rc = err_set_param(&rq->err, ERR_FORMAT, "format", "%s: %s supports %s", what,
                           rq->endpoint->path, list.error ? "other formats" : list.data);
    buf_done(&list);
    return rc;
}

static int by_name(struct request *rq, struct text name)
{
    enum format f;
    rq->format_given = true;
    if (rq->endpoint->own_format && text_eq(name, text_of(rq->endpoint->own_format)))
        return rq->own_format = true, rq->format = FORMAT_JSON, 0;
    if (format_parse(name, &f) < 0)
        return refuse_format(rq, "unknown format");
    for (size_t i = 0; i < rq->endpoint->format_count; i++)
        if (rq->endpoint->formats[i] == f)
            return rq->format = f, 0;
    return refuse_format(rq, "unsupported format");
}

int negotiate_format(struct request *rq, const char *accept)
{
    const struct endpoint *e = rq->endpoint;
    if (!e->format_count)
        return 0;
    const struct param *p = request_param(rq, "format");
    if (p && p->set)
        return by_name(rq, p->text);
    rq->format = e->formats[0];
    if (!accept || !*accept)
        return 0;
    int best = 0;
    for (size_t i = 0; i < e->format_count; i++) {
        bool named;
        int w = weight_of(accept, format_content_type(e->formats[i]), &named);
        if (w > best)
            best = w, rq->format = e->formats[i], rq->format_given = named;
    }
    return best ? 0 : refuse_format(rq, "`Accept` allows no supported format");
}

enum coding negotiate_coding(const char *accept_encoding)
{
    struct text list = text_of(accept_encoding);
    struct element e;
    int gzip = 0, zstd = 0, identity = 0; /* preferred only if it is listed */
    while (next_element(&list, &e)) {
        if (text_eq_nocase(e.name, TEXT("gzip")) || text_eq_nocase(e.name, TEXT("x-gzip")))
            gzip = e.weight;
        else if (text_eq_nocase(e.name, TEXT("zstd")))
            zstd = e.weight;
        else if (text_eq_nocase(e.name, TEXT("identity")))
            identity = e.weight;
    }
    int best = zstd > gzip ? zstd : gzip;
    if (!best || identity > best)
        return CODING_IDENTITY;
    return zstd > gzip ? CODING_ZSTD : CODING_GZIP;
}

const char *coding_name(enum coding c)
{
    return c == CODING_GZIP ? "gzip" : c == CODING_ZSTD ? "zstd" : NULL;
}
