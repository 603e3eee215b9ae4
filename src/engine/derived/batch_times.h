/* batch_times.h - start and end of the rows of a batch, in ns.
 *
 * Used by:   within, covered calls, answers of time.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_BATCH_TIMES_H
#define DFTRACERD_ENGINE_DERIVED_BATCH_TIMES_H

#include "engine/derived/batch.h"
#include "engine/derived/columns.h"
#include "engine/derived/times.h"

/* Times by row, as batch_i64 returns them. */
struct batch_times {
    const int64_t *ts, *dur;
    const uint64_t *ts_valid, *dur_valid;
    bool ts_nano, dur_nano;
};
static inline struct batch_times batch_times(struct scan_batch *b, const struct source *ts,
                                             const struct source *dur)
{
    struct batch_times t;

    t.ts = batch_i64(b, ts, &t.ts_valid, &t.ts_nano);
    t.dur = batch_i64(b, dur, &t.dur_valid, &t.dur_nano);
    return t;
}
/* Sets *ret_ts, and *ret_te to ts + dur, or ts if there is no dur: in ns, clamped to 64 bits.
 * Returns false if the row has no ts. */
static inline bool batch_times_of(const struct batch_times *t, uint32_t row, int64_t *ret_ts,
                                  int64_t *ret_te)
{
    if (!batch_is_valid(t->ts_valid, row))
        return false;
    *ret_ts = *ret_te = time_in(t->ts[row], t->ts_nano, true);
    if (batch_is_valid(t->dur_valid, row))
        *ret_te = add_clamped(*ret_ts, time_in(t->dur[row], t->dur_nano, true));
    return true;
}

#endif
