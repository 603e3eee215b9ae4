/* report.c - collects the results of calls. */
#include "replay/report/report.h"

#include "replay/root/root.h"

#include <stdlib.h>
#include <string.h>

int report_init(struct report *r, struct shared *s)
{
    *r = (struct report){.shared = s,
                         .names = intern_new(),
                         .categories = intern_new(),
                         .by_name = calloc(REPORT_NAMES_MAX, sizeof *r->by_name),
                         .category_counts = calloc(REPORT_NAMES_MAX, sizeof *r->category_counts),
                         .late = sketch_new()};
    pthread_mutex_init(&r->lock, NULL);
    bool ok = r->names && r->categories && r->by_name && r->category_counts && r->late;
    return ok ? 0 : -ENOMEM;
}

void report_done(struct report *r)
{
    if (!r->shared)
        return;
    for (unsigned i = 0; r->by_name && i < REPORT_NAMES_MAX; i++) {
        sketch_free(r->by_name[i].taken);
        sketch_free(r->by_name[i].traced);
    }
    free(r->by_name);
    free(r->category_counts);
    sketch_free(r->late);
    intern_free(r->names);
    intern_free(r->categories);
    pthread_mutex_destroy(&r->lock);
}

int64_t report_name(struct report *r, struct text name)
{
    int64_t id = intern_find(r->names, name);
    if (id >= 0)
        return id;
    if (intern_count(r->names) >= REPORT_NAMES_MAX - 1)
        name = TEXT("(other names)");
    id = intern_add(r->names, name);
    if (id >= 0 && !r->by_name[id].text.ptr)
        r->by_name[id].text = (struct text){shared_text(r->shared, name), name.len};
    return id >= 0 && !r->by_name[id].text.ptr ? -ENOMEM : id;
}

int report_category(struct report *r, struct text category)
{
    if (intern_count(r->categories) >= REPORT_NAMES_MAX - 1 &&
        intern_find(r->categories, category) < 0)
        category = TEXT("(other categories)");
    int64_t id = intern_add(r->categories, category);
    if (id < 0)
        return -ENOMEM;
    r->category_counts[id]++;
    return 0;
}

static struct report_reason *find_reason(struct report *r, const struct report_reason *one)
{
    for (unsigned i = 0; i < r->reason_count; i++) {
        struct report_reason *known = &r->reasons[i];
        if (known->name == one->name && known->failed == one->failed &&
            strcmp(known->reason, one->reason) == 0)
            return known;
    }
    return NULL;
}

/* The last two elements are for all further reasons: of failed, and of skipped events. */
void report_reason(struct report *r, const struct report_reason *more)
{
    const struct report_reason other = {REPORT_NO_NAME, "(other names and reasons)", NULL,
                                        more->count, more->failed};
    struct report_reason *known = find_reason(r, more);
    if (!known && r->reason_count >= REPORT_REASONS_MAX - 2) {
        more = &other;
        known = find_reason(r, more);
    }
    if (known)
        known->count += more->count;
    else
        r->reasons[r->reason_count++] = *more;
}

void report_skip(struct report *r, uint32_t name, const char *reason, const char *file,
                 uint64_t count)
{
    pthread_mutex_lock(&r->lock);
    r->skipped += count;
    report_reason(r, &(struct report_reason){name, reason, file, count, false});
    pthread_mutex_unlock(&r->lock);
}

void report_unprepared(struct report *r, int code)
{
    if (r->unprepared++ == 0)
        r->unprepared_why = root_error(code);
}

static void add_time(struct sketch **s, int64_t ns)
{
    if (!*s)
        *s = sketch_new();
    if (*s)
        sketch_add(*s, (double)ns / 1000);
}

void report_count(struct report *r, const struct outcome *o)
{
    struct report_name *n = &r->by_name[o->name];
    pthread_mutex_lock(&r->lock);
    n->errors += o->error && !o->failed;
    n->bytes += o->bytes;
    n->bytes_traced += o->bytes_traced;
    n->time_ns += o->taken_ns;
    if (__builtin_add_overflow(n->time_traced_ns, o->traced_ns, &n->time_traced_ns))
        n->time_traced_ns = INT64_MAX;
    add_time(&n->taken, o->taken_ns);
    add_time(&n->traced, o->traced_ns);
    if (o->failed) {
        n->failed++;
        r->failed++;
        report_reason(r, &(struct report_reason){o->name, o->error, o->file, 1, true});
    } else {
        n->executed++;
        r->executed++;
    }
    if (o->late_ns >= 0) {
        sketch_add(r->late, (double)o->late_ns / 1000);
        r->late_max_ns = o->late_ns > r->late_max_ns ? o->late_ns : r->late_max_ns;
    }
    pthread_mutex_unlock(&r->lock);
}
