/* texts.c - the shared text table. A look-up takes one of 64 locks, which the hash selects; ids are
 * assigned under a single lock. */
#include "index/store/texts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRIPES = 64,
    PAGE = 4096, /* texts */
    PAGES_STORED = TEXTS_STORED / PAGE,
    PAGES_LOCAL = 16384,
    BLOCK = 256 * 1024, /* bytes of texts that are allocated at a time */
    COST_MIN = 32       /* bytes that a text takes at least */
};

struct slot { /* contains the text: a look-up reads few cache lines */
    uint64_t hash;
    const char *ptr;
    uint32_t len, id_plus; /* id + 1; 0: free */
};
struct stripe {
    pthread_mutex_t lock;
    struct slot *slots;
    uint32_t mask, used; /* number of slots - 1; slots that are not free */
} __attribute__((aligned(64)));

struct space { /* texts with one kind of ids, dense */
    _Atomic(struct text *) *pages;
    uint32_t page_count;
    atomic_uint count;
    uint32_t first;
};
struct block {
    struct block *next;
    size_t used, size;
    char data[];
};

struct texts {
    struct stripe stripes[STRIPES];
    pthread_mutex_t grow; /* guards spaces and blocks */
    struct space stored, local;
    struct block *blocks;
    uint64_t stored_bytes, stored_max; /* stored_max: see texts_limit */
    uint64_t local_bytes;
    /* flushed: ids below are in a batch or the store; committed: in the store */
    uint32_t flushed, committed;
    uint64_t flushed_sum, committed_sum; /* checksums of these texts */
};

struct texts *texts_new(void)
{
    struct texts *t = NULL;

    if (posix_memalign((void **)&t, 64, sizeof *t))
        return NULL;
    memset(t, 0, sizeof *t);
    t->stored.page_count = PAGES_STORED;
    t->local.page_count = PAGES_LOCAL;
    t->local.first = TEXTS_LOCAL;
    t->stored_max = TEXTS_STORED_BYTES;
    t->stored.pages = calloc(PAGES_STORED, sizeof *t->stored.pages);
    t->local.pages = calloc(PAGES_LOCAL, sizeof *t->local.pages);
    pthread_mutex_init(&t->grow, NULL);
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&t->stripes[i].lock, NULL);
    if (!t->stored.pages || !t->local.pages) {
        texts_free(t);
        return NULL;
    }
    return t;
}

static void space_free(struct space *s)
{
    for (uint32_t i = 0; s->pages && i < s->page_count && s->pages[i]; i++)
        free(s->pages[i]);
    free(s->pages);
}

void texts_free(struct texts *t)
{
    if (!t)
        return;
    for (int i = 0; i < STRIPES; i++) {
        pthread_mutex_destroy(&t->stripes[i].lock);
        free(t->stripes[i].slots);
    }
    pthread_mutex_destroy(&t->grow);
    space_free(&t->stored);
    space_free(&t->local);
    for (struct block *b = t->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(t);
}

static struct text space_get(const struct space *s, uint32_t index)
{
    if (index >= atomic_load_explicit(&s->count, memory_order_acquire))
        return (struct text){NULL, 0};
    return atomic_load_explicit(&s->pages[index / PAGE], memory_order_acquire)[index % PAGE];
}

struct text texts_get(const struct texts *t, uint32_t id)
{
    if (id < TEXTS_LOCAL)
        return space_get(&t->stored, id);
    return space_get(&t->local, id - TEXTS_LOCAL);
}

uint32_t texts_count(const struct texts *t)
{
    return atomic_load_explicit(&t->stored.count, memory_order_acquire);
}

/* Copies the bytes into a block. Under `grow`. */
static char *copy_bytes(struct texts *t, struct text text)
{
    struct block *b = t->blocks;

    if (!b || b->size - b->used < text.len + 1) {
        size_t size = text.len + 1 > BLOCK ? text.len + 1 : BLOCK;
        b = malloc(sizeof *b + size);
        if (!b)
            return NULL;
        b->used = 0;
        b->size = size;
        b->next = t->blocks;
        t->blocks = b;
    }
    char *out = b->data + b->used;
    if (text.len)
        memcpy(out, text.ptr, text.len);
    out[text.len] = 0; /* versions and paths are printed as C strings */
    b->used += text.len + 1;
    return out;
}

/* Returns the id of a new text; INDEX_NO_TEXT if the space or memory is full. Under `grow`. */
static uint32_t space_add(struct texts *t, struct space *s, struct text text)
{
    uint32_t index = atomic_load_explicit(&s->count, memory_order_relaxed);

    if (index / PAGE >= s->page_count)
        return INDEX_NO_TEXT;
    struct text *page = atomic_load_explicit(&s->pages[index / PAGE], memory_order_relaxed);
    if (!page) {
        page = malloc(PAGE * sizeof *page);
        if (!page)
            return INDEX_NO_TEXT;
        atomic_store_explicit(&s->pages[index / PAGE], page, memory_order_release);
    }
    char *bytes = copy_bytes(t, text);
    if (!bytes)
        return INDEX_NO_TEXT;
    page[index % PAGE] = (struct text){bytes, text.len};
    atomic_store_explicit(&s->count, index + 1, memory_order_release);
    return s->first + index;
}

/* With a limit, a text also counts the memory that it takes besides its bytes. */
static uint64_t text_cost(const struct texts *t, struct text text)
{
    return t->stored_max == TEXTS_STORED_BYTES || text.len > COST_MIN ? text.len : COST_MIN;
}

static uint32_t assign_id(struct texts *t, struct text text, bool with_local)
{
    uint32_t id = INDEX_NO_TEXT;

    pthread_mutex_lock(&t->grow);
    if (texts_count(t) < TEXTS_STORED && t->stored_bytes + text_cost(t, text) <= t->stored_max) {
        id = space_add(t, &t->stored, text);
        if (id != INDEX_NO_TEXT)
            t->stored_bytes += text_cost(t, text);
    } else if (with_local) {
        id = space_add(t, &t->local, text);
        t->local_bytes += text_cost(t, text);
    }
    pthread_mutex_unlock(&t->grow);
    return id;
}

/* Returns the slot of the text, or the free slot where it belongs. Under the lock of the stripe. */
static struct slot *find_slot(const struct stripe *s, uint64_t hash, struct text text)
{
    uint32_t i = (uint32_t)(hash >> 6) & s->mask;

    for (;; i = (i + 1) & s->mask) {
        struct slot *slot = &s->slots[i];
        if (slot->id_plus == 0)
            return slot;
        if (slot->hash == hash && slot->len == text.len &&
            (text.len == 0 || memcmp(slot->ptr, text.ptr, text.len) == 0))
            return slot;
    }
}

static int stripe_grow(struct stripe *s)
{
    uint32_t size = s->slots ? (s->mask + 1) * 2 : 64;
    struct slot *slots = calloc(size, sizeof *slots);

    if (!slots)
        return -ENOMEM;
    for (uint32_t i = 0; s->slots && i <= s->mask; i++) {
        uint32_t to = (uint32_t)(s->slots[i].hash >> 6) & (size - 1);
        if (s->slots[i].id_plus == 0)
            continue;
        while (slots[to].id_plus)
            to = (to + 1) & (size - 1);
        slots[to] = s->slots[i];
    }
    free(s->slots);
    s->slots = slots;
    s->mask = size - 1;
    return 0;
}

static uint32_t add_text(struct texts *t, struct text text, uint64_t hash, bool with_local)
{
    struct stripe *s = &t->stripes[hash % STRIPES];
    uint32_t id = INDEX_NO_TEXT;
    struct slot *slot;

    pthread_mutex_lock(&s->lock);
    if ((!s->slots || s->used * 4 >= (s->mask + 1) * 3) && stripe_grow(s) < 0 && !s->slots)
        goto out;
    slot = find_slot(s, hash, text);
    if (slot->id_plus) {
        id = slot->id_plus - 1;
        if (!with_local && id >= TEXTS_LOCAL)
            id = INDEX_NO_TEXT;
    } else if (s->used + 1 <= s->mask) {
        id = assign_id(t, text, with_local);
        if (id != INDEX_NO_TEXT) {
            *slot = (struct slot){hash, texts_get(t, id).ptr, (uint32_t)text.len, id + 1};
            s->used++;
        }
    }
out:
    pthread_mutex_unlock(&s->lock);
    return id;
}

uint32_t texts_add(struct texts *t, struct text text)
{
    return add_text(t, text, text_hash(text), false);
}

uint32_t texts_add_any(struct texts *t, struct text text)
{
    return add_text(t, text, text_hash(text), true);
}

void texts_limit(struct texts *t, uint64_t bytes)
{
    t->stored_max = bytes < TEXTS_STORED_BYTES ? bytes : TEXTS_STORED_BYTES;
}

uint32_t texts_add_name(struct texts *t, struct text text)
{
    pthread_mutex_lock(&t->grow);
    bool has_space = t->stored_max == TEXTS_STORED_BYTES || t->local_bytes < t->stored_max;
    pthread_mutex_unlock(&t->grow);
    return has_space ? texts_add_any(t, text) : texts_find(t, text);
}

/* Prefetches the slot where a text of this hash may be, or the text that is there. */
static void prefetch(struct texts *t, uint64_t hash, bool bytes)
{
    struct stripe *s = &t->stripes[hash % STRIPES];

    pthread_mutex_lock(&s->lock);
    if (s->slots) {
        uint32_t i = (uint32_t)(hash >> 6) & s->mask;
        while (bytes && s->slots[i].id_plus && s->slots[i].hash != hash)
            i = (i + 1) & s->mask;
        __builtin_prefetch(bytes ? (const void *)s->slots[i].ptr : &s->slots[i]);
    }
    pthread_mutex_unlock(&s->lock);
}

void texts_add_many(struct texts *t, const struct text *texts, uint32_t count, uint32_t *ret_ids)
{
    uint64_t hashes[TEXTS_MANY];

    for (uint32_t i = 0; i < count; i++) {
        hashes[i] = text_hash(texts[i]);
        prefetch(t, hashes[i], false);
    }
    for (uint32_t i = 0; i < count; i++)
        prefetch(t, hashes[i], true);
    for (uint32_t i = 0; i < count; i++)
        ret_ids[i] = add_text(t, texts[i], hashes[i], true);
}

uint32_t texts_find(struct texts *t, struct text text)
{
    uint64_t hash = text_hash(text);
    struct stripe *s = &t->stripes[hash % STRIPES];
    uint32_t id = INDEX_NO_TEXT;

    pthread_mutex_lock(&s->lock);
    if (s->slots)
        id = find_slot(s, hash, text)->id_plus - 1; /* 0 - 1 is INDEX_NO_TEXT */
    pthread_mutex_unlock(&s->lock);
    return id;
}

/* One checksum covers all texts, in table `meta`: eight bytes for each would be a tenth of the
 * table. */
static uint64_t text_sum(struct text text, uint32_t id)
{
    return text_hash(text) * (2ull * id + 1);
}

static void put_sum(const struct texts *t, struct kv_batch *b)
{
    struct kv_key key = kv_key_of_name("texts");
    struct buf value = {0};

    rec_put_u(&value, t->flushed);
    rec_put_u(&value, t->flushed_sum);
    kv_put_buf(b, KV_META, &key, &value);
}

static bool sum_is_right(const struct texts *t, struct kv_read *r)
{
    struct kv_key key = kv_key_of_name("texts");
    struct text value;
    int rc = kv_get(r, KV_META, &key, &value);

    if (rc)
        return rc == -ENOENT && t->flushed == 0;
    struct rec rec = rec_of(value);
    return rec_u(&rec) == t->flushed && rec_u(&rec) == t->flushed_sum && !rec.bad;
}

void texts_flush(struct texts *t, struct kv_batch *b)
{
    uint32_t count = texts_count(t);
    bool any = t->flushed < count;

    for (; t->flushed < count; t->flushed++) {
        struct kv_key key = kv_key_of_u32(t->flushed);
        struct text text = texts_get(t, t->flushed);
        kv_put(b, KV_TEXT, &key, text.ptr, text.len);
        t->flushed_sum += text_sum(text, t->flushed);
    }
    if (any)
        put_sum(t, b);
}

void texts_stored(struct texts *t)
{
    t->committed = t->flushed;
    t->committed_sum = t->flushed_sum;
}

void texts_lost(struct texts *t)
{
    t->flushed = t->committed;
    t->flushed_sum = t->committed_sum;
}

/* Returns why texts_add returned another id than that of the store. Beyond the limit, the table was
 * filled by a process that could use more memory. */
static int add_error(const struct texts *t, struct text text, uint32_t id)
{
    if (id != INDEX_NO_TEXT || texts_count(t) >= TEXTS_STORED)
        return ERR_CORRUPT;
    if (t->stored_bytes + text_cost(t, text) <= t->stored_max)
        return -ENOMEM;
    return t->stored_max < TEXTS_STORED_BYTES ? ERR_MEMORY_LIMIT : ERR_CORRUPT;
}

int texts_load(struct texts *t, struct kv_read *r)
{
    uint64_t max = t->stored_max;
    struct kv_cursor c;
    uint32_t next = 0;

    /* The limit may differ between processes: the store is rebuilt if it is less than half of the
     * previous one. */
    texts_limit(t, 2 * max);
    kv_begin(r, KV_TEXT, NULL, &c);
    while (kv_next(&c)) {
        if (c.key.len != 4 || kv_get_u32((const uint8_t *)c.key.ptr) != next) {
            c.error = ERR_CORRUPT;
            break;
        }
        uint32_t id = texts_add(t, c.value);
        if (id != next) {
            c.error = add_error(t, c.value, id);
            break;
        }
        t->flushed_sum += text_sum(c.value, next++);
    }
    kv_end(&c);
    t->stored_max = max;
    t->flushed = t->committed = next;
    t->committed_sum = t->flushed_sum;
    return c.error ? c.error : sum_is_right(t, r) ? 0 : ERR_CORRUPT;
}
