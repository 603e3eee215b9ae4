/* info_columns.c - /info?detail=columns: the chunks of a file, and its columns as /schema
 * tells them. */
#include "format/report/info.h"

static void put_chunks(struct jw *j, const struct index_file *f)
{
    jw_key(j, "chunk_list");
    jw_begin(j, '[');
    for (uint32_t i = 0; i < f->chunk_count; i++) {
        const struct index_chunk *c = &f->chunks[i];
        const struct {
            const char *key;
            uint64_t value;
        } members[] = {{"number", c->number},
                       {"objects", c->rows},
                       {"text_offset", c->text_offset},
                       {"text_bytes", c->text_len}};
        jw_begin(j, '{');
        for (size_t k = 0; k < sizeof(members) / sizeof(members[0]); k++)
            jw_put_uint(j, members[k].key, members[k].value);
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

/* Of all objects of this file alone. */
static int read_schema(struct format_info *i, uint32_t position, struct budget *budget,
                       struct err *err, struct schema **ret)
{
    struct selection one;
    struct query *q;

    selection_init(&one);
    one.positions = &position;
    one.position_count = 1;
    one.phases = PHASE_ANY;
    int rc = query_open(i->env, i->snapshot, &one, budget, err, &q);
    if (rc < 0)
        return rc;
    rc = schema_run(q, err, ret);
    query_close(q);
    return rc;
}

int info_columns(struct format_info *i, uint32_t position, struct budget *budget, struct err *err)
{
    struct schema *s;
    int rc = read_schema(i, position, budget, err, &s);

    if (rc < 0)
        return rc;
    put_chunks(&i->jw, snapshot_file(i->snapshot, position));
    jw_key(&i->jw, "columns");
    jw_begin(&i->jw, '[');
    for (size_t k = 0; k < s->count; k++)
        jw_object(&i->jw, &schema_column_type, &s->columns[k]);
    jw_end(&i->jw, ']');
    schema_free(s);
    return 0;
}
