/* metadata.c - finds and writes the metadata records that objects refer to. */
#include "answer/lines/metadata.h"
#include "dftracerd/vec.h"
#include "engine/derived/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A record of a selected file. */
struct record {
    uint32_t file, name; /* positions in the snapshot and in index_file.names */
    uint32_t next;       /* 1 + position in record_lists.records; 0: none */
};
struct record_list {
    uint32_t first, last; /* 1 + position in record_lists.records */
};

/* Lists of records by key; the lists of a table are in the order in which they were added. */
struct record_lists {
    bool built;
    struct group_table table;
    VEC(struct record) records;
    VEC(struct record_list) lists;
};

struct metadata {
    struct query *query;
    struct snapshot *snapshot;
    const uint32_t *files;
    size_t file_count;
    struct budget *budget;
    struct group_table looked_up;   /* (file id, kind, hash): lookups that were done */
    struct group_table written;     /* (kind, hash, name) of records */
    struct group_table processes;   /* (host key, pid): lookups that were done */
    struct group_table texts;       /* XXH3-128 of records of processes */
    struct record_lists by_hash;    /* (kind, hash) */
    struct record_lists by_pid;     /* (pid) */
    struct record_lists by_process; /* (host key, pid), for the pids in listed_pids */
    struct group_table listed_pids; /* (pid) */
    struct chunk_view *view;        /* open while records are read, or NULL */
    const struct index_file *view_file;
    uint32_t view_chunk;
};

static void lists_init(struct record_lists *l, unsigned width, struct budget *b)
{
    *l = (struct record_lists){.records = {.budget = b}};
    group_table_init(&l->table, width, UINT32_MAX - 1, b);
}

static void metadata_open(struct metadata *m, struct query *q)
{
    m->query = q;
    m->snapshot = query_snapshot(q);
    m->file_count = query_files(q, &m->files);
    group_table_init(&m->looked_up, 2, UINT32_MAX - 1, m->budget);
    group_table_init(&m->processes, 2, UINT32_MAX - 1, m->budget);
    lists_init(&m->by_hash, 2, m->budget);
    lists_init(&m->by_pid, 1, m->budget);
    lists_init(&m->by_process, 2, m->budget);
    group_table_init(&m->listed_pids, 1, UINT32_MAX - 1, m->budget);
}

int metadata_new(struct query *q, struct metadata **ret)
{
    struct metadata *m = calloc(1, sizeof(*m));

    if (!m)
        return -ENOMEM;
    m->budget = query_budget(q);
    group_table_init(&m->written, 2, UINT32_MAX - 1, m->budget);
    group_table_init(&m->texts, 2, UINT32_MAX - 1, m->budget);
    metadata_open(m, q);
    *ret = m;
    return 0;
}

static void lists_done(struct record_lists *l)
{
    group_table_done(&l->table);
    vec_done(&l->records);
    vec_done(&l->lists);
}

static void metadata_close(struct metadata *m)
{
    group_table_done(&m->looked_up);
    group_table_done(&m->processes);
    group_table_done(&m->listed_pids);
    lists_done(&m->by_hash);
    lists_done(&m->by_pid);
    lists_done(&m->by_process);
}

/* Nothing but `written` and `texts` is kept: the files have other records, and keys of hosts
 * belong to a query. */
void metadata_continue(struct metadata *m, struct query *q)
{
    metadata_close(m);
    metadata_open(m, q);
}

void metadata_free(struct metadata *m)
{
    if (!m)
        return;
    metadata_close(m);
    group_table_done(&m->written);
    group_table_done(&m->texts);
    free(m);
}

/* Returns 1 if the key was added, 0 if the table had it, or an error. */
static int add_new(struct group_table *t, const uint64_t *keys)
{
    uint32_t before = t->count;
    int64_t group = group_table_add(t, keys);

    return group < 0 ? (int)group : t->count > before;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static int lists_add(struct record_lists *l, const uint64_t *keys, uint32_t file, uint32_t name)
{
    int64_t group = group_table_add(&l->table, keys);
    int rc = group < 0 ? (int)group : vec_extend(&l->lists, l->table.count);

    rc = rc < 0 ? rc : vec_push(&l->records, {file, name, 0});
    if (rc < 0)
        return rc;
    struct record_list *list = &l->lists.at[group];
    uint32_t added = (uint32_t)l->records.count;
    *(list->first ? &l->records.at[list->last - 1].next : &list->first) = added;
    list->last = added;
    return 0;
}

static bool is_hash_record(const struct index_name *n)
{
    return n->kind == INDEX_FH || n->kind == INDEX_HH || n->kind == INDEX_SH;
}

/* Lists the records of hashes or of processes of all selected files, if it was not done before. */
static int lists_build(struct metadata *m, struct record_lists *l)
{
    bool hashes = l == &m->by_hash;
    int rc = 0;

    if (l->built)
        return 0;
    for (size_t i = 0; i < m->file_count && rc == 0; i++) {
        const struct index_file *f = snapshot_file(m->snapshot, m->files[i]);
        rc = budget_check(m->budget);
        for (uint32_t k = 0; k < f->name_count && rc == 0; k++) {
            const struct index_name *n = &f->names[k];
            if (hashes && is_hash_record(n))
                rc = lists_add(l, (uint64_t[]){n->kind, n->hash}, m->files[i], k);
            else if (!hashes && !is_hash_record(n) && n->pid != INT64_MIN)
                rc = lists_add(l, (uint64_t[]){(uint64_t)n->pid}, m->files[i], k);
        }
    }
    l->built = rc == 0;
    return rc;
}

static uint32_t lists_first(const struct record_lists *l, const uint64_t *keys)
{
    int64_t list = group_table_find(&l->table, keys);

    return list < 0 ? 0 : l->lists.at[list].first;
}

/* ---- records of hashes ----------------------------------------------------------------------- */

static void write_record(struct text line, struct buf *out)
{
    if (line.len == 0)
        return;
    buf_text(out, line);
    buf_putc(out, '\n');
}

static int note_hash_record(struct metadata *m, const struct index_name *n)
{
    return add_new(&m->written, (uint64_t[]){(uint64_t)n->kind << 32 | n->hash, n->value});
}

static int write_hash_record(struct metadata *m, const struct index_file *f,
                             const struct index_name *n, struct buf *out)
{
    struct text line;
    int rc = note_hash_record(m, n);

    if (rc <= 0)
        return rc;
    rc = index_name_line(query_index(m->query), f, n, &line);
    if (rc == 0)
        write_record(line, out);
    return rc;
}

/* Returns the first record of a file with this kind and hash: names are sorted by these. */
static uint32_t first_name(const struct index_file *f, uint8_t kind, uint32_t hash)
{
    uint32_t low = 0, high = f->name_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct index_name *n = &f->names[middle];
        if (n->kind < kind || (n->kind == kind && n->hash < hash))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int write_own_records(struct metadata *m, const struct index_file *f, uint8_t kind,
                             uint32_t hash, struct buf *out, bool *ret_any)
{
    int rc = 0;

    *ret_any = false;
    for (uint32_t i = first_name(f, kind, hash); i < f->name_count && rc == 0; i++) {
        if (f->names[i].kind != kind || f->names[i].hash != hash)
            break;
        *ret_any = true;
        rc = write_hash_record(m, f, &f->names[i], out);
    }
    return rc;
}

static int write_other_records(struct metadata *m, uint8_t kind, uint32_t hash, struct buf *out)
{
    int rc = lists_build(m, &m->by_hash);

    if (rc < 0)
        return rc;
    for (uint32_t at = lists_first(&m->by_hash, (uint64_t[]){kind, hash}); at && rc == 0;) {
        const struct record *r = &m->by_hash.records.at[at - 1];
        const struct index_file *f = snapshot_file(m->snapshot, r->file);
        rc = write_hash_record(m, f, &f->names[r->name], out);
        at = r->next;
    }
    return rc;
}

static int before_hash(struct metadata *m, const struct index_file *file,
                       const struct lines_hash *h, struct buf *out)
{
    static const uint8_t kinds[] = {INDEX_FH, INDEX_HH, INDEX_SH};
    int rc = 0;

    for (unsigned i = 0; i < sizeof(kinds) && rc >= 0; i++) {
        uint64_t keys[] = {(uint64_t)file->id << 8 | kinds[i], h->hash};
        bool any;
        if (!(h->kinds >> kinds[i] & 1))
            continue;
        rc = add_new(&m->looked_up, keys);
        if (rc <= 0)
            continue;
        rc = write_own_records(m, file, kinds[i], h->hash, out, &any);
        if (rc == 0 && !any)
            rc = write_other_records(m, kinds[i], h->hash, out);
    }
    return rc < 0 ? rc : 0;
}

/* ---- records of processes -------------------------------------------------------------------- */

static uint64_t host_key(struct metadata *m, const struct index_file *f, int64_t pid, uint32_t host,
                         bool is_hash)
{
    if (host == INDEX_NO_TEXT)
        return QUERY_KEY_NULL;
    return query_key_text_id(is_hash ? query_resolve_name(m->query, f, pid, INDEX_HH, host) : host);
}

/* Sets *ret to the only host of a pid in a file. Returns false if there are several, or none. */
static bool only_host(struct metadata *m, const struct index_file *f, int64_t pid, uint64_t *ret)
{
    bool any = false;
    uint32_t count;
    const uint32_t *at = index_processes_of_pid(f, pid, &count);

    for (uint32_t i = 0; i < count; i++) {
        const struct index_process *p = &f->processes[at[i]];
        if (p->host == INDEX_NO_TEXT)
            continue;
        uint64_t key = host_key(m, f, pid, p->host, p->host_is_hash);
        if (any && key != *ret)
            return false;
        *ret = key;
        any = true;
    }
    return any;
}

/* Sets *ret to the text id of a text column in one row; INDEX_NO_TEXT: it has none. */
static int text_at(struct metadata *m, struct chunk_view *view, const char *path, uint32_t row,
                   uint32_t *ret)
{
    struct column c;
    struct column_entry e;
    uint64_t valid = 0;
    uint32_t code;
    int rc = chunk_find(view, text_of(path), &c);

    *ret = INDEX_NO_TEXT;
    if (rc < 0 || (c.type != COLUMN_TEXT && c.type != COLUMN_MIXED))
        return rc == -ENOENT ? 0 : rc;
    rc = column_pick_valid(view, &c, &row, 1, &valid);
    rc = rc < 0 ? rc : column_pick_codes(view, &c, &row, 1, &code);
    if (rc < 0 || !(valid & 1))
        return rc;
    rc = column_entry(view, &c, code, &e);
    if (rc == 0 && e.type == TRACE_TEXT)
        *ret =
            e.text_id != INDEX_NO_TEXT ? e.text_id : index_text_find(query_index(m->query), e.text);
    return rc;
}

static void close_chunk(struct metadata *m)
{
    chunk_close(m->view);
    m->view = NULL;
}

/* Sets m->view to the chunk with this number; NULL: there is no such chunk. Successive records
 * are mostly in one chunk. */
static int open_chunk(struct metadata *m, const struct index_file *f, uint32_t number)
{
    uint32_t i = 0;

    if (m->view && m->view_file == f && m->view_chunk == number)
        return 0;
    close_chunk(m);
    while (i < f->chunk_count && f->chunks[i].number != number)
        i++;
    m->view_file = f;
    m->view_chunk = number;
    return i < f->chunk_count ? chunk_open(query_index(m->query), m->snapshot, f, i, &m->view) : 0;
}

/* Reads the host from the columns of the record. */
static int stored_host(struct metadata *m, const struct index_file *f, const struct index_name *n,
                       uint64_t *ret)
{
    uint32_t id = INDEX_NO_TEXT;
    int rc = open_chunk(m, f, n->chunk);
    bool is_hash = true;

    *ret = QUERY_KEY_NULL;
    if (rc < 0 || !m->view)
        return rc;
    if (n->row < chunk_rows(m->view)) {
        rc = text_at(m, m->view, "args.hhash", n->row, &id);
        is_hash = id != INDEX_NO_TEXT;
        if (rc == 0 && !is_hash)
            rc = text_at(m, m->view, "args.hostname", n->row, &id);
    }
    if (rc == 0)
        *ret = host_key(m, f, n->pid, id, is_hash);
    return rc;
}

static int record_host(struct metadata *m, const struct index_file *f, const struct index_name *n,
                       uint64_t *ret)
{
    return only_host(m, f, n->pid, ret) ? 0 : stored_host(m, f, n, ret);
}

struct found_record {
    uint32_t file; /* position in the snapshot */
    const struct index_name *name;
};

static int compare_found(const void *a, const void *b)
{
    const struct found_record *x = a, *y = b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->name->chunk != y->name->chunk)
        return x->name->chunk < y->name->chunk ? -1 : 1;
    return (x->name->row > y->name->row) - (x->name->row < y->name->row);
}

/* Adds the records of a pid to by_process, for all hosts at once: there may be a process with
 * this pid on each host. */
static int lists_add_pid(struct metadata *m, int64_t pid)
{
    int rc = add_new(&m->listed_pids, (uint64_t[]){(uint64_t)pid});
    uint32_t at = rc > 0 ? lists_first(&m->by_pid, (uint64_t[]){(uint64_t)pid}) : 0;

    for (rc = rc < 0 ? rc : 0; at && rc == 0; at = m->by_pid.records.at[at - 1].next) {
        const struct record *r = &m->by_pid.records.at[at - 1];
        const struct index_file *f = snapshot_file(m->snapshot, r->file);
        uint64_t keys[] = {QUERY_KEY_NULL, (uint64_t)pid};
        rc = at % 1024 ? 0 : budget_check(m->budget);
        rc = rc < 0 ? rc : record_host(m, f, &f->names[r->name], &keys[0]);
        rc = rc < 0 ? rc : lists_add(&m->by_process, keys, r->file, r->name);
    }
    close_chunk(m);
    return rc;
}

/* Sets *ret to the records of a process, in (path, line) order: a *new* array. */
static int find_process_records(struct metadata *m, const struct lines_group *g,
                                struct found_record **ret, size_t *ret_count)
{
    int rc = lists_add_pid(m, g->pid);
    uint32_t list = 0;
    size_t n = 0;

    if (rc == 0)
        list = lists_first(&m->by_process, (uint64_t[]){g->host, (uint64_t)g->pid});
    for (uint32_t at = list; at; at = m->by_process.records.at[at - 1].next)
        n++;
    struct found_record *found = rc < 0 ? NULL : malloc((n + 1) * sizeof(*found));
    if (!found)
        return rc < 0 ? rc : -ENOMEM;
    n = 0;
    for (uint32_t at = list; at; at = m->by_process.records.at[at - 1].next) {
        const struct record *r = &m->by_process.records.at[at - 1];
        found[n++] =
            (struct found_record){r->file, &snapshot_file(m->snapshot, r->file)->names[r->name]};
    }
    qsort(found, n, sizeof(*found), compare_found);
    *ret = found;
    *ret_count = n;
    return 0;
}

/* Sets *ret_line to the text of a record of a process. Returns 1 if the answer does not have it
 * yet, 0 if it does, or an error. */
static int note_text(struct metadata *m, const struct index_file *f, const struct index_name *n,
                     struct text *ret_line)
{
    int rc = index_name_line(query_index(m->query), f, n, ret_line);

    if (rc < 0)
        return rc;
    struct hash128 hash = text_hash128(*ret_line);
    return add_new(&m->texts, (uint64_t[]){hash.high, hash.low});
}

static int before_process(struct metadata *m, const struct lines_group *g, struct buf *out)
{
    struct found_record *found = NULL;
    size_t n = 0;
    int rc = add_new(&m->processes, (uint64_t[]){g->host, (uint64_t)g->pid});

    if (rc <= 0)
        return rc;
    rc = lists_build(m, &m->by_pid);
    rc = rc < 0 ? rc : find_process_records(m, g, &found, &n);
    for (size_t i = 0; i < n && rc >= 0; i++) {
        struct text line;
        rc = note_text(m, snapshot_file(m->snapshot, found[i].file), found[i].name, &line);
        if (rc > 0)
            write_record(line, out);
    }
    free(found);
    return rc < 0 ? rc : 0;
}

int metadata_before(struct metadata *m, const struct index_file *file, const struct lines_group *g,
                    struct buf *out)
{
    int rc = 0;

    for (uint32_t i = 0; i < g->hash_count && rc == 0; i++)
        rc = before_hash(m, file, &g->hashes[i], out);
    if (rc == 0 && g->has_process)
        rc = before_process(m, g, out);
    return rc < 0 ? rc : out->error;
}

int metadata_have(struct metadata *m, const struct index_file *file,
                  const struct index_name *record)
{
    struct text line;
    int rc =
        is_hash_record(record) ? note_hash_record(m, record) : note_text(m, file, record, &line);

    return rc < 0 ? rc : 0;
}
