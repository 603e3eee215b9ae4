/* fields.c - maps paths to fields, and converts tokens to values (READING.md, "Values"). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "trace/scan/fields.h"

static const struct {
    struct text path;
    uint8_t conv;
} known[TRACE_FIELD_DYNAMIC] = {
#define KNOWN(field, text, c) [TRACE_FIELD_##field] = {{text, sizeof(text) - 1}, CONV_##c}
    KNOWN(NAME, "name", LABEL),
    KNOWN(CAT, "cat", LABEL),
    KNOWN(PID, "pid", INTEGER),
    KNOWN(TID, "tid", INTEGER),
    KNOWN(TS, "ts", TIME),
    KNOWN(DUR, "dur", DUR),
    KNOWN(PH, "ph", PHASE),
    KNOWN(ID, "id", INTEGER),
    KNOWN(TYPE, "type", PLAIN),
    KNOWN(HHASH, "args.hhash", TEXT),
    KNOWN(FHASH, "args.fhash", TEXT),
    KNOWN(SHASH, "args.shash", TEXT),
    KNOWN(RET, "args.ret", NUMERIC),
    KNOWN(COUNT, "args.count", NUMERIC),
    KNOWN(OFFSET, "args.offset", NUMERIC),
    KNOWN(SIZE, "args.size", NUMERIC),
    KNOWN(IMAGE_SIZE, "args.image_size", NUMERIC),
    KNOWN(SIZE_SUM, "args.size_sum", PLAIN),
    KNOWN(RET_SUM, "args.ret_sum", PLAIN),
    KNOWN(HOSTNAME, "args.hostname", PLAIN),
    KNOWN(FNAME, "args.fname", PLAIN),
    KNOWN(PATH, "args.path", PLAIN),
    KNOWN(ARG_NAME, "args.name", PLAIN),
    KNOWN(ARG_VALUE, "args.value", RECORD),
    KNOWN(PPID, "args.ppid", PLAIN),
    KNOWN(CMD_HASH, "args.cmd_hash", TEXT),
    KNOWN(EXEC_HASH, "args.exec_hash", TEXT),
    KNOWN(CWD, "args.cwd", TEXT),
    KNOWN(VERSION, "args.version", PLAIN),
    KNOWN(TIME_METRIC, "args.cfg.time_metric", PLAIN),
#undef KNOWN
};

bool trace_path_is_hash(struct text path)
{
    static const char *const names[] = {"args.hhash", "args.fhash", "args.shash", "args.cwd", NULL};

    return text_find(path, names) >= 0 ||
           (text_starts(path, TEXT("args.")) && text_ends(path, TEXT("_hash")));
}

bool trace_path_is_numeric(struct text path)
{
    static const char *const names[] = {"pid",
                                        "tid",
                                        "id",
                                        "ts",
                                        "dur",
                                        "args.ret",
                                        "args.count",
                                        "args.offset",
                                        "args.size",
                                        "args.epoch",
                                        "args.step",
                                        "args.image_idx",
                                        "args.image_size",
                                        "args.num_events",
                                        NULL};

    return text_find(path, names) >= 0;
}

static uint8_t path_conv(uint32_t id, struct text path)
{
    if (id < TRACE_FIELD_DYNAMIC)
        return known[id].conv;
    return trace_path_is_hash(path)      ? CONV_TEXT
           : trace_path_is_numeric(path) ? CONV_NUMERIC
                                         : CONV_PLAIN;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Returns true if the text needs no escape in a JSON string. */
static bool text_is_plain(struct text t)
{
    for (size_t i = 0; i < t.len; i++) {
        if ((unsigned char)t.ptr[i] < 0x20 || t.ptr[i] == '"' || t.ptr[i] == '\\')
            return false;
    }
    return true;
}

static bool buckets_grow(struct trace_scanner *s)
{
    uint32_t mask = s->bucket_mask * 2 + 1;
    struct scan_node **grown = calloc((size_t)mask + 1, sizeof(struct scan_node *)), *node, *next;

    if (!grown)
        return false;
    for (uint32_t i = 0; i <= s->bucket_mask; i++) {
        for (node = s->buckets[i]; node; node = next) {
            next = node->hash_next;
            node->hash_next = grown[node->hash & mask];
            grown[node->hash & mask] = node;
        }
    }
    free(s->buckets);
    s->buckets = grown;
    s->bucket_mask = mask;
    return true;
}

static struct scan_node *node_new(struct trace_scanner *s, struct scan_node *parent,
                                  struct text key, uint64_t hash)
{
    bool temporary = s->nodes >= SCAN_NODES_MAX || s->node_memory.used > SCAN_NODES_BYTES ||
                     key.len > SCAN_PATH_MAX || parent->temporary;
    struct arena *memory = temporary ? &s->temp_memory : &s->node_memory;
    struct scan_node *node = arena_alloc(memory, sizeof(struct scan_node));

    if (!node)
        return NULL;
    node->key = arena_strdup(memory, key);
    if (!node->key || (temporary && vec_push(&s->temps, node) < 0))
        return NULL;
    node->key_len = (uint32_t)key.len;
    node->parent = parent;
    node->hash = hash;
    node->field = SCAN_FIELD_NONE;
    node->temporary = temporary;
    node->matchable = key.len <= SCAN_KEY_MAX && text_is_plain(key);
    if (node->matchable) {
        memcpy(node->match, key.ptr, key.len);
        node->match[key.len] = '"';
    }
    s->nodes += !temporary;
    return node;
}

struct scan_node *fields_key(struct trace_scanner *s, struct scan_node *parent, struct text key)
{
    uint64_t hash = text_hash(key) ^ parent->hash * 0x9E3779B97F4A7C15u;
    struct scan_node *node;

    for (node = s->buckets[hash & s->bucket_mask]; node; node = node->hash_next) {
        if (node->hash == hash && node->parent == parent && node->key_len == key.len &&
            memcmp(node->key, key.ptr, key.len) == 0)
            return node;
    }
    node = node_new(s, parent, key, hash);
    if (!node || (s->nodes + s->temps.count > s->bucket_mask && !buckets_grow(s))) {
        s->error = -ENOMEM;
        return NULL;
    }
    node->hash_next = s->buckets[hash & s->bucket_mask];
    s->buckets[hash & s->bucket_mask] = node;
    return node;
}

/* ---- duplicates ------------------------------------------------------------------------------ */

void fields_remove_values(struct trace_scanner *s, struct scan_node *node)
{
    for (uint32_t i = node->from; i < node->to; i++)
        s->values[i].type = 0;
    s->dead = s->dead || node->from < node->to;
    s->notable = false;
    if (node->field == TRACE_FIELD_DUR)
        s->bad_dur = 0;
}

/* If two nodes have the same path, the later value counts, so the field keeps the position of its
 * last value. */
static void field_share(struct trace_scanner *s, struct scan_node *node)
{
    struct scan_field *f = &s->fields[node->field];

    if (!f->shared) {
        f->shared = true;
        for (uint32_t i = 0; i < s->count; i++) {
            if (s->values[i].field == node->field) {
                f->seen = s->attempt;
                f->at = i;
            }
        }
        if (f->first) {
            f->first->shared = true;
            f->first->ready = false;
        }
    }
    node->shared = true;
}

static void field_collide(struct trace_scanner *s, struct scan_node *node)
{
    struct scan_field *f = &s->fields[node->field];

    if (f->seen == s->attempt && f->at < s->count && s->values[f->at].field == node->field) {
        s->values[f->at].type = 0;
        s->dead = true;
    }
    f->seen = s->attempt;
    f->at = s->count;
    s->notable = false;
    if (node->field == TRACE_FIELD_DUR)
        s->bad_dur = 0;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static size_t path_length(const struct scan_node *node)
{
    size_t len = 0;

    for (; node->parent; node = node->parent)
        len += node->key_len + 1;
    return len - 1;
}

/* Writes the dotted path of a node to s->path, from its end. */
static struct text node_path(struct trace_scanner *s, const struct scan_node *node)
{
    size_t len = path_length(node);
    char *at;

    if (len > SCAN_PATH_MAX)
        return (struct text){NULL, len};
    buf_clear(&s->path);
    at = buf_reserve(&s->path, len + 1);
    if (!at) {
        s->error = -ENOMEM;
        return (struct text){NULL, SCAN_PATH_MAX + 1};
    }
    for (at += len; node->parent; node = node->parent) {
        at -= node->key_len;
        memcpy(at, node->key, node->key_len);
        if (node->parent->parent)
            *--at = '.';
    }
    return (struct text){at, len};
}

static void node_bind(struct trace_scanner *s, struct scan_node *node)
{
    struct text path = node_path(s, node);
    struct scan_field *f;
    int64_t id;

    if (path.len > SCAN_PATH_MAX) {
        node->field = s->error ? SCAN_FIELD_NONE : SCAN_FIELD_DROP;
        return;
    }
    id = intern_count(s->paths) < TRACE_FIELDS_MAX && intern_bytes(s->paths) < SCAN_PATHS_BYTES
             ? intern_add(s->paths, path)
             : intern_find(s->paths, path);
    if (id < 0) {
        node->field = id == -ENOENT ? TRACE_FIELD_OTHER : SCAN_FIELD_NONE;
        s->error = id == -ENOENT ? s->error : (int)id;
        return;
    }
    f = &s->fields[id];
    node->field = (uint16_t)id;
    node->conv = f->conv = path_conv((uint32_t)id, path);
    if (f->bound)
        field_share(s, node);
    else if (!node->temporary)
        f->first = node;
    /* A temporary node may be freed before the next one is made: the field counts as shared from
     * now on. */
    if (node->temporary && !f->bound)
        field_share(s, node);
    f->bound = true;
}

bool fields_prepare(struct trace_scanner *s, struct scan_node *node)
{
    if (node->field == SCAN_FIELD_NONE)
        node_bind(s, node);
    if (node->field >= SCAN_FIELD_NONE)
        return false;
    if (node->shared)
        field_collide(s, node);
    else
        node->ready = true;
    return true;
}

void trace_put_other_text(struct buf *out, struct text t)
{
    buf_putc(out, '"');
    for (size_t i = 0; i < t.len; i++) {
        unsigned char c = (unsigned char)t.ptr[i];
        if (c == '"' || c == '\\')
            buf_putc(out, '\\');
        if (c < 0x20)
            buf_printf(out, "\\u%04x", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, '"');
}

void fields_other(struct trace_scanner *s, struct scan_node *node, struct text t, bool quote)
{
    s->notable = false;
    if (node->field != TRACE_FIELD_OTHER)
        return;
    struct text path = node_path(s, node);
    if (s->error)
        return;
    buf_clear(&s->json);
    trace_put_other_text(&s->json, path);
    buf_putc(&s->json, ':');
    if (quote)
        trace_put_other_text(&s->json, t);
    else
        buf_text(&s->json, t);
    s->error = s->json.error;
    if (s->error || s->json.len > TRACE_LINE_MAX - s->other_bytes)
        return;
    char *text = scan_scratch(s, s->json.len);
    if (!text)
        return;
    memcpy(text, s->json.data, s->json.len);
    value_text(s, TRACE_FIELD_OTHER, TRACE_JSON, text, s->json.len);
    s->other_bytes += s->json.len;
}

/* ---- values ---------------------------------------------------------------------------------- */

bool fields_grow(struct trace_scanner *s)
{
    uint32_t cap = s->cap * 2;
    struct trace_value *grown = realloc(s->values, (size_t)cap * sizeof(*grown));

    if (!grown) {
        s->error = -ENOMEM;
        return false;
    }
    s->values = grown;
    s->cap = cap;
    return true;
}

/* Sets *ret for a number of up to 19 digits without exponent, as most are. */
static bool make_short_double(const struct scan_number *n, double *ret)
{
    const char *p = n->ptr + n->negative, *end = n->ptr + n->len, *point = NULL;
    uint64_t value = 0;
    unsigned digits = 0;

    for (; p < end && digits <= 19; p++) {
        if (*p == '.') {
            point = p;
            continue;
        }
        if ((unsigned char)(*p - '0') > 9)
            return false;
        value = value * 10 + (uint64_t)(*p - '0');
        digits += value != 0;
    }
    return digits <= 19 &&
           num_make_double(value, point ? (int)(point + 1 - end) : 0, n->negative && value, ret);
}

/* Returns false beyond the range of doubles. */
static bool number_double(const struct scan_number *n, double *ret)
{
    if (!make_short_double(n, ret) && num_parse_double((struct text){n->ptr, n->len}, ret) < 0)
        return false;
    *ret += 0.0; /* -0 is 0 */
    return true;
}

static void plain_number(struct trace_scanner *s, uint16_t field, const struct scan_number *n)
{
    double d;

    if (n->integral && n->big)
        value_text(s, field, TRACE_BIG, n->ptr, n->len);
    else if (n->integral)
        value_int(s, field, TRACE_INT, number_signed(n));
    else if (number_double(n, &d))
        value_put(s, field, TRACE_DOUBLE)->d = d;
}

/* *place: its position among the values; unchanged if the number is out of range (1e999). */
static void placed_number(struct trace_scanner *s, uint16_t field, const struct scan_number *n,
                          int32_t *place)
{
    uint32_t at = s->count;

    plain_number(s, field, n);
    if (s->count > at)
        *place = (int32_t)at;
}

static void time_number(struct trace_scanner *s, uint16_t field, uint8_t conv,
                        const struct scan_number *n)
{
    struct trace_value *v;
    int64_t time;
    uint8_t nano;
    bool valid = scan_time((struct text){n->ptr, n->len}, s->unit, &time, &nano);

    if (conv == CONV_DUR)
        s->bad_dur = !valid;
    if (!valid)
        return;
    *(conv == CONV_DUR ? &s->at.dur : &s->at.ts) = (int32_t)s->count;
    v = value_put(s, field, TRACE_INT);
    v->i = time;
    v->nano = nano;
}

void fields_number(struct trace_scanner *s, uint16_t field, uint8_t conv,
                   const struct scan_number *n)
{
    double d;

    switch (conv) {
    case CONV_TIME:
    case CONV_DUR:
        time_number(s, field, conv, n);
        return;
    case CONV_INTEGER:
        if (n->integral && (!n->big || field == TRACE_FIELD_ID))
            plain_number(s, field, n);
        else if (!n->integral && number_double(n, &d) && d == floor(d) && d >= -0x1p63 &&
                 d < 0x1p63)
            value_int(s, field, TRACE_INT, (int64_t)d);
        return;
    case CONV_TEXT:
        value_text(s, field, TRACE_TEXT, n->ptr, n->len);
        return;
    case CONV_LABEL:
        value_string(s, field, conv, n->ptr, n->len);
        return;
    case CONV_PHASE:
        placed_number(s, field, n, &s->at.phase);
        return;
    case CONV_RECORD:
        s->record_raw = (struct text){n->ptr, n->len};
        placed_number(s, field, n, &s->record_at);
        return;
    default:
        plain_number(s, field, n);
    }
}

void fields_string(struct trace_scanner *s, uint16_t field, uint8_t conv, struct text t)
{
    struct scan_number n;
    bool is_number =
        conv != CONV_RECORD && t.len > 0 && scan_number_prefix(t.ptr, t.ptr + t.len, &n) == t.len;
    double d;

    if (is_number && conv == CONV_NUMERIC && !n.integral && !number_double(&n, &d))
        is_number = false; /* "1e999" is out of range, so it remains text */
    if (is_number)
        value_number(s, field, conv, &n);
    else if (conv == CONV_NUMERIC || conv == CONV_RECORD)
        value_text(s, field, TRACE_TEXT, t.ptr, t.len);
}

void fields_fixed(struct trace_scanner *s, uint16_t field, uint8_t conv, uint8_t type, bool truth,
                  struct text token)
{
    switch (conv) {
    case CONV_TIME:
    case CONV_DUR:
    case CONV_INTEGER:
        return;
    case CONV_LABEL:
        if (type == TRACE_BOOL)
            value_string(s, field, conv, token.ptr, token.len);
        return;
    case CONV_PHASE:
        s->at.phase = (int32_t)s->count;
        break;
    default:
        break;
    }
    if (type == TRACE_BOOL)
        value_int(s, field, TRACE_BOOL, truth);
    else
        value_text(s, field, type, token.ptr, token.len);
}

/* Frees the temporary nodes of an event. Texts of its values stay valid. */
static void free_temporaries(struct trace_scanner *s)
{
    for (size_t i = s->temps.count; i-- > 0;) {
        struct scan_node *node = s->temps.at[i];
        struct scan_node **at = &s->buckets[node->hash & s->bucket_mask];
        while (*at && *at != node)
            at = &(*at)->hash_next;
        if (*at)
            *at = node->hash_next;
    }
    s->temps.count = 0;
    arena_done(&s->temp_memory);
}

void fields_begin(struct trace_scanner *s)
{
    s->count = s->keys = 0;
    s->dead = false;
    s->attempt++;
    s->at = (struct scan_places){-1, -1, -1, -1};
    s->record_at = -1;
    s->bad_dur = 0;
    s->shape = 0;
    s->odd = false;
    s->begun = true;
    s->other_bytes = 0;
    if (unlikely(s->scratch.data != NULL))
        scan_scratch_reset(s);
    if (unlikely(s->temps.count > 0))
        free_temporaries(s);
}

/* ---- begin and end --------------------------------------------------------------------------- */

int fields_init(struct trace_scanner *s)
{
    s->cap = 4 * SCAN_SLOTS_MAX;
    s->values = malloc(s->cap * sizeof(*s->values));
    s->fields = calloc(TRACE_FIELDS_MAX, sizeof(*s->fields));
    s->bucket_mask = 255;
    s->buckets = calloc(s->bucket_mask + 1, sizeof(struct scan_node *));
    s->paths = intern_new();
    if (!s->values || !s->fields || !s->buckets || !s->paths)
        return -ENOMEM;
    for (int i = 0; i < TRACE_FIELD_DYNAMIC; i++) {
        if (intern_add(s->paths, known[i].path) != i)
            return -ENOMEM;
    }
    s->root = arena_alloc(&s->node_memory, sizeof(struct scan_node));
    s->args_node = s->root ? fields_key(s, s->root, TEXT("args")) : NULL;
    return s->args_node ? 0 : -ENOMEM;
}

void fields_done(struct trace_scanner *s)
{
    scan_scratch_reset(s);
    free(s->scratch.data);
    free(s->values);
    free(s->fields);
    free(s->buckets);
    vec_done(&s->temps);
    intern_free(s->paths);
    arena_done(&s->node_memory);
    arena_done(&s->temp_memory);
    buf_done(&s->json);
    buf_done(&s->path);
}

struct text trace_field_path(const struct trace_scanner *s, uint16_t field)
{
    return field < intern_count(s->paths) ? intern_text(s->paths, field) : (struct text){NULL, 0};
}
