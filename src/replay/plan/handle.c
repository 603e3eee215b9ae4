/* handle.c - references, and waiting for the call that opens. */
#include "replay/plan/handle.h"

#include <unistd.h>

static pthread_mutex_t handle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t handle_changed = PTHREAD_COND_INITIALIZER;

_Static_assert(sizeof(struct handle) <= SHARED_BLOCK, "a handle is one block");

struct handle *handle_new(struct shared *s, struct path *path, enum handle_state state,
                          uint32_t process)
{
    struct handle *h = shared_block_alloc(s);
    if (!h)
        return NULL;
    h->shared = s;
    h->references = 1;
    h->state = (int)state;
    h->fd = -1;
    h->path = path;
    h->process = process;
    return h;
}

int handle_release(struct handle *h)
{
    int rc = 0;
    if (!h || atomic_fetch_sub(&h->references, 1) != 1)
        return 0;
    if (h->stream)
        rc = fclose(h->stream);
    else if (h->dir)
        rc = closedir(h->dir);
    else if (h->fd >= 0)
        rc = close(h->fd);
    rc = rc < 0 ? -errno : 0;
    shared_block_free(h->shared, h);
    return rc;
}

void handle_forget(struct handle *h)
{
    if (!h)
        return;
    h->stream = NULL;
    h->dir = NULL;
    h->fd = -1;
    handle_release(h);
}

struct handle *handle_share(struct handle *h)
{
    atomic_fetch_add(&h->references, 1);
    return h;
}

void handle_set(struct handle *h, enum handle_state state)
{
    pthread_mutex_lock(&handle_lock);
    h->state = (int)state;
    pthread_cond_broadcast(&handle_changed);
    pthread_mutex_unlock(&handle_lock);
}

enum handle_state handle_wait(struct handle *h)
{
    int state = atomic_load(&h->state);
    if (state == HANDLE_OPEN)
        return HANDLE_OPEN;
    pthread_mutex_lock(&handle_lock);
    while ((state = h->state) == HANDLE_WAITING || state == HANDLE_OPENING)
        pthread_cond_wait(&handle_changed, &handle_lock);
    if (state == HANDLE_LAZY)
        h->state = state = HANDLE_OPENING;
    pthread_mutex_unlock(&handle_lock);
    return (enum handle_state)state;
}

int handle_fd(const struct handle *h)
{
    return h->stream ? fileno(h->stream) : h->dir ? dirfd(h->dir) : h->fd;
}
