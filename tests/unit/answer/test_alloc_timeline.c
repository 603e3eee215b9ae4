/* module: answer */
/* /timeline of chunks that have densities, while memory is short: it says so, gives back what it
 * charged, and answers the next time. */
#include "dftracerd/query.h"
#include "dftracerd/timeline.h"
#include "query_alloc.h"

static struct store store;

enum { FILES = 3, ROWS = 1300 };

static void make_store(void)
{
    struct buf b = {0};

    for (int pid = 1; pid <= FILES; pid++) {
        char name[32];

        buf_clear(&b);
        for (int i = 0; i < ROWS; i++)
            buf_printf(&b,
                       "{\"id\":%d,\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%d,"
                       "\"dur\":%d,\"ph\":\"X\",\"args\":{\"ret\":%d}}\n",
                       i, i % 3 ? "read" : "write", i % 5 ? "POSIX" : "STDIO", pid, i % 4,
                       i * 10 + i * i % 7, i * 37 % 1000, i * i);
        snprintf(name, sizeof(name), "t%d.pfw", pid);
        store_file(&store, name, b.data, b.len);
    }
    buf_done(&b);
    CHECK(store_ingest(&store, 1 << 20, 1));
}

struct question {
    const char *name, *color;
    int64_t to; /* of the window, from 0 */
    uint32_t width, events;
    bool again; /* more rows are looked at, for events or colors */
    uint32_t colors;
    const struct value *chosen; /* color */
    bool slices;
};

static void put_answer(const struct question *a, struct timeline *t, struct buf *answer)
{
    const struct timeline_facts *f = timeline_facts(t);

    buf_printf(answer, "%" PRIu64 " %u:", f->objects, f->lanes);
    for (uint32_t i = 0; i < f->lanes; i++)
        buf_printf(answer, " %" PRIu64 " %" PRId64, timeline_lanes(t)[i].count,
                   (int64_t)timeline_lanes(t)[i].busy_ns);
    for (uint32_t i = 0; i < f->colors; i++)
        buf_printf(answer, " %" PRIu64 "/%" PRIu64, timeline_colors(t)[i].count,
                   timeline_colors(t)[i].others);
    for (uint32_t i = 0; i < f->events; i++)
        buf_printf(answer, " %" PRId64, (int64_t)timeline_events(t)[i].dur_ns);
    for (uint32_t i = 0; i < f->lanes; i++)
        buf_printf(answer, " %zu", timeline_slice_count(t, i));
    if (!CHECK((f->counters.rows_selected > f->objects / 4) == a->again))
        printf("  %s: %" PRIu64 " rows of %" PRIu64 "\n", a->name, f->counters.rows_selected,
               f->objects);
}

static int ask(void *arg, struct buf *answer)
{
    static const char *const lanes[] = {"pid", "tid"};
    const struct question *a = arg;
    struct selection selection;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct timeline *t = NULL;
    struct timeline_options options = {.group_by = lanes,
                                       .group_by_count = 2,
                                       .color = a->color,
                                       .colors = a->colors,
                                       .color_values = a->chosen,
                                       .color_value_count = a->chosen ? 1 : 0,
                                       .has_window = true,
                                       .overlap = true,
                                       .to_ns = a->to,
                                       .width = a->width,
                                       .events = a->events,
                                       .slices = a->slices};

    selection_init(&selection);
    selection.has_time_range = selection.overlap = true;
    selection.time_to_ns = a->to;
    int rc = query_open(&store.env, store.snapshot, &selection, &budget, &err, &q);
    rc = rc ? rc : timeline_open(q, &options, &err, &t);
    if (rc == 0)
        put_answer(a, t, answer);
    timeline_close(t);
    buf_putc(answer, '\n');
    return alloc_settle(rc, q, &budget, &err);
}

static void all(void)
{
    static const struct value read = {.type = VALUE_TEXT, .text = {"read", 4}};
    static const struct question questions[] = {
        {"a window", "cat", (1 << 24) - 1, 2, 20},
        {"its half, by name", "name", (1 << 23) - 1, 1, 0},
        {"more events than a chunk lists", "cat", (1 << 24) - 1, 2, 500, true},
        {"all in one column", "cat", ((int64_t)1 << 40) + 5, 1, 3},
        {"the most frequent name", "name", (1 << 24) - 1, 2, 20, true, 1},
        {"a chosen name", "name", (1 << 24) - 1, 2, 20, false, 1, &read},
        {"powers of two", "args.ret", (1 << 24) - 1, 2, 20, true, 5},
        {"slices", "cat", (1 << 24) - 1, 2, 20, true, .slices = true},
    };

    for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
        alloc_check(questions[i].name, ask, (void *)(uintptr_t)&questions[i]);
}

static const struct check_test tests[] = {
    {"all", all},
    {NULL, NULL},
};

STORE_MAIN(tests, &store, make_store)
