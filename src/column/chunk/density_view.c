/* density_view.c - reads densities. */
#include "column/chunk/density.h"
#include "column/chunk/column_view.h"

#include <errno.h>
#include <stdlib.h>

/* The densities of a view, which are opened when they are first needed. */
struct density_view {
    struct density_dir dir;
    uint32_t *rows[DENSITY_SETS]; /* NULL: not yet read */
    uint32_t longest[DENSITY_LONGEST];
    int64_t longest_dur[DENSITY_LONGEST];
    struct level_view {
        bool opened;
        struct pack_stream stream[4];
    } level[DENSITY_SETS][DENSITY_LEVELS];
};

void density_view_free(struct density_view *d)
{
    if (d == NULL)
        return;
    for (unsigned set = 0; set < DENSITY_SETS; set++)
        for (unsigned i = 0; i < DENSITY_LEVELS; i++)
            for (unsigned k = 0; d->level[set][i].opened && k < 4; k++)
                pack_close(&d->level[set][i].stream[k]);
    for (unsigned set = 0; set < DENSITY_SETS; set++)
        free(d->rows[set]);
    free(d);
}

static int open_stream(const struct chunk_view *v, const struct section *s, uint32_t count,
                       struct pack_stream *ret)
{
    return view_section_ok(v, s) ? pack_open(ret, v->data + s->offset, s->len, count) : ERR_CORRUPT;
}

/* ---- directory ------------------------------------------------------------------------------- */

static bool is_valid_level(const struct chunk_view *v, const struct density_dir *d,
                           const struct density_streams *l)
{
    return l->cells > 0 && l->cells <= 2 * v->head.rows && l->shift <= 60 && l->bits <= 32 &&
           l->base >= 0 && l->base <= d->min_ts >> l->shift;
}

static int check_dir(const struct chunk_view *v, const struct density_dir *d)
{
    bool ok = d->longest > 0 && d->longest <= DENSITY_LONGEST && d->min_ts >= 0 &&
              d->max_te >= d->min_ts && d->max_te <= 2 * DENSITY_TIME_MAX &&
              (d->unit == 1 || d->unit == 1000);

    for (unsigned set = 0; set < DENSITY_SETS; set++) {
        const struct density_set_dir *s = &d->set[set];
        ok = ok && s->tuples <= v->head.rows && s->levels <= DENSITY_LEVELS;
        for (unsigned i = 0; ok && i < s->levels; i++)
            ok = is_valid_level(v, d, &s->level[i]);
    }
    return ok ? 0 : ERR_CORRUPT;
}

/* Reads ascending row numbers of the chunk. */
static int read_rows(struct chunk_view *v, const struct section *s, uint32_t count, uint32_t *out)
{
    struct pack_stream stream = {0};
    int rc = count == 0 ? 0 : open_stream(v, s, count, &stream);

    rc = rc < 0 || count == 0 ? rc : pack_read_u32(&stream, 0, count, out);
    pack_close(&stream);
    for (uint32_t i = 0; rc == 0 && i < count; i++)
        if (out[i] >= v->head.rows || (i > 0 && out[i] <= out[i - 1]))
            rc = ERR_CORRUPT;
    return rc;
}

static int open_density(struct chunk_view *v)
{
    const struct section *s = &v->head.density;
    struct density_view *d = calloc(1, sizeof(*d));
    struct pack_stream durs = {0};
    int rc = d == NULL                                           ? -ENOMEM
             : view_section_ok(v, s) && s->len >= sizeof(d->dir) ? 0
                                                                 : ERR_CORRUPT;

    if (rc == 0 && !view_sum_ok(v, VIEW_PART_DENSITY, s, v->head.density_sum))
        rc = ERR_CORRUPT;
    if (rc == 0) {
        memcpy(&d->dir, v->data + s->offset, sizeof(d->dir));
        rc = check_dir(v, &d->dir);
    }
    rc = rc < 0 ? rc : read_rows(v, &d->dir.longest_rows, d->dir.longest, d->longest);
    rc = rc < 0 ? rc : open_stream(v, &d->dir.longest_durs, d->dir.longest, &durs);
    rc = rc < 0 ? rc : pack_read_i64(&durs, 0, d->dir.longest, d->longest_dur);
    pack_close(&durs);
    if (rc < 0)
        density_view_free(d);
    else
        v->density = d;
    return rc;
}

int chunk_density(struct chunk_view *v, struct density *ret)
{
    int rc = v->head.density.len == 0 ? -ENOENT : v->density != NULL ? 0 : open_density(v);

    if (rc < 0)
        return rc;
    const struct density_dir *d = &v->density->dir;
    *ret = (struct density){.longest_count = d->longest,
                            .longest = v->density->longest,
                            .longest_dur = v->density->longest_dur,
                            .rest_dur = d->rest_dur,
                            .min_ts = d->min_ts,
                            .max_te = d->max_te};
    for (unsigned set = 0; set < DENSITY_SETS; set++) {
        struct density_set *to = &ret->set[set];
        *to = (struct density_set){.tuples = d->set[set].tuples, .levels = d->set[set].levels};
        for (unsigned i = 0; i < to->levels; i++) {
            const struct density_streams *l = &d->set[set].level[i];
            to->level[i] = (struct density_level){l->cells, l->shift, l->bits, l->base};
        }
    }
    return 0;
}

int density_rows(struct chunk_view *v, unsigned set, const uint32_t **ret)
{
    const struct density_set_dir *s = &v->density->dir.set[set];
    uint32_t **rows = &v->density->rows[set];
    int rc = 0;

    if (*rows == NULL) {
        *rows = malloc((s->tuples + 1ul) * sizeof(**rows));
        rc = *rows == NULL ? -ENOMEM : read_rows(v, &s->rows, s->tuples, *rows);
        if (rc < 0) {
            free(*rows);
            *rows = NULL;
        }
    }
    *ret = *rows;
    return rc;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static int open_level(const struct chunk_view *v, const struct density_streams *s,
                      struct level_view *l)
{
    const struct section *sections[4] = {&s->keys, &s->begins, &s->deltas, &s->moments};
    int rc = 0;

    l->opened = true;
    for (unsigned i = 0; rc == 0 && i < 4; i++)
        rc = open_stream(v, sections[i], s->cells, &l->stream[i]);
    return rc;
}

static int check_cells(const struct density_set_dir *d, const struct density_streams *s, uint32_t n,
                       const struct density_cells *c)
{
    int64_t max_key = ((int64_t)d->tuples << s->bits) - 1;
    bool bad = c->key[0] < 0 || c->key[n - 1] > max_key;

    for (uint32_t i = 1; i < n; i++)
        bad |= c->key[i] <= c->key[i - 1];
    for (uint32_t i = 0; i < n; i++)
        bad |= (uint64_t)c->begins[i] > UINT32_MAX || c->delta[i] != (int32_t)c->delta[i];
    return bad ? ERR_CORRUPT : 0;
}

/* Computes moments from the stored quotients. */
static void make_moments(const struct density_dir *d, const struct density_streams *s, uint32_t n,
                         struct density_cells *c)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t rest = 0;
        if (c->delta[i] != 0 && d->unit > 1) {
            uint64_t number =
                (uint64_t)s->base + ((uint64_t)c->key[i] & (((uint64_t)1 << s->bits) - 1));
            rest = density_moment_rest(d, (int32_t)c->delta[i], (int64_t)(number << s->shift));
        }
        c->moment[i] = (int64_t)((uint64_t)c->moment[i] * d->unit + (uint64_t)rest);
    }
}

int density_read(struct chunk_view *v, unsigned set, unsigned level, uint32_t first,
                 struct density_cells *ret)
{
    const struct density_dir *d = &v->density->dir;
    const struct density_streams *s = &d->set[set].level[level];
    struct level_view *l = &v->density->level[set][level];
    uint32_t n = s->cells - first < DENSITY_BLOCK ? s->cells - first : DENSITY_BLOCK;
    int64_t *out[4] = {ret->key, ret->begins, ret->delta, ret->moment};
    int rc = l->opened ? 0 : open_level(v, s, l);

    for (unsigned i = 0; rc == 0 && i < 4; i++)
        rc = pack_read_i64(&l->stream[i], first, n, out[i]);
    rc = rc < 0 ? rc : check_cells(&d->set[set], s, n, ret);
    if (rc == 0)
        make_moments(d, s, n, ret);
    return rc;
}

int density_check(struct chunk_view *v)
{
    struct density d;
    struct density_cells cells;
    const uint32_t *rows;
    int rc = chunk_density(v, &d);

    for (unsigned set = 0; rc == 0 && set < DENSITY_SETS; set++)
        rc = density_rows(v, set, &rows);
    for (unsigned set = 0; rc == 0 && set < DENSITY_SETS; set++)
        for (unsigned i = 0; rc == 0 && i < d.set[set].levels; i++)
            for (uint32_t first = 0; rc == 0 && first < d.set[set].level[i].cells;
                 first += DENSITY_BLOCK)
                rc = density_read(v, set, i, first, &cells);
    return rc == -ENOENT ? 0 : rc;
}
