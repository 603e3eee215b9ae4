/* module: rewrite */
/* The bytes of a gzip member depend on its text and level alone. */
#include "check.h"
#include "rewrite/gzip.h"

enum { TEXT = 200000, STACK = 512 << 10 };

/* What other calls may leave on the stack: small numbers, which are taken for sizes easily. */
static __attribute__((noinline)) void dirty_stack(int value)
{
    volatile int stack[STACK / sizeof(int)];

    for (size_t i = 0; i < sizeof stack / sizeof *stack; i++)
        stack[i] = value;
}

static int encode(struct text text, int level, struct buf *out)
{
    struct gzip_encoder *p = gzip_encoder_new(level);
    int rc = p ? gzip_encoder_member(p, text, out) : -ENOMEM;

    gzip_encoder_free(p);
    return rc;
}

static void same_bytes_whatever_is_on_the_stack(void)
{
    static char text[TEXT];

    for (int i = 0, len = 0; len < TEXT - 64; i++)
        len += snprintf(text + len, 64, "{\"id\":%d,\"name\":\"read\",\"ts\":%d}\n", i, i * 977);
    for (int level = 1; level <= 9; level++) {
        struct buf first = {0};
        CHECK_INT(encode((struct text){text, strlen(text)}, level, &first), 0);
        for (int value = 0; value < 16; value++) {
            struct buf again = {0};
            dirty_stack(value);
            CHECK_INT(encode((struct text){text, strlen(text)}, level, &again), 0);
            CHECK(again.len == first.len && memcmp(again.data, first.data, first.len) == 0);
            buf_done(&again);
        }
        buf_done(&first);
    }
}

static const struct check_test tests[] = {
    {"same_bytes_whatever_is_on_the_stack", same_bytes_whatever_is_on_the_stack}, {NULL, NULL}};
CHECK_MAIN(tests)
