/* column_texts.c - the dictionary entries of TEXT and MIXED columns. */
#include "column/chunk/column_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void view_dictionary_free(struct column_view *c)
{
    free(c->ids);
    free(c->types);
    free(c->local);
    free(c->ends);
    free(c->bytes);
    c->ids = c->local = NULL;
    c->types = c->numbers = NULL;
    c->ends = NULL;
    c->bytes = NULL;
}

static int read_section(struct chunk_view *v, const struct section *section, uint32_t count,
                        int64_t *out)
{
    struct pack_stream s;
    int rc = pack_open(&s, v->data + section->offset, section->len, count);

    if (rc == 0)
        rc = pack_read_i64(&s, 0, count, out);
    pack_close(&s);
    return rc;
}

static int read_ids(struct chunk_view *v, struct column_view *c)
{
    struct pack_stream s;
    int rc = view_check_column(v, c);

    if (rc < 0)
        return rc;
    c->ids = malloc(c->dir.entries * sizeof(*c->ids));
    if (c->ids == NULL)
        return -ENOMEM;
    if (c->dir.ids.len == 0) {
        memset(c->ids, 0xff, c->dir.entries * sizeof(*c->ids));
        return 0;
    }
    rc = pack_open(&s, v->data + c->dir.ids.offset, c->dir.ids.len, c->dir.entries);
    if (rc == 0)
        rc = pack_read_u32(&s, 0, c->dir.entries, c->ids);
    pack_close(&s);
    for (uint32_t i = 0; rc == 0 && v->texts.here && i < c->dir.entries; i++)
        if (c->ids[i] != INDEX_NO_TEXT)
            c->ids[i] = v->texts.here(v->texts.ids, c->ids[i]);
    return rc;
}

static int read_types(struct chunk_view *v, struct column_view *c)
{
    int rc;

    if (c->dir.entries > UINT32_MAX / 2)
        return ERR_CORRUPT;
    c->types = malloc(2 * (size_t)c->dir.entries * sizeof(*c->types));
    if (c->types == NULL)
        return -ENOMEM;
    c->numbers = c->types + c->dir.entries;
    rc = read_section(v, &c->dir.ids, 2 * c->dir.entries, c->types);
    for (uint32_t i = 0; rc == 0 && i < c->dir.entries; i++)
        if (c->types[i] < TRACE_INT || c->types[i] > TRACE_BIG)
            rc = ERR_CORRUPT;
    return rc;
}

/* Reads the end of each local text, and checks that the lengths add up to the number of bytes. */
static int read_ends(struct chunk_view *v, struct column_view *c)
{
    int64_t *lens = malloc(((size_t)c->dir.locals + 1) * sizeof(*lens));
    uint64_t end = 0;
    size_t bytes = 0;
    int rc = lens ? 0 : -ENOMEM;

    c->ends = (uint64_t *)lens;
    if (rc == 0 && c->dir.locals > 0)
        rc = read_section(v, &c->dir.lens, c->dir.locals, lens);
    if (rc == 0 && c->dir.locals > 0)
        rc = pack_decode_bytes(v->data + c->dir.bytes.offset, c->dir.bytes.len, &c->bytes, &bytes);
    for (uint32_t i = 0; rc == 0 && i < c->dir.locals; i++) {
        if (lens[i] < 0 || (uint64_t)lens[i] > bytes - end)
            rc = ERR_CORRUPT;
        end += (uint64_t)lens[i];
        c->ends[i] = end;
    }
    return rc ? rc : end == bytes ? 0 : ERR_CORRUPT;
}

static int number_locals(struct column_view *c)
{
    uint32_t next = 0;

    c->local = malloc(c->dir.entries * sizeof(*c->local));
    if (c->local == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < c->dir.entries; i++) {
        bool local = c->types ? c->types[i] >= TRACE_TEXT : c->ids[i] == INDEX_NO_TEXT;
        c->local[i] = local ? next++ : UINT32_MAX;
    }
    return next == c->dir.locals ? 0 : ERR_CORRUPT;
}

int view_dictionary(struct chunk_view *v, struct column_view *c)
{
    if (c->local != NULL)
        return 0;
    int rc = view_check_column(v, c);
    if (rc < 0)
        return rc;
    rc = c->dir.type == COLUMN_MIXED ? read_types(v, c) : c->ids ? 0 : read_ids(v, c);
    if (rc == 0)
        rc = read_ends(v, c);
    if (rc == 0)
        rc = number_locals(c);
    if (rc < 0)
        view_dictionary_free(c);
    return rc;
}

/* ---- entries --------------------------------------------------------------------------------- */

static struct text local_text(const struct column_view *c, uint32_t code)
{
    uint32_t i = c->local[code];
    uint64_t start = i ? c->ends[i - 1] : 0;

    return (struct text){c->bytes + start, c->ends[i] - start};
}

int column_entry(struct chunk_view *v, const struct column *col, uint32_t code,
                 struct column_entry *ret)
{
    struct column_view *c = view_of(col);
    struct column_entry e = {.type = TRACE_TEXT, .text_id = INDEX_NO_TEXT};

    if (code >= col->entries)
        return -EINVAL;
    int rc = view_dictionary(v, c);
    if (rc < 0)
        return rc;
    if (col->type == COLUMN_MIXED) {
        e.type = (uint8_t)c->types[code];
        if (c->local[code] != UINT32_MAX)
            e.text = local_text(c, code);
        else if (e.type == TRACE_DOUBLE)
            memcpy(&e.d, &c->numbers[code], sizeof(e.d));
        else
            e.i = c->numbers[code];
        /* no trace has other doubles, and they have no decimal text to hash */
        rc = e.type == TRACE_DOUBLE && !isfinite(e.d) ? ERR_CORRUPT : 0;
        if (rc < 0)
            return rc;
    } else if (c->local[code] != UINT32_MAX) {
        e.text = local_text(c, code);
    } else {
        e.text_id = c->ids[code];
        if (v->texts.text != NULL) {
            e.text = v->texts.text(v->texts.arg, e.text_id);
            if (e.text.ptr == NULL)
                return ERR_CORRUPT;
        }
    }
    *ret = e;
    return 0;
}

int column_entry_ids(struct chunk_view *v, const struct column *col, const uint32_t **ret)
{
    struct column_view *c = view_of(col);
    int rc = 0;

    if (col->type != COLUMN_TEXT)
        return -EINVAL;
    if (c->ids == NULL) {
        rc = read_ids(v, c);
        if (rc < 0) {
            free(c->ids);
            c->ids = NULL;
            return rc;
        }
    }
    *ret = c->ids;
    return 0;
}
