/* found.c - groups and what they sum up: made and grown. */
#include "answer/aggregate/found.h"
#include "engine/derived/keys.h"

#include <errno.h>
#include <stdlib.h>

static size_t head_of(const struct aggregate_plan *p)
{
    return p->general ? 0 : sizeof(struct extent);
}

static size_t stride_of(const struct aggregate_plan *p, unsigned measures)
{
    size_t bytes = head_of(p) + sizeof(struct record) + measures * sizeof(struct cell);

    return p->general ? bytes : (bytes + 15) & ~(size_t)15;
}

int found_new(const struct aggregate_plan *p, struct aggregate_found **ret)
{
    struct aggregate_found *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    f->plan = p;
    f->more.budget = f->intervals.budget = p->budget;
    sample_memory_init(&f->memory, p->budget, p->exact);
    for (unsigned i = 0; i < SETS; i++) {
        struct aggregate_set *s = &f->set[i];
        group_map_init(&s->map, p->key_sources, p->width, p->max_groups, p->budget);
        s->measures = i == SET_SYSTEM ? p->measure_count : p->plain_measures;
        s->head = head_of(p);
        s->stride = stride_of(p, s->measures);
        s->samples = calloc(s->measures + 1, sizeof(*s->samples));
        s->fine_at = calloc(s->measures + 1, sizeof(*s->fine_at));
        s->picks = calloc(p->keep_count + 1, sizeof(*s->picks));
    }
    f->distinct = calloc(p->keep_count + 1, sizeof(*f->distinct));
    for (unsigned i = 0; f->distinct && i < p->keep_count; i++)
        group_table_init(&f->distinct[i], 2, UINT32_MAX - 1, p->budget);
    for (unsigned i = 0; i < SETS; i++) {
        const struct aggregate_set *s = &f->set[i];
        if (!s->samples || !s->fine_at || !s->picks || !f->distinct) {
            found_free(f);
            return -ENOMEM;
        }
    }
    *ret = f;
    return 0;
}

static void set_done(const struct aggregate_plan *p, struct aggregate_set *s)
{
    group_map_done(&s->map);
    large_free(s->records);
    for (unsigned i = 0; i < s->measures; i++) {
        if (s->samples)
            free(s->samples[i]);
        if (s->fine_at)
            vec_done(&s->fine_at[i]);
    }
    for (unsigned i = 0; s->picks && i < p->keep_count; i++)
        free(s->picks[i]);
    free(s->samples);
    free(s->fine_at);
    free(s->picks);
}

void found_free(struct aggregate_found *f)
{
    if (!f)
        return;
    for (unsigned i = 0; i < SETS; i++)
        set_done(f->plan, &f->set[i]);
    for (unsigned i = 0; f->distinct && i < f->plan->keep_count; i++)
        group_table_done(&f->distinct[i]);
    free(f->distinct);
    vec_done(&f->intervals);
    vec_done(&f->more);
    sample_memory_done(&f->memory);
    budget_release(f->plan->budget, f->charged);
    free(f);
}

static int grow_zeroed(void **array, size_t each, uint32_t before, uint32_t cap)
{
    char *grown = realloc(*array, cap * each);

    if (!grown)
        return -ENOMEM;
    memset(grown + before * each, 0, (cap - before) * each);
    *array = grown;
    return 0;
}

/* Without its keys; `listed`: bytes of values for each list of percentiles. */
static size_t bytes_of_group(const struct aggregate_plan *p, unsigned measures, size_t listed)
{
    size_t bytes = stride_of(p, measures) + p->keep_count * sizeof(struct pick);

    for (unsigned i = 0; i < measures; i++)
        bytes += p->measures[i].sample ? sizeof(struct sample) + listed : 0;
    return bytes;
}

/* Of a table half full, and copied while it grows. */
size_t found_group_bytes(const struct aggregate_plan *p)
{
    enum { VALUES = 16 }; /* of a list for percentiles */
    size_t bytes = bytes_of_group(p, p->measure_count, VALUES * sizeof(uint64_t)) +
                   (p->width + 2) * sizeof(uint64_t);

    return 3 * bytes + p->intervals * 4 * sizeof(struct interval);
}

static int grow_arrays(struct aggregate_found *f, struct aggregate_set *s, uint32_t cap)
{
    const struct aggregate_plan *p = f->plan;
    size_t bytes = (cap - s->cap) * bytes_of_group(p, s->measures, 0);
    int rc = budget_charge(p->budget, bytes);

    if (rc < 0)
        return rc;
    f->charged += bytes;
    char *records = large_realloc(s->records, cap * s->stride);
    if (!records)
        return -ENOMEM;
    s->records = records;
    for (unsigned i = 0; i < s->measures && rc == 0; i++) {
        if (p->measures[i].sample)
            rc = grow_zeroed((void **)&s->samples[i], sizeof(struct sample), s->cap, cap);
    }
    for (unsigned i = 0; i < p->keep_count && rc == 0; i++)
        rc = grow_zeroed((void **)&s->picks[i], sizeof(struct pick), s->cap, cap);
    s->cap = rc < 0 ? s->cap : cap;
    return rc;
}

int set_room(struct aggregate_found *f, unsigned set)
{
    struct aggregate_set *s = &f->set[set];
    uint32_t cap = s->cap ? s->cap : 64;

    while (cap < s->map.table.count)
        cap *= 2;
    return s->map.table.count > s->cap ? grow_arrays(f, s, cap) : 0;
}

void record_begin(const struct aggregate_set *s, uint32_t group)
{
    static const __int128 most = (__int128)(~(unsigned __int128)0 >> 1);
    struct record *r = set_record(s, group);

    r->count = 0;
    if (s->head)
        *record_extent(r) = (struct extent){most, -most};
    for (unsigned i = 0; i < s->measures; i++)
        r->cells[i] = (struct cell){.min = INT64_MAX, .max = INT64_MIN};
}

int set_grow(struct aggregate_found *f, unsigned set)
{
    struct aggregate_set *s = &f->set[set];
    int rc = set_room(f, set);

    for (; rc == 0 && s->ready < s->map.table.count; s->ready++)
        record_begin(s, s->ready);
    return rc;
}

/* ---- parts of texts as keys ------------------------------------------------------------------ */

/* As dirname(1) and basename(1) have them: slashes at the end do not count, "/d/" is "d" in "/". */
static struct text without_end_slashes(struct text path)
{
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    return path;
}

static const char *last_slash(struct text path)
{
    return path.len ? memrchr(path.ptr, '/', path.len) : NULL;
}

static struct text dirname_of(struct text path)
{
    const char *slash = last_slash(without_end_slashes(path));

    if (!slash)
        return TEXT(".");
    return without_end_slashes((struct text){path.ptr, (size_t)(slash - path.ptr) + 1});
}

static struct text basename_of(struct text path)
{
    struct text p = without_end_slashes(path);
    const char *slash = p.len > 1 ? last_slash(p) : NULL;

    return slash ? (struct text){slash + 1, (size_t)(p.ptr + p.len - slash - 1)} : p;
}

int plan_keys(const struct aggregate_plan *p, const uint64_t *keys, uint64_t *ret)
{
    for (unsigned i = 0; i < p->width; i++) {
        struct value v;
        ret[i] = keys[i];
        if (p->keys[i].part == KEY_WHOLE)
            continue;
        query_key_value(p->query, keys[i], &v);
        if (v.type != VALUE_TEXT)
            continue;
        struct column_entry e = {.type = TRACE_TEXT,
                                 .text_id = INDEX_NO_TEXT,
                                 .text = p->keys[i].part == KEY_DIRNAME ? dirname_of(v.text)
                                                                        : basename_of(v.text)};
        int rc = key_of_entry(p->query, &e, &ret[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}
