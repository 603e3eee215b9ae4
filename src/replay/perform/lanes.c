/* lanes.c - the table of lanes, and how threads are divided among them. */
#include "replay/perform/lanes.h"

#include <stdlib.h>
#include <string.h>

int lanes_init(struct lanes *l, struct shared *s, bool processes)
{
    *l = (struct lanes){
        .shared = s, .processes = processes, .keys = intern_new(), .names = intern_new()};
    return l->keys && l->names ? 0 : -ENOMEM;
}

void lanes_done(struct lanes *l)
{
    vec_done(&l->lanes);
    vec_done(&l->first_runner);
    intern_free(l->keys);
    intern_free(l->names);
}

void lanes_reset(struct lanes *l)
{
    for (size_t i = 0; i < l->lanes.count; i++)
        if (l->lanes.at[i])
            l->lanes.at[i]->outer_end_ns = INT64_MIN;
}

uint32_t lanes_count(const struct lanes *l)
{
    return intern_count(l->keys);
}

uint32_t lanes_processes(const struct lanes *l)
{
    return intern_count(l->names);
}

/* Chooses a new or an existing thread, which belongs to the same process if processes are
 * separate. */
static int choose_runner(struct lanes *l, struct lane *lane, size_t id)
{
    int rc = vec_extend(&l->first_runner, lane->process + (size_t)1);
    if (rc < 0)
        return rc;
    uint32_t *first = &l->first_runner.at[lane->process];
    bool is_new = l->runners < (l->processes && !*first ? LANES_RUNNERS_MAX : REPLAY_LANES_MAX);
    l->sharing += !is_new;
    if (is_new)
        lane->runner = l->runners++;
    else if (l->processes)
        lane->runner = *first ? *first - 1 : lane->process % REPLAY_LANES_MAX;
    else
        lane->runner = id % REPLAY_LANES_MAX;
    if (!*first)
        *first = lane->runner + 1;
    return 0;
}

static struct lane *lane_new(struct lanes *l, struct text host, int64_t pid, int64_t tid, size_t id)
{
    struct {
        int64_t pid;
        char host[256];
    } name = {pid, {0}};
    memcpy(name.host, host.ptr ? host.ptr : "", host.len);
    struct lane *lane = shared_alloc(l->shared, sizeof *lane);
    const char *copy = shared_text(l->shared, host);
    int64_t process = intern_add(l->names, (struct text){(const char *)&name, 8 + host.len});
    if (!lane || !copy || process < 0)
        return NULL;
    *lane = (struct lane){.host = {copy, host.len},
                          .pid = pid,
                          .tid = tid,
                          .process = (uint32_t)process,
                          .outer_end_ns = INT64_MIN};
    return choose_runner(l, lane, id) < 0 ? NULL : lane;
}

struct lane *lanes_find(struct lanes *l, struct text host, int64_t pid, int64_t tid)
{
    struct {
        int64_t pid, tid;
        char host[256];
    } key = {pid, tid, {0}};
    host.len = host.len < sizeof key.host ? host.len : sizeof key.host;
    memcpy(key.host, host.ptr ? host.ptr : "", host.len);
    int64_t id = intern_add(l->keys, (struct text){(const char *)&key, 16 + host.len});
    if (id < 0 || vec_extend(&l->lanes, (size_t)id + 1) < 0)
        return NULL;
    if (!l->lanes.at[id])
        l->lanes.at[id] = lane_new(l, host, pid, tid, (size_t)id);
    return l->lanes.at[id];
}
