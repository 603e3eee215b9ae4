/* density_cells.c - sums the begins and ends of objects by cell and tuple. */
#include "column/chunk/density.h"

#include <errno.h>
#include <stdlib.h>

/* The product of rows and time of a cell is below 2^62, on the next level, too. */
enum { SHIFT_MAX = 42, ROWS_MAX = 1 << 17 };

/* ---- cell size ------------------------------------------------------------------------------- */

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Returns a shift with which a cell has about as many rows as there are tuples, by a sample of the
 * distances between consecutive rows: this gives slightly too many cells. */
static unsigned first_shift(const struct density_work *w)
{
    enum { PLACES = 63 };
    const int64_t *ts = density_i64(&w->buf[DENSITY_TS]);
    int64_t step[PLACES];

    for (uint32_t i = 0; i < PLACES; i++) {
        size_t row = (size_t)i * (w->rows - 1) / PLACES;
        step[i] = ts[row + 1] > ts[row] ? ts[row + 1] - ts[row] : ts[row] - ts[row + 1];
    }
    qsort(step, PLACES, sizeof(*step), compare_i64);
    unsigned shift = pack_bit_length((uint64_t)step[PLACES / 2]) + pack_bit_length(w->tuples / 2);
    uint64_t span = (uint64_t)w->max_te - (uint64_t)w->min_ts;
    while (shift <= SHIFT_MAX && (span >> shift) + 16 > UINT32_MAX / 2)
        shift++;
    return shift;
}

static void set_base(struct density_work *w)
{
    w->base = w->min_ts >> w->shift & ~(((int64_t)1 << DENSITY_COARSER) - 1);
}

/* ---- table ----------------------------------------------------------------------------------- */

/* Finds or adds the cell of a tuple. The last cell of each tuple is tried first, because the
 * next row is mostly in it, too. */
static uint32_t find_cell(struct density_work *w, uint32_t tuple, int64_t number)
{
    struct density_last *last = (struct density_last *)(void *)w->buf[DENSITY_LAST].data + tuple;
    struct density_cell *cells = density_cell_array(&w->buf[DENSITY_CELLS]);
    uint32_t *slots = density_u32(&w->buf[DENSITY_SLOTS]);
    uint64_t key = (uint64_t)tuple << 32 | (uint64_t)(number - w->base);
    uint64_t hash = key * 0x9E3779B97F4A7C15u;
    size_t at = (hash ^ hash >> 31) & w->mask;

    if (last->number == number)
        return last->cell;
    while (slots[at] != 0 && cells[slots[at] - 1].key != key)
        at = (at + 1) & w->mask;
    if (slots[at] == 0) {
        cells[w->count] = (struct density_cell){.key = key};
        slots[at] = ++w->count;
    }
    *last = (struct density_last){number, slots[at] - 1};
    return last->cell;
}

static void clear_table(struct density_work *w)
{
    struct density_last *last = (struct density_last *)(void *)w->buf[DENSITY_LAST].data;

    memset(w->buf[DENSITY_SLOTS].data, 0, (w->mask + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < w->tuples; i++)
        last[i].number = -1;
    w->count = 0;
}

/* Corrects the moment of a cell for a begin that is `by` ns earlier. */
static void move_begin(struct density_cell *c, int64_t by)
{
    c->moment -= c->delta * by;
}

static void add_cell(struct density_cell *to, const struct density_cell *c)
{
    to->begins += c->begins;
    to->delta += c->delta;
    to->moment += c->moment;
}

/* Doubles the time of the cells. */
static void make_coarser(struct density_work *w)
{
    int64_t base = w->base, size = (int64_t)1 << w->shift;
    struct buf old = w->buf[DENSITY_CELLS];
    uint32_t n = w->count;

    w->buf[DENSITY_CELLS] = w->buf[DENSITY_SORTED];
    w->buf[DENSITY_SORTED] = old;
    clear_table(w);
    w->shift++;
    set_base(w);
    for (uint32_t i = 0; i < n; i++) {
        struct density_cell c = density_cell_array(&old)[i];
        int64_t number = base + (int64_t)(uint32_t)c.key;
        if (number & 1)
            move_begin(&c, size);
        uint32_t to = find_cell(w, (uint32_t)(c.key >> 32), number >> 1);
        add_cell(density_cell_array(&w->buf[DENSITY_CELLS]) + to, &c);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void add_row(struct density_work *w, uint32_t tuple, int64_t ts, int64_t te)
{
    struct density_cell *cells = density_cell_array(&w->buf[DENSITY_CELLS]), *c;
    int64_t begin = ts >> w->shift, end = te >> w->shift;

    c = &cells[find_cell(w, tuple, begin)];
    c->begins++;
    if (begin == end) {
        c->moment += te - ts;
        return;
    }
    c->delta++;
    c->moment -= ts - (begin << w->shift);
    c = &cells[find_cell(w, tuple, end)];
    c->delta--;
    c->moment += te - (end << w->shift);
}

/* Returns -EDOM if cells would become too long for sums of times in 64 bits. */
static int add_rows(struct density_work *w)
{
    const uint32_t *ids = density_u32(&w->buf[DENSITY_IDS]);
    const int64_t *ts = density_i64(&w->buf[DENSITY_TS]), *te = density_i64(&w->buf[DENSITY_TE]);

    for (uint32_t row = 0; row < w->rows; row++) {
        if (te[row] < 0)
            continue;
        add_row(w, ids[row], ts[row], te[row]);
        for (; w->count > w->max; make_coarser(w))
            if (w->shift == SHIFT_MAX)
                return -EDOM;
    }
    return 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* A stable radix sort by the low `bits` bits of keys, then by tuple, 8 bits at a time, from
 * `cells` to `sorted`. */
static void sort_cells(struct density_work *w, unsigned bits)
{
    struct density_cell *from = density_cell_array(&w->buf[DENSITY_CELLS]);
    struct density_cell *to = density_cell_array(&w->buf[DENSITY_SORTED]), *swap;
    unsigned tuple_bits = pack_bit_length(w->tuples - 1);

    for (unsigned at = 0; at < 64; at += 8) {
        uint32_t place[257] = {0};
        if ((at < 32 && at >= bits) || (at >= 32 && at - 32 >= tuple_bits))
            continue;
        for (uint32_t i = 0; i < w->count; i++)
            place[(from[i].key >> at & 255) + 1]++;
        for (unsigned d = 1; d < 256; d++)
            place[d] += place[d - 1];
        for (uint32_t i = 0; i < w->count; i++)
            to[place[from[i].key >> at & 255]++] = from[i];
        swap = from;
        from = to;
        to = swap;
    }
    if (from != density_cell_array(&w->buf[DENSITY_SORTED]))
        memcpy(w->buf[DENSITY_SORTED].data, from, w->count * sizeof(*from));
}

int density_cells_make(struct density_work *w, uint32_t max)
{
    size_t slots = 1024;

    max = max < w->rows / 4 ? max : w->rows / 4;
    w->shift = first_shift(w);
    if (w->tuples > max || w->rows > ROWS_MAX || w->shift > SHIFT_MAX)
        return -EDOM;
    /* While rows are added, there may be twice as many cells as in the end. */
    w->max = 2 * max;
    while (slots < 4ul * max)
        slots *= 2;
    w->mask = slots - 1;
    size_t cells = (w->max + 4ul) * sizeof(struct density_cell);
    bool ok =
        density_reserve(&w->buf[DENSITY_SLOTS], slots * sizeof(uint32_t)) != NULL &&
        density_reserve(&w->buf[DENSITY_LAST], w->tuples * sizeof(struct density_last)) != NULL &&
        density_reserve(&w->buf[DENSITY_CELLS], cells) != NULL &&
        density_reserve(&w->buf[DENSITY_SORTED], cells) != NULL;
    if (!ok)
        return -ENOMEM;
    clear_table(w);
    set_base(w);
    int rc = add_rows(w);
    while (rc == 0 && w->count > max && w->shift < SHIFT_MAX)
        make_coarser(w);
    if (rc < 0 || w->count > max)
        return -EDOM;
    sort_cells(w, pack_bit_length((uint64_t)((w->max_te >> w->shift) - w->base)));
    return 0;
}

void density_cells_merge(struct density_work *w)
{
    struct density_cell *all = density_cell_array(&w->buf[DENSITY_SORTED]);
    uint32_t n = 0, low = (1u << DENSITY_COARSER) - 1;

    for (uint32_t i = 0; i < w->count; i++) {
        struct density_cell c = all[i];
        uint32_t number = (uint32_t)c.key;
        move_begin(&c, (int64_t)(number & low) << w->shift);
        c.key = (c.key >> 32) << 32 | number >> DENSITY_COARSER;
        if (n > 0 && all[n - 1].key == c.key)
            add_cell(&all[n - 1], &c);
        else
            all[n++] = c;
    }
    w->count = n;
    w->shift += DENSITY_COARSER;
    w->base >>= DENSITY_COARSER;
}

/* ---- longest rows ---------------------------------------------------------------------------- */

static bool is_longer(const struct density_longest *a, const struct density_longest *b)
{
    return a->dur != b->dur ? a->dur > b->dur : a->row < b->row;
}

/* Inserts a row by its duration. The row that is removed is one of the rest. */
static void insert_longest(struct density_work *w, struct density_longest row)
{
    struct density_longest *all = w->longest;
    uint32_t at = w->longest_count;

    if (at == DENSITY_LONGEST && !is_longer(&row, &all[at - 1])) {
        w->rest_dur = row.dur > w->rest_dur ? row.dur : w->rest_dur;
        return;
    }
    if (at == DENSITY_LONGEST)
        w->rest_dur = all[--at].dur; /* the longest of the rest */
    else
        w->longest_count++;
    for (; at > 0 && is_longer(&row, &all[at - 1]); at--)
        all[at] = all[at - 1];
    all[at] = row;
}

static int compare_rows(const void *a, const void *b)
{
    uint32_t x = ((const struct density_longest *)a)->row,
             y = ((const struct density_longest *)b)->row;

    return (x > y) - (x < y);
}

void density_find_longest(struct density_work *w)
{
    const int64_t *ts = density_i64(&w->buf[DENSITY_TS]), *te = density_i64(&w->buf[DENSITY_TE]);

    w->longest_count = 0;
    w->rest_dur = INT64_MIN;
    for (uint32_t row = 0; row < w->rows; row++)
        if (te[row] >= 0)
            insert_longest(w, (struct density_longest){te[row] - ts[row], row});
    qsort(w->longest, w->longest_count, sizeof(*w->longest), compare_rows);
}
