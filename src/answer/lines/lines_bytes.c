/* lines_bytes.c - encodes the lines of a place for another process: number of lines, keys with
 * the unit of times, lengths, reference groups; and text. Hosts and texts are sent as values,
 * because ids differ between processes. */
#include "answer/lines/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- to bytes -------------------------------------------------------------------------------- */

static void put_group(const struct lines_plan *p, const struct lines_group *g, struct buf *out)
{
    const struct index *ix = query_index(p->query);

    key_encode(p->query, g->host, out);
    rec_put_u(out, g->has_process);
    rec_put_i(out, g->pid);
    rec_put_u(out, g->hash_count);
    for (uint32_t i = 0; i < g->hash_count; i++) {
        rec_put_u(out, g->hashes[i].kinds);
        rec_put_text(out, index_text(ix, g->hashes[i].hash));
    }
}

static uint32_t last_group(const struct lines *l, uint32_t n)
{
    uint32_t last = 0;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t g = l->group[item_index(&l->item, k)];
        last = g > last ? g : last;
    }
    return last;
}

/* Writes the group of each object; a number that appears first is followed by the group. */
static int put_groups(const struct lines_plan *p, const struct lines *l, uint32_t n,
                      struct buf *out)
{
    uint32_t *number = calloc(last_group(l, n) + 1ul, sizeof(*number)), count = 0;

    for (uint32_t k = 0; number && k < n; k++) {
        uint32_t g = l->group[item_index(&l->item, k)];
        bool first = number[g] == 0;
        if (first)
            number[g] = ++count;
        rec_put_u(out, number[g] - 1);
        if (first)
            put_group(p, &l->groups[g], out);
    }
    free(number);
    return number ? 0 : -ENOMEM;
}

/* Consecutive lines are copied at once. */
static void put_text(const struct lines *l, uint32_t n, struct buf *out)
{
    for (uint32_t k = 0; k < n;) {
        uint32_t i = item_index(&l->item, k++);
        size_t start = l->offset[i], end = start + l->len[i];
        for (; k < n; k++) {
            i = item_index(&l->item, k);
            if (l->offset[i] != end + 1)
                break;
            end += 1 + l->len[i];
        }
        buf_append(out, l->text.data + start, end - start);
        buf_putc(out, '\n');
    }
}

/* Returns true if the text begins with these lines, in order. */
static bool is_contiguous(const struct lines *l, uint32_t n)
{
    size_t end = 0;
    uint32_t i = 0;

    for (; !l->item.order && i < n && l->offset[i] == end; i++)
        end += l->len[i] + 1ul;
    return i == n;
}

/* Exchanges the buffers if the text can be sent as it is; copies it otherwise. */
static void move_text(struct lines *l, uint32_t n, size_t bytes, struct buf *out)
{
    if (out->len == 0 && is_contiguous(l, n)) {
        struct buf own = *out;
        *out = l->text;
        out->len = bytes;
        l->text = own;
        return;
    }
    buf_reserve(out, bytes);
    put_text(l, n, out);
}

int lines_encode(void *plan, void *item, struct buf *text, struct buf *facts)
{
    const struct lines_plan *p = plan;
    struct lines *l = item;
    uint32_t n = l->item.count < p->max ? l->item.count : (uint32_t)p->max;
    size_t bytes = 0;
    int rc = 0;

    rec_put_u(facts, n);
    if (p->order.by_key)
        item_encode_keys(&l->item, n, facts);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t len = l->len[item_index(&l->item, k)];
        rec_put_u(facts, len);
        bytes += len + 1ul;
    }
    if (p->references)
        rc = put_groups(p, l, n, facts);
    move_text(l, n, bytes, text);
    return rc < 0 ? rc : facts->error ? facts->error : text->error;
}

/* ---- from bytes ------------------------------------------------------------------------------ */

static int take_group(struct lines_plan *p, struct lines *l, struct rec *in,
                      struct lines_group *ret)
{
    const struct index *ix = query_index(p->query);
    int rc = key_decode(p->query, in, &ret->host);

    ret->has_process = rec_u(in);
    ret->pid = rec_i(in);
    uint64_t count = rec_count(in, 2);
    struct lines_hash *hashes = arena_alloc(&l->arena, (count + 1) * sizeof(*hashes));
    if (rc < 0 || !hashes)
        return rc < 0 ? rc : -ENOMEM;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t kinds = (uint8_t)rec_u(in);
        uint32_t hash = index_text_find(ix, rec_text(in));
        if (hash != INDEX_NO_TEXT) /* no record has it */
            hashes[ret->hash_count++] = (struct lines_hash){kinds, hash};
    }
    ret->hashes = hashes;
    return 0;
}

static int take_groups(struct lines_plan *p, struct lines *l, uint64_t n, struct rec *in)
{
    VEC(struct lines_group) groups = {.budget = query_budget(p->query)};
    int rc = 0;

    for (uint64_t i = 0; i < n && rc == 0; i++) {
        struct lines_group g = {0};
        l->group[i] = (uint32_t)rec_choice(in, groups.count);
        if (in->bad || l->group[i] < groups.count)
            continue;
        rc = take_group(p, l, in, &g);
        rc = rc < 0 ? rc : vec_push(&groups, g);
    }
    if (rc == 0 && !(l->groups = arena_alloc(&l->arena, (groups.count + 1) * sizeof(*l->groups))))
        rc = -ENOMEM;
    if (rc == 0 && groups.count)
        memcpy(l->groups, groups.at, groups.count * sizeof(*l->groups));
    vec_done(&groups);
    return rc;
}

/* whole: the buffer of `text`, which becomes owned by the item; NULL: the text is copied. */
static int set_text(struct lines *l, size_t bytes, struct text text, struct buf *whole)
{
    int rc = text.len != bytes || bytes > UINT32_MAX / 2 ? ERR_CORRUPT
                                                         : charge_add(&l->item.charge, bytes);

    if (rc < 0)
        return rc;
    if (whole) {
        buf_done(&l->text);
        l->text = *whole;
        *whole = (struct buf){0};
        return 0;
    }
    buf_text(&l->text, text);
    return l->text.error;
}

static int take_lines(struct lines_plan *p, struct lines *l, struct rec *in, struct text text,
                      struct buf *whole)
{
    uint64_t n = rec_count(in, 1);
    int rc = n == 0 || n > UINT32_MAX / 2 ? ERR_CORRUPT : lines_grow(l, p, (uint32_t)n);

    if (rc < 0)
        return rc;
    if (p->order.by_key)
        item_decode_keys(&l->item, n, in);
    size_t bytes = 0;
    for (uint64_t i = 0; i < n; i++) {
        l->offset[i] = (uint32_t)bytes;
        l->len[i] = (uint32_t)rec_choice(in, UINT32_MAX);
        bytes += l->len[i] + 1ul;
    }
    rc = p->references ? take_groups(p, l, n, in) : 0;
    rc = rc < 0 ? rc : in->bad ? ERR_CORRUPT : set_text(l, bytes, text, whole);
    l->item.count = (uint32_t)n;
    return rc;
}

int lines_decode(void *plan, size_t position, struct rec *facts, struct text text,
                 struct buf *whole, void **ret)
{
    struct lines_plan *p = plan;
    const struct scan_place *places;
    struct lines *l = lines_new(p);

    if (!l)
        return -ENOMEM;
    scan_places(p->query, &places);
    l->item.position = position;
    l->item.file = snapshot_file(query_snapshot(p->query), places[position].file);
    int rc = take_lines(p, l, facts, text, whole);
    if (rc < 0)
        lines_drop(p, l);
    else
        *ret = l;
    return rc;
}
