/* record.c - see record.h */
#include "index/store/record.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* The low bytes of a number: this program runs on little-endian machines only. */
static uint64_t number_get(const struct record_field *f, const void *object)
{
    uint64_t v = 0;

    memcpy(&v, (const char *)object + f->offset, f->size);
    return v;
}

static void number_set(const struct record_field *f, void *object, uint64_t v)
{
    char *at = (char *)object + f->offset;

    assert(f->size == 1 || f->size == 4 || f->size == 8);
    /* memcpy with a variable size is a call, which would take longer than the rest. */
    if (f->size == 1)
        *at = (char)v;
    else if (f->size == 4)
        memcpy(at, &v, 4);
    else
        memcpy(at, &v, 8);
}

static uint64_t number_checked(const struct record_field *f, struct rec *r, uint64_t v)
{
    if (f->kind == RECORD_BOOL ? v <= 1
        : f->max               ? v <= f->max
                               : f->size == 8 || v >> 8 * f->size == 0)
        return v;
    r->bad = true;
    return 0;
}

static uint32_t list_len(const struct record_field *f, uint32_t count)
{
    return f->max && count > f->max ? (uint32_t)f->max : count;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static void encode_bits(const struct record_field *f, const void *object, struct buf *out)
{
    uint64_t word = 0;
    unsigned shift = 0;

    for (unsigned i = 1; i <= f->rows; i++) {
        word |= number_get(&f[i], object) << shift;
        shift += f[i].bits;
    }
    rec_put_u(out, word);
}

static void encode_list(const struct record_field *f, const void *object, const struct texts *texts,
                        struct buf *out)
{
    const char *list;
    uint32_t count;

    memcpy(&list, (const char *)object + f->offset, sizeof list);
    memcpy(&count, (const char *)object + f->count_at, sizeof count);
    rec_put_u(out, count);
    for (uint32_t i = 0; i < list_len(f, count); i++)
        record_encode(f->of, list + (size_t)i * f->item_size, texts, out);
}

void record_encode(const struct record_field *f, const void *object, const struct texts *texts,
                   struct buf *out)
{
    for (; f->kind != RECORD_END; f++) {
        const void *at = (const char *)object + f->offset;
        switch ((enum record_kind)f->kind) {
        case RECORD_UINT:
        case RECORD_BOOL:
            rec_put_u(out, number_get(f, object));
            break;
        case RECORD_INT:
            rec_put_i(out, *(const int64_t *)at);
            break;
        case RECORD_I128:
            rec_put_i128(out, *(const __int128 *)at);
            break;
        case RECORD_TEXT_ID:
            texts_put_ref(texts, out, *(const uint32_t *)at);
            break;
        case RECORD_STRING:
            rec_put_text(out, text_of(*(const char *const *)at));
            break;
        case RECORD_TEXT:
            rec_put_text(out, *(const struct text *)at);
            break;
        case RECORD_STRUCT:
            record_encode(f->of, at, texts, out);
            break;
        case RECORD_LIST:
            encode_list(f, object, texts, out);
            break;
        case RECORD_BITS:
            encode_bits(f, object, out);
            f += f->rows;
            break;
        case RECORD_IF:
            f += number_get(f, object) ? 0 : f->rows;
            break;
        case RECORD_END:
            break;
        }
    }
}

/* ---- decoding -------------------------------------------------------------------------------- */

static void decode_bits(const struct record_field *f, struct rec *r, void *object)
{
    uint64_t word = rec_u(r);

    for (unsigned i = 1; i <= f->rows; i++) {
        uint64_t v = i < f->rows ? word & ((1u << f[i].bits) - 1) : word;
        number_set(&f[i], object, number_checked(&f[i], r, v));
        word >>= f[i].bits;
    }
}

/* Returns the minimum size of a record. */
static size_t min_bytes(const struct record_field *f)
{
    size_t bytes = 0;

    for (; f->kind != RECORD_END; f++) {
        bytes += f->kind == RECORD_STRUCT ? min_bytes(f->of) : f->kind != RECORD_IF;
        if (f->kind == RECORD_IF || f->kind == RECORD_BITS)
            f += f->rows;
    }
    return bytes;
}

static void decode_list(const struct record_field *f, struct rec *r, struct texts *texts,
                        struct arena *arena, void *object)
{
    uint32_t count =
        (uint32_t)(f->max ? rec_choice(r, UINT32_MAX) : rec_count(r, min_bytes(f->of)));
    uint32_t len = list_len(f, count);
    char *list = arena_alloc(arena, (len + 1ul) * f->item_size);

    for (uint32_t i = 0; list && i < len && !r->bad; i++)
        record_decode(f->of, r, texts, arena, list + (size_t)i * f->item_size);
    memcpy((char *)object + f->offset, &list, sizeof list);
    memcpy((char *)object + f->count_at, &count, sizeof count);
}

void record_decode(const struct record_field *f, struct rec *r, struct texts *texts,
                   struct arena *arena, void *object)
{
    for (; f->kind != RECORD_END; f++) {
        void *at = (char *)object + f->offset;
        struct text text;

        switch ((enum record_kind)f->kind) {
        case RECORD_UINT:
        case RECORD_BOOL:
            number_set(f, object, number_checked(f, r, rec_u(r)));
            break;
        case RECORD_INT:
            *(int64_t *)at = rec_i(r);
            break;
        case RECORD_I128:
            *(__int128 *)at = rec_i128(r);
            break;
        case RECORD_TEXT_ID:
            *(uint32_t *)at = texts_get_ref(texts, r);
            break;
        case RECORD_STRING:
            text = rec_text(r);
            *(const char **)at = text.len ? arena_strdup(arena, text) : NULL;
            break;
        case RECORD_TEXT:
            text = rec_text(r);
            *(struct text *)at = (struct text){arena_strdup(arena, text), text.len};
            break;
        case RECORD_STRUCT:
            record_decode(f->of, r, texts, arena, at);
            break;
        case RECORD_LIST:
            decode_list(f, r, texts, arena, object);
            break;
        case RECORD_BITS:
            decode_bits(f, r, object);
            f += f->rows;
            break;
        case RECORD_IF:
            f += number_get(f, object) ? 0 : f->rows;
            break;
        case RECORD_END:
            break;
        }
    }
}

/* ---- printing -------------------------------------------------------------------------------- */

void record_print_text(struct text t, struct buf *out)
{
    buf_putc(out, '"');
    for (size_t i = 0; i < t.len; i++) {
        unsigned char c = (unsigned char)t.ptr[i];
        if (c < ' ' || c == '"' || c == '\\')
            buf_printf(out, "\\x%02x", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, '"');
}

static void print_value(const struct record_field *f, const void *object, const struct texts *texts,
                        struct buf *out)
{
    const void *at = (const char *)object + f->offset;
    char digits[48];

    if (f->kind == RECORD_UINT || f->kind == RECORD_BOOL)
        buf_printf(out, "%" PRIu64, number_get(f, object));
    else if (f->kind == RECORD_INT && *(const int64_t *)at != INT64_MIN)
        buf_printf(out, "%" PRId64, *(const int64_t *)at);
    else if (f->kind == RECORD_I128)
        buf_append(out, digits, num_format_i128(*(const __int128 *)at, digits));
    else if (f->kind == RECORD_TEXT_ID && *(const uint32_t *)at != INDEX_NO_TEXT)
        record_print_text(texts_get(texts, *(const uint32_t *)at), out);
    else if (f->kind == RECORD_STRING)
        record_print_text(text_of(*(const char *const *)at), out);
    else if (f->kind == RECORD_TEXT)
        record_print_text(*(const struct text *)at, out);
    else
        buf_puts(out, "null");
}

/* *object becomes the struct that has the member; *ret_there is false if a RECORD_IF leaves it out.
 * Returns NULL if there is no such row. */
static const struct record_field *find_field(const struct record_field *f, const void **object,
                                             struct text name, bool *ret_there)
{
    const struct record_field *present_from = f; /* rows before it are left out */

    for (; f->kind != RECORD_END; f++) {
        size_t len = f->name ? strlen(f->name) : 0;
        if (f->kind == RECORD_IF && !number_get(f, *object))
            present_from = f + f->rows + 1;
        if (f->kind == RECORD_IF || f->kind == RECORD_BITS || !text_starts(name, text_of(f->name)))
            continue;
        *ret_there = f >= present_from;
        if (len == name.len)
            return f;
        if (f->kind == RECORD_STRUCT && name.ptr[len] == '.') {
            *object = (const char *)*object + f->offset;
            return find_field(f->of, object, (struct text){name.ptr + len + 1, name.len - len - 1},
                              ret_there);
        }
    }
    return NULL;
}

void record_print(const struct record_field *fields, const void *object, const struct texts *texts,
                  const char *format, struct buf *out)
{
    for (const char *at = format; *at; at++) {
        const char *name = *at == '{' ? at + 1 : *at == '[' ? strchr(at, '{') + 1 : NULL, *end;
        const void *inner = object;
        bool there;
        if (!name) {
            if (*at != ']')
                buf_putc(out, *at);
            continue;
        }
        end = strchr(name, '}');
        const struct record_field *f =
            find_field(fields, &inner, (struct text){name, (size_t)(end - name)}, &there);
        assert(f);
        if (*at == '{') {
            print_value(f, inner, texts, out);
            at = end;
        } else if (!there) {
            at = strchr(at, ']');
        }
    }
}
