/* checkpoint_record.c - checkpoints in the store: the key is file and text offset, the value is the
 * rest. */
#include "index/store/checkpoint_record.h"
#include "index/store/record.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* 32 KiB of text, deflated: a little more if it is incompressible */
#define COMPRESSED_WINDOW_MAX (40u << 10)
#define FILE_BYTES sizeof(uint32_t) /* of the file in a key */

/* member_start is stored as its distance from file_offset. The window follows these fields. */
#define OBJECT struct trace_checkpoint
static const struct record_field fields[] = {FIELD(file_offset),
                                             FIELD(bits),
                                             FIELD(kind),
                                             FIELD(members),
                                             FIELD(in_gzip_member),
                                             FIELD_IF(in_gzip_member, 3),
                                             FIELD(crc),
                                             FIELD(member_start),
                                             FIELD(member_text),
                                             {0}};
#undef OBJECT

void checkpoint_encode(const struct trace_checkpoint *c, struct buf *out)
{
    struct trace_checkpoint stored = *c;

    stored.member_start = c->file_offset - c->member_start;
    record_encode(fields, &stored, NULL, out);
    rec_put_text(out, (struct text){(const char *)c->window, c->window_len});
}

int checkpoint_decode(struct text key, struct text value, struct trace_checkpoint *ret)
{
    struct rec r = rec_of(value);
    struct trace_checkpoint c = {0};

    if (key.len != FILE_BYTES + sizeof(uint64_t))
        return ERR_CORRUPT;
    c.text_offset = kv_get_u64((const uint8_t *)key.ptr + FILE_BYTES);
    record_decode(fields, &r, NULL, NULL, &c);
    struct text window = rec_text(&r);
    if (r.bad || c.member_start > c.file_offset)
        return ERR_CORRUPT;
    if (c.in_gzip_member)
        c.member_start = c.file_offset - c.member_start;
    c.window = (const uint8_t *)window.ptr;
    c.window_len = (uint32_t)window.len;
    *ret = c;
    return 0;
}

int checkpoint_clone(const struct trace_checkpoint *from, struct trace_checkpoint *ret)
{
    uint8_t *window = malloc(from->window_len + 1);

    if (!window)
        return -ENOMEM;
    if (from->window_len)
        memcpy(window, from->window, from->window_len);
    *ret = *from;
    ret->window = window;
    return 0;
}

int checkpoint_find(struct kv_read *r, uint32_t file, uint64_t text_offset,
                    struct trace_checkpoint *ret)
{
    struct kv_key key = kv_key_of_u32(file);
    struct text k, v;

    kv_key_u64(&key, text_offset);
    int rc = kv_find_below(r, KV_CHECKPOINT, &key, FILE_BYTES, &k, &v);
    return rc ? rc : checkpoint_decode(k, v, ret);
}

static pthread_key_t windows;
static int windows_error;

static void windows_make(void)
{
    windows_error = pthread_key_create(&windows, free);
}

/* Few of many threads read text: _Thread_local arrays would take memory in all of them. */
static char *window_of_thread(enum checkpoint_kind kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, windows_make);
    char *bytes = windows_error ? NULL : pthread_getspecific(windows);

    if (!bytes && !windows_error && (bytes = malloc(CHECKPOINT_KINDS * COMPRESSED_WINDOW_MAX)) &&
        pthread_setspecific(windows, bytes) != 0) {
        free(bytes);
        bytes = NULL;
    }
    return bytes ? bytes + kind * COMPRESSED_WINDOW_MAX : NULL;
}

int checkpoint_copy_window(struct trace_checkpoint *c, enum checkpoint_kind kind)
{
    char *window = window_of_thread(kind);

    if (!window)
        return -ENOMEM;
    if (c->window_len > COMPRESSED_WINDOW_MAX)
        return ERR_CORRUPT;
    if (c->window_len)
        memcpy(window, c->window, c->window_len);
    c->window = (const uint8_t *)window;
    return 0;
}

int checkpoint_copy(struct kv *kv, uint32_t file, uint64_t text_offset, enum checkpoint_kind kind,
                    struct trace_checkpoint *ret)
{
    struct kv_read *r;
    int rc = kv_read_begin(kv, &r);

    if (rc)
        return rc;
    rc = checkpoint_find(r, file, text_offset, ret);
    rc = rc ? rc : checkpoint_copy_window(ret, kind);
    kv_read_end(r);
    return rc == -ENOENT ? ERR_CORRUPT : rc;
}
