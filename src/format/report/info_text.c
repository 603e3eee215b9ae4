/* info_text.c - /info as text, as the old command printed it. */
#include "dftracerd/format.h"
#include "dftracerd/info.h"
#include "format/writer/text_number.h"

#include <string.h>

static void put_label(struct buf *out, const char *label)
{
    buf_puts(out, "  ");
    put_padded(out, text_of(label), -24);
}

static void put_number(struct buf *out, const char *label, uint64_t u)
{
    put_label(out, label);
    buf_printf(out, "%llu\n", (unsigned long long)u);
}

static void put_text(struct buf *out, const char *label, const char *text)
{
    put_label(out, label);
    buf_printf(out, "%s\n", text);
}

static void put_bytes(struct buf *out, const char *label, uint64_t bytes)
{
    put_label(out, label);
    put_size(out, bytes);
    buf_putc(out, '\n');
}

static uint64_t valid_objects(const struct trace_counts *c)
{
    return c->events + c->counters + c->aggregated;
}

/* The end of both forms; the old command omitted the average in the detailed one. */
static void put_summary(struct buf *out, const struct info *i, bool average)
{
    const struct info_totals *t = &i->totals;

    put_number(out, "Total Files:", t->files);
    put_number(out, "Successful:", t->files - t->failed);
    put_number(out, "Failed:", t->failed);
    put_number(out, "Total Lines:", t->counts.lines);
    if (average)
        put_number(out, "Valid Events:", valid_objects(&t->counts));
    put_bytes(out, "Total Uncompressed:", t->text_bytes);
    if (average && valid_objects(&t->counts)) {
        put_label(out, "Avg Bytes/Event:");
        buf_printf(out, "%.2f\n", (double)t->text_bytes / (double)valid_objects(&t->counts));
    }
    put_label(out, "Processing Time:");
    buf_printf(out, "%.2f ms\n", (double)(clock_mono_ns() - i->started_ns) / 1e6);
}

static void put_statistics(struct buf *out, const struct index_file *f)
{
    double mb = (double)f->text_bytes / (1 << 20);
    uint64_t events = valid_objects(&f->counts), lines = f->counts.lines;

    buf_puts(out, "\nDetailed Statistics\n");
    put_number(out, "Start Line:", lines ? 1 : 0);
    put_number(out, "End Line:", lines);
    put_label(out, "Size (MB):");
    buf_printf(out, "%.6f\n", mb);
    if (events) {
        put_label(out, "MB per Event:");
        buf_printf(out, "%.8f\n", mb / (double)events);
    }
    if (f->chunk_count == 0)
        return;
    buf_puts(out, "\nRandom Access Performance\n");
    put_number(out, "Worst Case Lines:", lines / f->chunk_count);
    put_number(out, "Average Case Lines:", lines / f->chunk_count / 2);
}

static void put_file(struct buf *out, const struct index_file *f)
{
    put_ruler(out);
    buf_printf(out, "File: %s\n", f->name);
    put_ruler(out);
    if (f->state == INDEX_FAILED) {
        buf_printf(out, "  Status: ERROR - %s\n\n", f->error ? f->error : "unknown");
        return;
    }
    buf_puts(out, "Basic Information\n");
    put_text(out, "Format:", f->format == TRACE_GZIP ? "GZIP" : "PLAIN");
    put_text(out, "Status:", f->state == INDEX_READY && !f->damaged ? "OK" : index_file_state(f));
    if (f->error)
        put_text(out, "Damage:", f->error);
    buf_puts(out, "\nFile Size\n");
    if (f->format == TRACE_GZIP)
        put_bytes(out, "Compressed:", f->compressed_bytes);
    put_bytes(out, "Uncompressed:", f->text_bytes);
    if (f->format == TRACE_GZIP && f->text_bytes) {
        put_label(out, "Savings:");
        buf_printf(out, "%.2f%% reduction\n",
                   100 - 100.0 * (double)f->compressed_bytes / (double)f->text_bytes);
    }
    buf_puts(out, "\nContent\n");
    put_number(out, "Total Lines:", f->counts.lines);
    put_number(out, "Valid Events:", valid_objects(&f->counts));
    buf_puts(out, "\nIndex Information\n");
    put_bytes(out, "Index Store:", f->index_bytes);
    put_bytes(out, "Checkpoint Size:", f->checkpoint_size);
    put_number(out, "Checkpoints:", f->chunk_count);
    put_statistics(out, f);
    buf_putc(out, '\n');
}

void format_info_text(const struct info *i, struct buf *out)
{
    unsigned detail = i->options.detail;

    for (size_t k = 0; detail && k < i->file_count; k++)
        put_file(out, snapshot_file(i->snapshot, i->files[k]));
    if (detail && i->file_count == 1)
        return;
    put_ruler(out);
    buf_puts(out, "Summary\n");
    put_ruler(out);
    put_summary(out, i, !detail);
    put_ruler(out);
}
