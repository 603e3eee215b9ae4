/* archive_members.c - catalog entries of the members of archives. */
#include "index/catalog/archive_members.h"

#include <errno.h>
#include <string.h>

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

/* Attaches the entry to this archive. Its name may have belonged to another file before, or to
 * another part of the archive. */
static void attach_member(struct index *ix, struct entry *e, struct entry *archive,
                          const struct index_member *m)
{
    if (e->archive != archive || strcmp(e->path, archive->path) != 0) {
        const char *path = arena_strdup(&ix->strings, text_of(archive->path));
        e->path = path ? path : e->path;
        catalog_note_link(ix, e, NULL, false);
        archive_attach(e, archive);
    }
    e->unresolved = false;
    e->link_of = NULL;
    e->member = (struct member_place){.offset = m->offset, .size = m->size, .cut = m->cut};
    e->seen = archive->view->identity;
}

/* Returns false if memory is short. */
static bool offer_member(struct index *ix, struct entry *archive, const struct index_member *m)
{
    const struct identity *now = &archive->view->identity;
    struct buf name = {0};
    struct entry *e = NULL;

    buf_printf(&name, "%s/", archive->name);
    buf_text(&name, m->name);
    buf_putc(&name, '\0');
    if (!name.error)
        e = catalog_entry(ix, name.data, archive->path, true);
    buf_done(&name);
    if (!e)
        return false;
    attach_member(ix, e, archive, m);
    e->requested = true;
    if (e->view->pub.state == INDEX_MISSING)
        catalog_revive(ix, e, now);
    if (e->view->pub.state == INDEX_MISSING)
        return false;
    if (e->view->pub.id == 0 && e->view->pub.state == INDEX_PENDING)
        catalog_publish_size(ix, e);
    e->offered = true;
    e->listed = true;
    if (e->run)
        e->again = true;
    else if (catalog_needs_reading(e, clock_mono_ns()))
        catalog_queue(ix, e, false);
    return true;
}

static int forget_unlisted(struct index *ix, struct entry *archive)
{
    int rc = 0;

    for (struct entry *e = archive->members; e; e = e->next_member)
        if (!e->listed && e->view->pub.state != INDEX_MISSING && catalog_forget(ix, e) < 0)
            rc = -ENOMEM;
    return rc;
}

void archive_offer_members(struct index *ix, struct entry *archive)
{
    const struct index_file *f = &archive->view->pub;
    bool all = true;

    archive->offer_again = false;
    if (!archive_is_readable(archive))
        return;
    for (struct entry *e = archive->members; e; e = e->next_member)
        e->listed = false;
    for (uint32_t i = 0; i < f->archive_member_count; i++)
        if (!f->archive_members[i].skip)
            all &= offer_member(ix, archive, &f->archive_members[i]);
    all &= forget_unlisted(ix, archive) == 0;
    archive->offer_again = !all;
}

int archive_forget_members(struct index *ix, struct entry *archive)
{
    for (struct entry *e = archive->members; e; e = e->next_member)
        e->listed = false;
    return forget_unlisted(ix, archive);
}

int archive_link(struct index *ix)
{
    for (uint32_t i = 0, n = ix->entries.count; i < n; i++) {
        struct entry *e = ix->entries.at[i];
        if (!e->view->pub.archive)
            continue;
        struct entry *archive = catalog_entry(ix, e->view->pub.archive, e->path, true);
        if (!archive)
            return -ENOMEM;
        archive_attach(e, archive);
        e->member = e->view->member;
    }
    return 0;
}
