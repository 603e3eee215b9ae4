/* module: index */
/* test_retry.c - how long a file rests whose reading failed by an error of the system: longer each
 * time, with an end. */
#include "check.h"

#include "index/ingest/retry.h"

#define SECOND 1000000000LL

struct reading {
    struct view view;
    struct entry entry;
    struct trace_damage damage;
    struct run run;
};

static void begin(struct reading *r, enum index_state state, int error)
{
    r->view.pub.state = state;
    r->entry.view = &r->view;
    r->run.error = error;
    r->run.begin_ns = clock_mono_ns();
}

static void unreadable_end(struct reading *r)
{
    r->damage.kind = TRACE_DAMAGE_READ;
    r->view.pub.damage = &r->damage;
    r->view.pub.damage_count = 1;
}

/* In whole seconds: the reading itself took a moment. */
static int64_t next(struct reading *r)
{
    return retry_delay_ns(&r->entry, &r->run) / SECOND;
}

static void failed_at_all(void)
{
    struct reading r = {0};
    begin(&r, INDEX_FAILED, -EIO);
    static const int64_t wanted[] = {1, 2, 4, 8, 16, 32, 60, 60};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        CHECK_INT(next(&r), wanted[i]);
    for (int i = 0; i < 300; i++)
        next(&r);
    CHECK_INT(next(&r), 60);
}

static void unread_at_its_end(void)
{
    struct reading r = {0};
    begin(&r, INDEX_READY, 0);
    unreadable_end(&r);
    static const int64_t wanted[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        CHECK_INT(next(&r), wanted[i]);
    r.view.pub.damage_count = 0; /* it could be read */
    CHECK_INT(next(&r), 1);
    unreadable_end(&r);
    CHECK_INT(next(&r), 1); /* from the start */
    CHECK_INT(next(&r), 2);
}

static void long_readings(void)
{
    struct reading r = {0};
    begin(&r, INDEX_READY, 0);
    unreadable_end(&r);
    r.run.begin_ns -= 3 * SECOND;
    CHECK_INT(next(&r), 60); /* reading takes a twentieth of the time at most */
    r.run.begin_ns -= 100 * SECOND;
    CHECK_INT(next(&r), 600);
}

static void by_its_content(void)
{
    struct reading r = {0};
    begin(&r, INDEX_FAILED, -EINVAL);
    for (int i = 0; i < 3; i++)
        CHECK_INT(next(&r), 60);
    begin(&r, INDEX_READY, 0);
    CHECK_INT(next(&r), 1);
}

static const struct check_test tests[] = {{"failed_at_all", failed_at_all},
                                          {"unread_at_its_end", unread_at_its_end},
                                          {"long_readings", long_readings},
                                          {"by_its_content", by_its_content},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
