/* archive_members.c - lists of members, and the entries that members are. */
#include "index/catalog/archive_members.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

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
    /* Longer ones are no files: what they begin with is enough to tell them. */
    struct text name = {m->name.ptr, m->name.len < PATH_MAX ? m->name.len : PATH_MAX};

    if (!ARRAY_ROOM(l->list, l->count, l->cap))
        return -ENOMEM;
    l->list[l->count++] = (struct index_member){.name = {NULL, name.len},
                                                .kind = (uint8_t)m->kind,
                                                .offset = m->offset,
                                                .size = m->size,
                                                .mtime_s = m->mtime_s};
    buf_text(&l->names, name);
    return l->names.error;
}

int archive_list_append(struct archive_list *to, const struct archive_list *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        if (!ARRAY_ROOM(to->list, to->count, to->cap))
            return -ENOMEM;
        to->list[to->count++] = from->list[i];
    }
    buf_text(&to->names, (struct text){from->names.data, from->names.len});
    return to->names.error;
}

void archive_list_done(struct archive_list *l)
{
    free(l->list);
    buf_done(&l->names);
    *l = (struct archive_list){0};
}

/* ---- which members are files ----------------------------------------------------------------- */

/* As a path below the archive, without control characters. */
static bool is_good_name(struct text name)
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
    return kind == TRACE_TAR_FILE &&
           (text_ends(name, TEXT(".pfw")) || text_ends(name, TEXT(".pfw.gz")));
}

static enum index_skip judge(const struct index_member *m, size_t archive_len, uint64_t text_bytes,
                             bool finished)
{
    if (m->kind != TRACE_TAR_FILE)
        return INDEX_SKIP_KIND;
    if (!archive_member_is_trace(TRACE_TAR_FILE, m->name))
        return INDEX_SKIP_NO_TRACE;
    if (!is_good_name(m->name) || archive_len + 1 + m->name.len >= PATH_MAX)
        return INDEX_SKIP_NAME;
    if (m->offset + m->size > text_bytes && !finished)
        return INDEX_SKIP_COMING;
    return INDEX_SKIP_NOT;
}

/* As where tar unpacks it: the last one of a name stays. */
static int replace_earlier(struct index_member *list, uint32_t count)
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

int archive_settle(struct body *b, const struct run *r)
{
    const struct archive_list *l = &r->members;
    uint32_t count = r->ended ? l->count : 0;
    struct index_member *list = arena_alloc(&b->arena, (count + 1) * sizeof *list);
    struct text names = {NULL, 0};

    if (count)
        names.ptr = arena_strdup(&b->arena, (struct text){l->names.data, l->names.len});
    if (!list || (count && !names.ptr))
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        struct index_member *m = &list[i];

        *m = l->list[i];
        m->name.ptr = names.ptr;
        names.ptr += m->name.len;
        m->skip = (uint8_t)judge(m, strlen(r->entry->name), r->info.text_offset, r->finished);
        if (m->offset + m->size > r->info.text_offset) {
            m->cut = true;
            m->size = r->info.text_offset > m->offset ? r->info.text_offset - m->offset : 0;
        }
    }
    b->pub.archive_members = list;
    b->pub.archive_member_count = count;
    return replace_earlier(list, count);
}

/* ---- entries --------------------------------------------------------------------------------- */

bool archive_is_readable(const struct entry *archive)
{
    enum index_state state = archive->view->pub.state;

    return archive->view->pub.id != 0 && (state == INDEX_READY || state == INDEX_GROWING);
}

void archive_attach(struct entry *e, struct entry *archive)
{
    if (e->archive == archive)
        return;
    if (e->archive) {
        if (e->next_member)
            e->next_member->previous_member = e->previous_member;
        if (e->previous_member)
            e->previous_member->next_member = e->next_member;
        else
            e->archive->members = e->next_member;
    }
    e->archive = archive;
    e->previous_member = e->next_member = NULL;
    if (!archive)
        return;
    e->next_member = archive->members;
    if (archive->members)
        archive->members->previous_member = e;
    archive->members = e;
}

/* Another file had this name, or another part of the archive. */
static void take_place(struct index *ix, struct entry *e, struct entry *archive,
                       const struct index_member *m)
{
    if (e->archive != archive || strcmp(e->path, archive->path) != 0) {
        const char *path = arena_strdup(&ix->strings, text_of(archive->path));
        e->path = path ? path : e->path;
        links_note(ix, e, NULL, false);
        archive_attach(e, archive);
    }
    e->unsettled = false;
    e->link_of = NULL;
    e->member = (struct body_member){.offset = m->offset, .size = m->size, .cut = m->cut};
    e->seen = archive->view->body->identity;
}

static void offer_member(struct index *ix, struct entry *archive, const struct index_member *m)
{
    const struct identity *now = &archive->view->body->identity;
    struct buf name = {0};
    struct entry *e = NULL;

    buf_printf(&name, "%s/", archive->name);
    buf_text(&name, m->name);
    buf_putc(&name, '\0');
    if (!name.error)
        e = catalog_entry(ix, name.data, archive->path, true);
    buf_done(&name);
    if (!e)
        return; /* without memory: with the next walk */
    take_place(ix, e, archive, m);
    e->asked = e->asked || archive->asked;
    if (e->view->pub.state == INDEX_MISSING)
        catalog_revive(ix, e, now);
    else if (e->view->pub.id == 0 && e->view->pub.state == INDEX_PENDING)
        catalog_show_size(ix, e);
    e->offered = true;
    e->listed = true;
    if (e->run)
        e->again = true;
    else if (!catalog_is_unasked(ix, e) && catalog_is_news(e, clock_mono_ns()))
        catalog_queue(ix, e, false);
}

static void forget_unlisted(struct index *ix, struct entry *archive)
{
    for (struct entry *e = archive->members; e; e = e->next_member)
        if (!e->listed && e->view->pub.state != INDEX_MISSING)
            catalog_forget(ix, e);
}

void archive_offer_members(struct index *ix, struct entry *archive)
{
    const struct index_file *f = &archive->view->pub;

    if (!archive_is_readable(archive))
        return;
    for (struct entry *e = archive->members; e; e = e->next_member)
        e->listed = false;
    for (uint32_t i = 0; i < f->archive_member_count; i++)
        if (!f->archive_members[i].skip)
            offer_member(ix, archive, &f->archive_members[i]);
    forget_unlisted(ix, archive);
}

void archive_forget_members(struct index *ix, struct entry *archive)
{
    for (struct entry *e = archive->members; e; e = e->next_member)
        e->listed = false;
    forget_unlisted(ix, archive);
}

int archive_link(struct index *ix)
{
    for (uint32_t i = 0, n = ix->entry_count; i < n; i++) {
        struct entry *e = ix->entries[i];
        const struct body_member *m = &e->view->body->member;
        struct entry *archive;

        if (!e->view->pub.archive)
            continue;
        archive = catalog_entry(ix, e->view->pub.archive, e->path, true);
        if (!archive)
            return -ENOMEM;
        archive_attach(e, archive);
        e->member = *m;
    }
    return 0;
}
