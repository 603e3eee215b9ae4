/* density.c - answers chunks from their densities (column.h), if columns begin at borders of
 * cells: one row of each tuple is read for its keys, then the tuple's cells are added up. */
#include "answer/timeline/density.h"

#include <errno.h>
#include <stdlib.h>

/* ---- choice of chunks ------------------------------------------------------------------------ */

/* True if the whole chunk lies in one column. */
static bool is_in_column(const struct timeline_plan *p, const struct density *d)
{
    if (d->min_ts < p->from || d->max_te > p->to)
        return false;
    return timeline_column(p, (uint64_t)d->min_ts - (uint64_t)p->from) ==
           timeline_column(p, (uint64_t)d->max_te - (uint64_t)p->from);
}

/* True if the window and its columns begin and end at borders of density cells. */
static bool is_on_borders(const struct timeline_plan *p, unsigned shift)
{
    uint64_t low = ((uint64_t)1 << shift) - 1;

    return ((p->step | (uint64_t)p->from | ((uint64_t)p->to + 1)) & low) == 0;
}

/* Chooses the coarsest such level. */
static bool choose_level(struct timeline_density *d, const struct timeline_plan *p)
{
    d->set = &d->chunk.set[p->density];
    d->whole = is_in_column(p, &d->chunk);
    for (unsigned i = d->set->levels; i-- > 0;)
        if (d->whole || is_on_borders(p, d->set->level[i].shift)) {
            d->level = i;
            return true;
        }
    return false;
}

/* Allocates a bitmap of the chunk's rows. */
static int wanted_reserve(struct timeline_density *d, const struct timeline_plan *p, uint32_t rows)
{
    d->wanted.budget = p->budget;
    d->wanted.count = 0;
    return vec_extend(&d->wanted, (rows + SCAN_BATCH - 1ul) / SCAN_BATCH * SCAN_WORDS);
}

/* Allocates that bitmap and the groups of tuples. */
static int density_reserve(struct timeline_density *d, const struct timeline_plan *p, uint32_t rows)
{
    int rc = wanted_reserve(d, p, rows);

    d->group.budget = p->budget;
    d->group.count = 0;
    rc = rc < 0 ? rc : vec_extend(&d->group, d->set->tuples);
    if (rc == 0 && !d->cells) {
        d->cells = malloc(sizeof(*d->cells));
        rc = d->cells ? 0 : -ENOMEM;
    }
    return rc;
}

static void wanted_add(struct timeline_density *d, uint32_t row)
{
    d->wanted.at[row / 64] |= (uint64_t)1 << row % 64;
}

/* Adds rows that may be picks. */
static void wanted_add_longest(struct timeline_density *d, const struct timeline_plan *p,
                               const struct timeline_pick *last)
{
    d->picks = false;
    for (uint32_t i = 0; p->events > 0 && i < d->chunk.longest_count; i++) {
        if (last && d->chunk.longest_dur[i] < last->dur)
            continue;
        wanted_add(d, d->chunk.longest[i]);
        d->picks = true;
    }
}

int timeline_density_plan(struct timeline_density *d, const struct timeline_plan *p,
                          const struct timeline_pick *last, struct scan_chunk *c)
{
    if (p->density < 0)
        return 0;
    int rc = chunk_density(c->view, &d->chunk);
    if (rc < 0)
        return rc == -ENOENT ? 0 : rc;
    if (d->chunk.max_te < p->from || d->chunk.min_ts > p->to || !choose_level(d, p))
        return 0;
    rc = density_rows(c->view, (unsigned)p->density, &d->rows);
    rc = rc < 0 ? rc : density_reserve(d, p, c->rows);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < d->set->tuples; i++)
        wanted_add(d, d->rows[i]);
    wanted_add_longest(d, p, last);
    d->tuple = d->longest = 0;
    c->wanted = d->wanted.at;
    return 0;
}

int timeline_select_long(struct chunk_view *v, __int128 min_ns, uint64_t *out)
{
    struct column dur;

    if (chunk_find(v, TEXT("dur"), &dur) < 0 || dur.type != COLUMN_TIME)
        return -EDOM;
    __int128 unit = dur.nano ? 1 : 1000, from = (min_ns + unit - 1) / unit;
    return from > INT64_MAX ? -EDOM : column_select_i64(v, &dur, (int64_t)from, INT64_MAX, out);
}

/* Without a minimum duration all rows are read. */
int timeline_density_plan_unlisted(struct timeline_density *d, const struct timeline_plan *p,
                                   const struct timeline_pick *last, struct scan_chunk *c)
{
    int rc = chunk_density(c->view, &d->chunk);

    if (rc < 0 || !last || last->dur < 1000)
        return rc;
    rc = wanted_reserve(d, p, c->rows);
    rc = rc < 0 ? rc : timeline_select_long(c->view, last->dur, d->wanted.at);
    if (rc == 0)
        c->wanted = d->wanted.at;
    return rc == -EDOM ? 0 : rc;
}

static bool is_next(const uint32_t *rows, uint32_t n, uint32_t *at, uint32_t row)
{
    while (*at < n && rows[*at] < row)
        ++*at;
    return *at < n && rows[*at] == row;
}

bool timeline_density_tuple(struct timeline_density *d, uint32_t row, uint32_t *ret_tuple)
{
    bool is_one = is_next(d->rows, d->set->tuples, &d->tuple, row);

    *ret_tuple = d->tuple;
    return is_one;
}

bool timeline_density_longest(struct timeline_density *d, uint32_t row, int64_t *ret_dur)
{
    if (!d->picks || !is_next(d->chunk.longest, d->chunk.longest_count, &d->longest, row))
        return false;
    *ret_dur = d->chunk.longest_dur[d->longest];
    return true;
}

/* ---- cells of a tuple ------------------------------------------------------------------------ */

struct tuple_run {
    struct groups *found;
    const struct timeline_plan *plan;
    struct timeline_density *density;
    struct timeline_cells *to; /* NULL: the tuple is not selected */
    uint64_t *objects;         /* count of its group */
    uint32_t tuple;
    int64_t active, at; /* objects active at time `at`; everything before is added */
    bool entered, past; /* in the window; after the window */
};

/* Adds objects that begin in the column, and their total time in it. */
static inline void add_objects(struct tuple_run *r, uint32_t column, int64_t begins, uint64_t ns)
{
    r->to->parts[column].count += (uint32_t)begins;
    r->to->touched |= timeline_block(r->plan, column);
    *r->objects += (uint64_t)begins;
    timeline_add_busy(r->plan->step, r->to->parts, column, ns);
}

/* Adds `ns` of each active object to the column. */
static void add_active(struct tuple_run *r, uint32_t column, uint64_t ns)
{
    const struct timeline_plan *p = r->plan;
    uint64_t busy;

    if (__builtin_expect(__builtin_mul_overflow((uint64_t)r->active, ns, &busy), 0))
        timeline_add_wide(p->step, r->to->parts, column, (unsigned __int128)r->active * ns);
    else
        timeline_add_busy(p->step, r->to->parts, column, busy);
    r->to->touched |= timeline_block(r->plan, column);
}

static inline int make_parts(struct tuple_run *r)
{
    return r->to->parts ? 0 : timeline_make_parts(r->plan, r->to);
}

/* Adds the time from r->at to `end`, which is at most the window's end, of all active objects. */
static void cover_time(struct tuple_run *r, int64_t end)
{
    const struct timeline_plan *p = r->plan;
    uint64_t from = (uint64_t)r->at - (uint64_t)p->from, to = (uint64_t)end - (uint64_t)p->from;

    if (to <= from)
        return;
    uint32_t a = timeline_column(p, from), b = timeline_column(p, to - 1);
    if (a == b) {
        add_active(r, a, to - from);
        return;
    }
    add_active(r, a, p->step - (from - a * p->step));
    add_active(r, b, to - b * p->step);
    r->to->parts[a + 1].cover += (int32_t)r->active;
    r->to->parts[b].cover -= (int32_t)r->active;
    r->to->touched |= timeline_block(p, a + 1);
}

static int enter_window(struct tuple_run *r)
{
    int rc = r->active > 0 ? make_parts(r) : 0;

    r->entered = true;
    r->at = r->plan->from;
    if (r->active == 0 || rc < 0)
        return rc;
    add_objects(r, 0, r->active, 0);
    r->to->parts[r->plan->columns].count += (uint32_t)r->active;
    return 0;
}

/* Objects that continue after the window are cut at its last ns, which itself does not count. */
static int end_tuple(struct tuple_run *r)
{
    const struct timeline_plan *p = r->plan;

    if (!r->to || r->density->whole)
        return 0;
    int rc = r->entered ? 0 : enter_window(r);
    if (r->active == 0 || rc < 0)
        return rc;
    cover_time(r, (int64_t)((uint64_t)p->to + 1));
    struct timeline_part *last = &r->to->parts[p->columns - 1];
    uint64_t active = (uint64_t)r->active;
    if (last->busy < active) { /* whole columns of it were added to `cover` */
        uint64_t columns = (active - last->busy) / p->step + 1;
        last->busy += columns * p->step;
        last[0].cover -= (int32_t)columns;
        last[1].cover += (int32_t)columns;
    }
    last->busy -= active;
    return 0;
}

/* Returns the time that objects take in a cell in which they begin, end or are active. */
static inline uint64_t busy_of(const struct density_cells *c, uint32_t i, int64_t after,
                               unsigned shift)
{
    return ((uint64_t)after << shift) + (uint64_t)c->moment[i];
}

static int add_whole(struct tuple_run *r, uint32_t i, int64_t begin, uint64_t busy)
{
    const struct timeline_density *d = r->density;
    uint32_t column = timeline_column(r->plan, (uint64_t)d->chunk.min_ts - (uint64_t)r->plan->from);
    int rc = make_parts(r);

    if (rc < 0)
        return rc;
    if (r->active > 0)
        add_active(r, column, (uint64_t)(begin - r->at));
    add_objects(r, column, d->cells->begins[i], busy);
    return 0;
}

static int add_in_window(struct tuple_run *r, uint32_t i, int64_t begin, uint64_t busy)
{
    const struct timeline_plan *p = r->plan;
    int rc = r->entered ? 0 : enter_window(r);

    r->past = begin > p->to;
    rc = rc < 0 || r->past ? rc : make_parts(r);
    if (rc < 0 || r->past)
        return rc;
    if (r->active > 0)
        cover_time(r, begin);
    add_objects(r, timeline_column(p, (uint64_t)begin - (uint64_t)p->from),
                r->density->cells->begins[i], busy);
    return 0;
}

static int add_cell(struct tuple_run *r, uint32_t i)
{
    const struct timeline_density *d = r->density;
    unsigned shift = d->set->level[d->level].shift, bits = d->set->level[d->level].bits;
    int64_t number = d->cells->key[i] & (((int64_t)1 << bits) - 1);
    int64_t begin = (d->set->level[d->level].base + number) << shift,
            end = begin + ((int64_t)1 << shift);
    int64_t after = (int64_t)((uint64_t)r->active + (uint64_t)d->cells->delta[i]);
    int rc = 0;

    if (r->past)
        return 0;
    if (after < 0 || after > INT32_MAX)
        return ERR_CORRUPT;
    if (d->whole)
        rc = add_whole(r, i, begin, busy_of(d->cells, i, after, shift));
    else if (end > r->plan->from)
        rc = add_in_window(r, i, begin, busy_of(d->cells, i, after, shift));
    if (!r->past) {
        r->active = after;
        r->at = end;
    }
    return rc;
}

static void begin_tuple(struct tuple_run *r, uint32_t tuple)
{
    uint32_t group = r->density->group.at[tuple];

    r->tuple = tuple;
    r->to = group > 0 ? timeline_cells_at(r->found, group - 1) : NULL;
    r->objects = group > 0 ? group_count(&r->found->set[TIMELINE_CELLS], group - 1) : NULL;
    r->active = 0;
    r->entered = r->past = false;
}

/* Adds a block of cells. */
static int add_cells(struct tuple_run *r, uint32_t n)
{
    const struct timeline_density *d = r->density;
    unsigned bits = d->set->level[d->level].bits;
    int rc = 0;

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        uint32_t tuple = (uint32_t)(d->cells->key[i] >> bits);
        if (tuple != r->tuple) {
            rc = end_tuple(r);
            begin_tuple(r, tuple);
        }
        if (rc == 0 && r->to)
            rc = add_cell(r, i);
    }
    return rc;
}

int timeline_density_end(struct timeline_density *d, const struct timeline_plan *p,
                         struct groups *found, struct scan_chunk *c)
{
    struct tuple_run r = {.found = found, .plan = p, .density = d};
    uint32_t cells = d->set->level[d->level].cells;
    int rc = 0;

    begin_tuple(&r, 0);
    for (uint32_t first = 0; first < cells && rc == 0; first += DENSITY_BLOCK) {
        rc = density_read(c->view, (unsigned)p->density, d->level, first, d->cells);
        rc = rc < 0 ? rc
                    : add_cells(&r, cells - first < DENSITY_BLOCK ? cells - first : DENSITY_BLOCK);
    }
    return rc < 0 ? rc : end_tuple(&r);
}

void timeline_density_done(struct timeline_density *d)
{
    vec_done(&d->wanted);
    vec_done(&d->group);
    free(d->cells);
}
