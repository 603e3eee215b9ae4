/* merged.c - binds a column that merges two (a bare name that is a field of some lines and an
 * argument of others in one chunk), or one column with some rows set to null. */
#include "base/group_table.h"
#include "engine/derived/bind.h"
#include "engine/derived/codes.h"
#include "engine/derived/keys.h"

#include <errno.h>

static struct column_entry entry_of_key(struct scan_worker *w, uint64_t key)
{
    struct column_entry e = {.type = TRACE_TEXT, .text_id = INDEX_NO_TEXT};
    struct value v;

    query_key_value(w->query, key, &v);
    e.text = v.text;
    if (key_tag(key) == KEY_TEXT)
        e.text_id = (uint32_t)key_payload(key);
    if (v.type == VALUE_INT || v.type == VALUE_BOOL) {
        e.type = v.type == VALUE_INT ? TRACE_INT : TRACE_BOOL;
        e.i = v.i;
    } else if (v.type == VALUE_DOUBLE) {
        e.type = TRACE_DOUBLE;
        e.d = v.d;
    } else if (v.type == VALUE_JSON) {
        e.type = v.text.ptr[0] == '[' || v.text.ptr[0] == '{' ? TRACE_JSON : TRACE_BIG;
    }
    return e;
}

/* Adds the keys of all rows to the table. Sets codes[row] to the number of its key, or
 * CODED_NULL. */
static int number_rows(struct scan_worker *w, struct binding *const part[2],
                       const uint64_t *without, struct group_table *keys, uint32_t *codes)
{
    struct scan_batch batch;

    for (uint32_t at = 0; at < w->chunk.rows; at += SCAN_BATCH) {
        batch_at(w, at, &batch);
        const uint64_t *first = binding_keys(&batch, part[0]);
        const uint64_t *second = part[1] ? binding_keys(&batch, part[1]) : first;
        for (uint32_t i = 0; i < batch.rows; i++) {
            uint64_t key = first[i] != QUERY_KEY_NULL ? first[i] : second[i];
            bool is_null = key == QUERY_KEY_NULL || (without && batch_is_valid(without, at + i));
            int64_t code = is_null ? CODED_NULL : group_table_add(keys, &key);
            if (code < 0)
                return (int)code;
            codes[at + i] = (uint32_t)code;
        }
    }
    return w->error;
}

int bind_merged(struct scan_worker *w, struct binding *b, struct binding *first,
                struct binding *second, const uint64_t *without)
{
    struct binding *const part[] = {first, second};
    VEC(struct column_entry) entries = {.budget = w->query->budget};
    struct group_table keys;
    uint32_t *codes = coded_alloc(w, b);

    group_table_init(&keys, 1, w->chunk.rows + 1ul, w->query->budget);
    int rc = codes ? number_rows(w, part, without, &keys, codes) : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < keys.count; i++)
        rc = vec_push(&entries, entry_of_key(w, *group_table_keys(&keys, i)));
    if (rc == 0)
        rc = bind_coded(w, b, entries.at, entries.count);
    vec_done(&entries);
    group_table_done(&keys);
    return rc;
}
