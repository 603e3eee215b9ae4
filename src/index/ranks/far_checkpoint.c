/* far_checkpoint.c - checkpoints for another rank that reads the text of chunks: rank 0 has them.
 */
#include "index/ranks/ranks.h"

#include <errno.h>

int far_checkpoint(struct ranks *r, uint32_t file, uint64_t text_offset,
                   struct trace_checkpoint *ret)
{
    struct buf request = {0}, answer = {0};

    buf_putc(&request, RANK_CHECKPOINT);
    rec_put_u(&request, file);
    rec_put_u(&request, text_offset);
    int rc = ranks_ask(r, 0, &request, &answer);
    struct rec rec = rec_of((struct text){answer.data, answer.len});
    struct text key = rec_text(&rec), value = rec_text(&rec);
    rc = rc ? rc : checkpoint_keep(key, value, CHECKPOINT_FILE, ret);
    buf_done(&request);
    buf_done(&answer);
    return rc;
}

int far_checkpoint_answer(struct kv *kv, struct rec *request, struct buf *answer)
{
    struct kv_key key = kv_key_of_u32((uint32_t)rec_u(request));
    struct text found, value;
    struct kv_read *r;

    kv_key_u64(&key, rec_u(request));
    int rc = request->bad ? -EINVAL : kv_read_begin(kv, &r);
    if (rc)
        return rc;
    rc = kv_find_below(r, KV_CHECKPOINT, &key, 4, &found, &value);
    if (rc == 0) {
        rec_put_text(answer, found);
        rec_put_text(answer, value);
    }
    kv_read_end(r);
    return rc ? rc : answer->error;
}
