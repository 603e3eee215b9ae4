/* module: format */
/* Arrow IPC: what frames the bytes, and rows of every type written to a file, for test_arrow of
 * tests/http to have them read by Apache Arrow's own reader: ARROW_FILE=out ARROW_ROWS=10000000
 * test_arrow rows (ARROW_STREAM=1: as a stream). */
#include "check.h"
#include "dftracerd/format.h"

#include <time.h>

enum { BATCH = 65536, COLUMNS = 6 };

static const struct arrow_column columns[COLUMNS] = {
    {"id", ARROW_UINT64, NULL}, {"minus", ARROW_INT64, "us"}, {"half", ARROW_DOUBLE, NULL},
    {"odd", ARROW_BOOL, NULL},  {"word", ARROW_TEXT, NULL},   {"none", ARROW_TEXT, NULL},
};

static uint64_t id[BATCH], valid[COLUMNS][BATCH / 64], odd[BATCH / 64];
static int64_t minus[BATCH];
static double half[BATCH];
static int32_t word[BATCH], none[BATCH];

/* Row i has: id 2^63 + i; minus -i, null in each 3rd; half i / 2; odd, null in each 5th; word i mod
 * 1000, null in each 7th. */
static void fill(uint64_t first, size_t rows, struct arrow_data *data)
{
    memset(valid, 0, sizeof(valid));
    memset(odd, 0, sizeof(odd));
    for (size_t r = 0; r < rows; r++) {
        uint64_t i = first + r, bit = 1ull << r % 64;
        id[r] = (1ull << 63) + i;
        minus[r] = -(int64_t)i;
        half[r] = (double)i / 2;
        word[r] = (int32_t)(i % 1000);
        odd[r / 64] |= i % 2 ? bit : 0;
        valid[1][r / 64] |= i % 3 ? bit : 0;
        valid[3][r / 64] |= i % 5 ? bit : 0;
        valid[4][r / 64] |= i % 7 ? bit : 0;
    }
    const void *values[COLUMNS] = {id, minus, half, odd, word, none};
    static const unsigned every[COLUMNS] = {0, 3, 0, 5, 7, 1};
    for (unsigned c = 0; c < COLUMNS; c++) {
        size_t nulls = 0;
        for (size_t r = 0; r < rows && every[c]; r++)
            nulls += (first + r) % every[c] == 0;
        data[c] = (struct arrow_data){values[c], valid[c], nulls};
    }
}

static struct text word_of(void *arg, uint32_t i)
{
    static char room[32];

    (void)arg;
    if (i == 1)
        return TEXT("\xf0\x9f\x98\x80 \"1\"\n");
    if (i == 2)
        return TEXT("bad \xff");
    return (struct text){room, (size_t)snprintf(room, sizeof(room), "%s%u", i ? "word " : "", i)};
}

static void drain(struct buf *out, FILE *to, double *seconds, const struct timespec *from)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    *seconds += (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
    CHECK_INT(fwrite(out->data, 1, out->len, to), out->len);
    buf_clear(out);
}

/* Writes a column without a copy if possible, as arrow/rows.c does. */
static unsigned give_column(struct arrow *a, size_t c, const struct arrow_data *data, size_t rows,
                            struct buf *out)
{
    const size_t room = BATCH * 8;
    void *values = malloc(room), *before = values;
    size_t bytes = columns[c].type == ARROW_BOOL   ? (rows + 7) / 8
                   : columns[c].type == ARROW_TEXT ? rows * 4
                                                   : rows * 8;

    if (!CHECK(values != NULL))
        return 0;
    memcpy(values, data->values, bytes);
    bool given = arrow_batch_column_given(a, c, &values, room, out);
    CHECK(given == (out->data == before) && given == (values != before));
    if (!given)
        arrow_batch_column(a, c, data, out);
    free(values);
    return given;
}

static void write_given(struct arrow *a, uint64_t first, size_t rows, FILE *to, unsigned *given)
{
    struct arrow_data data[COLUMNS];
    struct buf out = {0};

    fill(first, rows, data);
    CHECK_INT(arrow_batch(a, data, rows, &out), 0);
    for (size_t c = 0; c < COLUMNS; c++) {
        if (c % 3 != 2) { /* after another column there is nothing to give to */
            CHECK_INT(fwrite(out.data, 1, out.len, to), out.len);
            buf_clear(&out);
        }
        *given += give_column(a, c, &data[c], rows, &out);
    }
    CHECK_INT(fwrite(out.data, 1, out.len, to), out.len);
    buf_done(&out);
}

static void write_batch(struct arrow *a, uint64_t first, size_t rows, FILE *to, struct buf *out,
                        double *seconds)
{
    struct arrow_data data[COLUMNS];
    struct timespec from;

    fill(first, rows, data);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    CHECK_INT(arrow_batch(a, data, rows, out), 0);
    for (size_t c = 0; c < COLUMNS; c++)
        arrow_batch_column(a, c, &data[c], out);
    drain(out, to, seconds, &from);
}

static double write_rows(uint64_t rows, bool file, FILE *to)
{
    double seconds = 0;
    struct buf out = {0};
    struct arrow *a;

    if (!CHECK_INT(arrow_new(columns, COLUMNS, file, &a), 0))
        return 0;
    arrow_begin(a, &out);
    CHECK_INT(arrow_dictionary(a, 4, word_of, NULL, 1000, &out), 0);
    CHECK_INT(arrow_dictionary(a, 5, word_of, NULL, 0, &out), 0);
    for (uint64_t i = 0; i < rows; i += BATCH)
        write_batch(a, i, rows - i < BATCH ? rows - i : BATCH, to, &out, &seconds);
    arrow_end(a, &out);
    CHECK_INT(fwrite(out.data, 1, out.len, to), out.len);
    CHECK_INT(out.error, 0);
    buf_done(&out);
    arrow_free(a);
    return seconds;
}

static void given_columns_are_the_same(void)
{
    static const size_t rows[] = {BATCH, BATCH - 1, 17001, 3, 0};
    unsigned given = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *bytes[2] = {NULL, NULL};
        size_t len[2] = {0, 0};
        for (unsigned way = 0; way < 2; way++) {
            FILE *to = open_memstream(&bytes[way], &len[way]);
            struct buf out = {0};
            double seconds = 0;
            struct arrow *a;
            CHECK_STOP(to != NULL && arrow_new(columns, COLUMNS, false, &a) == 0);
            if (way)
                write_given(a, 7, rows[i], to, &given);
            else
                write_batch(a, 7, rows[i], to, &out, &seconds);
            fclose(to);
            buf_done(&out);
            arrow_free(a);
        }
        CHECK_MEM(bytes[1], len[1], bytes[0], len[0]);
        free(bytes[0]);
        free(bytes[1]);
    }
    CHECK_INT(given, 3); /* "id" of each size but the small ones */
}

static void rows(void)
{
    const char *path = getenv("ARROW_FILE"), *count = getenv("ARROW_ROWS");
    uint64_t n = count ? strtoull(count, NULL, 10) : 200000;
    FILE *to = path ? fopen(path, "wb") : tmpfile();

    CHECK_STOP(to != NULL);
    double seconds = write_rows(n, !getenv("ARROW_STREAM"), to);
    long bytes = ftell(to);
    CHECK(bytes > (long)n * (8 + 8 + 8 + 4 + 4));
    printf("%llu rows, %ld bytes, %.3f s of CPU time: %.2f GB/s\n", (unsigned long long)n, bytes,
           seconds, (double)bytes / 1e9 / (seconds > 0 ? seconds : 1e-9));
    fclose(to);
}

/* A message is as long as its header says, and everything in it begins at multiples of 8 bytes. */
static void frames(void)
{
    char *bytes = NULL;
    size_t len = 0, at = 8, messages = 0;
    FILE *to = open_memstream(&bytes, &len);
    int32_t head[2];

    CHECK_STOP(to != NULL);
    (void)write_rows(3, true, to);
    fclose(to);
    CHECK_MEM(bytes, 8, "ARROW1\0\0", 8);
    CHECK_MEM(bytes + len - 6, 6, "ARROW1", 6);
    memcpy(head, bytes + at, 8);
    CHECK_INT(head[0], -1);
    CHECK_INT(head[1] % 8, 0);
    /* the schema has no body: the next message follows immediately */
    at += 8 + (size_t)head[1];
    memcpy(head, bytes + at, 8);
    CHECK_INT(head[0], -1);
    for (size_t i = at; i + 8 <= len; i += 8)
        messages += memcmp(bytes + i, "\xff\xff\xff\xff\0\0\0\0", 8) == 0;
    CHECK_INT(messages, 1); /* the end of the stream */
    memcpy(head, bytes + len - 10, 4);
    CHECK(head[0] > 0 && (size_t)head[0] < len - at);
    free(bytes);
}

static const struct check_test tests[] = {
    {"rows", rows},
    {"given_columns_are_the_same", given_columns_are_the_same},
    {"frames", frames},
    {NULL, NULL},
};
CHECK_MAIN(tests)
