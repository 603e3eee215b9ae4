/* text_refs.c - references to texts in records. */
#include "index/store/text_ids.h"

/* 0 = no text, 2 * id + 1 = id of the store, 2 * (len + 1) = the text follows */
void texts_put_ref(const struct texts *t, struct buf *b, uint32_t id)
{
    if (id == INDEX_NO_TEXT) {
        rec_put_u(b, 0);
    } else if (id < TEXTS_STORED) {
        rec_put_u(b, (uint64_t)id * 2 + 1);
    } else {
        struct text text = texts_get(t, id);
        rec_put_u(b, ((uint64_t)text.len + 1) * 2);
        buf_append(b, text.ptr, text.len);
    }
}

uint32_t texts_get_ref(struct texts *t, struct rec *r)
{
    uint64_t v = rec_u(r);

    if (v == 0)
        return INDEX_NO_TEXT;
    if (v & 1 && r->ids) {
        uint32_t id = text_ids_get(r->ids, (uint32_t)(v / 2));
        r->bad = r->bad || id == INDEX_NO_TEXT;
        return id;
    }
    if (v & 1) {
        if (v / 2 >= texts_count(t))
            r->bad = true;
        return r->bad ? INDEX_NO_TEXT : (uint32_t)(v / 2);
    }
    struct text text = {(const char *)r->ptr, v / 2 - 1};
    if (r->bad || text.len > (size_t)(r->end - r->ptr)) {
        r->bad = true;
        return INDEX_NO_TEXT;
    }
    r->ptr += text.len;
    uint32_t id = texts_add_any(t, text);
    if (id == INDEX_NO_TEXT)
        r->bad = r->no_memory = true;
    return id;
}
