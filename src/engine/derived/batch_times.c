/* batch_times.c - start and end of the rows of a batch. */
#include "engine/derived/batch_times.h"

#include "engine/derived/columns.h"

#include <errno.h>

static int read_one(struct scan_batch *b, const struct source *s, const int64_t **ret,
                    const uint64_t **ret_valid, bool *ret_nano)
{
    int rc = batch_i64(b, s, ret, ret_valid, ret_nano);

    if (rc == -EDOM)
        *ret = NULL;
    return rc == -EDOM ? 0 : rc;
}

int batch_times(struct scan_batch *b, const struct source *ts, const struct source *dur,
                struct batch_times *ret)
{
    int rc = read_one(b, ts, &ret->ts, &ret->ts_valid, &ret->ts_nano);

    return rc < 0 ? rc : read_one(b, dur, &ret->dur, &ret->dur_valid, &ret->dur_nano);
}
