/* tar.c - /tar: archives of traces and what is in them. */
#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 64 << 10 };

static const enum format formats[] = {FORMAT_JSON, FORMAT_TEXT};

static const struct param_spec own_params[] = {
    {"dir", PARAM_TEXT, true, NULL, NULL,
     "directory whose archives are selected; repeatable; default all"},
    {"file", PARAM_TEXT, true, NULL, NULL, "archive or glob pattern; repeatable"},
    {"recursive", PARAM_BOOL, false, "true", NULL, "include subdirectories"},
    {"list", PARAM_BOOL, false, "true", NULL, "list the members of the archives"},
    {"info", PARAM_BOOL, false, NULL, NULL,
     "text: describe each archive; default if members are not listed"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const params[] = {own_params, answer_params, NULL};

struct state {
    uint32_t *archives; /* positions in the snapshot */
    size_t count;
    struct jw j;
    size_t at;       /* archive */
    uint32_t member; /* of it: the next */
    bool begun, in_archive;
};

static const struct index_file *archive_at(const struct request *rq, const struct state *s,
                                           size_t i)
{
    return snapshot_archive(rq->snapshot, s->archives[i]);
}

static int open_tar(struct request *rq)
{
    struct state *s = rq->state;
    struct selection chosen;
    selection_init(&chosen);
    selection_read_files(rq, &chosen);
    int rc = query_select_archives(&rq->http->env, rq->snapshot, &chosen, &rq->err, &s->archives,
                                   &s->count);
    rq->incomplete = !snapshot_is_listed(rq->snapshot) ||
                     !query_select_whole(&rq->http->env, rq->snapshot, &chosen);
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        enum index_state state = archive_at(rq, s, i)->state;
        if (state != INDEX_READY && state != INDEX_FAILED)
            rq->incomplete = 1;
    }
    return rc;
}

/* ---- what its traces have together ----------------------------------------------------------- */

struct contents {
    uint64_t traces, text_bytes, lines, events;
};

/* Files are in the order of their names: the first that may be a member. */
static uint32_t first_member(const struct snapshot *snapshot, const char *archive)
{
    uint32_t from = 0, to = snapshot_file_count(snapshot);
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (strcmp(snapshot_file(snapshot, middle)->name, archive) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct contents contents_of(const struct snapshot *snapshot, const struct index_file *a)
{
    struct contents c = {0};
    size_t len = strlen(a->name);
    for (uint32_t i = first_member(snapshot, a->name); i < snapshot_file_count(snapshot); i++) {
        const struct index_file *f = snapshot_file(snapshot, i);
        if (strncmp(f->name, a->name, len) != 0 || (unsigned char)f->name[len] > '/')
            break;
        if (!f->archive || strcmp(f->archive, a->name) != 0)
            continue;
        c.traces++;
        c.text_bytes += f->text_bytes;
        c.lines += f->counts.lines;
        c.events += f->counts.events;
    }
    return c;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_member(const struct index_member *m, struct jw *j)
{
    jw_begin(j, '{');
    jw_put_text(j, "name", m->name);
    jw_put_str(j, "kind", trace_tar_kind_name((enum trace_tar_kind)m->kind));
    jw_put_uint(j, "size", m->size);
    jw_key(j, "mtime");
    jw_int(j, m->mtime_s);
    jw_put_str(j, "skipped", index_skip_name((enum index_skip)m->skip));
    jw_put_bool(j, "cut", m->cut);
    jw_end(j, '}');
}

static const char *state_name(const struct index_file *a)
{
    return a->state == INDEX_READY && a->damaged ? "damaged" : index_state_name(a->state);
}

static void begin_archive(const struct request *rq, const struct index_file *a, struct jw *j)
{
    struct contents c = contents_of(rq->snapshot, a);
    jw_begin(j, '{');
    jw_put_str(j, "path", a->name);
    jw_put_str(j, "state", state_name(a));
    jw_put_str(j, "error", a->error);
    jw_put_str(j, "format", a->format == TRACE_GZIP ? "tar.gz" : "tar");
    jw_put_uint(j, "compressed_bytes", a->file_bytes);
    jw_put_uint(j, "uncompressed_bytes", a->text_bytes);
    jw_put_uint(j, "checkpoints", index_checkpoints(rq->http->options->index, a));
    jw_put_uint(j, "member_count", a->archive_member_count);
    jw_put_uint(j, "traces", c.traces);
    jw_put_uint(j, "trace_bytes", c.text_bytes);
    jw_put_uint(j, "trace_lines", c.lines);
    jw_put_uint(j, "trace_events", c.events);
    if (request_flag(rq, "list")) {
        jw_key(j, "members");
        jw_begin(j, '[');
    }
}

/* A step of the list; ERR_END behind the last archive. */
static int put_archives(const struct request *rq, struct state *s, struct buf *out)
{
    bool list = request_flag(rq, "list");
    const size_t most = out->len + PIECE;
    while (s->at < s->count && out->len < most) {
        const struct index_file *a = archive_at(rq, s, s->at);
        if (!s->in_archive)
            begin_archive(rq, a, &s->j);
        s->in_archive = true;
        while (list && s->member < a->archive_member_count && out->len < most)
            put_member(&a->archive_members[s->member++], &s->j);
        if (list && s->member < a->archive_member_count)
            return 0;
        if (list)
            jw_end(&s->j, ']');
        jw_end(&s->j, '}');
        s->in_archive = false;
        s->member = 0;
        s->at++;
    }
    return s->at < s->count ? 0 : ERR_END;
}

static int next_json(const struct request *rq, struct state *s, struct buf *out)
{
    if (!s->begun) {
        jw_init(&s->j, out, rq->pretty);
        jw_begin(&s->j, '{');
        jw_put_uint(&s->j, "generation", snapshot_generation(rq->snapshot));
        jw_put_bool(&s->j, "complete", !rq->incomplete);
        jw_key(&s->j, "archives");
        jw_begin(&s->j, '[');
    }
    s->begun = true;
    s->j.out = out;
    int rc = put_archives(rq, s, out);
    if (rc != ERR_END)
        return rc;
    jw_end(&s->j, ']');
    jw_end(&s->j, '}');
    jw_finish(&s->j);
    return ERR_END;
}

/* ---- text, as the old command printed it ----------------------------------------------------- */

static void put_info(const struct request *rq, const struct index_file *a, struct buf *out)
{
    struct contents c = contents_of(rq->snapshot, a);
    buf_printf(out, "Archive Information:\n  Format: %s\n  Path: %s\n  Index: %s\n",
               a->format == TRACE_GZIP ? "TAR.GZ" : "TAR", a->path,
               index_path(rq->http->options->index));
    buf_printf(out, "  Total size: %llu bytes\n  Total lines: %llu\n  Checkpoints: %llu\n",
               (unsigned long long)c.text_bytes, (unsigned long long)c.lines,
               (unsigned long long)index_checkpoints(rq->http->options->index, a));
    if (a->error)
        buf_printf(out, "  Damage: %s\n", a->error);
}

static void put_line(const struct index_member *m, struct buf *out)
{
    const char *skipped = index_skip_name((enum index_skip)m->skip);
    buf_puts(out, "  ");
    /* Names may have any bytes: a terminal is not for them. */
    for (size_t i = 0; i < m->name.len; i++) {
        char c = m->name.ptr[i];
        buf_putc(out, (unsigned char)c < ' ' || c == 0x7f ? '?' : c);
    }
    if (m->kind == TRACE_TAR_DIRECTORY)
        buf_puts(out, " (directory)");
    else if (m->kind != TRACE_TAR_FILE)
        buf_printf(out, " (%s)", trace_tar_kind_name((enum trace_tar_kind)m->kind));
    else
        buf_printf(out, " (%llu bytes)", (unsigned long long)m->size);
    if (m->kind == TRACE_TAR_FILE && skipped)
        buf_printf(out, " skipped: %s", skipped);
    buf_putc(out, '\n');
}

static int next_text(const struct request *rq, struct state *s, struct buf *out)
{
    bool list = request_flag(rq, "list"),
         info = request_param(rq, "info")->set ? request_flag(rq, "info") : !list;
    const size_t most = out->len + PIECE;
    for (; s->at < s->count && out->len < most; s->at++, s->member = 0) {
        const struct index_file *a = archive_at(rq, s, s->at);
        if (!s->member && info)
            put_info(rq, a, out);
        if (!s->member && list)
            buf_printf(out, "Files in archive (%u total):\n", a->archive_member_count);
        while (list && s->member < a->archive_member_count && out->len < most)
            put_line(&a->archive_members[s->member++], out);
        if (list && s->member < a->archive_member_count)
            return 0;
    }
    return s->at < s->count ? 0 : ERR_END;
}

static int next_tar(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    return rq->format == FORMAT_TEXT ? next_text(rq, s, out) : next_json(rq, s, out);
}

static void close_tar(struct request *rq)
{
    struct state *s = rq->state;
    free(s->archives);
}

const struct endpoint endpoint_tar = {
    .path = "/tar",
    .summary = "archives of traces: their properties and members",
    .methods = METHOD_GET | METHOD_POST,
    .params = params,
    .formats = formats,
    .format_count = 2,
    .state_size = sizeof(struct state),
    .open = open_tar,
    .next = next_tar,
    .close = close_tar,
};
