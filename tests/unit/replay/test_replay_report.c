/* module: replay */
/* What the report counts. */
#include "replay/report/report.h"
#include "check.h"

/* Beyond the limit, no event is counted with the name and reason of others. */
static void many_reasons(void)
{
    static struct report r;
    struct shared *shared = shared_new();
    uint64_t others[2] = {0}; /* skipped, failed */
    enum { MANY = REPORT_REASONS_MAX + 100 };

    CHECK(shared && report_init(&r, shared) == 0);
    for (uint32_t i = 0; i < MANY; i++)
        report_skip(&r, i, "not known", NULL, 2);
    for (uint32_t i = 0; i < 10; i++)
        report_reason(&r, &(struct report_reason){i, "failed", "/a", 1, true});
    for (unsigned i = 0; i < r.reason_count; i++) {
        const struct report_reason *one = &r.reasons[i];
        if (one->name == REPORT_NO_NAME)
            others[one->failed] += one->count;
        else
            CHECK(one->count == 2 && !one->failed);
    }
    CHECK_INT(r.reason_count, REPORT_REASONS_MAX);
    CHECK_INT(others[0], 2 * (MANY - (REPORT_REASONS_MAX - 2)));
    CHECK_INT(others[1], 10);
    report_done(&r);
    shared_free(shared);
}

static const struct check_test tests[] = {{"many_reasons", many_reasons}, {NULL, NULL}};
CHECK_MAIN(tests)
