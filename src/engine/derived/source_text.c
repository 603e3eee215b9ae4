/* source_text.c - host, file, cmd, exec: the names behind hashes, and what stands in for them in
 * old traces.
 *
 * Each is a row of columns, the first one that a row has decides. Where that is one column whose
 * hashes mean the same for every process, its codes are used as they are with a dictionary of
 * names; else the codes of the whole chunk are made.
 */
#include "engine/derived/bind.h"
#include "engine/derived/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 3, KIND_NONE = -1, FALLBACK = COLUMNS_MAX };
/* Searching a hash among the names of a file costs about as much as taking ROW of them in a row; of
 * more than MOST there is no need. */
enum { ROW = 16, MOST = 1 << 19 };
struct text_column {
    const char *path;
    int kind;
};
static const struct text_column recipes[][COLUMNS_MAX] = {
    [PATH_HOST] = {{"args.hhash", INDEX_HH}, {"args.hostname", KIND_NONE}},
    [PATH_FILE] = {{"args.fhash", INDEX_FH}, {"args.fname", KIND_NONE}, {"args.path", KIND_NONE}},
    [PATH_CMD] = {{"args.cmd_hash", INDEX_SH}},
    [PATH_EXEC] = {{"args.exec_hash", INDEX_SH}},
};

/* ---- names behind hashes --------------------------------------------------------------------- */

static uint64_t hash_of(uint32_t kind, uint32_t hash)
{
    return (uint64_t)hash * 4 + kind;
}

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

    for (struct hash_match m = hash_index_find(x, hash_of(kind, hash)); hash_index_next(x, &m);) {
        const struct resolved_name *r = &w->resolved.at[m.position];
        if (r->hash == hash && r->kind == kind)
            return r;
    }
    return NULL;
}

static int add_resolved(struct scan_worker *w, uint32_t kind, uint32_t hash, uint32_t name,
                        bool depends)
{
    int rc = vec_push(&w->resolved, {kind, hash, name, depends});

    return rc < 0 ? rc
                  : hash_index_add(&w->resolved_index, hash_of(kind, hash),
                                   (uint32_t)w->resolved.count - 1);
}

/* The names of all records of the file, in a row. */
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

static int resolve_one(struct scan_worker *w, enum index_name_kind kind, uint32_t hash)
{
    uint32_t name = index_name_in(w->chunk.file, kind, hash);
    bool depends = name == INDEX_NO_TEXT && snapshot_file_count(w->query->snapshot) > 1;

    if (name == INDEX_NO_TEXT && !depends)
        name = query_resolve(w->query, w->chunk.file, INT64_MIN, kind, hash);
    return add_resolved(w, kind, hash, name, depends);
}

/* Of the file at hand. NULL: no memory. */
static const struct resolved_name *resolved_of_hash(struct scan_worker *w,
                                                    enum index_name_kind kind, uint32_t hash)
{
    uint32_t names = w->chunk.file->name_count;

    forget_other_file(w);
    const struct resolved_name *r = find_resolved(w, kind, hash);
    if (!r && !w->resolved_all && names <= MOST && w->resolved.count > names / ROW) {
        if (resolve_all(w) < 0)
            return NULL;
        r = find_resolved(w, kind, hash);
    }
    return r || resolve_one(w, kind, hash) < 0 ? r : find_resolved(w, kind, hash);
}

/* *ret_depends: the name depends on the process, and `pid_known` is false. */
static int worker_resolve(struct scan_worker *w, enum index_name_kind kind, uint32_t hash,
                          int64_t pid, bool pid_known, uint32_t *ret_name, bool *ret_depends)
{
    const struct resolved_name *r = resolved_of_hash(w, kind, hash);

    if (!r)
        return -ENOMEM;
    *ret_depends = r->depends && !pid_known;
    *ret_name = r->name;
    if (r->depends && pid_known)
        *ret_name = query_resolve(w->query, w->chunk.file, pid, kind, hash);
    return 0;
}

static struct column_entry text_entry(struct scan_worker *w, uint32_t id)
{
    return (struct column_entry){
        .type = TRACE_TEXT, .text_id = id, .text = index_text(w->query->env.index, id)};
}

/* What an entry of a column stands for. */
static int translate(struct scan_worker *w, int kind, const struct column_entry *e, int64_t pid,
                     bool pid_known, struct column_entry *ret, bool *ret_depends)
{
    uint32_t name, hash = e->text_id;

    *ret = *e;
    *ret_depends = false;
    if (kind == KIND_NONE || e->type != TRACE_TEXT)
        return 0;
    if (hash == INDEX_NO_TEXT)
        hash = index_text_find(w->query->env.index, e->text);
    if (hash == INDEX_NO_TEXT)
        return 0; /* no record can name it */
    int rc =
        worker_resolve(w, (enum index_name_kind)kind, hash, pid, pid_known, &name, ret_depends);
    if (rc == 0 && !*ret_depends && name != hash)
        *ret = text_entry(w, name);
    return rc;
}

/* ---- what the chunk has ---------------------------------------------------------------------- */

struct inputs {
    const struct text_column *recipe;
    struct column column[COLUMNS_MAX];
    int kind[COLUMNS_MAX];
    unsigned count;
    bool fallback; /* host: by pid */
    bool has_pid, pid_constant;
    struct column pid;
};

static void find_inputs(struct scan_worker *w, enum path_kind kind, struct inputs *in)
{
    memset(in, 0, sizeof(*in));
    in->recipe = recipes[kind];
    in->fallback = kind == PATH_HOST;
    for (unsigned i = 0; i < COLUMNS_MAX && in->recipe[i].path; i++) {
        struct column *c = &in->column[in->count];
        if (chunk_find(w->chunk.view, text_of(in->recipe[i].path), c) < 0 || c->nulls == c->rows ||
            (c->type != COLUMN_TEXT && c->type != COLUMN_MIXED))
            continue;
        in->kind[in->count++] = in->recipe[i].kind;
        if (c->nulls == 0)
            break; /* no row gets beyond it */
    }
    if (in->count > 0 && in->column[in->count - 1].nulls == 0)
        in->fallback = false;
    in->has_pid = chunk_find(w->chunk.view, TEXT("pid"), &in->pid) == 0 &&
                  in->pid.type == COLUMN_INT && in->pid.nulls < in->pid.rows;
    in->pid_constant = in->has_pid && in->pid.nulls == 0 && in->pid.min == in->pid.max;
    in->fallback = in->fallback && in->has_pid;
}

/* ---- one column decides ---------------------------------------------------------------------- */

/* *ret_depends: it does not work this way. */
static int map_column(struct scan_worker *w, struct bound *b, const struct inputs *in,
                      bool *ret_depends)
{
    const struct column *c = &in->column[0];
    struct column_entry e, *entries = grow_to(&b->entry_memory, c->entries * sizeof(*entries));

    if (!entries)
        return -ENOMEM;
    for (uint32_t i = 0; i < c->entries; i++) {
        int rc = i % ENTRIES_LOOKED ? 0 : budget_check(w->query->budget);
        rc = rc < 0 ? rc : column_entry(w->chunk.view, c, i, &e);
        if (rc == 0)
            rc = translate(w, in->kind[0], &e, in->pid.min, in->pid_constant, &entries[i],
                           ret_depends);
        if (rc < 0 || *ret_depends)
            return rc;
    }
    b->form = FORM_MAPPED;
    b->shape = c->type == COLUMN_TEXT ? SHAPE_TEXT : SHAPE_MIXED;
    b->column = *c;
    b->entry = entries;
    b->entries = c->entries;
    b->nulls = c->nulls > 0;
    return 0;
}

/* ---- row by row ------------------------------------------------------------------------------ */

/* (column, code, pid) -> own entry. */
struct memo_slot {
    int64_t pid;
    uint32_t code, entry;
    uint8_t column, used;
};
struct rows {
    struct scan_worker *worker;
    struct bound *bound;
    struct inputs in;
    uint32_t *codes[COLUMNS_MAX];
    uint64_t *valid[COLUMNS_MAX];
    int64_t *pids;
    uint64_t *pid_valid;
    struct memo_slot *memo;
    size_t memo_cap, memo_used;
    VEC(struct column_entry) entries;
    bool mixed;
};
#define NO_ENTRY 0xFFFFFFFEu /* null; becomes the code behind the last */

static bool row_bit(const uint64_t *mask, uint32_t row)
{
    return !mask || (mask[row / 64] >> row % 64 & 1);
}

static uint64_t *read_valid(struct rows *r, const struct column *c, int *rc)
{
    uint64_t *mask = calloc(c->rows / 64 + 1, 8);

    if (!mask)
        *rc = -ENOMEM;
    else
        *rc = column_read_valid(r->worker->chunk.view, c, 0, c->rows, mask);
    return mask;
}

static int read_inputs(struct rows *r)
{
    struct chunk_view *view = r->worker->chunk.view;
    uint32_t n = r->worker->chunk.rows;
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < r->in.count; i++) {
        const struct column *c = &r->in.column[i];
        r->codes[i] = malloc((n + 64) * sizeof(uint32_t));
        rc = r->codes[i] ? column_read_codes(view, c, 0, n, r->codes[i]) : -ENOMEM;
        if (rc == 0 && c->nulls > 0)
            r->valid[i] = read_valid(r, c, &rc);
    }
    if (rc == 0 && r->in.has_pid) {
        r->pids = malloc((n + 64) * sizeof(int64_t));
        rc = r->pids ? column_read_i64(view, &r->in.pid, 0, n, r->pids) : -ENOMEM;
        if (rc == 0 && r->in.pid.nulls > 0)
            r->pid_valid = read_valid(r, &r->in.pid, &rc);
    }
    return rc;
}

static void rows_done(struct rows *r)
{
    for (unsigned i = 0; i < COLUMNS_MAX; i++) {
        free(r->codes[i]);
        free(r->valid[i]);
    }
    free(r->pids);
    free(r->pid_valid);
    free(r->memo);
    vec_done(&r->entries);
}

static int add_entry(struct rows *r, const struct column_entry *e, uint32_t *ret)
{
    r->mixed = r->mixed || e->type != TRACE_TEXT;
    *ret = (uint32_t)r->entries.count;
    return vec_push(&r->entries, *e);
}

static size_t memo_place(const struct memo_slot *memo, size_t cap, unsigned column, uint32_t code,
                         int64_t pid)
{
    uint64_t hash = ((uint64_t)pid * 31 + code) * 0x9E3779B97F4A7C15u + column;
    size_t at = (hash >> 20) & (cap - 1);

    while (memo[at].used &&
           (memo[at].pid != pid || memo[at].code != code || memo[at].column != column))
        at = (at + 1) & (cap - 1);
    return at;
}

static int grow_memo(struct rows *r)
{
    size_t cap = r->memo_cap ? r->memo_cap * 2 : 256;
    struct memo_slot *bigger = calloc(cap, sizeof(*bigger));

    if (!bigger)
        return -ENOMEM;
    for (size_t i = 0; i < r->memo_cap; i++) {
        if (r->memo[i].used)
            bigger[memo_place(bigger, cap, r->memo[i].column, r->memo[i].code, r->memo[i].pid)] =
                r->memo[i];
    }
    free(r->memo);
    r->memo = bigger;
    r->memo_cap = cap;
    return 0;
}

/* The host of the only one that the pid has in the file, or no entry. */
static int host_by_pid(struct rows *r, int64_t pid, uint32_t *ret)
{
    uint32_t host = only_host_of_pid(r->worker->query, r->worker->chunk.file, pid);

    *ret = NO_ENTRY;
    if (host == INDEX_NO_TEXT)
        return 0;
    struct column_entry e = text_entry(r->worker, host);
    return add_entry(r, &e, ret);
}

static int make_entry(struct rows *r, unsigned column, uint32_t code, int64_t pid, uint32_t *ret)
{
    struct column_entry e, translated;
    bool depends;

    if (column == FALLBACK)
        return host_by_pid(r, pid, ret);
    int rc = column_entry(r->worker->chunk.view, &r->in.column[column], code, &e);
    if (rc == 0)
        rc = translate(r->worker, r->in.kind[column], &e, pid, true, &translated, &depends);
    return rc < 0 ? rc : add_entry(r, &translated, ret);
}

static int entry_of(struct rows *r, unsigned column, uint32_t code, int64_t pid, uint32_t *ret)
{
    if (r->memo_used * 2 >= r->memo_cap && grow_memo(r) < 0)
        return -ENOMEM;
    size_t at = memo_place(r->memo, r->memo_cap, column, code, pid);
    struct memo_slot *slot = &r->memo[at];
    if (!slot->used) {
        int rc = make_entry(r, column, code, pid, &slot->entry);
        if (rc < 0)
            return rc;
        slot->used = 1;
        slot->pid = pid;
        slot->code = code;
        slot->column = (uint8_t)column;
        r->memo_used++;
    }
    *ret = slot->entry;
    return 0;
}

static int code_row(struct rows *r, uint32_t row, uint32_t *ret)
{
    bool has_pid = r->in.has_pid && row_bit(r->pid_valid, row);
    int64_t pid = has_pid ? r->pids[row] : INT64_MIN;

    for (unsigned i = 0; i < r->in.count; i++) {
        if (row_bit(r->valid[i], row))
            return entry_of(r, i, r->codes[i][row], r->in.kind[i] == KIND_NONE ? 0 : pid, ret);
    }
    *ret = NO_ENTRY;
    return r->in.fallback && has_pid ? entry_of(r, FALLBACK, 0, pid, ret) : 0;
}

static int code_rows(struct rows *r)
{
    uint32_t n = r->worker->chunk.rows, nulls = 0;
    struct bound *b = r->bound;
    uint32_t *codes = grow_to(&b->rows_memory, (n + 64) * sizeof(*codes));
    int rc = codes ? read_inputs(r) : -ENOMEM;

    for (uint32_t row = 0; rc == 0 && row < n; row++) {
        rc = row % ENTRIES_LOOKED ? 0 : budget_check(r->worker->query->budget);
        rc = rc < 0 ? rc : code_row(r, row, &codes[row]);
        nulls += rc == 0 && codes[row] == NO_ENTRY;
    }
    if (rc < 0)
        return rc;
    for (uint32_t row = 0; nulls && row < n; row++)
        codes[row] = codes[row] == NO_ENTRY ? (uint32_t)r->entries.count : codes[row];
    memset(codes + n, 0, 64 * sizeof(*codes));
    b->form = nulls == n ? FORM_NULL : FORM_CODED;
    b->shape = nulls == n ? SHAPE_NULL : r->mixed ? SHAPE_MIXED : SHAPE_TEXT;
    b->nulls = nulls > 0;
    b->entries = (uint32_t)r->entries.count;
    grow_done(&b->entry_memory);
    b->entry_memory = (struct grow){r->entries.at, r->entries.cap * sizeof(*r->entries.at)};
    b->entry = r->entries.at;
    r->entries.vec = (struct vec){0};
    return 0;
}

int bind_text(struct scan_worker *w, struct bound *b)
{
    struct rows r = {.worker = w, .bound = b};
    bool depends = false;

    find_inputs(w, b->source->info.kind, &r.in);
    if (r.in.count == 0 && !r.in.fallback)
        return 0;
    if (r.in.count == 1 && !r.in.fallback) {
        int rc = map_column(w, b, &r.in, &depends);
        if (rc < 0 || !depends)
            return rc;
    }
    int rc = code_rows(&r);
    rows_done(&r);
    return rc;
}
