/* shared.h - memory that all processes of a replay share, at one address: paths, files, lanes,
 * handles, and the clock.
 *
 * It is mapped before the first fork, so a pointer into it is valid in all processes.
 * Threads: shared_alloc, shared_text and shared_block_alloc by the planning thread alone;
 * everything else by any thread of any process.
 */
#ifndef DFTRACERD_REPLAY_SHARED_SHARED_H
#define DFTRACERD_REPLAY_SHARED_SHARED_H

#include "dftracerd/base.h"

#include <pthread.h>

enum { SHARED_LOCKS = 64 };

struct shared {
    size_t used, size;
    void *unused;              /* free blocks of the planning thread, see shared_block_alloc */
    _Atomic(void *) freed;     /* blocks that other threads have freed */
    atomic_bool stopped;       /* by a signal or an error: remaining operations are not performed */
    atomic_bool broken;        /* a process has died: no thread waits for its operations */
    atomic_uint started;       /* threads wait until the clock has started */
    _Atomic int64_t origin_ns; /* time of clock_mono_ns when the clock starts; 0: not yet */
    _Atomic int64_t first_ns;  /* time of the first event that is replayed and has one */
    pthread_mutex_t locks[SHARED_LOCKS]; /* robust: the death of a process releases its lock */
};
struct shared *shared_new(void); /* *new* or NULL */
void shared_free(struct shared *s);
/* Returns zeroed memory, 16-byte aligned, valid until shared_free; NULL without memory. */
void *shared_alloc(struct shared *s, size_t bytes);
/* Returns a copy that ends with a NUL. */
const char *shared_text(struct shared *s, struct text t);
/* Blocks of SHARED_BLOCK bytes, zeroed, which are reused after shared_block_free. */
enum { SHARED_BLOCK = 64 };
void *shared_block_alloc(struct shared *s);
void shared_block_free(struct shared *s, void *block);

/* Acquires the lock of an address, or the locks of two. */
void shared_lock(struct shared *s, const void *of);
void shared_unlock(struct shared *s, const void *of);
void shared_lock_two(struct shared *s, const void *a, const void *b);
void shared_unlock_two(struct shared *s, const void *a, const void *b);

/* Starts the clock, `after_ns` from now; only the first call does. */
void shared_start(struct shared *s, int64_t after_ns);
void shared_wait_for_start(struct shared *s);
/* Waits until a time of clock_mono_ns, or until the replay is stopped. */
void shared_sleep_until(const struct shared *s, int64_t until_ns);
/* Waits until *counter is at least `min`, or the replay is stopped, or a process has died.
 * shared_count adds one to it. */
void shared_wait_for_count(const struct shared *s, atomic_uint *counter, unsigned min,
                           atomic_uint *waiting);
void shared_count(atomic_uint *counter, atomic_uint *waiting);

#endif
