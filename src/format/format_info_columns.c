/* format_info_columns.c - /info?detail=columns: the chunks of a file and the columns that they have. */
#include "format_info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct seen {
    uint64_t rows, chunks;
    unsigned types; /* bits 1 << enum column_type */
    bool ranged;    /* numbers of one kind: min and max are told */
    struct value min, max;
};
struct columns {
    struct intern *paths;
    struct seen *seen;
    size_t cap;
};

static const char *type_name(unsigned types)
{
    static const struct {
        unsigned type;
        const char *name;
    } names[] = {
        {1u << COLUMN_INT, "int"},   {1u << COLUMN_TIME, "time"},   {1u << COLUMN_DOUBLE, "float"},
        {1u << COLUMN_BOOL, "bool"}, {1u << COLUMN_TEXT, "string"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (types == names[i].type)
            return names[i].name;
    }
    return "mixed";
}

static bool column_range(const struct column *c, struct value *min, struct value *max)
{
    __int128 unit = c->nano ? 1 : 1000;

    if (c->nulls == c->rows)
        return false;
    if (c->type == COLUMN_INT) {
        *min = (struct value){.type = VALUE_INT, .i = c->min};
        *max = (struct value){.type = VALUE_INT, .i = c->max};
    } else if (c->type == COLUMN_TIME) {
        *min = (struct value){.type = VALUE_TIME, .wide = c->min * unit};
        *max = (struct value){.type = VALUE_TIME, .wide = c->max * unit};
    } else if (c->type == COLUMN_DOUBLE) {
        *min = (struct value){.type = VALUE_DOUBLE, .d = c->min_f64};
        *max = (struct value){.type = VALUE_DOUBLE, .d = c->max_f64};
    } else {
        return false;
    }
    return true;
}

static int add_column(struct columns *cs, const struct column *c)
{
    struct value min, max;
    int64_t id = intern_add(cs->paths, c->path);

    if (id < 0)
        return (int)id;
    if ((size_t)id >= cs->cap) {
        size_t cap = cs->cap ? cs->cap * 2 : 64;
        struct seen *grown = realloc(cs->seen, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        memset(grown + cs->cap, 0, (cap - cs->cap) * sizeof(*grown));
        cs->seen = grown;
        cs->cap = cap;
    }
    struct seen *s = &cs->seen[id];
    bool ranged = column_range(c, &min, &max);
    if (ranged && (s->chunks == 0 || s->ranged)) {
        s->min = s->chunks == 0 || value_cmp(&min, &s->min) < 0 ? min : s->min;
        s->max = s->chunks == 0 || value_cmp(&max, &s->max) > 0 ? max : s->max;
        s->ranged = true;
    } else {
        s->ranged = false;
    }
    s->rows += c->rows - c->nulls;
    s->types |= 1u << c->type;
    s->chunks++;
    return 0;
}

static int read_columns(struct columns *cs, struct index *ix, struct snapshot *s,
                        const struct index_file *f)
{
    int rc = 0;

    for (uint32_t i = 0; i < f->chunk_count && rc == 0; i++) {
        struct chunk_view *view;
        struct column c;
        rc = chunk_open(ix, s, f, i, &view);
        if (rc < 0)
            break;
        for (uint32_t k = 0; k < chunk_column_count(view) && rc == 0; k++) {
            chunk_column(view, k, &c);
            if (c.path.len == 0 || c.path.ptr[0] != '@')
                rc = add_column(cs, &c);
        }
        chunk_close(view);
    }
    return rc;
}

static int compare_paths(const void *a, const void *b, void *arg)
{
    const struct intern *paths = arg;

    return text_cmp(intern_text(paths, *(const uint32_t *)a),
                    intern_text(paths, *(const uint32_t *)b));
}

static void put_column(struct jw *j, struct text path, const struct seen *s)
{
    jw_begin(j, '{');
    jw_key(j, "path");
    jw_text(j, path);
    jw_key(j, "type");
    jw_str(j, type_name(s->types));
    jw_key(j, "rows");
    jw_uint(j, s->rows);
    jw_key(j, "chunks");
    jw_uint(j, s->chunks);
    jw_key(j, "min");
    jw_value(j, s->ranged ? &s->min : &(struct value){.type = VALUE_NULL});
    jw_key(j, "max");
    jw_value(j, s->ranged ? &s->max : &(struct value){.type = VALUE_NULL});
    jw_end(j, '}');
}

static int put_columns(struct jw *j, const struct columns *cs)
{
    uint32_t count = intern_count(cs->paths);
    uint32_t *order = malloc((count + 1) * sizeof(*order));

    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof(*order), compare_paths, cs->paths);
    jw_key(j, "columns");
    jw_begin(j, '[');
    for (uint32_t i = 0; i < count; i++)
        put_column(j, intern_text(cs->paths, order[i]), &cs->seen[order[i]]);
    jw_end(j, ']');
    free(order);
    return 0;
}

static void put_chunks(struct jw *j, const struct index_file *f)
{
    jw_key(j, "chunk_list");
    jw_begin(j, '[');
    for (uint32_t i = 0; i < f->chunk_count; i++) {
        const struct index_chunk *c = &f->chunks[i];
        jw_begin(j, '{');
        jw_key(j, "number");
        jw_uint(j, c->number);
        jw_key(j, "objects");
        jw_uint(j, c->rows);
        jw_key(j, "text_offset");
        jw_uint(j, c->text_offset);
        jw_key(j, "text_bytes");
        jw_uint(j, c->text_len);
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

int info_columns(struct jw *j, struct index *ix, struct snapshot *s, const struct index_file *f)
{
    struct columns cs = {.paths = intern_new()};
    int rc = cs.paths ? read_columns(&cs, ix, s, f) : -ENOMEM;

    if (rc == 0) {
        put_chunks(j, f);
        rc = put_columns(j, &cs);
    }
    intern_free(cs.paths);
    free(cs.seen);
    return rc;
}
