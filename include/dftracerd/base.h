/* base.h - what every module needs: errors, buffers, arenas, texts, numbers, clocks, threads.
 *
 * May use:   libc, pthreads, xxhash.      Used by: every module.
 * Threads:   functions are re-entrant; an object belongs to one thread at a time unless it says
 *            otherwise (pool, budget).
 * Memory:    *new* = the caller frees; *borrowed until X* = owned by somebody else until then;
 *            *stolen* = becomes owned by the callee, on failure too. Nothing here aborts for lack
 *            of memory: -ENOMEM is returned, or kept in a sticky object and checked once at the
 *            end.
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
    ERR_CORRUPT = -1009,       /* corrupt gzip data, or a store value that fails its checks */
    ERR_STORE = -1010,         /* LMDB failed in a way that has no errno */
    ERR_STORE_FULL = -1011,    /* the LMDB map is full and cannot grow */
    ERR_STORE_BUSY = -1012,    /* another daemon has this index open */
    ERR_STALE = -1013,         /* the file has changed since it was indexed */
    ERR_FORMAT = -1014,        /* representation not available for this answer (406) */
    ERR_END = -1015,           /* a cursor is at its end */
    ERR_NO_ARCHIVE = -1016,    /* the name of a file ends as a tar archive's, but it is none */
    ERR_ADDRESS_SPACE = -1017, /* the map of the index cannot grow within RLIMIT_AS */
    ERR_LAST = -1017
};

/* One message for people. Caller-owned; zero-initialise. The first message wins. */
struct err {
    int code;
    /* byte offset into `source` of a query, -1 when there is none; valid if source set */
    int64_t position;
    char param[48]; /* invalid request parameter or option, or "" */
    char text[400];
    char *source; /* *new* copy of the DSL source for the caret, or NULL: err_done frees */
};
/* Stores an error (unless err has one already; err may be NULL). Returns `code`. */
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
/* Sets *a and *b to the bytes of a text of at most 16, padded with zeros; texts of the same length
 * are equal if these are. Reads 16 bytes. */
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
/* XXH3-128 with a seed, of data in pieces. */
struct hasher {
    _Alignas(64) unsigned char state[640];
};
void hasher_begin(struct hasher *h, uint64_t seed);
void hasher_add(struct hasher *h, const void *data, size_t len);
struct hash128 hasher_end(const struct hasher *h);
/* Returns the position of a text in a list that ends with NULL, or -1. */
int text_find(struct text t, const char *const *list);
bool text_starts(struct text t, struct text prefix);
bool text_ends(struct text t, struct text suffix);
struct text text_trim(struct text t); /* without bytes 0x00-0x20 at both ends */
/* Removes the part before the next separator from `rest`. After the last part rest->ptr is NULL,
 * and the next call returns false: "a,,b" has three parts, "" has one. */
bool text_split(struct text *rest, char separator, struct text *ret_part);
/* Returns the length of the first character (t must not be empty) and its code. If it is
 * ill-formed, *ret_code is -1 and the length is that of the maximal ill-formed part (1-3), which is
 * to be replaced by one U+FFFD. */
size_t text_utf8_next(struct text t, int32_t *ret_code);
char *text_put_utf8(char *out, uint32_t code); /* writes 1 to 4 bytes, returns their end */

/* ---- growable buffer (sticky error) ---------------------------------------------------------- */

struct buf {
    char *data;
    size_t len, cap;
    int error;
}; /* zero-initialise; error 0 or -ENOMEM */
void buf_done(struct buf *b);
void buf_clear(struct buf *b);                 /* keeps the memory and the error */
char *buf_reserve(struct buf *b, size_t more); /* memory for `more` bytes or NULL */
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
/* Zero-initialise. `error` is sticky: check it once at the end, or each result. */
struct arena {
    void *head;
    size_t used, limit;    /* bytes; limit 0: none */
    size_t charged;        /* bytes, before they are allocated */
    struct budget *budget; /* NULL: none; borrowed until arena_done */
    int error; /* 0, or the first error: ERR_MEMORY_LIMIT, or -ENOMEM (also beyond `limit`) */
};
void *arena_alloc(struct arena *a, size_t size); /* 16-byte aligned, zeroed; NULL: `error` is set */
char *arena_strdup(struct arena *a, struct text t); /* NUL-terminated copy */
void arena_done(struct arena *a); /* frees all, releases the charge, forgets the error */

/* ---- large arrays: as realloc, calloc and free ----------------------------------------------- */

/* For arrays that may have many MiB: these use pages of 2 MiB if the system has some, are not
 * copied when they grow, and are returned to the system at once when they are freed. Return NULL
 * without memory; the array is then unchanged. */
void *large_realloc(void *array, size_t bytes);
void *large_zeroed(size_t bytes); /* *new* */
void large_free(void *array);
/* Advises the kernel to use pages of 2 MiB for memory of malloc, if that has many MiB. */
void large_advise(void *at, size_t bytes);

/* ---- limits of memory ------------------------------------------------------------------------ */

struct memory_limit {
    uint64_t bytes;
    const char *source;
};
/* Returns the memory that this process may use: the minimum of the machine's memory, the limits of
 * its control group and those above it (versions 1 and 2), and RLIMIT_AS. Reads files; any
 * thread. */
struct memory_limit memory_limit(void);
/* The same for tests whose /proc and mount points are below `root`. */
struct memory_limit memory_limit_below(const char *root);
uint64_t memory_address_space(void);     /* RLIMIT_AS; UINT64_MAX: no limit */
bool memory_is_mappable(uint64_t bytes); /* true if mmap of so much memory works now */
/* Sets `text` to the limit that caused -ENOMEM or -EAGAIN, or "" if none is known. */
void memory_explain(int code, char *text, size_t size);

/* ---- intern table: text -> dense id from 0 --------------------------------------------------- */

struct intern;                   /* one writer */
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
/* Sets *ret to digits * 10^exponent, correctly rounded. Returns false if the fast path cannot
 * decide the rounding: call num_parse_double. */
bool num_make_double(uint64_t digits, int exponent, bool negative, double *ret);
/* Parses a JSON number, multiplies it by 10^scale, and rounds it half to even to an integer:
 * num_parse_scaled("119.68612670898438", 3) = 119686. *ret_exact: it was not rounded. -ERANGE
 * beyond int64. */
int num_parse_scaled(struct text t, int scale, int64_t *ret, bool *ret_exact);
/* "250us", "1.5s" -> ns, half to even; ns us ms s sec m min h d. A number without a unit is in
 * units of bare_unit_ns (0: -EINVAL). -ERANGE beyond int64. */
int num_parse_duration(struct text t, int64_t bare_unit_ns, int64_t *ret_ns);
/* "4MiB", "512k" (1024s), "4MB" (1000s), "1.5GiB", "100"; any case; -ERANGE beyond int64. */
int num_parse_bytes(struct text t, uint64_t *ret);
/* All num_format_* end the text with NUL and return its length without it. num_format_double writes
 * the shortest decimal text that reads back equal (the nearest of these); integers without ".0"; -0
 * as "0"; an exponent only from 1e21 up and below 1e-6. `out` >= 32 bytes. NaN and infinity are not
 * allowed (assert). */
size_t num_format_double(double value, char *out);
size_t num_format_i64(int64_t value, char *out); /* out >= 24 bytes, which may all be written to */
size_t num_format_u64(uint64_t value, char *out);
size_t num_format_i128(__int128 value, char *out); /* out >= 48 bytes */
/* The value is in 1/1000: 1500 -> "1.5", 2000 -> "2". For nanoseconds as decimal microseconds.
 * `out` as above: >= 24 bytes, of 128 bits >= 48. */
size_t num_format_milli(int64_t value, char *out);
size_t num_format_milli128(__int128 value, char *out);

/* ---- clocks ---------------------------------------------------------------------------------- */

int64_t clock_mono_ns(void);
int64_t clock_real_ns(void);
/* A condition variable whose waits end at the latest at a time of clock_mono_ns. clock_cond_wait
 * returns 0 or ETIMEDOUT. */
void clock_cond_init(pthread_cond_t *ret);
int clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns);

/* ---- pulses: detection of threads without progress ------------------------------------------- */

/* Each pulse belongs to one thread, which calls pulse_beat while it works and pulse_rest before it
 * waits; other threads read it. Threads without a pulse may call these functions, too.
 * Zero-initialise; beat_ns 0: the thread waits. */
struct pulse {
    _Atomic int64_t beat_ns;
    atomic_int tid;
};
#define PULSE_USUAL_NS 1000000000   /* silences up to about this are normal */
void pulse_own(struct pulse *p);    /* sets the pulse of the calling thread; must outlive it */
void pulse_beat(void);              /* the thread makes progress; budget_check calls it, too */
void pulse_beat_at(int64_t now_ns); /* the same, if the caller knows the time (clock_mono_ns) */
void pulse_rest(void);              /* the thread waits for work or for other threads */
/* Returns how long the thread has worked without a beat; 0 while it waits, and while a file system
 * or a service does not answer it. Any thread. */
int64_t pulse_silence_ns(const struct pulse *p);

/* ---- budget: limits of a query --------------------------------------------------------------- */

/* A common limit of memory for several budgets: the requests of a client, or all requests. */
struct budget_share {
    atomic_size_t used;          /* bytes */
    size_t limit;                /* bytes, 0 = none */
    struct budget_share *parent; /* charged, too; NULL = none; borrowed */
};
/* Shared by the request, its workers and http. Any thread may read and write atomic members; the
 * others are set before the first charge. */
struct budget {
    atomic_int cancelled;        /* set to ERR_CANCELLED (or another code) to stop the query */
    _Atomic int64_t deadline_ns; /* clock_mono_ns, 0 = none; may be moved while the query runs */
    size_t memory_limit;         /* bytes, 0 = none */
    atomic_size_t memory_used;
    struct budget_share *share; /* NULL = none; borrowed */
    atomic_bool share_exceeded; /* a charge was refused because of the limit of a share */
};
/* Returns 0, or the error to stop with: the first one remains. To be called once a batch. */
int budget_check(struct budget *b);
/* Returns 0, or ERR_MEMORY_LIMIT (then nothing is charged). b NULL: no limit, also for
 * budget_release. */
int budget_charge(struct budget *b, size_t bytes);
void budget_release(struct budget *b, size_t bytes);
/* The charges of an object for memory that is in no vec and no arena. Zero-initialise but for the
 * budget (NULL: none), which is borrowed until charge_done. */
struct charge {
    struct budget *budget;
    size_t bytes;
};
int charge_add(struct charge *c, size_t bytes);   /* as budget_charge */
int charge_up_to(struct charge *c, size_t bytes); /* charges the difference up to `bytes` */
void charge_done(struct charge *c);               /* releases all; the budget stays */
/* Calls budget_check, and returns ERR_MEMORY_LIMIT (which stops the query) if the buffer does not
 * fit into the limit beside the charged memory: for answers that are written at once, whose buffer
 * is not charged. */
int budget_check_answer(struct budget *b, const struct buf *out);
void budget_cancel(struct budget *b, int code);
/* Sorts as qsort_r, but calls budget_check(b) every few thousand comparisons (b is not NULL). Makes
 * a copy, which is not charged. Returns 0, -ENOMEM, or the error of the budget: the items are then
 * undefined. */
typedef int sort_compare(const void *a, const void *b, void *arg);
int sort_items(void *items, size_t n, size_t each, sort_compare *compare, void *arg,
               struct budget *b);

/* ---- thread pool ----------------------------------------------------------------------------- */

/* Blocks all signals but faults in the calling thread, and in threads that it starts until it
 * restores the mask: signals are handled by the main thread. */
void signals_block(sigset_t *ret_before);

struct pool;
typedef void pool_job(void *arg);
/* threads 0: cpu_count(). name: at most 12 letters, for ps -T. The threads block all signals but
 * faults. */
int pool_new(unsigned threads, const char *name, struct pool **ret);
/* FIFO, unbounded; -EPIPE when stopping */
int pool_submit(struct pool *p, pool_job *job, void *arg);
/* A queue of jobs. Threads serve all lanes with jobs in turn, so a job at the head of its lane
 * waits for at most one job of each other lane. Zero-initialise; the caller owns it, and keeps it
 * until all its jobs have begun. */
struct pool_lane {
    struct work *first, *last;
    struct pool_lane *next;
};
/* Submits a job to a lane; NULL: to the common one. */
int pool_submit_to(struct pool *p, struct pool_lane *lane, pool_job *job, void *arg);
/* Runs job(arg, i) for i in [0, n) on the calling thread and idle threads of the pool (NULL: on the
 * calling thread alone); returns when all are done. Safe from within a job of the same pool (the
 * caller works, so it cannot deadlock). */
void pool_run(struct pool *p, unsigned n, void (*job)(void *arg, unsigned i), void *arg);
/* The same in turns: if job returns true, it is called again with its i, by any of the threads, one
 * at a time. The job should check pool_is_wanted from time to time, and return if it is true:
 * helpers then run the waiting jobs first. The calling thread, if it belongs to the pool, has
 * worked for 100 ms and is no helper, is suspended and replaced by another thread until it is its
 * turn again, or budget_check(b) fails; at most 16 threads of a pool are suspended at a time. The
 * caller must therefore hold no lock. b may be NULL. */
typedef bool pool_turn(void *arg, unsigned i);
void pool_run_turns(struct pool *p, unsigned n, pool_turn *job, void *arg, struct budget *b);
bool pool_is_wanted(const struct pool *p);     /* true if jobs wait for a thread; NULL: false */
unsigned pool_threads(const struct pool *p);   /* number of threads that work at a time */
int64_t pool_silence_ns(const struct pool *p); /* the longest silence of its threads' pulses */
void pool_free(struct pool *p);                /* runs what is queued, then joins */

/* ---- CPU ------------------------------------------------------------------------------------- */

enum cpu_level { CPU_PORTABLE = 0, CPU_AVX2 = 1 };
/* Returns the best level of this machine; $DFTRACERD_CPU=portable lowers it. Cached. */
enum cpu_level cpu_level(void);
const char *cpu_level_name(enum cpu_level level);
unsigned cpu_count(void); /* processors this process may run on */

#endif
