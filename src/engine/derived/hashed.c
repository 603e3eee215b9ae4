/* hashed.c - the columns host, file, cmd, exec: names of hashes. Old traces have the names
 * themselves in other columns, or only the host of the process.
 *
 * Each is computed from a list of columns: in each row, the first of them that is not null decides.
 * If the chunk has only one of them, and its hashes have the same names in all processes, its codes
 * are kept and only its dictionary is replaced by one of names. Otherwise new codes are made for
 * all rows of the chunk.
 */
#include "base/group_table.h"
#include "engine/derived/bind.h"
#include "engine/derived/names.h"

#include <errno.h>

enum { PID, FIRST };           /* parts: the pid, then the columns in order of precedence */
enum { KIND_NONE = -1 };       /* of a column without hashes */
enum { ENTRIES };              /* in binding.own */
enum { FALLBACK = PARTS_MAX }; /* in place of the number of a column: the host of the process */

/* One search among the names of a file costs about as much as resolving LOOKUP_COST names in a
 * sequential pass. So after 1 / LOOKUP_COST of them have been searched, all are resolved, unless
 * the file has more than NAMES_MAX names. */
enum { LOOKUP_COST = 16, NAMES_MAX = 1 << 19 };

static const struct {
    const char *path;
    enum index_name_kind kind;
} hashes[] = {{"args.hhash", INDEX_HH},
              {"args.fhash", INDEX_FH},
              {"args.cmd_hash", INDEX_SH},
              {"args.exec_hash", INDEX_SH}};

/* The columns of a chunk that the names are found by, and the pid. */
struct inputs {
    struct binding *pid; /* the pid is unknown unless its shape is SHAPE_INT */
    struct binding *column[PARTS_MAX];
    int kind[PARTS_MAX];
    unsigned count;
    bool fallback; /* only for `host`: rows without any of the columns take it from their process */
};

/* ---- names ----------------------------------------------------------------------------------- */

static uint64_t resolved_hash(uint32_t kind, uint32_t hash)
{
    return (uint64_t)hash * 4 + kind;
}

/* Clears the names if they are those of another file. */
static void forget_other_file(struct scan_worker *w)
{
    if (w->resolved_file == w->chunk.file)
        return;
    w->resolved.count = 0;
    hash_index_done(&w->resolved_index);
    w->resolved_file = w->chunk.file;
    w->resolved_all = false;
}

static const struct resolved_name *find_resolved(const struct scan_worker *w, uint32_t kind,
                                                 uint32_t hash)
{
    const struct hash_index *x = &w->resolved_index;

    for (struct hash_match m = hash_index_find(x, resolved_hash(kind, hash));
         hash_index_next(x, &m);) {
        const struct resolved_name *r = &w->resolved.at[m.position];
        if (r->hash == hash && r->kind == kind)
            return r;
    }
    return NULL;
}

static int add_resolved(struct scan_worker *w, uint32_t kind, uint32_t hash, uint32_t name,
                        bool by_process)
{
    int rc = vec_push(&w->resolved, {kind, hash, name, by_process});

    return rc < 0 ? rc
                  : hash_index_add(&w->resolved_index, resolved_hash(kind, hash),
                                   (uint32_t)w->resolved.count - 1);
}

/* Resolves all names of the file in one pass. */
static int resolve_all(struct scan_worker *w)
{
    const struct index_file *file = w->chunk.file;
    int rc = 0;

    w->resolved_all = true;
    for (uint32_t i = 0; rc == 0 && i < file->name_count; i++) {
        const struct index_name *n = &file->names[i];
        if (!find_resolved(w, n->kind, n->hash))
            rc = add_resolved(w, n->kind, n->hash, n->value, false);
    }
    return rc;
}

/* If this file has no name for the hash, those of other files are used, which may differ between
 * processes. */
static int resolve_one(struct scan_worker *w, enum index_name_kind kind, uint32_t hash)
{
    uint32_t name = index_name_in_file(w->chunk.file, kind, hash);
    bool by_process = name == INDEX_NO_TEXT && snapshot_file_count(w->query->snapshot) > 1;

    if (name == INDEX_NO_TEXT && !by_process)
        name = query_resolve_name(w->query, w->chunk.file, INT64_MIN, kind, hash);
    return add_resolved(w, kind, hash, name, by_process);
}

/* Returns the name of a hash in the current file, borrowed from the worker until the next call.
 * Returns NULL without memory. */
static const struct resolved_name *resolve_hash(struct scan_worker *w, enum index_name_kind kind,
                                                uint32_t hash)
{
    uint32_t names = w->chunk.file->name_count;

    forget_other_file(w);
    const struct resolved_name *r = find_resolved(w, kind, hash);
    if (!r && !w->resolved_all && names <= NAMES_MAX && w->resolved.count > names / LOOKUP_COST) {
        if (resolve_all(w) < 0)
            return NULL;
        r = find_resolved(w, kind, hash);
    }
    return r || resolve_one(w, kind, hash) < 0 ? r : find_resolved(w, kind, hash);
}

static struct column_entry text_entry(struct scan_worker *w, uint32_t id)
{
    return (struct column_entry){
        .type = TRACE_TEXT, .text_id = id, .text = index_text(w->query->env.index, id)};
}

/* Sets *ret to the name of an entry. *ret_by_process: the name depends on the process, and
 * `pid_known` is false. pid: INT64_MIN if the row is known to have none. */
static int translate_entry(struct scan_worker *w, int kind, const struct column_entry *e,
                           int64_t pid, bool pid_known, struct column_entry *ret,
                           bool *ret_by_process)
{
    uint32_t hash = e->text_id;

    *ret = *e;
    *ret_by_process = false;
    if (kind == KIND_NONE || e->type != TRACE_TEXT)
        return 0;
    if (hash == INDEX_NO_TEXT)
        hash = index_text_find(w->query->env.index, e->text);
    if (hash == INDEX_NO_TEXT)
        return 0; /* no name record has this hash */
    const struct resolved_name *r = resolve_hash(w, (enum index_name_kind)kind, hash);
    if (!r)
        return -ENOMEM;
    uint32_t name = r->name;
    *ret_by_process = r->by_process && !pid_known;
    if (r->by_process && pid_known)
        name = query_resolve_name(w->query, w->chunk.file, pid, (enum index_name_kind)kind, hash);
    if (!*ret_by_process && name != hash)
        *ret = text_entry(w, name);
    return 0;
}

/* ---- columns of the chunk -------------------------------------------------------------------- */

static int kind_of(const struct source *s)
{
    for (size_t i = 0; i < sizeof(hashes) / sizeof(*hashes); i++)
        if (text_eq(s->path, text_of(hashes[i].path)))
            return (int)hashes[i].kind;
    return KIND_NONE;
}

static void find_inputs(struct scan_worker *w, struct binding *b, struct inputs *in)
{
    bool all = false; /* a column has a value in every row, so those after it are not needed */

    *in = (struct inputs){.pid = bind_part(w, b, PID)};
    for (unsigned i = FIRST; i < PARTS_MAX && b->source->part[i] && !all; i++) {
        struct binding *c = bind_part(w, b, i);
        if (!binding_has_dictionary(c))
            continue;
        in->kind[in->count] = kind_of(c->source);
        in->column[in->count++] = c;
        all = !c->nulls;
    }
    in->fallback = b->source->kind == &derived_host && !all && in->pid->shape == SHAPE_INT;
}

/* ---- names by code: there is one column ------------------------------------------------------ */

/* *ret_by_process: names depend on the process, so they have to be found by row. */
static int rename_column(struct scan_worker *w, struct binding *b, const struct inputs *in,
                         bool *ret_by_process)
{
    struct binding *c = in->column[0];
    struct column_entry e,
        *entries = scratch_reserve(&b->own[ENTRIES], c->entries * sizeof(*entries));
    bool one_pid = in->pid->shape == SHAPE_INT && !in->pid->nulls && in->pid->min == in->pid->max;

    if (!entries)
        return -ENOMEM;
    for (uint32_t i = 0; i < c->entries; i++) {
        int rc = i % ENTRIES_CHECKED ? 0 : budget_check(w->query->budget);
        rc = rc < 0 ? rc : column_entry(w->chunk.view, c->stored, i, &e);
        if (rc == 0)
            rc = translate_entry(w, in->kind[0], &e, in->pid->min, one_pid, &entries[i],
                                 ret_by_process);
        if (rc < 0 || *ret_by_process)
            return rc;
    }
    return bind_renamed(b, c->stored, c->shape, entries, c->entries, NULL);
}

/* ---- names by row ---------------------------------------------------------------------------- */

struct row_names {
    struct scan_worker *worker;
    const struct inputs *in;
    struct group_table table; /* of (pid; column and code) */
    VEC(uint32_t) entry_of;   /* by number in `table`: number in `entries`, CODED_NULL for null */
    VEC(struct column_entry) entries;
};

static int add_entry(struct row_names *r, unsigned column, uint32_t code, int64_t pid)
{
    struct scan_worker *w = r->worker;
    struct column_entry name = {0};
    bool by_process, has_name = true;
    int rc = 0;

    if (column == FALLBACK) { /* it is known if all processes with this pid have the same host */
        uint32_t host = only_host_of_pid(w->query, w->chunk.file, pid);
        has_name = host != INDEX_NO_TEXT;
        name = has_name ? text_entry(w, host) : name;
    } else {
        struct column_entry e = binding_entry(w, r->in->column[column], code);
        /* The pid of the row is known, even if it is none (INT64_MIN). */
        rc = translate_entry(w, r->in->kind[column], &e, pid, true, &name, &by_process);
    }
    if (rc == 0)
        rc = vec_push(&r->entry_of, has_name ? (uint32_t)r->entries.count : CODED_NULL);
    return rc < 0 || !has_name ? rc : vec_push(&r->entries, name);
}

/* Sets *ret to the code of the name of a row: that of a code of a column, for a process. */
static int find_code(struct row_names *r, unsigned column, uint32_t code, int64_t pid,
                     uint32_t *ret)
{
    const uint64_t keys[] = {(uint64_t)pid, (uint64_t)column << 32 | code};
    uint32_t before = r->table.count;
    int64_t number = group_table_add(&r->table, keys);
    int rc = number < 0 ? (int)number : 0;

    if (rc == 0 && r->table.count > before)
        rc = add_entry(r, column, code, pid);
    if (rc == 0)
        *ret = r->entry_of.at[number];
    return rc;
}

static int code_batch(struct row_names *r, struct scan_batch *batch, uint32_t *out)
{
    const struct inputs *in = r->in;
    const uint32_t *codes[PARTS_MAX] = {NULL};
    const uint64_t *valid;
    const int64_t *pids = binding_i64(batch, in->pid, &valid);
    int rc = budget_check(r->worker->query->budget);

    for (unsigned i = 0; i < in->count; i++)
        codes[i] = binding_codes(batch, in->column[i]);
    for (uint32_t row = 0; row < batch->rows && rc == 0 && !r->worker->error; row++) {
        bool has_pid = batch_is_valid(valid, row);
        int64_t pid = has_pid ? pids[row] : INT64_MIN;
        unsigned i = 0;
        while (i < in->count && codes[i][row] == in->column[i]->entries)
            i++;
        out[row] = CODED_NULL;
        /* Values without hashes are the same in all processes: one key for all pids. */
        if (i < in->count)
            rc = find_code(r, i, codes[i][row], in->kind[i] == KIND_NONE ? 0 : pid, &out[row]);
        else if (in->fallback && has_pid)
            rc = find_code(r, FALLBACK, 0, pid, &out[row]);
    }
    return rc < 0 ? rc : r->worker->error;
}

static int code_rows(struct scan_worker *w, struct binding *b, const struct inputs *in)
{
    struct row_names r = {.worker = w,
                          .in = in,
                          .entry_of.budget = w->query->budget,
                          .entries.budget = w->query->budget};
    uint32_t *codes = coded_alloc(w, b);
    struct scan_batch batch;
    int rc = codes ? 0 : -ENOMEM;

    group_table_init(&r.table, 2, UINT32_MAX - 1, w->query->budget);
    for (uint32_t first = 0; rc == 0 && first < w->chunk.rows; first += SCAN_BATCH) {
        batch_at(w, first, &batch);
        rc = code_batch(&r, &batch, codes + first);
    }
    if (rc == 0)
        rc = bind_coded(w, b, r.entries.at, r.entries.count);
    group_table_done(&r.table);
    vec_done(&r.entry_of);
    vec_done(&r.entries);
    return rc;
}

static int bind_hashed(struct scan_worker *w, struct binding *b)
{
    struct inputs in;
    bool by_process = false;

    find_inputs(w, b, &in);
    if (in.count == 0 && !in.fallback)
        return 0;
    if (in.count == 1 && !in.fallback) {
        int rc = rename_column(w, b, &in, &by_process);
        if (rc < 0 || !by_process)
            return rc;
    }
    return code_rows(w, b, &in);
}

const struct column_kind derived_host = {.parts = {"pid", "=args.hhash", "=args.hostname"},
                                         .bind = bind_hashed};
const struct column_kind derived_file = {
    .parts = {"pid", "=args.fhash", "=args.fname", "=args.path"}, .bind = bind_hashed};
const struct column_kind derived_cmd = {.parts = {"pid", "=args.cmd_hash"}, .bind = bind_hashed};
const struct column_kind derived_exec = {.parts = {"pid", "=args.exec_hash"}, .bind = bind_hashed};
