/* chunk_size.c - computes the columns size and bytes of an object, by the first rule that applies.
 *
 * size, as the object reports it:
 *   1. args.size_sum, else args.ret_sum;
 *   2. cat POSIX or STDIO: null unless the name is a transfer call; then args.ret if > 0 (a failed
 *      call is null), times args.size for STDIO fread and fwrite; without args.ret, args.size;
 *   3. any other cat: args.size, else args.image_size, if > 0.
 * bytes, the bytes that were transferred; each is counted once, however many layers report it:
 *   1. aggregated objects and counters of cat POSIX, STDIO and sys: args.size_sum, else
 *      args.ret_sum;
 *   2. cat POSIX or sys, a transfer call: args.ret if > 0; without args.ret, args.size, else
 *      args.count, if > 0 (but not args.count of aggregated objects and counters, which is a number
 *      of calls);
 *   3. cat STDIO, fread and fwrite: args.ret times args.size, if > 0. Queries leave out calls with
 *      a transfer inside (covered.h);
 *   4. any other object: null. */
#include "column/chunk/chunk_build.h"

#include <math.h>

enum { ITEM_CALLS = 2 }; /* the first calls count items of args.size bytes */
const char *const column_transfer_calls[] = {
    "fread",   "fwrite",   "read",   "write",    "pread",           "pwrite",
    "pread64", "pwrite64", "readv",  "writev",   "preadv",          "pwritev",
    "preadv2", "pwritev2", "recv",   "send",     "recvfrom",        "sendto",
    "recvmsg", "sendmsg",  "splice", "sendfile", "copy_file_range", NULL,
};

uint8_t size_class_of_name(struct text name)
{
    int i = text_find(name, column_transfer_calls);

    return i < 0 ? 0 : i < ITEM_CALLS ? SIZE_TRANSFER | SIZE_COUNTED : SIZE_TRANSFER;
}

uint8_t size_class_of_cat(struct text cat)
{
    static const char *const cats[] = {
        [SIZE_POSIX] = "POSIX", [SIZE_STDIO] = "STDIO", [SIZE_SYS] = "sys"};

    for (uint8_t i = SIZE_POSIX; i <= SIZE_SYS; i++)
        if (text_eq_nocase(cat, text_of(cats[i])))
            return i;
    return 0;
}

int size_arg(uint16_t field)
{
    static const uint16_t fields[SIZE_ARGS] = {
        [ARG_RET] = TRACE_FIELD_RET,           [ARG_SIZE] = TRACE_FIELD_SIZE,
        [ARG_COUNT] = TRACE_FIELD_COUNT,       [ARG_IMAGE_SIZE] = TRACE_FIELD_IMAGE_SIZE,
        [ARG_SIZE_SUM] = TRACE_FIELD_SIZE_SUM, [ARG_RET_SUM] = TRACE_FIELD_RET_SUM,
    };

    for (int i = 0; i < SIZE_ARGS; i++)
        if (fields[i] == field)
            return i;
    return -1;
}

static struct size_value number_value(const struct trace_value *v)
{
    if (v->type == TRACE_INT)
        return (struct size_value){TRACE_INT, v->i, 0};
    if (v->d == floor(v->d) && fabs(v->d) < 9007199254740992.0)
        return (struct size_value){TRACE_INT, (int64_t)v->d, 0};
    return (struct size_value){TRACE_DOUBLE, 0, v->d};
}

static bool is_positive(const struct trace_value *v)
{
    return v != NULL && (v->type == TRACE_INT ? v->i > 0 : v->d > 0);
}

static struct size_value positive_or_null(const struct trace_value *v)
{
    return is_positive(v) ? number_value(v) : (struct size_value){0, 0, 0};
}

static struct size_value product(const struct trace_value *a, const struct trace_value *b)
{
    struct trace_value v = {.type = TRACE_DOUBLE};
    int64_t i;

    if (a->type == TRACE_INT && b->type == TRACE_INT && !__builtin_mul_overflow(a->i, b->i, &i))
        return (struct size_value){TRACE_INT, i, 0};
    v.d =
        (a->type == TRACE_INT ? (double)a->i : a->d) * (b->type == TRACE_INT ? (double)b->i : b->d);
    if (!isfinite(v.d))
        return (struct size_value){0, 0, 0};
    return number_value(&v);
}

struct size_value size_of_object(uint8_t cat_class, uint8_t name_class,
                                 const struct trace_value *const args[SIZE_ARGS])
{
    if (args[ARG_SIZE_SUM] != NULL || args[ARG_RET_SUM] != NULL)
        return number_value(args[ARG_SIZE_SUM] ? args[ARG_SIZE_SUM] : args[ARG_RET_SUM]);
    if (size_is_null(cat_class, name_class))
        return (struct size_value){0, 0, 0};
    if (cat_class == 0 || cat_class == SIZE_SYS)
        return positive_or_null(is_positive(args[ARG_SIZE]) ? args[ARG_SIZE]
                                                            : args[ARG_IMAGE_SIZE]);
    if (args[ARG_RET] == NULL)
        return positive_or_null(args[ARG_SIZE]);
    if (cat_class == SIZE_STDIO && name_class & SIZE_COUNTED && is_positive(args[ARG_RET]) &&
        is_positive(args[ARG_SIZE]))
        return product(args[ARG_RET], args[ARG_SIZE]);
    return positive_or_null(args[ARG_RET]);
}

struct size_value bytes_of_object(uint8_t class, uint8_t cat_class, uint8_t name_class,
                                  const struct trace_value *const args[SIZE_ARGS])
{
    if (cat_class == 0)
        return (struct size_value){0, 0, 0};
    bool summed = class == TRACE_AGGREGATED || class == TRACE_COUNTER;
    if (summed && (args[ARG_SIZE_SUM] != NULL || args[ARG_RET_SUM] != NULL))
        return number_value(args[ARG_SIZE_SUM] ? args[ARG_SIZE_SUM] : args[ARG_RET_SUM]);
    if (bytes_are_null(cat_class, name_class))
        return (struct size_value){0, 0, 0};
    if (cat_class == SIZE_STDIO)
        return is_positive(args[ARG_RET]) && is_positive(args[ARG_SIZE])
                   ? product(args[ARG_RET], args[ARG_SIZE])
                   : (struct size_value){0, 0, 0};
    if (args[ARG_RET] != NULL)
        return positive_or_null(args[ARG_RET]);
    return positive_or_null(is_positive(args[ARG_SIZE]) || summed ? args[ARG_SIZE]
                                                                  : args[ARG_COUNT]);
}
