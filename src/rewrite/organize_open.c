/* organize_open.c - checks the requested groups: names that can be directories, and queries; and
 * opens them. */
#include "rewrite/organize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_NAME_MAX = 200 };

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f || name[i] == '/')
            return false;
    }
    return len > 0 && len <= GROUP_NAME_MAX && name[0] != '.' && text_is_utf8(text_of(name));
}

static int refuse_group(struct err *err, const char *name, const char *why)
{
    return err_set_param(err, ERR_PARAM, "groups", "group \"%.200s\" %s", name, why);
}

static int check_groups(const struct organize_options *o, struct err *err)
{
    if (!o->group_count)
        return err_set_param(err, ERR_PARAM, "groups",
                             "`groups` is required: NAME:QUERY, for example io:cat == \"POSIX\"");
    if (o->group_count > ORGANIZE_GROUPS_MAX)
        return err_set_param(err, ERR_PARAM, "groups", "at most %d groups are possible",
                             ORGANIZE_GROUPS_MAX);
    for (size_t i = 0; i < o->group_count; i++) {
        const char *name = o->groups[i].name;
        if (!is_name(name))
            return refuse_group(err, name,
                                "has an invalid name: it must be 1 to 200 bytes of UTF-8 without "
                                "`/` and control characters, and must not start with `.`");
        if (strcmp(name, ORGANIZE_REST) == 0 || strcmp(name, MANIFEST_NAME) == 0 ||
            strcmp(name, PROVENANCE_NAME) == 0)
            return refuse_group(err, name, "has a reserved name");
        for (size_t k = 0; k < i; k++) {
            if (strcmp(name, o->groups[k].name) == 0)
                return refuse_group(err, name, "is given twice");
        }
    }
    return 0;
}

int organize_copy_options(struct organize *o, const struct organize_options *options,
                          struct err *err)
{
    if (!is_name(options->name))
        return err_set_param(err, ERR_PARAM, "name",
                             "`name` must be 1 to 200 bytes of UTF-8 without `/` and control "
                             "characters, and must not start with `.`");
    int rc = check_groups(options, err);
    if (rc < 0)
        return rc;
    struct arena *a = &o->base.arena;
    uint32_t count = (uint32_t)options->group_count + 1;
    o->name = arena_strdup(a, text_of(options->name));
    o->targets = arena_alloc(a, count * sizeof(*o->targets));
    o->target_count = o->targets ? count : 0;
    for (uint32_t i = 0; i < o->target_count; i++) {
        bool rest = i + 1 == count;
        struct organize_target *t = &o->targets[i];
        t->name = arena_strdup(a, text_of(rest ? ORGANIZE_REST : options->groups[i].name));
        t->query = rest ? NULL : arena_strdup(a, options->groups[i].query);
        t->dropped = rest && options->drop_rest;
    }
    o->level = options->level;
    o->chunk_bytes = options->chunk_bytes;
    return a->error;
}

/* ---- queries --------------------------------------------------------------------------------- */

/* Checks the query of the group by itself, so that the position of an error refers to the text
 * that the user gave for this group. */
static int check_group_query(const struct organize_target *t, struct err *err)
{
    struct err why = {0};
    struct buf ignored = {0};
    int rc = query_normalise(text_of(t->query), &why, &ignored);

    buf_done(&ignored);
    if (rc < 0 && rc != -ENOMEM) {
        err_set_param(err, rc, "groups", "group \"%.100s\": %s", t->name, why.text);
        if (err && !err->source) {
            err->source = why.source;
            err->position = why.position;
            why.source = NULL;
        }
    }
    err_done(&why);
    return rc;
}

/* Opens (query of the request) and (query of the group). Each of them has been parsed by itself,
 * so parentheses cannot change what they mean. */
static int open_group_query(struct organize *o, size_t i, const struct selection *s,
                            struct err *err)
{
    struct selection own = *s;
    struct buf both = {0};
    const struct organize_target *t = &o->targets[i];
    bool alone = !s->query.len || !*t->query;
    int rc = check_group_query(t, err);

    if (rc < 0)
        return rc;
    /* Metadata records are never assigned by a query: they go with objects of data (share.h). */
    own.phases &= PHASE_DATA;
    buf_puts(&both, alone ? "" : "(");
    buf_text(&both, s->query);
    buf_puts(&both, alone ? t->query : ") and (");
    buf_puts(&both, alone ? "" : t->query);
    buf_puts(&both, alone ? "" : ")");
    own.query = (struct text){both.data, both.len};
    rc = both.error;
    rc = rc < 0 ? rc : query_open(o->env, o->snapshot, &own, o->base.budget, err, &o->queries[i]);
    if (rc == 0)
        o->query_count = i + 1;
    buf_done(&both);
    return rc;
}

/* Lists the selected files as sources, or as `unread` if they have no text. */
static int list_sources(struct organize *o)
{
    const uint32_t *files;
    size_t count = query_files(o->all, &files);

    o->sources = arena_alloc(&o->base.arena, count * sizeof(*o->sources));
    o->unread = arena_alloc(&o->base.arena, count * sizeof(*o->unread));
    if (o->base.arena.error)
        return o->base.arena.error;
    for (size_t i = 0; i < count; i++) {
        const struct index_file *f = snapshot_file(o->snapshot, files[i]);
        if (index_file_is_unread(f))
            o->unread[o->unread_count++] = f;
        else
            o->sources[o->source_count++] =
                (struct organize_source){.file = files[i],
                                         .path = f->name,
                                         .damage = f->damage,
                                         .damage_count = f->damage_count};
    }
    return 0;
}

int organize_open_queries(struct organize *o, const struct selection *s,
                          const struct organize_options *options, struct err *err)
{
    struct selection all; /* every line of the files, with metadata: each goes to some target */
    struct buf ignored = {0};
    /* Only for its errors, whose positions refer to the text of the request. */
    int rc = query_normalise(s->query, err, &ignored);

    buf_done(&ignored);
    selection_init(&all);
    all.dirs = s->dirs;
    all.dir_count = s->dir_count;
    all.files = s->files;
    all.file_count = s->file_count;
    all.not_recursive = s->not_recursive;
    all.phases = PHASE_ANY;
    rc = rc < 0 ? rc : query_open(o->env, o->snapshot, &all, o->base.budget, err, &o->all);
    o->queries = arena_alloc(&o->base.arena, options->group_count * sizeof(*o->queries));
    rc = rc == 0 && !o->queries ? -ENOMEM : rc;
    for (size_t i = 0; i < options->group_count && rc == 0; i++)
        rc = open_group_query(o, i, s, err);
    return rc < 0 ? rc : list_sources(o);
}
