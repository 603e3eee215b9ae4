/* report_wire.c - encodes a report for another process of the same program. */
#include "base/recbuf.h"
#include "replay/report/report.h"

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
    uint32_t name;
    bool failed;
}; /* the text of the reason follows */

/* A missing sketch is encoded as an empty text. */
static void encode_sketch(const struct sketch *s, struct buf *out)
{
    struct buf b = {0};
    if (s)
        sketch_encode(s, &b);
    rec_put_buf(out, &b);
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
        struct wire_reason wire = {reason->count, reason->file, reason->name, reason->failed};
        buf_append(out, &wire, sizeof wire);
        rec_put_text(out, text_of(reason->reason));
    }
}

/* ---- the other process ----------------------------------------------------------------------- */

static int merge_sketch(struct rec *in, struct sketch **into)
{
    struct text bytes = rec_text(in);
    struct sketch *s = NULL;
    if (in->bad || !bytes.len)
        return in->bad ? ERR_CORRUPT : 0;
    ssize_t used = sketch_decode(bytes.ptr, bytes.len, &s);
    if (used < 0)
        return (int)used;
    if (!*into) {
        *into = s;
        return 0;
    }
    int rc = sketch_merge(*into, s);
    sketch_free(s);
    return rc;
}

static int merge_name(struct report *r, struct rec *in)
{
    struct wire_name wire;
    if (!rec_array(in, &wire, sizeof wire) || wire.number >= REPORT_NAMES_MAX)
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
    int rc = merge_sketch(in, &n->taken);
    return rc < 0 ? rc : merge_sketch(in, &n->traced);
}

static int merge_reason(struct report *r, struct rec *in)
{
    struct wire_reason wire;
    rec_array(in, &wire, sizeof wire);
    struct text reason = rec_text(in);
    if (in->bad)
        return ERR_CORRUPT;
    const char *text = shared_text(r->shared, reason);
    if (!text)
        return -ENOMEM;
    report_reason(r, &(struct report_reason){wire.name, text, wire.file, wire.count, wire.failed});
    return 0;
}

int report_merge(struct report *r, struct text encoded)
{
    struct rec in = rec_of(encoded);
    struct wire_totals totals;
    if (!rec_array(&in, &totals, sizeof totals))
        return ERR_CORRUPT;
    r->executed += totals.executed;
    r->failed += totals.failed;
    r->skipped += totals.skipped;
    if (totals.late_max_ns > r->late_max_ns)
        r->late_max_ns = totals.late_max_ns;
    int rc = merge_sketch(&in, &r->late);
    for (uint32_t i = 0; rc == 0 && i < totals.names; i++)
        rc = merge_name(r, &in);
    for (uint32_t i = 0; rc == 0 && i < totals.reasons; i++)
        rc = merge_reason(r, &in);
    return rc;
}
