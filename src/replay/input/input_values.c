/* input_values.c - stores the values of an object in the event. */
#include "replay/input/input_parts.h"

#include <stdlib.h>
#include <string.h>

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
    SLOT_AGAIN,
    SLOT_NUMBER /* + bit */
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

static uint8_t find_slot(struct input *in, uint16_t field)
{
    struct text path = trace_field_path(in->scanner, field);
    uint8_t slot = SLOT_IGNORED;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct text known = text_of(paths[i].path);
        bool is_arg = text_starts(known, TEXT("args."));
        struct text bare = is_arg ? (struct text){known.ptr + 5, known.len - 5} : known;
        /* Rows of /view have arguments with short names; the "name" of an event is no argument. */
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

static struct text value_text(const struct trace_value *v)
{
    bool is_text = v->type == TRACE_TEXT || v->type == TRACE_BIG || v->type == TRACE_JSON;
    return is_text ? (struct text){v->ptr, v->len} : (struct text){"", 0};
}

static int add_name(struct input *in, struct text hash, struct text name)
{
    int64_t id = intern_add(in->hashes, hash);
    if (id < 0 || vec_extend(&in->names, (size_t)id + 1) < 0)
        return -ENOMEM;
    char *copy = strndup(name.ptr, name.len);
    if (!copy)
        return -ENOMEM;
    free(in->names.at[id]);
    in->names.at[id] = copy;
    return 0;
}

static struct text resolve_hash(const struct input *in, struct text hash)
{
    int64_t id = hash.len ? intern_find(in->hashes, hash) : -ENOENT;
    return id >= 0 && in->names.at[id] ? text_of(in->names.at[id]) : hash;
}

struct record {
    struct text key, value, hash, hash2;
    bool again;
};

static void put_values(struct input *in, const struct trace_event *t, struct event *e,
                       struct record *r)
{
    struct text *const texts[SLOT_NUMBER] = {
        [SLOT_NAME] = &e->name,   [SLOT_CAT] = &e->cat,          [SLOT_HOST] = &e->host,
        [SLOT_MODE] = &e->mode,   [SLOT_FILE] = &e->file,        [SLOT_FILE_HASH] = &r->hash,
        [SLOT_FILE2] = &e->file2, [SLOT_FILE2_HASH] = &r->hash2, [SLOT_KEY] = &r->key,
        [SLOT_VALUE] = &r->value};
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
            r->again = text_eq(value_text(v), TEXT("again"));
        else if (texts[slot] && v->len)
            *texts[slot] = value_text(v);
    }
}

/* Scans what follows an object with another unit of times. */
static void restart_scan(struct input *in, const struct trace_event *t, enum trace_unit unit)
{
    struct trace_counts counts;
    trace_scan_counts(in->scanner, &counts);
    in->invalid += counts.invalid;
    in->unit = unit;
    in->from += (size_t)t->offset + t->len;
    trace_scan_begin(in->scanner, in->data + in->from, in->begun - in->from, unit);
}

static void set_unit(struct input *in, const struct trace_event *t, struct text name)
{
    static const struct {
        const char *name;
        enum trace_unit unit;
    } units[] = {{"US", TRACE_US}, {"NS", TRACE_NS}, {"MS", TRACE_MS}, {"SEC", TRACE_SEC}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text_eq_nocase(name, text_of(units[i].name)) && in->unit != units[i].unit) {
            restart_scan(in, t, units[i].unit);
            return;
        }
}

int input_read_event(struct input *in, const struct trace_event *t, struct event *e)
{
    struct record r = {0};
    memset(e, 0, sizeof *e);
    put_values(in, t, e, &r);
    if (r.again) { /* as input_rewind */
        restart_scan(in, t, TRACE_US);
        in->invalid = 0;
        return INPUT_AGAIN;
    }
    e->is_metadata = t->class == TRACE_METADATA;
    e->is_counter = t->class == TRACE_COUNTER || t->class == TRACE_AGGREGATED;
    if (!e->file.len)
        e->file = resolve_hash(in, r.hash);
    if (!e->file.len && r.key.len && text_eq(e->name, TEXT("opendir")))
        e->file = r.key;
    if (!e->file2.len)
        e->file2 = resolve_hash(in, r.hash2);
    if (e->is_metadata && r.key.len && r.value.len) {
        bool names = text_eq(e->name, TEXT("FH")) || text_eq(e->name, TEXT("SH"));
        if (names && add_name(in, r.value, r.key) < 0)
            return -ENOMEM;
        if (text_eq(e->name, TEXT("CM")) && text_eq(r.key, TEXT("time_metric")))
            set_unit(in, t, r.value);
    }
    return 1;
}
