/* filter.h - which events are replayed, by the options of the old command. */
#ifndef DFT_REPLAY_FILTER_H
#define DFT_REPLAY_FILTER_H

#include "dftracerd/replay.h"

#include "input.h"

/* `size`: -1 where the event has none. */
bool filter_passes(const struct replay_filters *f, const struct event *e, int64_t size);

#endif
