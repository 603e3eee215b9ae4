/* session.h - one replay from its first event to its report. */
#ifndef DFTRACERD_REPLAY_SESSION_H
#define DFTRACERD_REPLAY_SESSION_H

#include "replay/processes/children.h"
#include "replay/plan/plan.h"
#include "replay/input/ties.h"

struct replay {
    const struct replay_options *options;
    struct shared *shared;
    struct input *input;
    struct ties ties;
    struct files files;
    struct plan plan;
    struct root root;
    struct report report;
    struct lanes lanes;
    struct trace_out *trace;
    struct runners runners; /* used without --processes */
    struct children children;
    bool surveys;      /* this is the first of two readings, which only collects files */
    bool died;         /* a process of the replay has died */
    bool finished;     /* all operations have been performed */
    uint64_t accepted; /* events that have passed the filters */
    bool timed;        /* one of them had a time */
    /* recent names, by a part of their hash; key 0: none */
    struct {
        uint64_t key;
        uint32_t id;
        struct text text;
        const struct call *call;
    } cached[256];
};
/* Plans the event and passes it to its thread. Returns 0 or a negative code. */
int session_event(struct replay *r, const struct event *e);

#endif
