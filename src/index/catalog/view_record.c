/* view_record.c - a view as bytes: the record of the file, and the lists that it leaves out. */
#include "index/catalog/view_record.h"
#include "index/catalog/catalog_record.h"
#include "index/catalog/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OBJECT struct index_name
static const struct record_field whole_name_fields[] = {
    FIELD(kind, .max = INDEX_CM), {.kind = RECORD_STRUCT, .of = name_fields}, FIELD(row), {0}};
#undef OBJECT

#define OBJECT struct view
static const struct record_field names_fields[] = {
    FIELD_LIST(pub.names, pub.name_count, whole_name_fields), {0}};
#undef OBJECT

/* ---- to bytes -------------------------------------------------------------------------------- */

/* The view has only a name and a path: nothing of the file has been read, or it is hidden. */
static bool is_bare(const struct view *v)
{
    return v->hidden || !v->index_params || !v->pub.id;
}

void view_encode(struct index *ix, const struct view *v, struct buf *out)
{
    struct buf record = {0};

    rec_put_u(out, v->serial);
    rec_put_u(out, is_bare(v));
    rec_put_u(out, v->pub.id);
    rec_put_u(out, v->pub.state);
    if (is_bare(v)) {
        rec_put_text(out, text_of(v->pub.name));
        rec_put_text(out, text_of(v->pub.path));
        return;
    }
    file_encode(ix, v, &record);
    rec_put_buf(out, &record);
    buf_done(&record);
    rec_put_u(out, v->pub.chunk_count);
    buf_append(out, v->pub.chunks, v->pub.chunk_count * sizeof *v->pub.chunks);
    record_encode(names_fields, v, ix->texts, out);
    /* the parents that forks in other files add */
    rec_put_u(out, v->with_parents != NULL);
    for (uint32_t i = 0; v->with_parents && i < v->pub.process_count; i++) {
        rec_put_i(out, v->with_parents[i].ppid);
        rec_put_u(out, v->with_parents[i].parent_by);
    }
}

/* ---- from bytes ------------------------------------------------------------------------------ */

static int decode_bare(struct rec *in, struct view **ret)
{
    struct view *v = *ret = view_new();

    if (!v)
        return -ENOMEM;
    v->pub.name = arena_strdup(&v->arena, rec_text(in));
    v->pub.path = arena_strdup(&v->arena, rec_text(in));
    return v->arena.error ? v->arena.error : in->bad ? ERR_CORRUPT : 0;
}

static int decode_chunks(struct rec *in, struct view *v, uint16_t home)
{
    uint64_t count = rec_count(in, sizeof *v->pub.chunks);
    struct index_chunk *list = arena_alloc(&v->arena, (count + 1) * sizeof *list);

    if (!list)
        return -ENOMEM;
    if (!rec_array(in, list, count * sizeof *list) || count != v->pub.chunk_count)
        return ERR_CORRUPT;
    for (uint64_t i = 0; i < count; i++)
        list[i].home = list[i].home == home ? 0 : HOME_ELSEWHERE;
    v->pub.chunks = list;
    return 0;
}

static int decode_names(struct index *ix, struct rec *in, struct view *v)
{
    record_decode(names_fields, in, ix->texts, &v->arena, v);
    if (v->arena.error || in->bad)
        return v->arena.error ? v->arena.error : rec_error(in);
    struct index_name *list = (struct index_name *)v->pub.names;
    for (uint32_t i = 0; i < v->pub.name_count; i++)
        list[i].line = INDEX_NO_TEXT;
    names_sort(list, v->pub.name_count); /* the order changes with the text ids of this process */
    return 0;
}

static int decode_parents(struct rec *in, struct view *v)
{
    uint32_t count = v->pub.process_count;

    if (!rec_u(in))
        return 0;
    v->with_parents = malloc((count + 1ul) * sizeof *v->with_parents);
    if (!v->with_parents)
        return -ENOMEM;
    memcpy(v->with_parents, v->pub.processes, count * sizeof *v->with_parents);
    for (uint32_t i = 0; i < count; i++) {
        v->with_parents[i].ppid = rec_i(in);
        v->with_parents[i].parent_by = (uint8_t)rec_choice(in, INDEX_PARENT_SPAWN);
    }
    v->pub.processes = v->with_parents;
    return 0;
}

static int decode_whole(struct index *ix, struct rec *in, uint32_t id, uint16_t home,
                        struct view **ret)
{
    struct rec record = rec_of(rec_text(in));

    record.ids = in->ids;
    int rc = file_decode(ix, id, record, ret);
    rc = rc ? rc : decode_chunks(in, *ret, home);
    rc = rc ? rc : decode_names(ix, in, *ret);
    return rc ? rc : decode_parents(in, *ret);
}

int view_decode(struct index *ix, struct rec *in, uint16_t home, struct view **ret)
{
    uint64_t serial = rec_u(in);
    bool bare = rec_u(in);
    uint32_t id = (uint32_t)rec_u(in);
    enum index_state state = (enum index_state)rec_choice(in, INDEX_MISSING);

    *ret = NULL;
    int rc = bare ? decode_bare(in, ret) : decode_whole(ix, in, id, home, ret);
    rc = rc ? rc : in->bad ? ERR_CORRUPT : 0;
    if (rc) {
        view_release(*ret);
        *ret = NULL;
        return rc;
    }
    (*ret)->serial = serial;
    (*ret)->pub.state = state;
    return 0;
}
