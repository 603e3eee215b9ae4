/* found.c - a reader opens the text of a file, and moves checkpoints and damage that it finds there
 * into results. */
#include "index/catalog/archive_text.h"
#include "index/ingest/ahead.h"
#include "index/ingest/read.h"
#include "index/store/checkpoint_record.h"

#include <stdlib.h>

/* Opens the part of the archive that contains the member. */
static int open_member(struct reader *r)
{
    const struct run *run = r->run;

    return run->archive
               ? archive_source_from(r->ix, r->place, r->fd, run->archive, &run->member, &r->source)
               : 0;
}

int reader_open(struct reader *r)
{
    struct trace_reader_options options = {r->ix->options.engine,
                                           r->run->index_params->checkpoint_size};
    struct trace_reader_info at;
    int rc = open_member(r);

    options.source = r->source;
    options.named_gzip = run_is_named_gzip(r->run);
    rc =
        rc ? rc : trace_reader_open(r->fd, &options, r->resumed ? &r->from : NULL, NULL, &r->trace);
    if (rc || r->source)
        return rc;
    trace_reader_info(r->trace, &at);
    r->ahead = ahead_begin(r->in, r->run, r->fd, &at);
    trace_reader_set_ahead(r->trace, r->ahead);
    return 0;
}

struct result *reader_result(struct reader *r)
{
    struct result *result = calloc(1, sizeof *result);

    if (result) {
        result->run = r->run;
        result->seq = r->seq;
    }
    return result;
}

static int move_checkpoints(struct reader *r, struct result *to)
{
    const struct trace_checkpoint *list;
    size_t n = trace_reader_checkpoints(r->trace, &list), i = r->checkpoints_moved;

    if (i == 0 && r->resumed && n > 0)
        i = 1; /* where the run began: it is stored already */
    int rc = n > i ? vec_reserve(&to->checkpoints, n - i) : 0;
    for (; i < n && rc == 0; i++) {
        rc = checkpoint_clone(&list[i], &to->checkpoints.at[to->checkpoints.count]);
        to->checkpoints.count += rc == 0;
    }
    r->checkpoints_moved = n;
    trace_reader_free_windows(r->trace, n);
    return rc;
}

/* Damage belongs to the chunk in whose text it was detected, so that a run that continues after a
 * chunk finds the rest again. */
static int move_damage_below(struct reader *r, struct result *to, uint64_t below)
{
    const struct trace_damage *list;
    size_t n = trace_reader_damage(r->trace, &list), from = r->damage_moved, end;
    int rc = 0;

    for (end = from; end < n && list[end].text_offset < below; end++)
        ;
    r->damage_moved = end;
    for (; from < end && rc == 0; from++)
        if (list[from].text_offset >= r->skip_to)
            rc = vec_push(&to->damage, list[from]);
    return rc;
}

void reader_note_damage(struct reader *r, enum trace_damage_kind kind, uint64_t text_offset)
{
    if (r->extra_count < sizeof r->extra / sizeof *r->extra)
        r->extra[r->extra_count++] =
            (struct trace_damage){.kind = (uint8_t)kind, .text_offset = text_offset};
}

int reader_move_below(struct reader *r, struct result *to, uint64_t below)
{
    int rc = move_checkpoints(r, to);

    return rc ? rc : move_damage_below(r, to, below);
}

int reader_move_found(struct reader *r, struct result *to)
{
    int rc = reader_move_below(r, to, UINT64_MAX);

    trace_reader_info(r->trace, &to->info);
    while (r->extra_count && rc == 0)
        rc = vec_push(&to->damage, r->extra[--r->extra_count]);
    return rc;
}
