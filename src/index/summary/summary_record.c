/* summary_record.c - the value of table `summary`: the two parts of a file. */
#include "index/summary/part.h"

void summary_store(const struct texts *texts, const struct part *base, const struct part *tail,
                   struct buf *out)
{
    rec_put_u(out, (unsigned)(base != NULL) | (unsigned)(tail != NULL) << 1);
    if (base)
        part_encode(base, texts, out);
    if (tail)
        part_encode(tail, texts, out);
}

int summary_load(struct texts *texts, struct kv_read *r, uint32_t file, uint32_t version,
                 struct part **ret_base, struct part **ret_tail)
{
    struct kv_key key = kv_key_of_u32(file);
    struct part *base = NULL, *tail = NULL;
    struct text value;

    kv_key_u32(&key, version);
    int rc = kv_get(r, KV_SUMMARY, &key, &value);
    if (rc)
        return rc;
    struct rec rec = rec_of(value);
    uint64_t parts = rec_u(&rec); /* bit 0: base, bit 1: tail */
    if (parts & 1)
        rc = part_decode(&rec, texts, &base);
    if (rc == 0 && parts & 2)
        rc = part_decode(&rec, texts, &tail);
    if (rc) {
        part_free(base);
        return rc;
    }
    *ret_base = base;
    *ret_tail = tail;
    return 0;
}
