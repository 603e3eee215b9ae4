/* file.c - makes a view of a run: its parts merged into one immutable view. */
#include "index/catalog/names.h"
#include "index/ingest/retry.h"
#include "index/ingest/hashes.h"
#include "index/ingest/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of base and tail are one sequence that only grows, and the last view has its first
 * `done` names. Returns the rest, sorted. *new* */
static struct index_name *new_names(const struct run *r, uint32_t *ret_count)
{
    uint32_t done = r->named ? r->named->pub.name_count : 0;
    uint32_t in_base = r->base ? (uint32_t)r->base->names.count : 0,
             in_tail = r->tail ? (uint32_t)r->tail->names.count : 0;
    uint32_t of_base = done < in_base ? in_base - done : 0,
             of_tail = in_base + in_tail - done - of_base;
    struct index_name *list = malloc((of_base + of_tail + 1) * sizeof *list);

    if (list && of_base)
        memcpy(list, r->base->names.at + in_base - of_base, of_base * sizeof *list);
    if (list && of_tail)
        memcpy(list + of_base, r->tail->names.at + in_tail - of_tail, of_tail * sizeof *list);
    if (list)
        names_sort(list, of_base + of_tail);
    *ret_count = of_base + of_tail;
    return list;
}

/* A large file is published with every commit: its new names are merged with those of the last
 * view, which v then replaces in r->named. */
static int merge_names(struct view *v, struct run *r)
{
    uint32_t known = r->named ? r->named->pub.name_count : 0, more;
    struct index_name *fresh = new_names(r, &more), *list;

    list = fresh ? arena_alloc(&v->arena, ((size_t)known + more + 1) * sizeof *list) : NULL;
    if (list)
        names_merge(r->named ? r->named->pub.names : NULL, known, fresh, more, list);
    free(fresh);
    if (!list)
        return -ENOMEM;
    v->pub.names = list;
    v->pub.name_count = known + more;
    view_release(r->named);
    r->named = view_ref(v);
    return 0;
}

/* If a fork contains no host, and its process was on one host only, that is its host. */
static struct part_fact with_host(struct part_fact fork, const struct index_file *f)
{
    const struct index_process *only =
        fork.host == INDEX_NO_TEXT
            ? process_find_single(f->processes, f->by_pid, f->process_count, fork.pid)
            : NULL;

    if (only) {
        fork.host = only->host;
        fork.host_is_hash = only->host_is_hash;
    }
    return fork;
}

static int copy_processes(struct view *v, const struct part *p)
{
    struct index_process *list = NULL, *copy;
    struct part_fact *forks;
    uint32_t count = 0;
    int rc = part_processes(p, &list, &count);

    if (rc)
        return rc;
    copy = view_copy_list(v, list, count * sizeof *copy);
    free(list);
    rc = copy ? view_set_processes(v, copy, count) : -ENOMEM;
    forks = arena_alloc(&v->arena, (p->facts.count + 1) * sizeof *forks);
    v->forks = forks;
    for (uint32_t i = 0; rc == 0 && forks && i < p->facts.count; i++)
        if (fact_is_fork(&p->facts.at[i]))
            forks[v->fork_count++] = with_host(p->facts.at[i], &v->pub);
    return rc == 0 && forks ? 0 : -ENOMEM;
}

/* Widens the times of the file. They are in the summaries of base and tail, which part_merge_facts
 * does not merge. */
static void add_times(struct index_file *f, const struct part *p)
{
    const struct summary_class *c = &p->summary->classes[TRACE_EVENT];

    if (c->has_time)
        times_widen(&f->has_time, &f->min_ts, &f->max_te, c->min_ts, c->max_te);
    for (uint32_t i = 0; i < p->summary->name_count; i++) {
        const struct moments *duration = &p->summary->names[i].duration;
        f->negative_durations |= duration->count > 0 && duration->min < 0;
    }
}

static int copy_damage(struct view *v, const struct run *r)
{
    /* only the first INDEX_DAMAGE_KEPT have a position */
    uint32_t kept = r->damage_count < INDEX_DAMAGE_KEPT ? r->damage_count : INDEX_DAMAGE_KEPT;
    const struct trace_damage *list = r->damage.at;
    char text[200];

    v->pub.damage = view_copy_list(v, list, kept * sizeof *list);
    v->pub.damage_count = r->damage_count;
    v->pub.damaged = r->damage_count > 0;
    if (r->error)
        retry_message(r->error, NULL, text, sizeof text);
    else if (kept && list[0].kind == TRACE_DAMAGE_TOO_MANY)
        snprintf(text, sizeof text,
                 "the archive contains more traces than --archive-traces allows: those from "
                 "uncompressed offset %llu on are ignored",
                 (unsigned long long)list[0].text_offset);
    else if (kept)
        snprintf(text, sizeof text,
                 "%s at bytes %llu-%llu of the file, uncompressed offset "
                 "%llu%s",
                 trace_damage_name((enum trace_damage_kind)list[0].kind),
                 (unsigned long long)list[0].file_from, (unsigned long long)list[0].file_to,
                 (unsigned long long)list[0].text_offset,
                 list[kept - 1].kind == TRACE_DAMAGE_READ ? "; reading will be retried" : "");
    if (r->error || kept)
        v->pub.error = arena_strdup(&v->arena, text_of(text));
    return v->arena.error;
}

static void copy_facts(struct index *ix, struct view *v, const struct run *r, const struct part *p)
{
    struct index_file *f = &v->pub;

    view_identify(v, &r->identity);
    if (!r->entry->is_archive)
        v->text_sum = p->text_sum;
    else if (r->state == RUN_ENDED)
        v->text_sum = r->text_sum;
    v->member = r->member;
    v->ix = ix;
    v->index_params = index_params_ref(r->index_params);
    v->run_version = r->version;
    v->consumed = r->info.file_offset;
    v->unit_from_trace = r->unit_from_trace;
    v->has_tail = r->tail != NULL;
    v->tail_complete = r->tail_complete && r->state != RUN_ENDED;
    f->id = r->id;
    f->name = r->entry->name;
    f->path = r->entry->path;
    f->format = r->info.format;
    f->is_archive = r->entry->is_archive;
    f->compressed_bytes = run_bytes(r);
    f->text_bytes = r->info.text_offset;
    /* Before the end, only the text of applied chunks counts: the reader may be ahead. */
    if (r->state != RUN_ENDED && r->chunks.count) {
        const struct index_chunk *last = &r->chunks.at[r->chunks.count - 1];
        f->text_bytes = last->text_offset + last->text_len;
    }
    f->members = r->info.members;
    f->index_bytes = r->index_bytes;
    f->checkpoint_size = r->index_params->checkpoint_size;
    f->unit = r->unit;
    f->counts = p->counts;
    f->finished = p->finished;
    if (p->version != INDEX_NO_TEXT)
        f->tracer_version = texts_get(ix->texts, p->version).ptr;
    if (r->base)
        add_times(f, r->base);
    if (r->tail)
        add_times(f, r->tail);
}

static int fill_view(struct index *ix, struct view *v, struct run *r, const struct part *p)
{
    int rc = p->error;

    copy_facts(ix, v, r, p);
    if (r->archive)
        v->pub.archive = arena_strdup(&v->arena, text_of(r->archive->pub.name));
    v->pub.chunks = view_copy_list(v, r->chunks.at, r->chunks.count * sizeof *r->chunks.at);
    v->pub.chunk_count = (uint32_t)r->chunks.count;
    rc = rc ? rc : v->arena.error;
    rc = rc ? rc : merge_names(v, r);
    rc = rc ? rc : copy_processes(v, p);
    rc = rc ? rc : copy_damage(v, r);
    if (rc == 0 && r->entry->is_archive)
        rc = archive_list_finish(v, r->state == RUN_ENDED ? &r->members : NULL, r->info.text_offset,
                                 r->finished);
    for (unsigned i = 0; rc == 0 && r->state == RUN_ENDED && !r->hashes_lost &&
                         i < r->index_params->dimension_count;
         i++)
        rc = r->hashes[i] ? hashes_build_filter(r->hashes[i], v, i) : 0;
    return rc;
}

/* If a file named .gz is plain text without one valid line, adds its whole content as damage. It is
 * the error page of a failed download, for example, or a file whose beginning is corrupt. */
static int add_damage_if_not_gzip(struct run *r, const struct part *p)
{
    const struct trace_counts *c = &p->counts;
    struct trace_damage all = {TRACE_DAMAGE_GARBAGE, 0, r->info.file_offset, r->info.text_offset};

    if (r->state != RUN_ENDED || !r->finished || r->error || r->damage_count ||
        r->entry->is_archive || r->info.format != TRACE_PLAIN || !run_is_named_gzip(r) ||
        !c->invalid || c->events + c->counters + c->aggregated + c->metadata)
        return 0;
    return run_add_damage(r, &all, 1);
}

struct view *run_view(struct index *ix, struct run *r, enum index_state state)
{
    struct view *v = view_new();
    struct part *all = part_new();
    int rc = -ENOMEM;

    if (v && all) {
        if (r->base)
            part_merge_facts(all, r->base);
        if (r->tail)
            part_merge_facts(all, r->tail);
        rc = add_damage_if_not_gzip(r, all);
        rc = rc ? rc : fill_view(ix, v, r, all);
    }
    part_free(all);
    if (rc) {
        view_release(v);
        return NULL;
    }
    v->pub.state = state;
    return v;
}
