/* archive_list.c - the members of an archive in the order of its text, and which of them become
 * files of the index. */
#include "index/catalog/archive_list.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A name that is nothing but the ending is that of a hidden file. */
bool index_is_trace(struct text name)
{
    struct text ending = text_ends(name, TEXT(".gz")) ? TEXT(".pfw.gz") : TEXT(".pfw");

    return name.len > ending.len && text_ends(name, ending);
}

bool index_is_archive(struct text name)
{
    return text_ends(name, TEXT(".tar.gz")) || text_ends(name, TEXT(".tgz")) ||
           text_ends(name, TEXT(".tar"));
}

const char *index_skip_name(enum index_skip skip)
{
    static const char *const names[] = {NULL,       "no file",  "no trace",
                                        "bad name", "replaced", "not complete yet"};

    return (unsigned)skip < sizeof names / sizeof *names ? names[skip] : "unknown";
}

/* ---- lists ----------------------------------------------------------------------------------- */

int archive_list_add(struct archive_list *l, const struct trace_tar_member *m)
{
    /* Members with longer names are not indexed: the beginning of the name is enough to list
     * them. */
    struct text name = {m->name.ptr, m->name.len < PATH_MAX ? m->name.len : PATH_MAX};

    buf_text(&l->names, name);
    return l->names.error ? l->names.error
                          : vec_push(&l->list, {.name = {NULL, name.len},
                                                .kind = (uint8_t)m->kind,
                                                .offset = m->offset,
                                                .size = m->size,
                                                .mtime_s = m->mtime_s});
}

int archive_list_append(struct archive_list *to, const struct archive_list *from)
{
    int rc = vec_reserve(&to->list, from->list.count);

    for (size_t i = 0; i < from->list.count && rc == 0; i++)
        to->list.at[to->list.count++] = from->list.at[i];
    buf_text(&to->names, (struct text){from->names.data, from->names.len});
    return rc ? rc : to->names.error;
}

void archive_list_done(struct archive_list *l)
{
    vec_done(&l->list);
    buf_done(&l->names);
}

/* ---- which members are files ----------------------------------------------------------------- */

/* Returns whether the name is a relative path without "." and "..", empty parts and control
 * characters. */
static bool is_safe_name(struct text name)
{
    struct text part, rest = name;

    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 0x7f)
            return false;
    while (text_split(&rest, '/', &part))
        if (!part.len || text_eq(part, TEXT(".")) || text_eq(part, TEXT("..")))
            return false;
    return name.len > 0;
}

bool archive_member_is_trace(enum trace_tar_kind kind, struct text name)
{
    return kind == TRACE_TAR_FILE && index_is_trace(name);
}

static enum index_skip member_skip(const struct index_member *m, size_t archive_len,
                                   uint64_t text_bytes, bool finished)
{
    if (m->kind != TRACE_TAR_FILE)
        return INDEX_SKIP_KIND;
    if (!archive_member_is_trace(TRACE_TAR_FILE, m->name))
        return INDEX_SKIP_NO_TRACE;
    if (!is_safe_name(m->name) || archive_len + 1 + m->name.len >= PATH_MAX)
        return INDEX_SKIP_NAME;
    if (m->offset + m->size > text_bytes && !finished)
        return INDEX_SKIP_INCOMPLETE;
    return INDEX_SKIP_NONE;
}

/* If several members have the same name, the last one counts, as when tar extracts them. */
static int mark_replaced(struct index_member *list, uint32_t count)
{
    struct intern *names = intern_new();
    int64_t id = names ? 0 : -ENOMEM;

    for (uint32_t i = count; i-- > 0 && id >= 0;) {
        uint32_t before = intern_count(names);
        if (list[i].skip)
            continue;
        id = intern_add(names, list[i].name);
        if (id >= 0 && id < before)
            list[i].skip = INDEX_SKIP_REPLACED;
    }
    intern_free(names);
    return id < 0 ? (int)id : 0;
}

int archive_list_finish(struct view *v, const struct archive_list *l, uint64_t text_bytes,
                        bool finished)
{
    uint32_t count = l ? (uint32_t)l->list.count : 0;
    struct index_member *list = arena_alloc(&v->arena, (count + 1) * sizeof *list);
    struct text names = {NULL, 0};

    if (count)
        names.ptr = arena_strdup(&v->arena, (struct text){l->names.data, l->names.len});
    if (!list || (count && !names.ptr))
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        struct index_member *m = &list[i];
        *m = l->list.at[i];
        m->name.ptr = names.ptr;
        names.ptr += m->name.len;
        m->skip = (uint8_t)member_skip(m, strlen(v->pub.name), text_bytes, finished);
        if (m->offset + m->size > text_bytes) {
            m->cut = true;
            m->size = text_bytes > m->offset ? text_bytes - m->offset : 0;
        }
    }
    v->pub.archive_members = list;
    v->pub.archive_member_count = count;
    return mark_replaced(list, count);
}
