/* input.c - reads whole lines, scans them, and gives each value its place in the event. */
#include "input.h"

#include "dftracerd/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 20, PADDING = 64 };

enum slot {
    SLOT_UNKNOWN,
    SLOT_IGNORED,
    SLOT_NAME,
    SLOT_CAT,
    SLOT_HOST,
    SLOT_MODE,
    SLOT_FILE,
    SLOT_FILE_HASH,
    SLOT_FILE2,
    SLOT_FILE2_HASH,
    SLOT_KEY,
    SLOT_VALUE,
    SLOT_UNIT,
    SLOT_AGAIN,
    SLOT_NUMBER /* + bit */
};

struct input {
    int fd;
    char *data;
    size_t len, cap,
        begun; /* [0, begun) is being scanned, [begun, len) is the start of a line      */
    uint64_t invalid;
    bool at_end, scanning, skipping;
    bool cut; /* the last line is the error of an answer                                */
    enum trace_unit unit;
    struct trace_scanner *scanner;
    uint8_t slots[TRACE_FIELDS_MAX];
    struct intern *hashes;
    char **names; /* by the number of the hash                                              */
    size_t names_cap;
};

static const struct {
    const char *path;
    uint8_t slot;
} paths[] = {
    {"name", SLOT_NAME},
    {"cat", SLOT_CAT},
    {"host", SLOT_HOST},
    {"args.hhash", SLOT_HOST},
    {"args.hostname", SLOT_HOST},
    {"args.mode", SLOT_MODE},
    {"mode", SLOT_MODE},
    {"file", SLOT_FILE},
    {"args.fname", SLOT_FILE},
    {"args.path", SLOT_FILE},
    {"args.fhash", SLOT_FILE_HASH},
    {"args.newpath", SLOT_FILE2},
    {"args.path2", SLOT_FILE2},
    {"args.newpath_hash", SLOT_FILE2_HASH},
    {"args.path2_hash", SLOT_FILE2_HASH},
    {"args.name", SLOT_KEY},
    {"args.value", SLOT_VALUE},
    {"args.cfg.time_metric", SLOT_UNIT},
    {"replay", SLOT_AGAIN},
    {"ts", SLOT_NUMBER + 0},
    {"dur", SLOT_NUMBER + 1},
    {"args.ret", SLOT_NUMBER + 2},
    {"args.count", SLOT_NUMBER + 3},
    {"args.size", SLOT_NUMBER + 4},
    {"args.offset", SLOT_NUMBER + 5},
    {"args.fd", SLOT_NUMBER + 6},
    {"args.flags", SLOT_NUMBER + 7},
    {"args.length", SLOT_NUMBER + 8},
    {"args.whence", SLOT_NUMBER + 9},
    {"pid", SLOT_NUMBER + 10},
    {"tid", SLOT_NUMBER + 11},
}; /* the bits are those of enum event_has */

int input_open(int fd, struct input **ret)
{
    struct input *in = calloc(1, sizeof *in);
    if (!in)
        return -ENOMEM;
    in->fd = fd;
    in->cap = 2 * PIECE;
    in->data = malloc(in->cap + PADDING);
    in->hashes = intern_new();
    int rc = in->data && in->hashes ? trace_scanner_new(NULL, &in->scanner) : -ENOMEM;
    if (rc < 0) {
        input_close(in);
        return rc;
    }
    *ret = in;
    return 0;
}

void input_close(struct input *in)
{
    if (!in)
        return;
    for (size_t i = 0; in->hashes && i < intern_count(in->hashes) && i < in->names_cap; i++)
        free(in->names[i]);
    free(in->names);
    intern_free(in->hashes);
    trace_scanner_free(in->scanner);
    free(in->data);
    free(in);
}

int input_rewind(struct input *in)
{
    if (lseek(in->fd, 0, SEEK_SET) < 0)
        return -errno;
    in->len = in->begun = 0;
    in->at_end = in->scanning = in->skipping = false;
    in->invalid = 0; /* counted once */
    return 0;
}

uint64_t input_invalid(const struct input *in)
{
    struct trace_counts counts = {0};
    if (in->scanning)
        trace_scan_counts(in->scanner, &counts);
    return in->invalid + counts.invalid;
}

/* ---- whole lines ---- */

static int input_grow(struct input *in)
{
    if (in->cap >= TRACE_LINE_MAX + PIECE) { /* the line is too long: its rest is passed over */
        in->invalid += !in->skipping;
        in->skipping = true;
        in->len = 0;
        return 0;
    }
    char *data = realloc(in->data, in->cap * 2 + PADDING);
    if (!data)
        return -ENOMEM;
    in->data = data;
    in->cap *= 2;
    return 0;
}

/* The end of the last whole line; NULL where there is none yet. */
static char *last_line_end(struct input *in, size_t from)
{
    char *newline = memrchr(in->data + from, '\n', in->len - from);
    if (newline && in->skipping) {
        char *first = memchr(in->data, '\n', in->len);
        in->len -= (size_t)(first + 1 - in->data);
        memmove(in->data, first + 1, in->len);
        in->skipping = false;
        newline = memrchr(in->data, '\n', in->len);
    }
    return newline;
}

static bool ends_with_error(const struct input *in)
{
    static const struct text error = {"{\"error\":", 9};
    size_t end = in->begun && in->data[in->begun - 1] == '\n' ? in->begun - 1 : in->begun;
    const char *newline = end ? memrchr(in->data, '\n', end) : NULL;
    const char *line = newline ? newline + 1 : in->data;
    return text_starts((struct text){line, (size_t)(in->data + end - line)}, error);
}

/* Fills the buffer with whole lines and starts to scan them: 1; 0 at the end. */
static int input_fill(struct input *in)
{
    char *end = NULL;
    in->len -= in->begun;
    memmove(in->data, in->data + in->begun, in->len);
    in->begun = 0;
    while (!end && !in->at_end) {
        if (in->len + PIECE > in->cap && input_grow(in) < 0)
            return -ENOMEM;
        ssize_t n = read(in->fd, in->data + in->len, in->cap - in->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        size_t from = in->len;
        in->len += (size_t)n;
        in->at_end = n == 0;
        end = n > 0 ? last_line_end(in, from) : NULL;
    }
    if (in->at_end && in->skipping)
        in->len = 0;
    in->begun = end ? (size_t)(end + 1 - in->data) : in->len;
    if (!in->begun)
        return 0;
    trace_scan_begin(in->scanner, in->data, in->begun, in->unit);
    in->scanning = true;
    in->cut = ends_with_error(in);
    return 1;
}

/* ---- values ---- */

static uint8_t find_slot(struct input *in, uint16_t field)
{
    struct text path = trace_field_path(in->scanner, field);
    uint8_t slot = SLOT_IGNORED;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct text known = text_of(paths[i].path);
        bool is_arg = text_starts(known, TEXT("args."));
        struct text bare = is_arg ? (struct text){known.ptr + 5, known.len - 5} : known;
        /* Rows of /view have arguments by their short names; "name" and "path" of an event are not these. */
        if (text_eq(path, known) || (is_arg && !text_eq(bare, TEXT("name")) && text_eq(path, bare)))
            slot = paths[i].slot;
        if (slot != SLOT_IGNORED)
            break;
    }
    in->slots[field] = slot;
    return slot;
}

static bool number_of(const struct trace_value *v, int64_t *ret)
{
    switch (v->type) {
    case TRACE_INT:
    case TRACE_BOOL:
        *ret = v->i;
        return true;
    case TRACE_DOUBLE:
        if (!(v->d > -9.2e18 && v->d < 9.2e18))
            return false;
        *ret = (int64_t)v->d;
        return true;
    case TRACE_TEXT:
        return num_parse_i64((struct text){v->ptr, v->len}, ret) == 0;
    case TRACE_BIG:
        *ret = v->len && *v->ptr == '-' ? INT64_MIN : INT64_MAX;
        return true;
    default:
        return false;
    }
}

static void put_number(struct event *e, unsigned at, const struct trace_value *v)
{
    int64_t *const numbers[] = {&e->ts_ns, &e->dur_ns, &e->ret,    &e->count,  &e->size, &e->offset,
                                &e->fd,    &e->flags,  &e->length, &e->whence, &e->pid,  &e->tid};
    int64_t n;
    if (!number_of(v, &n))
        return;
    if (at < 2 && !v->nano && __builtin_mul_overflow(n, 1000, &n))
        return;
    *numbers[at] = n;
    e->has |= 1u << at;
}

static struct text text_in(const struct trace_value *v)
{
    bool is_text = v->type == TRACE_TEXT || v->type == TRACE_BIG || v->type == TRACE_JSON;
    return is_text ? (struct text){v->ptr, v->len} : (struct text){"", 0};
}

static int add_name(struct input *in, struct text hash, struct text name)
{
    int64_t id = intern_add(in->hashes, hash);
    if (id < 0)
        return (int)id;
    if ((size_t)id >= in->names_cap) {
        size_t cap = (size_t)id * 2 + 1024;
        char **names = realloc(in->names, cap * sizeof *names);
        if (!names)
            return -ENOMEM;
        memset(names + in->names_cap, 0, (cap - in->names_cap) * sizeof *names);
        in->names = names;
        in->names_cap = cap;
    }
    char *copy = strndup(name.ptr, name.len);
    if (!copy)
        return -ENOMEM;
    free(in->names[id]);
    in->names[id] = copy;
    return 0;
}

static struct text name_of(const struct input *in, struct text hash)
{
    int64_t id = hash.len ? intern_find(in->hashes, hash) : -ENOENT;
    return id >= 0 && in->names[id] ? text_of(in->names[id]) : hash;
}

struct record {
    struct text key, value, hash, hash2, unit;
    bool again;
};

static void put_values(struct input *in, const struct trace_event *t, struct event *e,
                       struct record *r)
{
    struct text *const texts[SLOT_NUMBER] = {
        [SLOT_NAME] = &e->name,   [SLOT_CAT] = &e->cat,          [SLOT_HOST] = &e->host,
        [SLOT_MODE] = &e->mode,   [SLOT_FILE] = &e->file,        [SLOT_FILE_HASH] = &r->hash,
        [SLOT_FILE2] = &e->file2, [SLOT_FILE2_HASH] = &r->hash2, [SLOT_KEY] = &r->key,
        [SLOT_VALUE] = &r->value, [SLOT_UNIT] = &r->unit};
    for (uint32_t i = 0; i < t->count; i++) {
        const struct trace_value *v = &t->values[i];
        if (v->field >= TRACE_FIELDS_MAX)
            continue;
        uint8_t slot = in->slots[v->field] ? in->slots[v->field] : find_slot(in, v->field);
        if (slot >= SLOT_NUMBER) {
            put_number(e, slot - SLOT_NUMBER, v);
            continue;
        }
        if (slot == SLOT_AGAIN)
            r->again = text_eq(text_in(v), TEXT("again"));
        else if (texts[slot] && v->len)
            *texts[slot] = text_in(v);
    }
}

/* What follows a record of the unit is read in it. */
static void set_unit(struct input *in, const struct trace_event *t, struct text unit)
{
    static const struct {
        const char *name;
        enum trace_unit unit;
    } units[] = {{"US", TRACE_US}, {"NS", TRACE_NS}, {"MS", TRACE_MS}, {"SEC", TRACE_SEC}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!text_eq_nocase(unit, text_of(units[i].name)) || in->unit == units[i].unit)
            continue;
        size_t at = (size_t)t->offset + t->len;
        struct trace_counts counts;
        trace_scan_counts(in->scanner, &counts);
        in->invalid += counts.invalid;
        in->unit = units[i].unit;
        in->len -= at;
        in->begun -= at;
        memmove(in->data, in->data + at, in->len);
        trace_scan_begin(in->scanner, in->data, in->begun, in->unit);
        return;
    }
}

static int read_event(struct input *in, const struct trace_event *t, struct event *e)
{
    struct record r = {0};
    memset(e, 0, sizeof *e);
    put_values(in, t, e, &r);
    if (r.again)
        return INPUT_AGAIN;
    e->is_metadata = t->class == TRACE_METADATA;
    e->is_counter = t->class == TRACE_COUNTER || t->class == TRACE_AGGREGATED;
    if (!e->file.len)
        e->file = name_of(in, r.hash);
    if (!e->file.len && r.key.len && text_eq(e->name, TEXT("opendir")))
        e->file = r.key;
    if (!e->file2.len)
        e->file2 = name_of(in, r.hash2);
    if (e->is_metadata && r.key.len && r.value.len) {
        bool names = text_eq(e->name, TEXT("FH")) || text_eq(e->name, TEXT("SH"));
        if (names && add_name(in, r.value, r.key) < 0)
            return -ENOMEM;
        if (text_eq(e->name, TEXT("CM")) && text_eq(r.key, TEXT("time_metric")))
            set_unit(in, t, r.value);
    }
    return 1;
}

int input_next(struct input *in, struct event *ret, struct err *err)
{
    struct trace_event t;
    for (;;) {
        if (in->scanning) {
            int rc = trace_scan_next(in->scanner, &t);
            if (rc)
                return rc < 0 ? rc : read_event(in, &t, ret);
            struct trace_counts counts;
            trace_scan_counts(in->scanner, &counts);
            in->invalid += counts.invalid;
            in->scanning = false;
        }
        int rc = in->at_end ? 0 : input_fill(in);
        if (rc == 0 && in->cut)
            return err_set(err, ERR_CORRUPT,
                           "the events are not complete: the input ends with an error");
        if (rc <= 0)
            return rc;
    }
}
