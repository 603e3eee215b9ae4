/* report_wire.c - encodes a report for another process of the same program. */
#include "replay/report/report.h"

#include <string.h>

struct wire_totals {
    uint64_t executed, failed, skipped;
    int64_t late_max_ns;
    uint32_t names, reasons;
};
struct wire_name {
    uint32_t number;
    uint64_t executed, failed, errors, bytes, bytes_traced;
    int64_t time_ns, time_traced_ns;
};
struct wire_reason {
    uint64_t count;
    const char *file;
    uint32_t name, length; /* length of the text, which follows */
    bool failed;
};

static void encode_sketch(const struct sketch *s, struct buf *out)
{
    struct buf b = {0};
    if (s)
        sketch_encode(s, &b);
    uint32_t len = (uint32_t)b.len;
    buf_append(out, &len, sizeof len);
    buf_append(out, b.data, b.len);
    out->error = b.error ? b.error : out->error;
    buf_done(&b);
}

static bool name_is_used(const struct report_name *n)
{
    return n->executed || n->failed;
}

void report_encode(const struct report *r, struct buf *out)
{
    struct wire_totals totals = {.executed = r->executed,
                                 .failed = r->failed,
                                 .skipped = r->skipped,
                                 .late_max_ns = r->late_max_ns,
                                 .reasons = r->reason_count};
    for (uint32_t i = 0; i < REPORT_NAMES_MAX; i++)
        totals.names += name_is_used(&r->by_name[i]);
    buf_append(out, &totals, sizeof totals);
    encode_sketch(r->late, out);
    for (uint32_t i = 0; i < REPORT_NAMES_MAX; i++) {
        const struct report_name *n = &r->by_name[i];
        struct wire_name wire = {i,        n->executed,     n->failed,  n->errors,
                                 n->bytes, n->bytes_traced, n->time_ns, n->time_traced_ns};
        if (!name_is_used(n))
            continue;
        buf_append(out, &wire, sizeof wire);
        encode_sketch(n->taken, out);
        encode_sketch(n->traced, out);
    }
    for (unsigned i = 0; i < r->reason_count; i++) {
        const struct report_reason *reason = &r->reasons[i];
        struct text text = text_of(reason->reason);
        struct wire_reason wire = {reason->count, reason->file, reason->name, (uint32_t)text.len,
                                   reason->failed};
        buf_append(out, &wire, sizeof wire);
        buf_text(out, text);
    }
}

/* ---- the other process ----------------------------------------------------------------------- */

/* Removes `size` bytes from the front; returns NULL if there are fewer. */
static const char *wire_take(struct text *t, size_t size)
{
    const char *at = t->ptr;
    if (t->len < size)
        return NULL;
    t->ptr += size;
    t->len -= size;
    return at;
}

static int wire_copy(struct text *t, void *out, size_t size)
{
    const char *at = wire_take(t, size);
    if (!at)
        return ERR_CORRUPT;
    memcpy(out, at, size);
    return 0;
}

static int merge_sketch(struct text *t, struct sketch **into)
{
    struct sketch *s = NULL;
    uint32_t len;
    if (wire_copy(t, &len, sizeof len) < 0)
        return ERR_CORRUPT;
    const char *at = wire_take(t, len);
    if (!at)
        return ERR_CORRUPT;
    if (!len)
        return 0;
    ssize_t used = sketch_decode(at, len, &s);
    if (used < 0)
        return (int)used;
    if (*into) {
        int rc = sketch_merge(*into, s);
        sketch_free(s);
        return rc;
    }
    *into = s;
    return 0;
}

static int merge_name(struct report *r, struct text *t)
{
    struct wire_name wire;
    if (wire_copy(t, &wire, sizeof wire) < 0 || wire.number >= REPORT_NAMES_MAX)
        return ERR_CORRUPT;
    struct report_name *n = &r->by_name[wire.number];
    n->executed += wire.executed;
    n->failed += wire.failed;
    n->errors += wire.errors;
    n->bytes += wire.bytes;
    n->bytes_traced += wire.bytes_traced;
    n->time_ns += wire.time_ns;
    if (__builtin_add_overflow(n->time_traced_ns, wire.time_traced_ns, &n->time_traced_ns))
        n->time_traced_ns = INT64_MAX;
    int rc = merge_sketch(t, &n->taken);
    return rc < 0 ? rc : merge_sketch(t, &n->traced);
}

static int merge_reason(struct report *r, struct text *t)
{
    struct wire_reason wire;
    if (wire_copy(t, &wire, sizeof wire) < 0)
        return ERR_CORRUPT;
    const char *at = wire_take(t, wire.length);
    const char *text = at ? shared_text(r->shared, (struct text){at, wire.length}) : NULL;
    if (!text)
        return at ? -ENOMEM : ERR_CORRUPT;
    report_reason(r, &(struct report_reason){wire.name, text, wire.file, wire.count, wire.failed});
    return 0;
}

int report_merge(struct report *r, struct text encoded)
{
    struct wire_totals totals;
    int rc = wire_copy(&encoded, &totals, sizeof totals);
    if (rc < 0)
        return rc;
    r->executed += totals.executed;
    r->failed += totals.failed;
    r->skipped += totals.skipped;
    if (totals.late_max_ns > r->late_max_ns)
        r->late_max_ns = totals.late_max_ns;
    rc = merge_sketch(&encoded, &r->late);
    for (uint32_t i = 0; rc == 0 && i < totals.names; i++)
        rc = merge_name(r, &encoded);
    for (uint32_t i = 0; rc == 0 && i < totals.reasons; i++)
        rc = merge_reason(r, &encoded);
    return rc;
}
