/* checks.h - what /checks reports, from facts alone.
 * Memory: all texts are in the arena, or borrowed. */
#ifndef DFTRACERD_HTTP_ENDPOINTS_CHECKS_H
#define DFTRACERD_HTTP_ENDPOINTS_CHECKS_H

#include "dftracerd/index.h"

struct check {
    const char *level; /* "ok", "warn" or "fail" */
    const char *text;
    const char *remedy; /* NULL: it is ok */
};
enum { CHECKS_MAX = 10 };
struct checks {
    const char *version;
    size_t count;
    struct check rows[CHECKS_MAX];
};

struct check_facts {
    const char *index_path;
    uint64_t index_bytes;
    const char *const *directories; /* all that the daemon serves */
    size_t directory_count;
    const struct index_rank_progress *ranks;
    size_t rank_count;
    struct index_progress progress;
    uint64_t files_damaged, open_files, open_files_max;
};

/* 0, -ENOMEM. */
int checks_judge(const struct check_facts *f, struct arena *a, struct checks *ret);

#endif
