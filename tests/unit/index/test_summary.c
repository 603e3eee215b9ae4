/* module: index */
/* Summaries of very many names: told by category, or by class alone, and the same however they came
 * together. */
#include "index/summary/part.h"
#include "check.h"

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

static const struct check_test tests[] = {
    {"details", details, true},
    {"merged", merged, true},
    {NULL, NULL},
};
CHECK_MAIN(tests)
