/* versions.c - compares the objects of two versions of a file in text order, 1,024 at a time. */
#include "answer/lines/versions.h"
#include "engine/derived/members.h"
#include "engine/lang/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 1024 };

/* One of the two versions, and its current window: rows [first, first + count) of its chunk. */
struct version_reader {
    struct index *ix;
    struct file_version *version;
    struct chunk_view *view; /* while a window is read */
    bool began;              /* `rows` is set, and the window if count > 0 */
    uint32_t rows, first, count;
    uint64_t text_end;  /* of the last object of the window, in the text of the file */
    bool values, times; /* values, and among them times, are compared */
    uint64_t start[WINDOW], hash[WINDOW]; /* by object: position in the text, hash of all values */
    int64_t gaps[WINDOW], lens[WINDOW], numbers[WINDOW];
    double doubles[WINDOW];
    uint32_t codes[WINDOW];
    uint64_t valid[WINDOW / 64];
};

/* ---- hashes of objects ----------------------------------------------------------------------- */

static uint64_t hash_value(uint64_t path, uint64_t kind, uint64_t value)
{
    uint64_t words[] = {path, kind, value};

    return text_hash((struct text){(const char *)words, sizeof(words)});
}

/* 5 and 5.0 are equal here: whether a column stores the one or the other depends on the other
 * rows of its chunk. */
static uint64_t hash_number(uint64_t path, double d)
{
    uint64_t bits;

    d = d == 0 ? 0 : d;
    memcpy(&bits, &d, sizeof(bits));
    return hash_value(path, 'd', bits);
}

static uint64_t hash_integer(uint64_t path, int64_t i)
{
    double d = (double)i;
    bool exact = d >= -0x1p63 && d < 0x1p63 && (int64_t)d == i;

    return exact ? hash_number(path, d) : hash_value(path, 'i', (uint64_t)i);
}

static uint64_t hash_entry(uint64_t path, const struct column_entry *e)
{
    if (e->type == TRACE_INT)
        return hash_integer(path, e->i);
    if (e->type == TRACE_BOOL)
        return hash_value(path, 'b', (uint64_t)e->i);
    if (e->type == TRACE_DOUBLE)
        return hash_number(path, e->d);
    return hash_value(path, 't', text_hash(e->text));
}

/* Hashes the values in an entry of "@other" as if they had columns: whether they do depends on the
 * other rows of the chunk. */
static int hash_members(struct text object, uint64_t *ret)
{
    struct arena arena = {0};
    struct members m = {object.ptr, object.ptr + object.len, &arena};
    struct text name, value;
    struct column_entry e;

    for (*ret = 0; members_next(&m, &name, &value);)
        if (members_entry(&m, value, &e))
            *ret += hash_entry(text_hash(name), &e);
    int rc = arena.error;
    arena_done(&arena);
    return rc;
}

static int hash_dictionary(struct version_reader *w, const struct column *c, uint64_t path,
                           uint64_t *out)
{
    bool other = text_eq(c->path, TEXT("@other"));
    struct column_entry e;
    int rc = column_read_codes(w->view, c, w->first, w->count, w->codes);

    for (uint32_t i = 0; rc == 0 && i < w->count; i++) {
        if (i > 0 && w->codes[i] == w->codes[i - 1]) {
            out[i] = out[i - 1];
            continue;
        }
        if (w->codes[i] >= c->entries)
            continue; /* null */
        rc = column_entry(w->view, c, w->codes[i], &e);
        if (rc == 0 && other)
            rc = hash_members(e.text, &out[i]);
        else if (rc == 0)
            out[i] = hash_entry(path, &e);
    }
    return rc;
}

static int hash_integers(struct version_reader *w, const struct column *c, uint64_t path,
                         uint64_t *out)
{
    uint64_t scale = c->type == COLUMN_TIME && !c->nano ? 1000 : 1;
    int rc = column_read_i64(w->view, c, w->first, w->count, w->numbers);

    for (uint32_t i = 0; rc == 0 && i < w->count; i++) {
        if (c->type == COLUMN_INT)
            out[i] = hash_integer(path, w->numbers[i]);
        else
            out[i] = hash_value(path, c->type == COLUMN_TIME ? 'n' : 'b',
                                (uint64_t)w->numbers[i] * scale);
    }
    return rc;
}

static int hash_column(struct version_reader *w, const struct column *c)
{
    uint64_t path = text_hash(c->path), out[WINDOW] = {0};
    int rc = c->nulls ? column_read_valid(w->view, c, w->first, w->count, w->valid) : 0;

    if (rc == 0 && (c->type == COLUMN_TEXT || c->type == COLUMN_MIXED)) {
        rc = hash_dictionary(w, c, path, out);
    } else if (rc == 0 && c->type == COLUMN_DOUBLE) {
        rc = column_read_f64(w->view, c, w->first, w->count, w->doubles);
        for (uint32_t i = 0; rc == 0 && i < w->count; i++)
            out[i] = hash_number(path, w->doubles[i]);
    } else if (rc == 0) {
        rc = hash_integers(w, c, path, out);
    }
    for (uint32_t i = 0; rc == 0 && i < w->count; i++) {
        if (!c->nulls || (w->valid[i / 64] >> (i % 64) & 1))
            w->hash[i] += out[i]; /* commutative: chunks have columns in different order */
    }
    return rc;
}

/* Returns true if a column is computed from others or from the position of the chunk. */
static bool is_derived(struct text path)
{
    return column_is_computed(path) ||
           (path.len && path.ptr[0] == '@' && !text_eq(path, TEXT("@other")));
}

static int hash_window(struct version_reader *w)
{
    uint32_t n = chunk_column_count(w->view);
    struct column c;
    int rc = 0;

    memset(w->hash, 0, sizeof(w->hash));
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        chunk_column(w->view, i, &c);
        if (!is_derived(c.path) && (w->times || c.type != COLUMN_TIME))
            rc = hash_column(w, &c);
    }
    return rc;
}

/* ---- windows --------------------------------------------------------------------------------- */

static int find_lengths(struct version_reader *w, struct column *gap, struct column *len)
{
    int rc = chunk_find(w->view, TEXT("@gap"), gap);

    rc = rc < 0 ? rc : chunk_find(w->view, TEXT("@len"), len);
    return rc == -ENOENT ? ERR_CORRUPT : rc;
}

static int next_window(struct version_reader *w, const struct column *gap, const struct column *len)
{
    uint32_t left = w->rows - (w->first + w->count);

    w->first += w->count;
    w->count = left < WINDOW ? left : WINDOW;
    int rc = column_read_i64(w->view, gap, w->first, w->count, w->gaps);
    rc = rc < 0 ? rc : column_read_i64(w->view, len, w->first, w->count, w->lens);
    for (uint32_t i = 0; rc == 0 && i < w->count; i++) {
        w->start[i] = w->text_end + (uint64_t)w->gaps[i];
        w->text_end = w->start[i] + (uint64_t)w->lens[i];
    }
    return rc;
}

/* Reads windows until the one that contains the row version->at.row, which must be less than
 * w->rows. */
static int read_windows(struct version_reader *w)
{
    const struct file_version *c = w->version;
    struct column gap, len;
    int rc = chunk_open(w->ix, c->snapshot, c->file, c->at.chunk, &w->view);

    if (rc < 0)
        return rc;
    rc = find_lengths(w, &gap, &len);
    while (rc == 0 && c->at.row >= w->first + w->count)
        rc = next_window(w, &gap, &len);
    if (rc == 0 && w->values)
        rc = hash_window(w);
    chunk_close(w->view); /* at most one chunk is open at a time, only while a window is read */
    return rc;
}

/* Moves the window to the object at version->at. Returns 0, ERR_END or an error. */
static int reader_seek(struct version_reader *w)
{
    struct file_version *c = w->version;

    while (row_at_before(c->at, c->end)) {
        if (!w->began) {
            const struct index_chunk *info = &c->file->chunks[c->at.chunk];
            w->began = true;
            w->rows = info->rows;
            w->first = w->count = 0;
            w->text_end = info->text_offset;
        }
        if (c->at.row < w->rows)
            return c->at.row < w->first + w->count ? 0 : read_windows(w);
        c->at = (struct row_at){c->at.chunk + 1, 0};
        w->began = false;
    }
    return ERR_END;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static bool same_object(const struct version_reader *a, const struct version_reader *b)
{
    uint32_t i = a->version->at.row - a->first, k = b->version->at.row - b->first;

    return a->start[i] == b->start[k] && a->lens[i] == b->lens[k] &&
           (!a->values || a->hash[i] == b->hash[k]);
}

static int compare_readers(struct version_reader *old, struct version_reader *new,
                           struct budget *budget, enum compared *ret)
{
    for (;;) {
        int rc = reader_seek(old);
        if (rc == ERR_END) {
            *ret = COMPARED_OLD_ENDS;
            return 0;
        }
        rc = rc < 0 ? rc : reader_seek(new);
        if (rc == ERR_END) {
            *ret = COMPARED_NEW_ENDS;
            return 0;
        }
        if (rc == 0 && new->version->at.row % WINDOW == 0)
            rc = budget_check(budget);
        if (rc < 0)
            return rc;
        if (!same_object(old, new)) {
            *ret = COMPARED_DIFFER;
            return 0;
        }
        old->version->at.row++;
        new->version->at.row++;
    }
}

int versions_compare(struct index *ix, struct file_version *old, struct file_version *new,
                     bool values, struct budget *budget, enum compared *ret)
{
    struct version_reader *readers = calloc(2, sizeof(*readers));
    bool times = old->file->unit == new->file->unit;

    if (!readers)
        return -ENOMEM;
    readers[0] =
        (struct version_reader){.ix = ix, .version = old, .values = values, .times = times};
    readers[1] =
        (struct version_reader){.ix = ix, .version = new, .values = values, .times = times};
    int rc = compare_readers(&readers[0], &readers[1], budget, ret);
    free(readers);
    return rc;
}
