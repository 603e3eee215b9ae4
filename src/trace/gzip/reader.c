/* reader.c - reads the text of a trace file, plain or gzip, from the beginning to the end. */
#include "trace/gzip/piece.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *trace_damage_name(enum trace_damage_kind kind)
{
    static const char *const names[] = {"",     "data", "crc", "cut", "garbage",
                                        "read", "line", "tar", "many"};
    return kind >= TRACE_DAMAGE_DATA && kind <= TRACE_DAMAGE_TOO_MANY ? names[kind] : "unknown";
}

bool trace_engine_available(enum trace_engine engine)
{
#ifdef HAVE_ISAL
    return engine <= TRACE_ENGINE_ISAL;
#else
    return engine <= TRACE_ENGINE_ZLIB;
#endif
}

static enum trace_engine choose_engine(enum trace_engine engine)
{
    const char *name = getenv("DFTRACERD_INFLATE");
    if (engine != TRACE_ENGINE_AUTO)
        return engine;
    if ((name && strcmp(name, "zlib") == 0) || !trace_engine_available(TRACE_ENGINE_ISAL))
        return TRACE_ENGINE_ZLIB;
    return TRACE_ENGINE_ISAL;
}

const char *trace_engine_name(enum trace_engine engine)
{
    return choose_engine(engine) == TRACE_ENGINE_ISAL ? "isal" : "zlib";
}

/* ---- formats --------------------------------------------------------------------------------- */

static int begin_gzip(struct trace_reader *r)
{
    r->format = TRACE_GZIP;
    if (r->inflate)
        return 0;
    struct inflate *f = malloc(sizeof(*f));
    int rc = f ? inflate_open(f, &r->in, r->engine) : -ENOMEM;
    if (rc == 0)
        r->inflate = f;
    else
        free(f);
    return rc;
}

static int step_format(struct trace_reader *r)
{
    size_t have = input_fill(&r->in, 2);
    const uint8_t *p = r->in.buf + r->in.pos;
    if (have == 0 || (have == 1 && p[0] == 0x1f && !r->finished))
        return 0;
    bool plain = have == 1 || p[0] != 0x1f || p[1] != 0x8b;
    int rc = plain && r->named_gzip ? front_is_text(r) : plain;
    if (rc < 0)
        return rc == -EAGAIN ? 0 : rc;
    if (rc) {
        r->state = READER_PLAIN;
        return 1;
    }
    rc = begin_gzip(r);
    if (rc < 0)
        return rc;
    r->state = READER_MEMBER;
    if (r->checkpoints.list.count)
        r->checkpoints.list.at[0].kind = TRACE_AT_MEMBER;
    return 1;
}

static int step_plain(struct trace_reader *r, struct output *out)
{
    ssize_t n = input_pread(&r->in, out->data + out->done, out->len - out->done, r->text);
    if (n <= 0)
        return 0;
    for (; r->next_checkpoint <= r->text + (size_t)n; r->next_checkpoint += r->checkpoint_size) {
        struct trace_checkpoint at = {
            r->next_checkpoint, r->next_checkpoint, 0, TRACE_AT_PLAIN, 0, NULL};
        int rc = checkpoints_add(&r->checkpoints, &at, NULL, 0);
        if (rc < 0)
            return rc;
    }
    reader_deliver(r, out, (size_t)n);
    return 1;
}

static int reader_step(struct trace_reader *r, struct output *out)
{
    switch (r->state) {
    case READER_FORMAT:
        return step_format(r);
    case READER_PLAIN:
        return step_plain(r, out);
    default:
        return member_step(r, out);
    }
}

/* ---- public functions ----------------------------------------------------------------------- */

/* An unreadable sector (EIO) ends the text as the end of the file does. Other errors are returned,
 * because they do not depend on the content of the file. */
static int check_read_error(struct trace_reader *r)
{
    if (r->damages.lost)
        return -ENOMEM;
    if (!r->in.error)
        return 0;
    if (r->in.error != EIO)
        return -r->in.error;
    if (!r->failed) {
        uint64_t at = r->state == READER_PLAIN ? r->text : r->in.base + r->in.len;
        reader_add_damage(r, TRACE_DAMAGE_READ, at, at);
    }
    r->failed = true;
    return 0;
}

ssize_t trace_reader_read(struct trace_reader *r, char *data, size_t len)
{
    struct output out = {(uint8_t *)data, len, 0};
    int rc = 1;
    while (rc > 0 && out.done < len)
        rc = r->failed || r->damages.lost ? 0 : reader_step(r, &out);
    if (r->inflate)
        inflate_pause(r->inflate);
    if (rc >= 0)
        rc = check_read_error(r);
    return out.done ? (ssize_t)out.done : rc;
}

void trace_reader_finish(struct trace_reader *r)
{
    if (!r->finished && !r->failed && member_is_open(r)) {
        uint64_t from = r->state == READER_MEMBER ? input_offset(&r->in) : r->member_start;
        reader_add_damage(r, TRACE_DAMAGE_CUT, from, r->in.base + r->in.len);
    }
    r->finished = true;
}

static int seek_block(struct trace_reader *r, const struct trace_checkpoint *from)
{
    uint8_t window[INFLATE_WINDOW];
    int len = checkpoint_window(from, window);
    if (len < 0)
        return len;
    inflate_start(r->inflate, from->file_offset * 8 + from->bits, window, (uint32_t)len);
    r->state = READER_BLOCK;
    r->partial = !from->in_gzip_member;
    r->members = from->members ? from->members : 1;
    r->member_start = r->partial ? from->file_offset : from->member_start;
    r->member_text = from->member_text;
    r->crc = from->crc;
    if (len)
        r->last_byte = window[len - 1];
    return 0;
}

int reader_seek(struct trace_reader *r, const struct trace_checkpoint *from)
{
    static const struct trace_checkpoint front;
    uint8_t kind = from ? from->kind : TRACE_AT_PLAIN;
    from = from ? from : &front;
    if (kind > TRACE_AT_BLOCK || from->bits > 7)
        return ERR_CORRUPT;
    input_seek(&r->in, from->file_offset);
    r->text = from->text_offset;
    r->next_checkpoint = checkpoint_after(r->text, r->checkpoint_size);
    r->members = from->members;
    r->reread = 0;
    r->last_byte = '\n';
    r->partial = r->resumed = r->broken = r->finished = r->failed = false;
    r->in.error = 0;
    r->damages.lost = false;
    r->format = TRACE_PLAIN;
    r->state = r->text ? READER_PLAIN : READER_FORMAT;
    if (kind == TRACE_AT_PLAIN)
        return r->text == from->file_offset ? 0 : ERR_CORRUPT;
    int rc = begin_gzip(r);
    r->state = READER_MEMBER;
    return rc == 0 && kind == TRACE_AT_BLOCK ? seek_block(r, from) : rc;
}

/* The checkpoint at which reading starts is the first one of the list. */
static int add_first(struct trace_reader *r, const struct trace_checkpoint *from)
{
    static const struct trace_checkpoint front = {.kind = TRACE_AT_PLAIN};
    int rc = checkpoints_add(&r->checkpoints, from ? from : &front, NULL, 0);
    if (rc < 0 || !from || !from->window_len)
        return rc;
    uint8_t *copy = malloc(from->window_len);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, from->window, from->window_len);
    r->checkpoints.list.at[0].window = copy;
    r->checkpoints.list.at[0].window_len = from->window_len;
    return 0;
}

int trace_reader_open(int fd, const struct trace_reader_options *options,
                      const struct trace_checkpoint *from, struct err *err,
                      struct trace_reader **ret)
{
    static const struct trace_reader_options defaults;
    const struct trace_reader_options *o = options ? options : &defaults;
    enum trace_engine engine = choose_engine(o->engine);
    if (!trace_engine_available(engine))
        return err_set(err, -ENOTSUP, "this program was built without the decompression library %s",
                       trace_engine_name(engine));
    struct trace_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return err_set(err, -ENOMEM, "out of memory");
    r->engine = engine;
    r->checkpoint_size = o->checkpoint_size;
    r->named_gzip = o->named_gzip;
    int rc = input_init(&r->in, fd);
    r->in.source = o->source;
    rc = rc < 0 ? rc : reader_seek(r, from);
    rc = rc < 0 ? rc : add_first(r, from);
    if (rc == 0 && r->state == READER_FORMAT)
        rc = step_format(r);
    rc = rc < 0 ? rc : check_read_error(r);
    if (rc < 0) {
        trace_reader_close(r);
        return err_set(err, rc, "cannot read the trace: %s", err_text(rc));
    }
    *ret = r;
    return 0;
}

void trace_reader_close(struct trace_reader *r)
{
    if (!r)
        return;
    piece_drop(r);
    if (r->inflate)
        inflate_close(r->inflate);
    free(r->inflate);
    input_done(&r->in);
    checkpoints_done(&r->checkpoints);
    damages_done(&r->damages);
    free(r);
}

void trace_reader_info(const struct trace_reader *r, struct trace_reader_info *ret)
{
    *ret = (struct trace_reader_info){
        .format = r->format,
        .engine = r->engine,
        .file_offset = r->format == TRACE_PLAIN ? r->text
                       : r->piece               ? r->piece->marks.at[0].bit >> 3
                                                : input_offset(&r->in),
        .text_offset = r->text,
        .members = r->members,
        .in_gzip_member = member_is_open(r),
        .empty = r->state == READER_FORMAT && r->in.len == 0,
    };
}

size_t trace_reader_checkpoints(const struct trace_reader *r, const struct trace_checkpoint **ret)
{
    *ret = r->checkpoints.list.at;
    return r->checkpoints.list.count;
}

void trace_reader_free_windows(struct trace_reader *r, size_t count)
{
    checkpoints_free_windows(&r->checkpoints, count);
}

size_t trace_reader_damage(const struct trace_reader *r, const struct trace_damage **ret)
{
    *ret = r->damages.list.at;
    return r->damages.list.count;
}
