/* module: base */
/* fuzz_base_num.c - every text through every number reader, against the C library and each other.
 */
#include "dftracerd/base.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_double(struct text t, const char *cstr)
{
    double value, back;
    char out[32];
    int rc = num_parse_double(t, &value);

    assert(rc == 0 || rc == -EINVAL || rc == -ERANGE || rc == -ENOMEM);
    if (rc == -ERANGE)
        assert(isinf(strtod(cstr, NULL)));
    if (rc != 0)
        return;
    assert(value == strtod(cstr, NULL));
    size_t len = num_format_double(value, out);
    assert(len < sizeof(out) && out[len] == '\0');
    assert(num_parse_double((struct text){out, len}, &back) == 0 && back == value);
}

/* Where the value is exact in a double, rounding the double must give the same. */
static void check_scaled(struct text t)
{
    int64_t whole;
    bool exact;
    double value;

    if (num_parse_scaled(t, 0, &whole, &exact) != 0)
        return;
    assert(num_parse_double(t, &value) == 0);
    if (fabs(value) < 9007199254740992.0 && t.len < 16)
        assert(nearbyint(value) == (double)whole);
    if (exact && t.len < 16)
        assert(value == (double)whole);
}

static void check_integer(struct text t, const char *cstr)
{
    int64_t value;
    char out[24];

    if (num_parse_i64(t, &value) != 0)
        return;
    assert(value == strtoll(cstr, NULL, 10));
    size_t len = num_format_i64(value, out);
    assert(strtoll(out, NULL, 10) == value && strlen(out) == len);
}

static void check_json(struct text t)
{
    struct buf b = {0};

    buf_json_text(&b, t);
    assert(b.error || (b.len >= t.len + 2 && text_is_utf8((struct text){b.data, b.len})));
    buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text t = {(const char *)data, size};
    int64_t ns;
    uint64_t bytes;
    char *cstr = malloc(size + 1);

    if (!cstr)
        return 0;
    if (size > 0)
        memcpy(cstr, data, size);
    cstr[size] = '\0';
    check_double(t, cstr);
    check_scaled(t);
    check_integer(t, cstr);
    num_parse_duration(t, 1000, &ns);
    num_parse_bytes(t, &bytes);
    check_json(t);
    free(cstr);
    return 0;
}
