/* names.c - metadata records: how they are stored, and their lines, which are read on first use.
 *
 * A job of 10,000 files has hundreds of thousands of FH records of 150 bytes. In memory they would
 * take more space than everything else. So the id of a line says where it is stored, and its first
 * use loads the lines of that chunk.
 */
#include "index/catalog/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

/* ---- stored form ----------------------------------------------------------------------------- */

/* A value has two sections: (count, records), and lines. A section is its length followed by its
 * bytes, as they are or, if that is shorter, compressed with zstd. Records are read at start for
 * all files: those of small files are not compressed, since decompressing them would take most of
 * the start. Most of a line is its hash and its name, which are shared texts: a control byte
 * replaces them, as no valid line contains one. */
#define RECORDS_COMPRESSED_FROM 4096
#define SECTION_MAX (1ull << 29) /* one chunk does not have more */

enum { HASH_MARK = 1, VALUE_MARK = 2, HASH_MARKED = 0x80, VALUE_MARKED = 0x40 };

/* Lines are short: memmem() would take longer to prepare than to search. */
static char *find_in_line(char *line, size_t len, struct text t)
{
    char *at = line;
    size_t left = len;

    while (left >= t.len && (at = memchr(at, *t.ptr, left - t.len + 1)) != NULL) {
        if (memcmp(at, t.ptr, t.len) == 0)
            return at;
        at++;
        left = len - (size_t)(at - line);
    }
    return NULL;
}

/* Replaces the first occurrence of the text by the mark. Returns false if there is none, or the
 * text is too short to save space. */
static bool mark_text(char *line, size_t *len, struct text t, char mark)
{
    char *at = t.len >= 4 ? find_in_line(line, *len, t) : NULL;

    if (!at)
        return false;
    *at = mark;
    memmove(at + 1, at + t.len, (size_t)(line + *len - at) - t.len);
    *len -= t.len - 1;
    return true;
}

/* Appends the line with marks in place of texts; *ret_marks receives which marks. */
static void encode_line(struct index *ix, const struct index_name *n, struct text line,
                        struct buf *out, uint8_t *ret_marks)
{
    char *copy = buf_reserve(out, line.len + 1);
    size_t len = line.len;

    *ret_marks = 0;
    if (!copy)
        return;
    if (len)
        memcpy(copy, line.ptr, len);
    if (!memchr(copy, HASH_MARK, len) && !memchr(copy, VALUE_MARK, len)) {
        if (n->value != INDEX_NO_TEXT &&
            mark_text(copy, &len, texts_get(ix->texts, n->value), VALUE_MARK))
            *ret_marks |= VALUE_MARKED;
        if (n->hash != INDEX_NO_TEXT &&
            mark_text(copy, &len, texts_get(ix->texts, n->hash), HASH_MARK))
            *ret_marks |= HASH_MARKED;
    }
    copy[len] = '\n';
    out->len += len + 1;
}

static size_t decoded_len(struct index *ix, const struct index_name *n, uint8_t marks,
                          struct text line)
{
    struct text hash = texts_get(ix->texts, n->hash), value = texts_get(ix->texts, n->value);
    size_t len = 0;

    for (size_t i = 0; i < line.len; i++)
        len += line.ptr[i] == HASH_MARK && marks & HASH_MARKED     ? hash.len
               : line.ptr[i] == VALUE_MARK && marks & VALUE_MARKED ? value.len
                                                                   : 1;
    return len;
}

static char *decode_line(struct index *ix, const struct index_name *n, uint8_t marks,
                         struct text line, char *out)
{
    for (size_t i = 0; i < line.len; i++) {
        struct text t = {line.ptr + i, 1};
        if (line.ptr[i] == HASH_MARK && marks & HASH_MARKED)
            t = texts_get(ix->texts, n->hash);
        else if (line.ptr[i] == VALUE_MARK && marks & VALUE_MARKED)
            t = texts_get(ix->texts, n->value);
        if (t.len)
            memcpy(out, t.ptr, t.len);
        out += t.len;
    }
    return out;
}

#define OBJECT struct index_name
const struct record_field name_fields[] = {
    FIELD_TEXT_ID(hash), FIELD_TEXT_ID(value), FIELD(pid), FIELD(chunk), {0}};
#undef OBJECT

static void encode_record(struct index *ix, const struct index_name *n, uint8_t marks,
                          uint32_t row_before, struct buf *out)
{
    rec_put_u(out, n->kind | marks);
    record_encode(name_fields, n, ix->texts, out);
    rec_put_u(out, n->row - row_before);
}

static void encode_names(struct index *ix, const struct part *p, struct buf *out, struct buf *lines)
{
    const char *line = p->lines.data, *end = line + p->lines.len;
    uint32_t row = 0;

    rec_put_u(out, p->names.count);
    for (uint32_t i = 0; i < p->names.count; i++) {
        const struct index_name *n = &p->names.at[i];
        const char *nl = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
        uint8_t marks = 0;
        if (!nl)
            break; /* impossible: each name has its line */
        encode_line(ix, n, (struct text){line, (size_t)(nl - line)}, lines, &marks);
        line = nl + 1;
        encode_record(ix, n, marks, row, out);
        row = n->row;
    }
}

static int put_section(struct buf *out, const struct buf *plain, size_t compressed_from)
{
    struct text stored = {plain->data, plain->len};
    size_t bound = plain->len >= compressed_from ? ZSTD_compressBound(plain->len) : 0, compressed;
    char *to = bound ? malloc(bound) : NULL;

    if (plain->error || (bound && !to)) {
        free(to);
        return -ENOMEM;
    }
    compressed = to ? ZSTD_compress(to, bound, plain->data, plain->len, 3) : 0;
    if (to && !ZSTD_isError(compressed) && compressed < plain->len)
        stored = (struct text){to, compressed};
    rec_put_u(out, plain->len);
    rec_put_text(out, stored);
    free(to);
    return out->error;
}

int names_encode(struct index *ix, const struct part *p, struct buf *out)
{
    struct buf records = {0}, lines = {0};
    int rc = p->lines.error;

    encode_names(ix, p, &records, &lines);
    rc = rc ? rc : put_section(out, &records, RECORDS_COMPRESSED_FROM);
    rc = rc ? rc : put_section(out, &lines, 1);
    buf_done(&records);
    buf_done(&lines);
    return rc;
}

/* *ret is borrowed from `r`, or from *ret_own, which the caller frees. */
static int get_section(struct rec *r, struct text *ret, char **ret_own)
{
    uint64_t len = rec_u(r);
    struct text stored = rec_text(r);

    *ret = stored;
    *ret_own = NULL;
    if (r->bad || len > SECTION_MAX || stored.len > len)
        return ERR_CORRUPT;
    if (stored.len == len)
        return 0;
    *ret_own = malloc(len + 1);
    if (!*ret_own)
        return -ENOMEM;
    size_t got = ZSTD_decompress(*ret_own, len, stored.ptr, stored.len);
    *ret = (struct text){*ret_own, len};
    if (got == len)
        return 0;
    return ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation ? -ENOMEM : ERR_CORRUPT;
}

static int decode_records(struct index *ix, struct rec *r, struct index_name *names, uint8_t *marks,
                          uint32_t count)
{
    uint32_t row = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct index_name *n = &names[i];
        marks[i] = (uint8_t)rec_u(r);
        n->kind = marks[i] & 0x3f;
        r->bad = r->bad || n->kind > INDEX_CM;
        record_decode(name_fields, r, ix->texts, NULL, n);
        n->row = row += (uint32_t)rec_u(r);
        n->line = i;
    }
    return rec_error(r);
}

static int split_lines(struct text lines, struct text *out, uint32_t count)
{
    const char *p = lines.len ? lines.ptr : "", *end = p + lines.len;

    for (uint32_t i = 0; i < count; i++) {
        const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        if (!nl)
            return ERR_CORRUPT;
        out[i] = (struct text){p, (size_t)(nl - p)};
        p = nl + 1;
    }
    return p == end ? 0 : ERR_CORRUPT;
}

/* Replaces marks by texts; the lines are in one *new* block. */
static int expand_lines(struct index *ix, const struct index_name *names, const uint8_t *marks,
                        struct text *lines, uint32_t count, char **ret)
{
    size_t total = 1;

    for (uint32_t i = 0; i < count; i++)
        total += decoded_len(ix, &names[i], marks[i], lines[i]);
    if (total > SECTION_MAX)
        return ERR_CORRUPT;
    char *bytes = malloc(total), *at = bytes;
    if (!bytes)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        char *end = decode_line(ix, &names[i], marks[i], lines[i], at);
        lines[i] = (struct text){at, (size_t)(end - at)};
        at = end;
    }
    *ret = bytes;
    return 0;
}

static int decode_lines(struct index *ix, struct rec *value, const struct index_name *names,
                        const uint8_t *marks, uint32_t count, struct text **ret, char **ret_bytes)
{
    struct text *lines = malloc((count + 1) * sizeof *lines), section;
    char *own = NULL;
    int rc = lines ? get_section(value, &section, &own) : -ENOMEM;

    rc = rc ? rc : split_lines(section, lines, count);
    rc = rc ? rc : expand_lines(ix, names, marks, lines, count, ret_bytes);
    free(own);
    if (rc)
        free(lines);
    else
        *ret = lines;
    return rc;
}

int names_decode(struct index *ix, struct rec whole, struct index_name **ret, uint32_t *ret_count,
                 struct text **ret_lines, char **ret_bytes)
{
    struct index_name *names = NULL;
    uint8_t *marks = NULL;
    struct text section;
    uint64_t count = 0;
    char *own;
    int rc = get_section(&whole, &section, &own);

    if (rc == 0) {
        struct rec r = rec_of(section);
        r.ids = whole.ids;
        count = rec_count(&r, 6);
        names = malloc((count + 1) * sizeof *names);
        marks = malloc(count + 1);
        rc = names && marks ? decode_records(ix, &r, names, marks, (uint32_t)count) : -ENOMEM;
    }
    if (rc == 0 && ret_lines)
        rc = decode_lines(ix, &whole, names, marks, (uint32_t)count, ret_lines, ret_bytes);
    free(own);
    free(marks);
    if (rc == 0)
        *ret_count = (uint32_t)count;
    if (rc == 0 && ret)
        *ret = names;
    else
        free(names);
    return rc;
}

/* Encodes the records with the text ids of this process. Lines need no translation: they contain
 * marks instead of texts. */
static int translate_records(struct index *ix, struct rec *whole, struct part *p, uint8_t *marks,
                             uint32_t count, struct buf *out)
{
    struct buf records = {0};
    uint32_t row = 0;

    rec_put_u(&records, count);
    for (uint32_t i = 0; i < count; i++) {
        encode_record(ix, &p->names.at[i], marks[i] & ~0x3f, row, &records);
        row = p->names.at[i].row;
    }
    int rc = put_section(out, &records, RECORDS_COMPRESSED_FROM);
    buf_append(out, whole->ptr, (size_t)(whole->end - whole->ptr));
    buf_done(&records);
    return rc ? rc : out->error;
}

int names_translate(struct index *ix, struct rec whole, struct part *p, struct buf *ret)
{
    struct text section;
    char *own;
    int rc = get_section(&whole, &section, &own);
    struct rec r = rec_of(rc ? (struct text){NULL, 0} : section);
    r.ids = whole.ids;
    uint64_t count = rc ? 0 : rec_count(&r, 6);
    uint8_t *marks = malloc(count + 1);

    rc = rc ? rc : marks ? vec_reserve(&p->names, count) : -ENOMEM;
    rc = rc ? rc : decode_records(ix, &r, p->names.at, marks, (uint32_t)count);
    if (rc == 0) {
        p->names.count = count;
        rc = translate_records(ix, &whole, p, marks, (uint32_t)count, ret);
    }
    free(own);
    free(marks);
    return rc;
}

static int compare_names(const void *a, const void *b)
{
    const struct index_name *p = a, *q = b;

    if (p->kind != q->kind)
        return p->kind < q->kind ? -1 : 1;
    if (p->hash != q->hash)
        return p->hash < q->hash ? -1 : 1;
    if (p->chunk != q->chunk)
        return p->chunk < q->chunk ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

void names_sort(struct index_name *names, uint32_t count)
{
    if (count > 1)
        qsort(names, count, sizeof *names, compare_names);
}

void names_merge(const struct index_name *a, uint32_t a_count, const struct index_name *b,
                 uint32_t b_count, struct index_name *out)
{
    uint32_t i = 0, k = 0;

    while (i < a_count || k < b_count) {
        if (k == b_count || (i < a_count && compare_names(&a[i], &b[k]) <= 0))
            *out++ = a[i++];
        else
            *out++ = b[k++];
    }
}

/* ---- line ids -------------------------------------------------------------------------------- */

int lines_register(struct index *ix, const struct line_range *chunk, uint32_t *ret_first)
{
    *ret_first = INDEX_NO_TEXT;
    pthread_rwlock_wrlock(&ix->lines_lock);
    bool ids = ix->line_count + (uint64_t)chunk->count < TEXTS_LINES - 1;
    int rc = ids ? vec_push(&ix->lines, *chunk) : 0;
    if (ids && rc == 0) {
        ix->lines.at[ix->lines.count - 1].first = ix->line_count;
        *ret_first = TEXTS_LINES + ix->line_count;
        ix->line_count += chunk->count;
    }
    pthread_rwlock_unlock(&ix->lines_lock);
    return rc;
}

static struct line_range *find_range(struct index *ix, uint32_t at)
{
    uint32_t low = 0, high = ix->lines.count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (ix->lines.at[mid].first + ix->lines.at[mid].count <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low < ix->lines.count && ix->lines.at[low].first <= at ? &ix->lines.at[low] : NULL;
}

/* Called without lines_lock: other threads acquire it while they read the store. */
static int load_range(struct index *ix, struct line_range *range)
{
    struct kv_key key = kv_key_of_chunk(range->file, range->chunk, range->version);
    struct kv_read *r;
    struct text value;
    uint32_t count = 0;
    int rc = kv_read_begin(ix->kv, &r);

    if (rc)
        return rc;
    rc = kv_get(r, KV_NAME, &key, &value);
    rc = rc ? rc : names_decode(ix, rec_of(value), NULL, &count, &range->texts, &range->bytes);
    kv_read_end(r);
    if (rc == 0 && count == range->count)
        return 0;
    free(range->texts);
    free(range->bytes);
    range->texts = NULL;
    return rc && rc != -ENOENT ? rc : ERR_CORRUPT;
}

static void keep_range(struct index *ix, uint32_t at, struct line_range *loaded)
{
    pthread_rwlock_wrlock(&ix->lines_lock);
    struct line_range *range = find_range(ix, at);
    if (range && !range->texts) {
        range->texts = loaded->texts;
        range->bytes = loaded->bytes;
        loaded->texts = NULL;
        loaded->bytes = NULL;
    }
    pthread_rwlock_unlock(&ix->lines_lock);
    free(loaded->texts);
    free(loaded->bytes);
}

/* Sets *ret to the line. Returns false if its lines are not in memory: *ret_range says which. */
static bool find_line(struct index *ix, uint32_t at, struct line_range *ret_range, struct text *ret)
{
    pthread_rwlock_rdlock(&ix->lines_lock);
    const struct line_range *range = find_range(ix, at);
    bool loaded = !range || range->texts;
    if (!loaded)
        *ret_range = *range;
    else if (range)
        *ret = range->texts[at - range->first];
    pthread_rwlock_unlock(&ix->lines_lock);
    return loaded;
}

int index_name_line(struct index *ix, const struct index_file *file, const struct index_name *name,
                    struct text *ret)
{
    uint32_t at = name->line - TEXTS_LINES;
    struct line_range range;
    int rc = 0;

    *ret = (struct text){NULL, 0};
    if (name->line == INDEX_NO_TEXT || find_line(ix, at, &range, ret))
        return 0;
    rc = load_range(ix, &range);
    if (rc == 0) {
        keep_range(ix, at, &range);
        find_line(ix, at, &range, ret);
    }
    if (rc == ERR_CORRUPT)
        index_file_corrupt(ix, file);
    return rc;
}

void lines_done(struct index *ix)
{
    for (uint32_t i = 0; i < ix->lines.count; i++) {
        free(ix->lines.at[i].texts);
        free(ix->lines.at[i].bytes);
    }
    vec_done(&ix->lines);
    ix->line_count = 0;
}

struct text index_text(const struct index *ix, uint32_t id)
{
    return texts_get(ix->texts, id);
}

uint32_t index_text_find(const struct index *ix, struct text text)
{
    return texts_find(ix->texts, text);
}

uint32_t index_text_count(const struct index *ix)
{
    return texts_count(ix->texts);
}
