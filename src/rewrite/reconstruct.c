/* reconstruct.c - follows the runs of each source, and writes the lines that they refer to. */
#include "rewrite/reconstruct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- sources --------------------------------------------------------------------------------- */

static struct reconstruct_source *current_source(const struct reconstruct *r)
{
    return &r->sources.at[r->source_at - 1];
}

/* Files are written in the order of their sources: the other compressor is flushed first. */
static int begin_source(struct reconstruct *r, struct err *err)
{
    if (r->file || r->source_at == r->sources.count)
        return reconstruct_corrupt(err, "a source starts inside another source");
    struct compressor *compressor =
        text_ends(text_of(r->sources.at[r->source_at++].output), TEXT(".gz")) ? r->gzip : r->text;
    int rc = compressor_flush(compressor == r->gzip ? r->text : r->gzip, err);
    hasher_begin(&r->hasher, 0);
    r->newline = false;
    return rc < 0 ? rc : compressor_open(compressor, err, &r->file);
}

static int end_source(struct reconstruct *r, struct err *err)
{
    if (!r->file)
        return reconstruct_corrupt(err, "end of a source without its start");
    struct reconstruct_source *s = current_source(r);
    int rc = reconstruct_end_line(r, err);
    if (rc < 0)
        return rc;
    struct hash128 hash = hasher_end(&r->hasher);
    s->unproved = s->too_long || s->written != s->bytes || hash.high != s->hash.high ||
                  hash.low != s->hash.low;
    if (!s->unproved)
        s->state = RECONSTRUCT_PROVED;
    else if (s->missing_lines)
        s->state = RECONSTRUCT_INCOMPLETE;
    r->proved += !s->unproved;
    struct compressor_file *file = r->file;
    r->file = NULL;
    return compressor_finish(file, s->output, NULL, NULL, err);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int next_run(struct reconstruct *r, struct err *err)
{
    uint64_t kinds = r->target_count + 2, run = rec_u(&r->runs);

    r->run_what = run % kinds;
    r->run_lines = run / kinds + 1;
    if (r->run_what == r->target_count)
        r->run_literal = rec_u(&r->runs);
    if (!r->file || r->runs.bad)
        return reconstruct_corrupt(err, "invalid run of lines");
    if (r->run_what == r->target_count && r->run_literal >= intern_count(r->literals))
        return reconstruct_corrupt(err, "invalid number of a literal line");
    return 0;
}

/* Writes some lines of the current run. */
static int follow_run(struct reconstruct *r, struct err *err)
{
    struct reconstruct_source *s = current_source(r);
    struct text literal;

    if (r->run_what < r->target_count && !r->targets[r->run_what].dropped)
        return reconstruct_take_lines(r, &r->targets[r->run_what], &r->run_lines, &s->missing_lines,
                                      err);
    if (r->run_what == r->target_count && !s->too_long) {
        literal = intern_text(r->literals, (uint32_t)r->run_literal);
        r->run_lines--;
        return reconstruct_write_text(r, literal, err);
    }
    if (r->run_what < r->target_count)
        s->missing_lines += r->run_lines;
    if (r->run_what == r->target_count + 1)
        r->newline = false;
    r->run_lines = 0;
    return 0;
}

static int next_record(struct reconstruct *r, struct err *err)
{
    enum provenance_type type;
    struct text payload;
    int rc = provenance_next(r->provenance, err, &type, &payload);

    if (rc < 0)
        return rc;
    if (type == PROVENANCE_RUNS)
        r->runs = rec_of(payload);
    if (type == PROVENANCE_SOURCE)
        return begin_source(r, err);
    return type == PROVENANCE_SOURCE_END ? end_source(r, err) : 0;
}

/* Reading the clock takes longer than many of these parts. */
static int reconstruct_step(struct transform *t, struct err *err)
{
    struct reconstruct *r = (struct reconstruct *)t;
    int rc = 0;

    for (unsigned n = 0; n < 64 && rc == 0; n++) {
        if (r->run_lines)
            rc = follow_run(r, err);
        else
            rc = r->runs.ptr != r->runs.end ? next_run(r, err) : next_record(r, err);
    }
    return rc;
}

static int reconstruct_finish(struct transform *t, struct err *err)
{
    struct reconstruct *r = (struct reconstruct *)t;
    int rc =
        r->file ? reconstruct_corrupt(err, "a source has no end") : compressor_flush(r->text, err);

    return rc < 0 ? rc : compressor_flush(r->gzip, err);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void target_done(struct reconstruct_target *t)
{
    trace_reader_close(t->reader);
    if (t->begun && t->fd >= 0)
        close(t->fd);
    for (size_t i = 0; i < t->files.count; i++) {
        free(t->files.at[i].path);
        buf_done(&t->files.at[i].added);
    }
    vec_done(&t->files);
    free(t->name);
    free(t->text);
}

static void reconstruct_done(struct transform *t)
{
    struct reconstruct *r = (struct reconstruct *)t;

    compressor_drop(r->file);
    compressor_free(r->text);
    compressor_free(r->gzip);
    provenance_reader_free(r->provenance);
    if (r->provenance_fd >= 0)
        close(r->provenance_fd);
    for (uint32_t i = 0; i < r->target_count; i++)
        target_done(&r->targets[i]);
    for (size_t i = 0; i < r->sources.count; i++) {
        free(r->sources.at[i].name);
        free(r->sources.at[i].output);
    }
    free(r->targets);
    vec_done(&r->sources);
    intern_free(r->literals);
    intern_free(r->names);
}

static const struct transform_kind reconstruct_kind = {
    .manifest_name = REPORT_NAME,
    .manifest = &reconstructed_type,
    .step = reconstruct_step,
    .finish = reconstruct_finish,
    .done = reconstruct_done,
};

static int open_compressor(struct reconstruct *r, struct pool *pool, int level,
                           struct compressor **ret)
{
    struct compressor_options options = {.level = level, .budget = r->base.budget};

    return compressor_new(pool, r->base.archive_writer, &options, ret);
}

int reconstruct_open(int dir, struct pool *pool, const struct reconstruct_options *options,
                     struct archive_writer *archive_writer, struct budget *budget, struct err *err,
                     struct transform **ret)
{
    struct reconstruct *r = transform_new(&reconstruct_kind, sizeof(*r), archive_writer, budget);

    if (!r)
        return err_set_code(err, -ENOMEM);
    r->dir = dir;
    r->archive = options->archive;
    r->form = options->form;
    r->provenance_fd = -1;
    int rc = reconstruct_read_sidecar(r, err);
    rc = rc < 0 ? rc : open_compressor(r, pool, 0, &r->text);
    rc = rc < 0 ? rc : open_compressor(r, pool, options->level, &r->gzip);
    return transform_opened(&r->base, rc, err, ret);
}
