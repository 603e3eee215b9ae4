/* wire.c - orders and results as bytes. */
#include "index/catalog/names.h"
#include "index/ingest/order.h"
#include "index/ingest/read.h"
#include "index/ranks/ranks.h"
#include "index/store/checkpoint_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void encode_checkpoint(struct buf *out, const struct trace_checkpoint *c)
{
    struct buf value = {0};

    checkpoint_encode(c, &value);
    rec_put_u(out, c->text_offset);
    rec_put_buf(out, &value);
    buf_done(&value);
}

/* Decodes a checkpoint with a *new* window. */
static int decode_checkpoint(struct rec *in, struct trace_checkpoint *ret)
{
    struct kv_key key = kv_key_of_u32(0);
    struct trace_checkpoint c;

    kv_key_u64(&key, rec_u(in));
    int rc = checkpoint_decode((struct text){(const char *)key.data, key.len}, rec_text(in), &c);
    return rc ? rc : checkpoint_clone(&c, ret);
}

static void encode_array(struct buf *out, const void *list, size_t count, size_t size)
{
    rec_put_u(out, count);
    buf_append(out, list, count * size);
}

/* Decodes a *new* array, NULL if it is empty. */
static void *decode_array(struct rec *in, size_t size, size_t *ret_count, int *rc)
{
    size_t count = rec_count(in, size);
    void *list = count ? malloc(count * size) : NULL;

    if (count && !list)
        *rc = -ENOMEM;
    else if (count && !rec_array(in, list, count * size))
        *rc = ERR_CORRUPT;
    *ret_count = *rc ? 0 : count;
    return list;
}

/* ---- orders ---------------------------------------------------------------------------------- */

void order_encode(const struct reader *r, const struct order *o, struct buf *out)
{
    const struct run *run = r->run;

    rec_put_u(out, o->number);
    rec_put_text(out, text_of(run->entry->name));
    rec_put_text(out, text_of(run->entry->path));
    index_params_encode(run->index_params, r->ix->index_params, out);
    rec_put_u(out, run->id);
    rec_put_u(out, run->version);
    rec_put_u(out, run->unit);
    rec_put_u(out, o->finish);
    rec_put_u(out, r->skip_to);
    rec_put_u(out, r->resumed);
    if (r->resumed)
        encode_checkpoint(out, &r->from);
    const uint64_t *shares = run->entry->shares;
    unsigned count = shares ? ranks_count(r->ix->ranks) : 0;
    rec_put_u(out, count);
    for (unsigned i = 0; i < count; i++)
        rec_put_u(out, shares[i]);
}

static int decode_shares(struct rec *in, struct order *o)
{
    uint64_t count = rec_count(in, 1);

    o->divided = count ? calloc(count, sizeof *o->divided) : NULL;
    if (count && !o->divided)
        return -ENOMEM;
    o->divided_count = (unsigned)count;
    for (unsigned i = 0; i < count; i++)
        o->divided[i].share = rec_u(in);
    return 0;
}

static int decode_run(struct index *ix, struct rec *in, struct order *o)
{
    struct run *run = o->run = calloc(1, sizeof *run);

    if (!run)
        return -ENOMEM;
    run->order = o;
    run->entry = &o->entry;
    run->action = RUN_READ;
    run->begin_ns = clock_mono_ns();
    run->old = view_empty(&o->entry, INDEX_PENDING);
    if (!run->old)
        return -ENOMEM;
    int rc = index_params_decode(in, ix->index_params, &run->index_params);
    run->id = (uint32_t)rec_u(in);
    run->version = (uint32_t)rec_u(in);
    run->unit = (enum trace_unit)rec_choice(in, TRACE_SEC);
    return rc;
}

int order_decode(struct index *ix, struct rec *in, struct order **ret)
{
    struct order *o = calloc(1, sizeof *o);

    if (!o)
        return -ENOMEM;
    o->number = (uint32_t)rec_u(in);
    o->entry.name = arena_strdup(&o->strings, rec_text(in));
    o->entry.path = arena_strdup(&o->strings, rec_text(in));
    int rc = o->strings.error ? o->strings.error : decode_run(ix, in, o);
    o->finish = rec_u(in);
    o->skip_to = rec_u(in);
    o->resumed = rec_u(in);
    if (rc == 0 && o->resumed)
        rc = decode_checkpoint(in, &o->from);
    rc = rc ? rc : decode_shares(in, o);
    rc = rc ? rc : in->bad ? ERR_CORRUPT : 0;
    *ret = o;
    if (rc && o->run)
        run_free(o->run); /* frees the order, too */
    else if (rc)
        order_free(o);
    return rc;
}

/* ---- results --------------------------------------------------------------------------------- */

void result_encode(struct index *ix, const struct result *r, struct buf *out)
{
    rec_put_u(out, r->seq);
    rec_put_u(out, r->end);
    rec_put_i(out, r->error);
    rec_put_u(out, r->credits);
    buf_append(out, &r->info, sizeof r->info);
    rec_put_u(out, r->chunk.number);
    rec_put_u(out, r->chunk.text_offset);
    rec_put_u(out, r->chunk.ended);
    rec_put_u(out, r->text_len);
    rec_put_u(out, r->value_len);
    rec_put_u(out, r->rows);
    rec_put_u(out, r->other);
    rec_put_u(out, r->checkpoints.count);
    for (size_t i = 0; i < r->checkpoints.count; i++)
        encode_checkpoint(out, &r->checkpoints.at[i]);
    encode_array(out, r->damage.at, r->damage.count, sizeof *r->damage.at);
    for (unsigned i = 0; i < DIMENSIONS_MAX; i++)
        encode_array(out, r->hashes[i], r->hash_count[i], sizeof *r->hashes[i]);
    bool whole = r->part && !r->error && !r->end;
    rec_put_u(out, whole);
    if (whole) {
        part_encode(r->part, ix->texts, out);
        rec_put_buf(out, &r->names);
    }
}

static int decode_part(struct index *ix, struct rec *in, struct result *r)
{
    int rc = part_decode(in, ix->texts, &r->part);
    struct rec names = rec_of(rec_text(in));

    names.ids = in->ids;
    return rc || names.ptr == names.end ? rc : names_translate(ix, names, r->part, &r->names);
}

static int decode_lists(struct rec *in, struct result *r)
{
    uint64_t count = rec_count(in, 4);
    int rc = vec_reserve(&r->checkpoints, count);
    size_t n;

    for (; count && rc == 0; count--) {
        rc = decode_checkpoint(in, &r->checkpoints.at[r->checkpoints.count]);
        r->checkpoints.count += rc == 0;
    }
    r->damage.at = decode_array(in, sizeof *r->damage.at, &n, &rc);
    r->damage.count = r->damage.cap = n;
    for (unsigned i = 0; i < DIMENSIONS_MAX && rc == 0; i++) {
        r->hashes[i] = decode_array(in, sizeof *r->hashes[i], &n, &rc);
        r->hash_count[i] = (uint32_t)n;
    }
    return rc;
}

int result_decode(struct index *ix, struct run *run, struct rec *in, struct result **ret)
{
    struct result *r = calloc(1, sizeof *r);

    if (!r)
        return -ENOMEM;
    r->run = run;
    r->seq = rec_u(in);
    r->end = rec_u(in);
    r->error = (int)rec_i(in);
    r->credits = rec_u(in);
    rec_array(in, &r->info, sizeof r->info);
    r->chunk.number = rec_u(in);
    r->chunk.text_offset = rec_u(in);
    r->chunk.ended = rec_u(in);
    r->text_len = rec_u(in);
    r->value_len = rec_u(in);
    r->rows = (uint32_t)rec_u(in);
    r->other = rec_u(in);
    int rc = decode_lists(in, r);
    if (rc == 0 && rec_u(in))
        rc = decode_part(ix, in, r);
    rc = rc ? rc : in->bad ? ERR_CORRUPT : 0;
    *ret = r;
    if (rc)
        result_free(r);
    return rc;
}
