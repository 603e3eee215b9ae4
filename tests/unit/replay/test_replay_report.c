/* module: replay */
/* What the report counts. */
#include "replay/report/report.h"
#include "check.h"

#include <string.h>
#include <unistd.h>

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

/* A report for which memory is missing ends anywhere, so it is an error. */
static void report_without_memory(void)
{
    static const char event[] =
        "{\"name\":\"open\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":5,\"ph\":\"X\","
        "\"args\":{\"fname\":\"/a\",\"ret\":3}}\n";
    struct replay_options o;
    struct buf out = {.error = -ENOMEM};
    struct err err = {0};
    int ends[2];

    CHECK_STOP(pipe(ends) == 0);
    CHECK_INT(write(ends[1], event, strlen(event)), strlen(event));
    close(ends[1]);
    replay_options_init(&o);
    o.dry_run = true;
    CHECK_INT(replay_run(&o, ends[0], &out, &err), 1);
    CHECK_STR(err.text, err_text(-ENOMEM));
    close(ends[0]);
    err_done(&err);
}

static const struct check_test tests[] = {
    {"many_reasons", many_reasons}, {"report_without_memory", report_without_memory}, {NULL, NULL}};
CHECK_MAIN(tests)
