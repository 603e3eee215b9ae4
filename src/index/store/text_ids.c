/* text_ids.c - translates ids of another process's texts, in pages that never move. */
#include "index/store/text_ids.h"

#include <errno.h>
#include <stdlib.h>

enum { PAGE = 4096 /* ids */, PAGES = TEXTS_STORED / PAGE };

struct text_ids {
    _Atomic(uint32_t *) pages[PAGES];
    atomic_uint count;
};

struct text_ids *text_ids_new(void)
{
    return calloc(1, sizeof(struct text_ids));
}

void text_ids_free(struct text_ids *ids)
{
    for (unsigned i = 0; ids && i < PAGES; i++)
        free(ids->pages[i]);
    free(ids);
}

uint32_t text_ids_get(const struct text_ids *ids, uint32_t id)
{
    if (id >= atomic_load_explicit(&ids->count, memory_order_acquire))
        return INDEX_NO_TEXT;
    return atomic_load_explicit(&ids->pages[id / PAGE], memory_order_relaxed)[id % PAGE];
}

uint32_t text_ids_encode(const struct texts *t, uint32_t from, struct buf *out)
{
    uint32_t to = texts_count(t);

    rec_put_u(out, from);
    rec_put_u(out, to - from);
    for (uint32_t id = from; id < to; id++)
        rec_put_text(out, texts_get(t, id));
    return to;
}

static int append_id(struct text_ids *ids, uint32_t id)
{
    uint32_t at = atomic_load_explicit(&ids->count, memory_order_relaxed);

    if (at >= TEXTS_STORED)
        return ERR_CORRUPT;
    uint32_t *page = ids->pages[at / PAGE];
    if (!page && !(page = malloc(PAGE * sizeof *page)))
        return -ENOMEM;
    page[at % PAGE] = id;
    ids->pages[at / PAGE] = page;
    atomic_store_explicit(&ids->count, at + 1, memory_order_release);
    return 0;
}

int text_ids_decode(struct text_ids *ids, struct texts *here, struct rec *r)
{
    uint64_t from = rec_u(r), count = rec_count(r, 1), known = atomic_load(&ids->count);
    int rc = from <= known ? 0 : ERR_CORRUPT;

    for (uint64_t i = from; i < from + count && rc == 0 && !r->bad; i++) {
        struct text text = rec_text(r);
        if (i < known) /* added by an attempt that ran out of memory */
            continue;
        uint32_t id = texts_add_any(here, text);
        rc = id == INDEX_NO_TEXT ? -ENOMEM : append_id(ids, id);
    }
    return rc ? rc : r->bad ? ERR_CORRUPT : 0;
}
