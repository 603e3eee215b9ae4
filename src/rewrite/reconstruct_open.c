/* reconstruct_open.c - reads targets, files and sources from the sidecar, and checks that it
 * belongs to manifest.json. */
#include "rewrite/beneath.h"
#include "rewrite/reconstruct.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TARGETS_MAX = ORGANIZE_GROUPS_MAX + 1,
    MANIFEST_MAX = 256 << 20,
    MANIFEST_GROWS = 8, /* memory of a JSON value, relative to its text */
    LITERAL_MAX = 5,    /* brackets: four bytes and '\n' */
    INTERN_EXTRA = 64   /* additional memory of an interned text */
};

int reconstruct_corrupt(struct err *err, const char *what)
{
    return err_set(err, ERR_CORRUPT, PROVENANCE_NAME " is corrupt: %s", what);
}

static int copy_name(struct text t, char **ret, const char *what, struct err *err)
{
    if (!t.len || memchr(t.ptr, '\0', t.len))
        return reconstruct_corrupt(err, what);
    *ret = strndup(t.ptr, t.len);
    return *ret ? 0 : -ENOMEM;
}

/* ---- records --------------------------------------------------------------------------------- */

static int read_source(struct reconstruct *r, struct text name, struct err *err)
{
    uint32_t known = intern_count(r->names);
    int rc = vec_reserve(&r->sources, 1);

    /* including the name of its output */
    rc = rc < 0 ? rc : charge_add(&r->base.charge, 4 * name.len + 2 * INTERN_EXTRA);
    if (rc == 0 && intern_add(r->names, name) < 0)
        rc = -ENOMEM;
    if (rc < 0)
        return rc;
    if (intern_count(r->names) == known)
        return reconstruct_corrupt(err, "a source is listed twice");
    struct reconstruct_source *s = &r->sources.at[r->sources.count++];
    *s = (struct reconstruct_source){.unproved = true};
    return copy_name(name, &s->name, "invalid name of a source", err);
}

static int read_source_end(struct reconstruct *r, struct text payload, struct err *err)
{
    struct reconstruct_source *s = r->sources.count ? &r->sources.at[r->sources.count - 1] : NULL;
    struct rec p = rec_of(payload);

    if (s) {
        s->bytes = rec_u(&p);
        s->hash = hash_take(&p);
    }
    return p.bad || p.ptr != p.end || !s ? reconstruct_corrupt(err, "invalid end of a source") : 0;
}

static int read_output(struct reconstruct *r, struct text payload, struct reconstruct_file **last,
                       struct err *err)
{
    struct rec p = rec_of(payload);
    uint64_t target = rec_u(&p);
    struct reconstruct_file f = {.lines = rec_u(&p)};

    f.bytes = rec_u(&p);
    f.hash = hash_take(&p);
    if (p.bad || target >= r->target_count)
        return reconstruct_corrupt(err, "invalid record of an output file");
    struct text name = {(const char *)p.ptr, (size_t)(p.end - p.ptr)};
    struct reconstruct_target *t = &r->targets[target];
    int rc = vec_reserve(&t->files, 1);
    rc = rc < 0 ? rc : charge_add(&r->base.charge, name.len);
    rc = rc < 0 ? rc : copy_name(name, &f.path, "invalid name of an output file", err);
    if (rc < 0)
        return rc;
    *last = &t->files.at[t->files.count++];
    **last = f;
    return 0;
}

static int read_added(struct reconstruct *r, struct text p, struct reconstruct_file *last,
                      struct err *err)
{
    if (!last)
        return reconstruct_corrupt(err, "added lines without an output file");
    int rc = charge_add(&r->base.charge, 2 * p.len); /* it grows by doubling */
    if (rc < 0)
        return rc;
    buf_text(&last->added, p);
    return last->added.error;
}

static int read_record(struct reconstruct *r, enum provenance_type type, struct text p,
                       struct reconstruct_file **last, struct err *err)
{
    switch (type) {
    case PROVENANCE_TARGET:
        if (r->target_count == TARGETS_MAX || r->sources.count || p.len < 2)
            return reconstruct_corrupt(err, "a group record in the wrong place");
        struct reconstruct_target *t = &r->targets[r->target_count++];
        t->fd = -1;
        t->files.budget = r->base.budget;
        t->dropped = *p.ptr == 1;
        return copy_name((struct text){p.ptr + 1, p.len - 1}, &t->name, "invalid name of a group",
                         err);
    case PROVENANCE_LITERAL:
        if (!p.len || p.len > LITERAL_MAX)
            return reconstruct_corrupt(err, "a literal line is too short or too long");
        int rc = charge_add(&r->base.charge, p.len + INTERN_EXTRA);
        return rc == 0 && intern_add(r->literals, p) < 0 ? -ENOMEM : rc;
    case PROVENANCE_SOURCE:
        return read_source(r, p, err);
    case PROVENANCE_SOURCE_END:
        return read_source_end(r, p, err);
    case PROVENANCE_OUTPUT:
        return read_output(r, p, last, err);
    case PROVENANCE_ADDED:
        return read_added(r, p, *last, err);
    default:
        return 0;
    }
}

/* ---- names of what is written ---------------------------------------------------------------- */

/* X.pfw and X.pfw.gz may both exist: if the plain name is in use, the full name is kept. */
static int name_output(struct reconstruct *r, struct reconstruct_source *s)
{
    size_t len = strlen(s->name);
    bool gz = len > 3 && strcmp(s->name + len - 3, ".gz") == 0;
    struct buf name = {0};
    bool as_was = r->form == RECONSTRUCT_AS_WAS || (r->form == RECONSTRUCT_GZIP) == gz;
    struct text stem = {s->name, gz && !as_was ? len - 3 : len};

    if (gz && !as_was && intern_find(r->names, stem) >= 0)
        stem.len = len;
    buf_text(&name, stem);
    if (!gz && !as_was)
        buf_puts(&name, ".gz");
    while (!as_was && !gz && !name.error &&
           intern_find(r->names, (struct text){name.data, name.len}) >= 0)
        buf_puts(&name, ".gz");
    s->output = buf_steal(&name, NULL);
    return s->output ? 0 : -ENOMEM;
}

/* All outputs are different files below the output directory. */
static int name_outputs(struct reconstruct *r, struct err *err)
{
    struct intern *outputs = intern_new();
    int rc = outputs ? 0 : -ENOMEM;

    for (size_t i = 0; i < r->sources.count && rc == 0; i++) {
        struct reconstruct_source *s = &r->sources.at[i];
        rc = i % 1024 ? 0 : budget_check(r->base.budget);
        rc = rc < 0 ? rc : name_output(r, s);
        if (rc < 0)
            break;
        struct text name = text_of(s->output);
        if (!path_is_safe_below(name, true) || text_eq(name, TEXT(REPORT_NAME)) ||
            intern_find(outputs, name) >= 0)
            rc = err_set(err, ERR_CORRUPT,
                         PROVENANCE_NAME " contains the name of a file that cannot be created: %s",
                         s->output);
        else if (intern_add(outputs, name) < 0)
            rc = -ENOMEM;
    }
    intern_free(outputs);
    return rc;
}

/* ---- the manifest ---------------------------------------------------------------------------- */

static int load_manifest(struct reconstruct *r, struct charge *charge, struct err *err,
                         json_t **ret)
{
    int fd = reconstruct_open_file(r, MANIFEST_NAME);
    json_error_t why;
    struct stat st;

    *ret = NULL;
    if (fd == -ENOENT)
        return 0;
    if (fd < 0)
        return err_set(err, fd, MANIFEST_NAME ": %s", err_text(fd));
    int rc = fstat(fd, &st) < 0 ? -errno : 0;
    if (rc == 0 && st.st_size > MANIFEST_MAX)
        rc = err_set(err, ERR_CORRUPT, MANIFEST_NAME " is too large: %lld bytes",
                     (long long)st.st_size);
    rc = rc < 0 ? rc : charge_add(charge, (size_t)st.st_size * MANIFEST_GROWS);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    /* Without memory jansson reports nothing, or a syntax error. */
    errno = 0;
    *ret = json_loadfd(fd, JSON_DISABLE_EOF_CHECK, &why);
    rc = *ret ? 0 : errno == ENOMEM ? -ENOMEM : ERR_CORRUPT;
    close(fd);
    return rc == ERR_CORRUPT ? err_set(err, rc, "cannot read " MANIFEST_NAME ": %s", why.text) : rc;
}

static int compare_hash(struct reconstruct *r, const json_t *manifest, struct err *err)
{
    const json_t *sidecar = json_object_get(manifest, "provenance");
    const char *recorded = json_string_value(json_object_get(sidecar, "xxh128"));
    struct hash128 hash = {0};
    struct stat st;
    char computed[33];

    if (fstat(r->provenance_fd, &st) < 0)
        return -errno;
    long long size = json_integer_value(json_object_get(sidecar, "bytes"));
    if (recorded && size != st.st_size)
        return err_set(err, ERR_CORRUPT,
                       PROVENANCE_NAME " has %lld bytes, but " MANIFEST_NAME " says %lld",
                       (long long)st.st_size, size);
    char *piece = malloc(RECONSTRUCT_PIECE);
    int rc = piece ? reconstruct_hash_file(r, r->provenance_fd, (uint64_t)st.st_size, piece, &hash)
                   : -ENOMEM;
    free(piece);
    if (rc < 0)
        return rc;
    hash128_hex(hash, computed);
    if (!recorded || strcmp(recorded, computed) != 0)
        return err_set(err, ERR_CORRUPT,
                       PROVENANCE_NAME " has XXH3-128 %s, but " MANIFEST_NAME " says %s", computed,
                       recorded ? recorded : "nothing");
    return 0;
}

static int check_manifest(struct reconstruct *r, struct err *err)
{
    struct charge charge = {.budget = r->base.budget};
    json_t *manifest = NULL;
    int rc = load_manifest(r, &charge, err, &manifest);

    if (rc == 0 && manifest)
        rc = compare_hash(r, manifest, err);
    r->base.complete = !json_is_false(json_object_get(manifest, "complete"));
    json_decref(manifest);
    charge_done(&charge);
    return rc;
}

/* ---- the whole sidecar ----------------------------------------------------------------------- */

/* Opens the sidecar at its start. */
static int open_reader(struct reconstruct *r)
{
    provenance_reader_free(r->provenance);
    r->provenance = NULL;
    return provenance_reader_new(r->provenance_fd, r->base.budget, &r->provenance);
}

int reconstruct_read_sidecar(struct reconstruct *r, struct err *err)
{
    struct reconstruct_file *last = NULL;
    enum provenance_type type;
    struct text payload;

    r->provenance_fd = reconstruct_open_file(r, PROVENANCE_NAME);
    if (r->provenance_fd == -ENOENT)
        return err_set(err, ERR_NOT_FOUND,
                       PROVENANCE_NAME " not found: the directory was not written by /organize");
    if (r->provenance_fd < 0)
        return err_set(err, r->provenance_fd, PROVENANCE_NAME ": %s", err_text(r->provenance_fd));
    r->sources.budget = r->base.budget;
    r->targets = calloc(TARGETS_MAX, sizeof(*r->targets));
    r->literals = intern_new();
    r->names = intern_new();
    int rc = r->targets && r->literals && r->names ? open_reader(r) : -ENOMEM;
    while (rc == 0 && (rc = provenance_next(r->provenance, err, &type, &payload)) == 0)
        rc = read_record(r, type, payload, &last, err);
    rc = rc == ERR_END ? check_manifest(r, err) : rc;
    rc = rc < 0 ? rc : name_outputs(r, err);
    return rc < 0 ? rc : open_reader(r);
}
