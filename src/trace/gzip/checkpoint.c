/* checkpoint.c - lists of checkpoints and of corrupt ranges. */
#include "trace/gzip/checkpoint.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int checkpoints_add(struct checkpoints *c, const struct trace_checkpoint *at, const uint8_t *window,
                    uint32_t len)
{
    struct trace_checkpoint one = *at;
    one.window = NULL;
    one.window_len = 0;
    if (len) {
        uint8_t *compressed;
        int rc = window_compress(&c->compressor, window, len, &compressed);
        if (rc < 0)
            return rc;
        one.window = compressed;
        one.window_len = (uint32_t)rc;
    }
    int rc = vec_push(&c->list, one);
    if (rc < 0)
        free((void *)one.window);
    return rc;
}

void checkpoints_free_windows(struct checkpoints *c, size_t count)
{
    for (; c->windows_freed < count && c->windows_freed < c->list.count; c->windows_freed++) {
        free((void *)c->list.at[c->windows_freed].window);
        c->list.at[c->windows_freed].window = NULL;
    }
}

void checkpoints_done(struct checkpoints *c)
{
    checkpoints_free_windows(c, c->list.count);
    vec_done(&c->list);
    window_compressor_free(c->compressor);
    memset(c, 0, sizeof(*c));
}

int checkpoint_window(const struct trace_checkpoint *at, uint8_t out[INFLATE_WINDOW])
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
    return k * checkpoint_size - CHECKPOINT_LEAD;
}

void damages_add(struct damages *d, const struct trace_damage *one)
{
    if (d->list.count == DAMAGES_MAX) {
        struct trace_damage *last = &d->list.at[DAMAGES_MAX - 1];
        if (one->file_to > last->file_to)
            last->file_to = one->file_to;
        return;
    }
    if (vec_push(&d->list, *one) < 0)
        d->lost = true;
}

void damages_done(struct damages *d)
{
    vec_done(&d->list);
    memset(d, 0, sizeof(*d));
}
