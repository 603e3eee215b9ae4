/* base.h - what every module needs: errors, buffers, arenas, texts, numbers, clocks, queues,
 * threads.
 *
 * May use:   libc, pthreads, xxhash.      Used by: every module.
 * Threads:   functions are re-entrant; an object belongs to one thread at a time unless it says
 *            otherwise (queue, pool, budget).
 * Memory:    *new* = the caller frees; *borrowed until X* = owned by the callee; *takes* = the
 *            callee owns it, on failure too. Nothing here aborts for lack of memory: -ENOMEM is
 *            returned, or kept in a sticky object and checked once at the end.
 * Asserts stay on in release builds and mean a bug of ours, never an outside event.
 */
#ifndef DFTRACERD_BASE_H
#define DFTRACERD_BASE_H

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- errors ---------------------------------------------------------------------------------- */

/* Functions return 0 (or a count) or a negative code: -errno values, or these. */
enum {
    ERR_BASE = -1000,
    ERR_QUERY_SYNTAX = -1001,  /* DSL text does not parse; err.position is a byte offset */
    ERR_PARAM = -1002,         /* a request parameter is unknown, repeated or has a bad value */
    ERR_NOT_FOUND = -1003,     /* no such file, endpoint or id */
    ERR_CANCELLED = -1004,     /* the client went away or the daemon stops */
    ERR_DEADLINE = -1005,      /* the query ran longer than it may */
    ERR_MEMORY_LIMIT = -1006,  /* the query needs more memory than it may have */
    ERR_ROW_LIMIT = -1007,     /* more rows or groups than allowed */
    ERR_PATTERN_LIMIT = -1008, /* a regular expression exceeded its match limit */
    ERR_CORRUPT = -1009,       /* damaged gzip data, or a store value that fails its checks */
    ERR_STORE = -1010,         /* LMDB failed in a way that has no errno */
    ERR_STORE_FULL = -1011,    /* LMDB map full and it could not grow */
    ERR_STORE_BUSY = -1012,    /* another daemon has this index open */
    ERR_STALE = -1013,         /* the file changed since the index was made */
    ERR_FORMAT = -1014,        /* representation not available for this answer (406) */
    ERR_END = -1015,           /* a cursor has no more */
    ERR_NO_ARCHIVE = -1016,    /* a file that is named like a tar archive is none */
    ERR_ADDRESS_SPACE = -1017, /* the map of the index cannot grow within RLIMIT_AS */
    ERR_LAST = -1017
};

/* One message for people. Caller-owned; zero-initialise. The first message wins. */
struct err {
    int code;
    /* byte offset into `source` of a query, -1 when there is none; valid if source set */
    int64_t position;
    char param[48]; /* request parameter or option that is to blame, or "" */
    char text[400];
    char *source; /* *new* copy of the DSL source for the caret, or NULL: err_done frees */
};
/* Records (unless one is there already; err may be NULL) and returns `code`. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int err_set_code(struct err *err, int code); /* with the text of err_text */
int err_set_param(struct err *err, int code, const char *param, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void err_done(struct err *err); /* frees source and zeroes */
const char *err_text(int code); /* "deadline exceeded"; strerror for errno codes */
const char *err_name(int code); /* stable machine word: "deadline", "bad_query", "ENOENT" */

/* ---- text slices ----------------------------------------------------------------------------- */

struct text {
    const char *ptr;
    size_t len;
}; /* not NUL-terminated; ptr may be NULL iff len == 0 */
#define TEXT(literal) ((struct text){(literal), sizeof(literal) - 1})
struct text text_of(const char *cstr); /* NULL gives the empty text */
bool text_eq(struct text a, struct text b);
bool text_eq_nocase(struct text a, struct text b); /* ASCII letters only */
int text_cmp(struct text a, struct text b);        /* byte order, as sorting promises */
bool text_is_utf8(struct text t);
/* The bytes of a text of up to 16, zero-padded, as two words: equal for equal texts of one length.
 * Reads 16 bytes. */
extern const uint64_t text_masks[17][2];
static inline void text_words(const char *p, uint32_t len, uint64_t *a, uint64_t *b)
{
    __builtin_memcpy(a, p, 8);
    __builtin_memcpy(b, p + 8, 8);
    *a &= text_masks[len][0];
    *b &= text_masks[len][1];
}
uint64_t text_hash(struct text t); /* XXH3-64 */
struct hash128 {
    uint64_t high, low;
};
struct hash128 text_hash128(struct text t); /* XXH3-128 */
/* 32 digits and a NUL, as xxh128sum prints it */
void hash128_hex(struct hash128 hash, char out[33]);
/* XXH3-128 with a seed, of what is added piece by piece. */
struct hasher {
    _Alignas(64) unsigned char state[640];
};
void hasher_begin(struct hasher *h, uint64_t seed);
void hasher_add(struct hasher *h, const void *data, size_t len);
struct hash128 hasher_end(const struct hasher *h);
bool text_starts(struct text t, struct text prefix);
bool text_ends(struct text t, struct text suffix);
struct text text_trim(struct text t); /* without bytes 0x00-0x20 at both ends */
/* Takes the part before the next separator off `rest`; the last part leaves rest->ptr NULL, and a
 * NULL rest gives false: "a,,b" has three parts, "" one. */
bool text_split(struct text *rest, char separator, struct text *ret_part);
/* Length of the first character (t must not be empty). Ill-formed: *ret_code = -1 and the length of
 * the maximal ill-formed part (1-3), which one U+FFFD stands for. */
size_t text_utf8_next(struct text t, int32_t *ret_code);

/* ---- growable buffer (sticky error) ---------------------------------------------------------- */

struct buf {
    char *data;
    size_t len, cap;
    int error;
}; /* zero-initialise; error 0 or -ENOMEM */
void buf_done(struct buf *b);
void buf_clear(struct buf *b);                 /* keeps the memory and the error */
char *buf_reserve(struct buf *b, size_t more); /* room for `more` bytes or NULL */
void buf_append(struct buf *b, const void *data, size_t len);
void buf_text(struct buf *b, struct text t);
void buf_puts(struct buf *b, const char *cstr);
void buf_percent(struct buf *b, struct text t); /* as a part of a URL (RFC 3986) */
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_json_text(struct buf *b, struct text t); /* quoted; ill-formed UTF-8 becomes U+FFFD */
char *buf_steal(struct buf *b, size_t *ret_len);  /* *new*, NUL-terminated; NULL on error */

/* ---- arena: many small allocations, freed at once -------------------------------------------- */

struct budget;
/* limit 0 = none; budget NULL = none, else borrowed until arena_done, and charged before memory is
 * allocated; zero-initialise. `error` is sticky: check it once at the end, or each result. */
struct arena {
    void *head;
    size_t used, limit, charged;
    struct budget *budget;
    int error; /* 0, or why the first allocation failed: ERR_MEMORY_LIMIT, -ENOMEM (limit, too) */
};
void *arena_alloc(struct arena *a, size_t size); /* 16-byte aligned, zeroed; NULL: `error` is set */
char *arena_strdup(struct arena *a, struct text t); /* NUL-terminated copy */
void arena_done(struct arena *a); /* frees all, releases the charge, forgets the error */

/* ---- large arrays: as realloc, calloc and free ----------------------------------------------- */

/* For arrays that may have many MiB: these get pages of 2 MiB where the system has some, are not
 * copied when they grow, and go back to the system at once. NULL: no memory, and the array is as it
 * was. */
void *large_realloc(void *array, size_t bytes);
void *large_zeroed(size_t bytes); /* *new* */
void large_free(void *array);
/* Memory of malloc that is about to be filled: pages of 2 MiB where it has many MiB. */
void large_advise(void *at, size_t bytes);

/* ---- limits of memory ------------------------------------------------------------------------ */

struct memory_limit {
    uint64_t bytes;
    const char *source;
};
/* What this process may use: the least of the machine's memory, the limits of its control group and
 * those above it (versions 1 and 2), and RLIMIT_AS. Reads files; any thread. */
struct memory_limit memory_limit(void);
/* for tests: /proc and the mount points are below `root` */
struct memory_limit memory_limit_below(const char *root);
uint64_t memory_address_space(void);     /* RLIMIT_AS; UINT64_MAX: no limit */
bool memory_is_mappable(uint64_t bytes); /* whether mmap gives that much at this moment */
/* The limit that made something fail with -ENOMEM or -EAGAIN, or "" where none is known. */
void memory_explain(int code, char *text, size_t size);

/* ---- intern table: text -> dense id from 0 --------------------------------------------------- */

struct intern;                   /* one writer; see index for the shared one */
struct intern *intern_new(void); /* *new* or NULL */
void intern_free(struct intern *t);
int64_t intern_add(struct intern *t, struct text text);        /* id, or -ENOMEM */
int64_t intern_find(const struct intern *t, struct text text); /* id, or -ENOENT */
/* borrowed until intern_free; stable address */
struct text intern_text(const struct intern *t, uint32_t id);
uint32_t intern_count(const struct intern *t);
size_t intern_bytes(const struct intern *t);

/* ---- numbers --------------------------------------------------------------------------------- */

/* Whole text must be consumed. 0 or -EINVAL / -ERANGE. */
int num_parse_i64(struct text t, int64_t *ret);
int num_parse_u64(struct text t, uint64_t *ret);
int num_parse_double(struct text t, double *ret); /* JSON grammar; -ERANGE if not finite; -ENOMEM */
/* digits * 10^exponent, correctly rounded; false when the quick way cannot tell (then
 * num_parse_double). */
bool num_make_double(uint64_t digits, int exponent, bool negative, double *ret);
/* A JSON number times 10^scale rounded half to even to an integer.
 * num_parse_scaled("119.68612670898438", 3) = 119686. `ret_has_fraction` (may be NULL) says whether
 * the value had a non-zero fraction at scale 0. -ERANGE beyond int64. */
int num_parse_scaled(struct text t, int scale, int64_t *ret, bool *ret_has_fraction);
/* "250us", "1.5s" -> ns, half to even; ns us ms s sec m min h d. A bare number is in bare_unit_ns
 * (0: -EINVAL). */
int num_parse_duration(struct text t, int64_t bare_unit_ns, int64_t *ret_ns);
/* "4MiB", "512k" (1024s), "4MB" (1000s), "1.5GiB", "100"; any case; -ERANGE beyond int64. */
int num_parse_bytes(struct text t, uint64_t *ret);
/* All num_format_* end the text with NUL and return its length without it. Shortest decimal text
 * that reads back equal (the nearest of these); integers without ".0"; -0 is "0"; an exponent only
 * from 1e21 up and below 1e-6. `out` >= 32 bytes. NaN and infinity must not come here (assert). */
size_t num_format_double(double value, char *out);
size_t num_format_i64(int64_t value, char *out); /* out >= 24 bytes, which may all be written to */
size_t num_format_u64(uint64_t value, char *out);
size_t num_format_i128(__int128 value, char *out); /* out >= 48 bytes */
/* value in 1/1000: 1500 -> "1.5", 2000 -> "2": how nanoseconds become decimal microseconds */
size_t num_format_milli(int64_t value, char *out);
size_t num_format_milli128(__int128 value, char *out);

/* ---- clocks ---------------------------------------------------------------------------------- */

int64_t clock_mono_ns(void);
int64_t clock_real_ns(void);
/* A condition variable whose waits end at a time of clock_mono_ns at the latest. clock_cond_wait: 0
 * or ETIMEDOUT. */
void clock_cond_init(pthread_cond_t *ret);
int clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns);
/* For threads that are started until the mask is set back: signals are the main thread's. Faults
 * stay. */
void signals_leave(sigset_t *ret_before);

/* ---- pulses: does a thread that works get on? ------------------------------------------------ */

/* What belongs to one thread, which beats and rests; others look at it. A thread without one may
 * call all the same. */
/* zero-initialise; beat_ns 0: it waits */
struct pulse {
    _Atomic int64_t beat_ns;
    atomic_int tid;
};
#define PULSE_USUAL_NS 1000000000   /* about the longest silence that means nothing */
void pulse_own(struct pulse *p);    /* of the calling thread from now on; must outlive it */
void pulse_beat(void);              /* it works, and has got on: budget_check does that, too */
void pulse_beat_at(int64_t now_ns); /* the same, for who knows the time (clock_mono_ns) */
void pulse_rest(void);              /* it waits for work or for other threads */
/* How long it has worked without a beat. 0 while it waits, and while a file system or a service
 * does not answer it. Any thread. */
int64_t pulse_silence_ns(const struct pulse *p);

/* ---- budget: what a query may still cost ----------------------------------------------------- */

/* Memory that several budgets may have together: of a client's requests, of all. */
struct budget_share {
    atomic_size_t used;      /* bytes */
    size_t limit;            /* 0 = none */
    struct budget_share *of; /* a larger one, or NULL; borrowed */
};
/* Shared by the request, its workers and http. All members may be read and written by any thread.
 */
struct budget {
    atomic_int cancelled;        /* set to ERR_CANCELLED (or another code) to stop the query */
    _Atomic int64_t deadline_ns; /* clock_mono_ns, 0 = none; may be moved while the query runs */
    size_t memory_limit;         /* bytes, 0 = none */
    atomic_size_t memory_used;
    struct budget_share *share; /* set before the first charge, or NULL; borrowed */
    atomic_bool crowded;        /* a charge was refused for the share's sake */
};
int budget_check(struct budget *b); /* 0, or why to stop (the first reason stays): call per batch */
/* 0 or ERR_MEMORY_LIMIT (then nothing is charged) */
int budget_charge(struct budget *b, size_t bytes);
void budget_release(struct budget *b, size_t bytes);
/* What an object has charged for memory that is in no vec and no arena. Zero-initialise but for the
 * budget (NULL: none), which is borrowed until charge_done. */
struct charge {
    struct budget *budget;
    size_t bytes;
};
int charge_add(struct charge *c, size_t bytes);   /* as budget_charge */
int charge_up_to(struct charge *c, size_t bytes); /* the same, of what is missing to `bytes` */
void charge_done(struct charge *c);               /* releases all; the budget stays */
/* budget_check, and ERR_MEMORY_LIMIT (which stops the query) where there would be no room for the
 * buffer beside what is charged: for answers that are written at once, whose buffer is not charged.
 */
int budget_check_answer(struct budget *b, const struct buf *out);
void budget_cancel(struct budget *b, int code);
/* As qsort_r, but the budget (not NULL) is asked every few thousand comparisons. Makes a copy,
 * which is not charged. 0, -ENOMEM, or what budget_check says: the items are then of no use. */
typedef int sort_compare(const void *a, const void *b, void *arg);
int sort_items(void *items, size_t n, size_t each, sort_compare *compare, void *arg,
               struct budget *b);

/* ---- bounded queue of pointers, many producers, many consumers ------------------------------- */

struct queue;
struct queue *queue_new(size_t capacity); /* *new* or NULL */
void queue_free(struct queue *q);         /* must be empty of waiters */
/* waits for room; -EPIPE once closed (item stays the caller's) */
int queue_push(struct queue *q, void *item);
int queue_try_push(struct queue *q, void *item);     /* -EAGAIN when full */
int queue_pop(struct queue *q, void **ret_item);     /* waits; ERR_END when closed and drained */
int queue_try_pop(struct queue *q, void **ret_item); /* -EAGAIN when empty */
void queue_close(struct queue *q);                   /* wakes all; pops drain what is left */
size_t queue_length(struct queue *q);

/* ---- thread pool ----------------------------------------------------------------------------- */

struct pool;
typedef void pool_job(void *arg);
/* threads 0 = cpu_count(). name: at most 12 letters, for ps -T. The threads block all signals but
 * faults. */
int pool_new(unsigned threads, const char *name, struct pool **ret);
/* FIFO, unbounded; -EPIPE when stopping */
int pool_submit(struct pool *p, pool_job *job, void *arg);
/* A queue of its own: threads take from all that hold jobs in turn, so nobody waits for more than
 * one job of each of the others. Zero-initialise; the caller's, who keeps it as long as a job of it
 * has not begun. */
struct pool_lane {
    struct work *first, *last;
    struct pool_lane *next;
};
/* as above; NULL: the common one */
int pool_submit_to(struct pool *p, struct pool_lane *lane, pool_job *job, void *arg);
/* Runs job(arg, i) for i in [0, n) on up to `n` threads of the pool *and* the calling thread;
 * returns when all are done. Safe from within a job of the same pool (the caller works, so it
 * cannot deadlock). */
int pool_run(struct pool *p, unsigned n, void (*job)(void *arg, unsigned i), void *arg);
/* The same in turns: where job has returned true it is called again with its i, by any of the
 * threads, one at a time. A helper that is wanted elsewhere goes there first; job looks at
 * pool_is_wanted now and then, and returns. The calling thread gives way, too, if it is the pool's,
 * has worked for 100 ms and helps nobody: another thread takes its place, and it waits for its
 * turn, or until budget_check says to stop. At most 16 of a pool do at a time. So it holds no lock,
 * and nobody waits for it but who waits for its job. b may be NULL. */
typedef bool pool_turn(void *arg, unsigned i);
int pool_run_turns(struct pool *p, unsigned n, pool_turn *job, void *arg, struct budget *b);
bool pool_is_wanted(const struct pool *p);     /* jobs wait for a thread; NULL: false */
unsigned pool_threads(const struct pool *p);   /* that work at a time */
int64_t pool_silence_ns(const struct pool *p); /* the longest of its threads' pulses */
void pool_free(struct pool *p);                /* runs what is queued, then joins */

/* ---- CPU ------------------------------------------------------------------------------------- */

enum cpu_level { CPU_PORTABLE = 0, CPU_AVX2 = 1 };
/* Best level this machine has, lowered by $DFTRACERD_CPU = portable. Cached. */
enum cpu_level cpu_level(void);
const char *cpu_level_name(enum cpu_level level);
unsigned cpu_count(void); /* processors this process may run on */

#endif
