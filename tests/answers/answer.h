/* answer.h - a request answered in this process: what the server does between the request line and
 * the last byte, without sockets, cache and limits of time. */
#ifndef DFTRACERD_TESTS_ANSWERS_ANSWER_H
#define DFTRACERD_TESTS_ANSWERS_ANSWER_H

#include "case.h"
#include "dftracerd/query.h"

struct answer {
    int code; /* 0, or the error that the body reports */
    int status;
    bool json;            /* one document */
    size_t memory_rested; /* bytes that were charged while the client rested, at most */
    size_t memory_left;   /* bytes that are still charged afterwards: 0 */
    struct buf body;
};

/* Once, before the first request. */
void answer_begin(void);
struct answer_limits {
    size_t memory;   /* bytes, 0 = any */
    unsigned pieces; /* after which the client leaves, 0 = never */
    bool cancelled;  /* before it begins */
};

/* After each third piece the client rests. Allocations do not fail any more once it is answered. */
void answer_request(const struct query_env *env, const struct case_request *request,
                    const struct answer_limits *limits, struct answer *ret);
void answer_done(struct answer *a);

#endif
