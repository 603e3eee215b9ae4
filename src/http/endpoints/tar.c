/* tar.c - /tar: archives of traces and their members. */
#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 64 << 10 };

static const struct param_spec own_params[] = {
    PARAM("dir", TEXT, "directory whose archives are selected; repeatable; default all",
          .repeatable = true, .example = "['.']"),
    PARAM("file", TEXT, "archive or glob pattern; repeatable", .repeatable = true,
          .example = "['rank_*.pfw.gz']"),
    PARAM("recursive", BOOL, "include subdirectories", .fallback = "true"),
    PARAM("list", BOOL, "list the members of the archives", .fallback = "true"),
    PARAM("info", BOOL, "text: describe each archive; default if members are not listed"),
    {0},
};

/* An archive, and the totals of its traces. */
struct archive {
    struct index_file file;
    const char *state, *format;
    uint64_t checkpoints, traces, trace_bytes, trace_lines, trace_events;
    bool list;
};
struct state {
    struct request *rq;
    uint32_t *archives; /* positions in the snapshot */
    size_t count;
    uint64_t generation;
    bool complete;
    struct document document;
    struct archive *archive; /* the archive that is being written */
    /* text */
    size_t at;       /* index of the archive */
    uint32_t member; /* index of its next member */
};

static const struct index_file *archive_at(const struct state *s, size_t i)
{
    return snapshot_archive(s->rq->snapshot, s->archives[i]);
}

/* ---- totals of an archive -------------------------------------------------------------------- */

/* Files are ordered by name: finds the first that may be a member. */
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

static void add_traces(struct archive *ret, const struct snapshot *snapshot)
{
    size_t len = strlen(ret->file.name);
    for (uint32_t i = first_member(snapshot, ret->file.name); i < snapshot_file_count(snapshot);
         i++) {
        const struct index_file *f = snapshot_file(snapshot, i);
        if (strncmp(f->name, ret->file.name, len) != 0 || (unsigned char)f->name[len] > '/')
            break;
        if (!f->archive || strcmp(f->archive, ret->file.name) != 0)
            continue;
        ret->traces++;
        ret->trace_bytes += f->text_bytes;
        ret->trace_lines += f->counts.lines;
        ret->trace_events += f->counts.events;
    }
}

static const void *read_archive(const void *object, size_t i)
{
    const struct state *s = object;
    const struct index_file *a = archive_at(s, i);
    *s->archive = (struct archive){
        .file = *a,
        .state = index_file_state(a),
        .format = a->format == TRACE_GZIP ? "tar.gz" : "tar",
        .checkpoints = index_checkpoints(s->rq->http->options->index, a),
        .list = request_flag(s->rq, "list"),
    };
    add_traces(s->archive, s->rq->snapshot);
    return s->archive;
}

/* ---- members --------------------------------------------------------------------------------- */

static const char *const archive_formats[] = {"tar.gz", "tar", NULL};

static struct value kind_of(const void *object)
{
    const struct index_member *m = object;
    return member_string(trace_tar_kind_name((enum trace_tar_kind)m->kind));
}

static struct value skip_of(const void *object)
{
    const struct index_member *m = object;
    return member_string(index_skip_name((enum index_skip)m->skip));
}

#define OBJECT struct index_member
static const struct member file_members[] = {
    MEMBER("name", name),
    MEMBER_COMPUTED("kind", VALUE_TEXT, kind_of, .help = "file, directory, link, sparse or other"),
    MEMBER("size", size),
    MEMBER("mtime", mtime_s, .help = "seconds since 1970"),
    MEMBER_COMPUTED("skipped", VALUE_TEXT, skip_of, .help = "why it is not a file of the index"),
    MEMBER("cut", cut, .help = "its end is missing"),
};
static const struct object_type file_type = {NULL, MEMBERS(file_members)};
#undef OBJECT

#define OBJECT struct archive
static const struct member archive_members[] = {
    MEMBER("path", file.name),
    MEMBER("state", state, .choices = index_file_states),
    MEMBER("error", file.error, .nullable = true,
           .help = "what is corrupt, or why members are left out"),
    MEMBER("format", format, .choices = archive_formats),
    MEMBER("compressed_bytes", file.file_bytes),
    MEMBER("uncompressed_bytes", file.text_bytes),
    MEMBER("checkpoints", checkpoints, .help = "places where decompression can start"),
    MEMBER("member_count", file.archive_member_count),
    MEMBER("traces", traces, .help = "members that are files of the index"),
    MEMBER("trace_bytes", trace_bytes, .help = "uncompressed size of the traces"),
    MEMBER("trace_lines", trace_lines),
    MEMBER("trace_events", trace_events),
    MEMBER_OBJECTS("members", file.archive_members, file.archive_member_count, &file_type,
                   .when = WHEN(list), .optional = true, .help = "unless `list=false`"),
};
static const struct object_type archive_type = {NULL, MEMBERS(archive_members)};
#undef OBJECT

#define OBJECT struct state
static const struct member members[] = {
    MEMBERS_STATE(generation, complete),
    MEMBER_OBJECTS("archives", archives, count, &archive_type, .item = read_archive),
};
static const struct object_type archives_type = {"Archives", MEMBERS(members)};
#undef OBJECT

/* ---- the request ----------------------------------------------------------------------------- */

static int open_tar(struct request *rq)
{
    struct state *s = rq->state;
    struct selection chosen;
    s->rq = rq;
    s->archive = arena_alloc(&rq->arena, sizeof *s->archive);
    if (!s->archive)
        return -ENOMEM;
    selection_init(&chosen);
    selection_read_files(rq, &chosen);
    int rc = query_select_archives(&rq->http->env, rq->snapshot, &chosen, &rq->err, &s->archives,
                                   &s->count);
    rq->incomplete = !snapshot_is_listed(rq->snapshot) ||
                     !query_selection_is_complete(&rq->http->env, rq->snapshot, &chosen);
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        enum index_state state = archive_at(s, i)->state;
        if (state != INDEX_READY && state != INDEX_FAILED)
            rq->incomplete = true;
    }
    s->generation = snapshot_generation(rq->snapshot);
    s->complete = !rq->incomplete;
    document_begin(&s->document, &archives_type, s, rq->pretty);
    return rc;
}

/* ---- text, in the layout of the old command -------------------------------------------------- */

static void put_info(const struct state *s, size_t i, struct buf *out)
{
    const struct archive *a = read_archive(s, i);
    buf_printf(out, "Archive Information:\n  Format: %s\n  Path: %s\n  Index: %s\n",
               a->file.format == TRACE_GZIP ? "TAR.GZ" : "TAR", a->file.path,
               index_path(s->rq->http->options->index));
    buf_printf(out, "  Total size: %llu bytes\n  Total lines: %llu\n  Checkpoints: %llu\n",
               (unsigned long long)a->trace_bytes, (unsigned long long)a->trace_lines,
               (unsigned long long)a->checkpoints);
    if (a->file.error)
        buf_printf(out, "  Damage: %s\n", a->file.error);
}

static void put_line(const struct index_member *m, struct buf *out)
{
    const char *skipped = index_skip_name((enum index_skip)m->skip);
    buf_puts(out, "  ");
    /* Names may contain any bytes; do not send control characters to a terminal. */
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
        const struct index_file *a = archive_at(s, s->at);
        if (!s->member && info)
            put_info(s, s->at, out);
        if (!s->member && list)
            buf_printf(out, "Files in archive (%u total):\n", a->archive_member_count);
        /* At least one: `member` 0 says that nothing of the archive has been written. */
        while (list && s->member < a->archive_member_count && (!s->member || out->len < most))
            put_line(&a->archive_members[s->member++], out);
        if (list && s->member < a->archive_member_count)
            return 0;
    }
    return s->at < s->count ? 0 : ERR_END;
}

static int next_tar(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    return rq->format == FORMAT_TEXT ? next_text(rq, s, out) : document_next(&s->document, out);
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
    .answer = &archives_type,
    PARAMS(own_params, answer_params),
    FORMATS(FORMAT_JSON, FORMAT_TEXT),
    .state_size = sizeof(struct state),
    .open = open_tar,
    .next = next_tar,
    .close = close_tar,
};
