/* checkpoint.c - where reading can start again, and what was damaged. */
#include "trace/gzip/checkpoint.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int grow(void **list, size_t *cap, size_t count, size_t size)
{
    if (count < *cap)
        return 0;
    size_t more = *cap ? *cap * 2 : 16;
    void *p = realloc(*list, more * size);
    if (!p)
        return -ENOMEM;
    *list = p;
    *cap = more;
    return 0;
}

int checkpoints_add(struct checkpoints *c, const struct trace_checkpoint *at, const uint8_t *window,
                    uint32_t len)
{
    struct trace_checkpoint one = *at;
    int rc = grow((void **)&c->list, &c->cap, c->count, sizeof(*c->list));
    if (rc < 0)
        return rc;
    one.window = NULL;
    one.window_len = 0;
    if (len) {
        uint8_t *packed;
        rc = window_pack(&c->packer, window, len, &packed);
        if (rc < 0)
            return rc;
        one.window = packed;
        one.window_len = (uint32_t)rc;
    }
    c->list[c->count++] = one;
    return 0;
}

void checkpoints_drop(struct checkpoints *c, size_t count)
{
    for (; c->dropped < count && c->dropped < c->count; c->dropped++) {
        free((void *)c->list[c->dropped].window);
        c->list[c->dropped].window = NULL;
    }
}

void checkpoints_done(struct checkpoints *c)
{
    checkpoints_drop(c, c->count);
    free(c->list);
    packer_free(c->packer);
    memset(c, 0, sizeof(*c));
}

int checkpoint_unpack(const struct trace_checkpoint *at, uint8_t out[INFLATE_WINDOW])
{
    if (at->window_len == 0)
        return 0;
    z_stream z = {0};
    if (!at->window)
        return ERR_CORRUPT;
    if (inflateInit2(&z, -15) != Z_OK)
        return -ENOMEM;
    z.next_in = (Bytef *)at->window;
    z.avail_in = at->window_len;
    z.next_out = out;
    z.avail_out = INFLATE_WINDOW;
    int rc = inflate(&z, Z_FINISH);
    int len = (int)z.total_out;
    inflateEnd(&z);
    return rc == Z_STREAM_END ? len : rc == Z_MEM_ERROR ? -ENOMEM : ERR_CORRUPT;
}

uint64_t checkpoint_after(uint64_t text, uint64_t checkpoint_size)
{
    if (!checkpoint_size)
        return UINT64_MAX;
    uint64_t k = (text + CHECKPOINT_LEAD) / checkpoint_size + 1;
    while (k * checkpoint_size <= CHECKPOINT_LEAD)
        k++;
    return k * checkpoint_size - CHECKPOINT_LEAD;
}

void damages_add(struct damages *d, const struct trace_damage *one)
{
    if (d->count == DAMAGES_MAX) {
        if (one->file_to > d->list[d->count - 1].file_to)
            d->list[d->count - 1].file_to = one->file_to;
        return;
    }
    if (grow((void **)&d->list, &d->cap, d->count, sizeof(*d->list)) < 0)
        d->lost = true;
    else
        d->list[d->count++] = *one;
}

void damages_done(struct damages *d)
{
    free(d->list);
    memset(d, 0, sizeof(*d));
}
