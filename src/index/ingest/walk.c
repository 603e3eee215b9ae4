/* walk.c - a reader walks an archive: it lists members, and collects checkpoints and the hash of
 * the text. */
#include "index/ingest/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 256 << 10, POST_EVERY = 64 << 20 };

struct walk {
    struct reader *reader;
    struct trace_tar *tar;
    struct archive_list members; /* not posted yet */
    uint32_t count, traces;
    size_t names_len;
    uint64_t text, posted; /* offsets in the text: read, and posted to the writer */
    bool ended, corrupt;
    char *piece;
    struct hasher hasher;
};

static int post_found(struct walk *w)
{
    struct result *r = reader_result(w->reader);
    int rc = r ? reader_move_found(w->reader, r) : -ENOMEM;

    if (rc < 0) {
        if (r)
            result_free(r);
        return rc;
    }
    r->walked = true;
    r->members = w->members;
    w->members = (struct archive_list){0};
    w->posted = w->text;
    w->reader->seq++;
    ingest_post(w->reader->in, r);
    return 0;
}

static void stop_corrupt(struct walk *w, enum trace_damage_kind why, uint64_t at)
{
    w->corrupt = true;
    reader_note_damage(w->reader, why, at);
}

static int add_member(struct walk *w, const struct trace_tar_member *m)
{
    w->names_len += m->name.len;
    w->traces += archive_member_is_trace(m->kind, m->name);
    if (w->count == ARCHIVE_MEMBERS_MAX || w->names_len > ARCHIVE_NAMES_MAX ||
        w->traces > w->reader->ix->options.archive_traces) {
        stop_corrupt(w, TRACE_DAMAGE_TOO_MANY, m->offset);
        return 0;
    }
    w->count++;
    return archive_list_add(&w->members, m);
}

/* An archive without members is all zeros. Other bytes after the end mark mean that its start is
 * missing. */
static void check_empty(struct walk *w, size_t n)
{
    const char *p = w->piece;

    if (w->ended && !w->count && !w->corrupt && n && (*p || memcmp(p, p + 1, n - 1) != 0))
        stop_corrupt(w, TRACE_DAMAGE_TAR, 0);
}

/* Parses `n` bytes of text at w->text. */
static int feed_tar(struct walk *w, size_t n)
{
    struct trace_tar_member m;
    uint64_t at;
    int rc = 0;

    while (!w->ended && !w->corrupt && (at = trace_tar_next_offset(w->tar)) < w->text + n &&
           rc == 0) {
        rc = trace_tar_next(w->tar, w->piece + (at - w->text), (size_t)(w->text + n - at), &m);
        if (rc == ERR_CORRUPT && !w->count && at < 512)
            return ERR_NO_ARCHIVE;
        if (rc == ERR_CORRUPT)
            stop_corrupt(w, TRACE_DAMAGE_TAR, at);
        if (rc == ERR_CORRUPT || rc == ERR_END) {
            w->ended = rc == ERR_END;
            rc = 0;
        } else if (rc == 1) {
            rc = add_member(w, &m);
        }
    }
    check_empty(w, n);
    w->text += n;
    return rc;
}

/* Returns true if the archive is complete, even if its file is still open for writing. */
static bool is_whole(const struct walk *w)
{
    struct trace_reader_info info;

    trace_reader_info(w->reader->trace, &info);
    return w->ended && !info.in_gzip_member;
}

/* Handles the end of the text, which may lack an end mark. */
static int end_walk(struct walk *w)
{
    uint64_t wants = trace_tar_next_offset(w->tar);
    bool between = trace_tar_is_between_members(w->tar) && wants <= w->text;
    struct trace_reader_info info;

    trace_reader_info(w->reader->trace, &info);
    w->reader->run->text_sum = hasher_end(&w->hasher);
    if (w->reader->finish && !w->count && !w->ended &&
        (w->text > 0 || (info.format == TRACE_GZIP && !info.members)))
        return ERR_NO_ARCHIVE;
    if (w->reader->finish && !w->ended && !w->corrupt && !between)
        reader_note_damage(w->reader, TRACE_DAMAGE_CUT, w->text);
    return 0;
}

static int read_all(struct walk *w)
{
    struct reader *r = w->reader;
    bool finished = false;

    for (;;) {
        if (atomic_load(&r->run->cancelled) || ingest_stopping(r->in))
            return -EPIPE;
        ssize_t n = trace_reader_read(r->trace, w->piece, PIECE);
        if (n < 0)
            return (int)n;
        r->finish = r->finish || (n == 0 && is_whole(w));
        if (n == 0 && (finished || !r->finish))
            return end_walk(w);
        if (n == 0) {
            trace_reader_finish(r->trace);
            finished = true;
            continue;
        }
        hasher_add(&w->hasher, w->piece, (size_t)n);
        int rc = feed_tar(w, (size_t)n);
        if (rc == 0 && w->text - w->posted >= POST_EVERY) {
            ingest_yield(r->in);
            rc = post_found(w);
        }
        if (rc < 0)
            return rc;
    }
}

int reader_walk(struct reader *r)
{
    struct walk w = {.reader = r, .tar = trace_tar_new(), .piece = malloc(PIECE)};
    int rc = w.tar && w.piece ? reader_open(r) : -ENOMEM;

    hasher_begin(&w.hasher, 0);
    rc = rc < 0 ? rc : read_all(&w);
    rc = rc < 0 ? rc : post_found(&w);
    archive_list_done(&w.members);
    trace_tar_free(w.tar);
    free(w.piece);
    return rc;
}
