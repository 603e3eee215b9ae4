/* filter.h - which events are replayed, by the options of the old command. */
#ifndef DFTRACERD_REPLAY_INPUT_FILTER_H
#define DFTRACERD_REPLAY_INPUT_FILTER_H

#include "dftracerd/replay.h"

#include "replay/input/input.h"

/* `size`: -1 where the event has none. */
bool filter_passes(const struct replay_filters *f, const struct event *e, int64_t size);

#endif
