/* filter.h - selects the events that are replayed, by the options of the old command. */
#ifndef DFTRACERD_REPLAY_INPUT_FILTER_H
#define DFTRACERD_REPLAY_INPUT_FILTER_H

#include "dftracerd/replay.h"

#include "replay/input/input.h"

/* Returns whether an event is replayed. `size`: -1 if the event has none. */
bool filter_passes(const struct replay_filters *f, const struct event *e, int64_t size);

#endif
