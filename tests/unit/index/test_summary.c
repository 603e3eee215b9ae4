/* module: index */
/* Summaries of very many names: told by category, or by class alone, and the same however they came
 * together. */
#include "index/summary/part.h"
#include "check.h"
#include "failing_malloc.h"

#include <errno.h>

enum { MANY = SUMMARY_NAMES_MAX + 1000 };

/* Names first .. end - 1, each in one of so many categories, name i with i + 1 objects of i us. */
static struct summary *made(unsigned first, unsigned end, unsigned cats)
{
    struct summary *s = summary_new();

    for (unsigned i = first; s && i < end; i++) {
        struct summary_name *n = summary_get_name(s, TRACE_EVENT, i % cats, i);
        if (!CHECK(n != NULL))
            break;
        n->count += i + 1;
        moments_add(&n->duration, i, false);
        sketch_add(n->duration_sketch, i);
        histogram_add(&n->histogram, i, false);
    }
    return s;
}

static void check_whole(const struct summary *s, enum summary_detail detail, unsigned names,
                        unsigned all)
{
    uint64_t objects = 0, durations = 0;
    __int128 sum = 0;

    CHECK_INT(s->detail, detail);
    CHECK_INT(s->name_count, names);
    for (uint32_t i = 0; i < s->name_count; i++) {
        const struct summary_name *n = &s->names[i];
        CHECK((n->name == INDEX_NO_TEXT) == (detail >= SUMMARY_BY_CATEGORY));
        CHECK((n->cat == INDEX_NO_TEXT) == (detail >= SUMMARY_BY_CLASS));
        CHECK_INT(sketch_count(n->duration_sketch), n->duration.count);
        objects += n->count;
        durations += n->duration.count;
        sum += n->duration.sum;
    }
    CHECK_INT(objects, (uint64_t)all * (all + 1) / 2);
    CHECK_INT(durations, all);
    CHECK_INT((int64_t)sum, (int64_t)all * (all - 1) / 2);
}

static void details(void)
{
    static const struct {
        unsigned end, cats, names;
        enum summary_detail detail;
    } cases[] = {
        {0, 1, 0, SUMMARY_BY_NAME},
        {SUMMARY_NAMES_MAX, 3, SUMMARY_NAMES_MAX, SUMMARY_BY_NAME},
        {SUMMARY_NAMES_MAX + 1, 3, 3, SUMMARY_BY_CATEGORY},
        {MANY, SUMMARY_NAMES_MAX, SUMMARY_NAMES_MAX, SUMMARY_BY_CATEGORY},
        {MANY, MANY, 1, SUMMARY_BY_CLASS},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct summary *s = made(0, cases[i].end, cases[i].cats);
        CHECK_STOP(s != NULL);
        check_whole(s, cases[i].detail, cases[i].names, cases[i].end);
        summary_free(s);
    }
}

/* Parts of which none has too many names, or one has, merged from either end. */
static void merged(void)
{
    static const unsigned cuts[] = {1000, MANY / 2, MANY - 1};

    for (unsigned k = 0; k < 3 * 2 * 2; k++) {
        unsigned cut = cuts[k % 3], cats = k / 6 ? MANY : 5;
        struct summary *first = made(0, cut, cats), *second = made(cut, MANY, cats);
        struct summary *into = k / 3 % 2 ? first : second, *from = k / 3 % 2 ? second : first;
        CHECK_STOP(first && second);
        CHECK_INT(summary_merge(into, from), 0);
        check_whole(into, cats == 5 ? SUMMARY_BY_CATEGORY : SUMMARY_BY_CLASS, cats == 5 ? 5 : 1,
                    MANY);
        summary_free(first);
        summary_free(second);
    }
}

/* The version in a record of the tracer is kept, or the part has an error. */
static void version_without_memory(void)
{
    static const char line[128] = "{\"name\":\"start\",\"cat\":\"dftracer\",\"pid\":1,\"ph\":\"X\","
                                  "\"args\":{\"version\":100008}}";
    struct trace_scanner *scanner;
    struct trace_event e;
    unsigned failed = 0;

    CHECK_STOP(trace_scanner_new(NULL, &scanner) == 0);
    trace_scan_begin(scanner, line, strlen(line), TRACE_US);
    CHECK_INT(trace_scan_next(scanner, &e), 1);
    for (unsigned n = 0; failing_malloc_next(n); n = failing_malloc_more(n, 48)) {
        struct texts *texts = texts_new();
        struct part *part = part_new();
        if (texts && part) {
            part_add_metadata(part, texts, &e, line, 0, 0);
            failing_malloc_stop();
            failed += part->error == -ENOMEM;
            if (part->error == 0)
                CHECK_TEXT(texts_get(texts, part->version), "1.0.8");
        }
        part_free(part);
        texts_free(texts);
    }
    CHECK(!FAILING_MALLOC || failed > 0);
    trace_scanner_free(scanner);
}

/* Builds a chunk that contains its texts; the category is a number. */
static void build_chunk(struct buf *ret)
{
    static const char line[192] =
        "{\"name\":\"read\",\"cat\":7,\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,"
        "\"ph\":\"X\",\"args\":{\"hhash\":\"h1\"}}";
    struct chunk_options options = {.bloom_rate = 0.01};
    struct chunk_builder *builder;
    struct trace_scanner *scanner;
    struct chunk_built built;
    struct trace_event e;

    CHECK_INT(trace_scanner_new(NULL, &scanner), 0);
    CHECK_INT(chunk_builder_new(&options, &builder), 0);
    trace_scan_begin(scanner, line, strlen(line), TRACE_US);
    chunk_builder_begin(builder, scanner);
    while (trace_scan_next(scanner, &e) == 1)
        CHECK_INT(chunk_builder_add(builder, &e), 0);
    CHECK_INT(chunk_builder_finish(builder, 0, ret, &built), 0);
    chunk_builder_free(builder);
    trace_scanner_free(scanner);
}

/* Categories and hosts are kept, or there is an error. A name may be missing. */
static void chunk_without_memory(void)
{
    struct buf value = {0};
    unsigned failed = 0;

    build_chunk(&value);
    for (unsigned n = 0; failing_malloc_next(n); n = failing_malloc_more(n, 48)) {
        struct texts *texts = texts_new();
        struct part *part = part_new();
        struct chunk_view *view = NULL;
        int rc = texts && part ? chunk_view_new(value.data, value.len, NULL, &view) : -ENOMEM;
        rc = rc ? rc : part_add_chunk(part, texts, view);
        failing_malloc_stop();
        failed += rc == -ENOMEM;
        if (rc == 0) {
            CHECK_INT(part->summary->name_count, 1);
            CHECK_INT(part->summary->thread_count, 1);
            CHECK_TEXT(texts_get(texts, part->summary->names[0].cat), "7");
            CHECK_TEXT(texts_get(texts, part->summary->threads[0].host), "h1");
        }
        chunk_view_free(view);
        part_free(part);
        texts_free(texts);
    }
    CHECK(!FAILING_MALLOC || failed > 0);
    buf_done(&value);
}

static const struct check_test tests[] = {
    {"details", details, true},
    {"merged", merged, true},
    {"version_without_memory", version_without_memory, true},
    {"chunk_without_memory", chunk_without_memory, true},
    {NULL, NULL},
};
CHECK_MAIN(tests)
