/* module: http */
/* The speed of indexing, from samples made by hand. */
#include "http/metrics/rate.h"
#include "check.h"

#define SECOND 1000000000ll

static void sample(struct rate *r, int64_t ms, uint64_t pending, uint64_t done)
{
    struct index_progress p = {.files_pending = pending, .bytes_done = done};

    rate_sample(r, &p, 100 * SECOND + ms * 1000000);
}

static void grows(void)
{
    struct rate r = {0};

    CHECK(rate_bytes_per_s(&r) < 0);
    sample(&r, 0, 0, 5000);
    CHECK(rate_bytes_per_s(&r) < 0);
    sample(&r, 250, 2, 5000); /* earlier work does not count */
    CHECK(rate_bytes_per_s(&r) < 0);
    sample(&r, 500, 2, 6000);
    CHECK(rate_bytes_per_s(&r) == 4000);
    sample(&r, 1250, 1, 6000);
    CHECK(rate_bytes_per_s(&r) == 1000);
    sample(&r, 1500, 0, 7000);
    CHECK(rate_bytes_per_s(&r) < 0); /* nothing is being indexed */
}

/* A file that is read again reduces the bytes done. */
static void goes_back(void)
{
    struct rate r = {0};

    sample(&r, 0, 1, 10000);
    sample(&r, 1000, 2, 4000);
    CHECK(rate_bytes_per_s(&r) == 0);
    sample(&r, 2000, 2, 7000);
    CHECK(rate_bytes_per_s(&r) == 1500);
}

/* Old samples do not count: 10 s without progress, then 100 bytes every 250 ms. */
static void window(void)
{
    struct rate r = {0};

    for (int i = 0; i <= 40; i++)
        sample(&r, i * 250, 1, 0);
    for (int i = 1; i <= 10; i++)
        sample(&r, 10000 + i * 250, 1, (uint64_t)i * 100);
    CHECK(rate_bytes_per_s(&r) == 200);
    for (int i = 11; i <= 30; i++)
        sample(&r, 10000 + i * 250, 1, (uint64_t)i * 100);
    CHECK(rate_bytes_per_s(&r) == 400);
}

static const struct check_test tests[] = {
    {"grows", grows},
    {"goes_back", goes_back},
    {"window", window},
    {NULL, NULL},
};
CHECK_MAIN(tests)
